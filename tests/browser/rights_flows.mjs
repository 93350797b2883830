// Who may read a capture: its owner says so on its page by keys, an admin of a tag and with a group; to others the capture is not there,
// and what they have open says so.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

import { binary, until } from '../lib/server.mjs';
import { openPage } from './lib.mjs';

const HOSTILE = 'ops <img src=x onerror="window.hacked=5">';

/** Somebody who is logged in by a link. */
async function person(browser, server, user, role) {
  const link = spawnSync(binary(), ['login-link', '--role', role, '--user', user, '--data', server.data], { encoding: 'utf8' });
  const opened = await openPage(browser);
  await opened.page.goto(link.stdout.trim());
  await opened.page.waitForURL((url) => url.pathname === '/');
  return opened;
}

/** How many captures somebody finds by a word. */
async function found(page, server, word) {
  const answer = await page.request.get(`${server.origin}/api/captures?q=${encodeURIComponent(word)}`);
  return (await answer.json()).total;
}

/** The dialog of who may read, opened by keys; its field for who comes next has the focus. */
async function limit(page) {
  await page.getByRole('tab', { name: /^Info/ }).click();
  await page.getByRole('button', { name: 'Say who may read it' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Who may read this capture' });
  await dialog.getByRole('radio', { name: /^Only the owner/ }).check();
  return dialog;
}

/** An admin makes a group and limits a tag, with names that try to be something else. */
async function makeGroup(page, server) {
  await page.goto(`${server.origin}/people`);
  await page.getByRole('button', { name: 'Make a group' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Make a group' });
  await dialog.getByLabel('Name').fill(HOSTILE);
  await dialog.getByLabel('People, one in a line').fill('vera');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: `Change the group ${HOSTILE}` }).waitFor();
  await page.getByRole('button', { name: 'Limit captures of a tag' }).press('Enter');
  const tag = page.getByRole('dialog', { name: 'Limit captures of a tag' });
  await tag.getByLabel('Tag').fill('payroll');
  await tag.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: 'only the owner and admins' }).waitFor();
  assert.equal(await page.evaluate(() => window.hacked), undefined);
}

/** From a capture that all read to one that a group reads, and back. */
export async function limitReaders(browser, page, server) {
  const ada = await person(browser, server, 'ada', 'operator');
  const vera = await person(browser, server, 'vera', 'viewer');
  const data = { name: 'zebra crossing', sources: [{ id: 'calls', method: { syscalls: {} } }], target: 'system', limits: { duration_ms: 300 } };
  const started = await ada.page.request.post(`${server.origin}/api/captures`, { data, headers: { origin: server.origin } });
  const { id } = await started.json();
  await until('its end', async () => !(await (await ada.page.request.get(`${server.origin}/api/captures/${id}`)).json()).running);
  const address = `${server.origin}/captures/${id}?v=3&tab=events`;
  await vera.page.goto(address);
  assert.equal(await found(vera.page, server, 'zebra'), 1);
  await vera.page.getByRole('tab', { name: /^Info/ }).click();
  await vera.page.getByText('Everybody who is logged in may read this capture.').waitFor();
  assert.equal(await vera.page.getByRole('button', { name: 'Say who may read it' }).count(), 0, 'a reader gives no right');
  await ada.page.goto(address);
  await (await limit(ada.page)).getByRole('button', { name: 'Save' }).press('Enter');
  await ada.page.getByRole('button', { name: 'Read by some' }).waitFor();
  assert.equal(await found(vera.page, server, 'zebra'), 0);
  await vera.page.getByRole('tab', { name: 'Timeline' }).click();
  await vera.page.getByText('you may not read it any more').waitFor();
  await makeGroup(page, server);
  const dialog = await limit(ada.page);
  await dialog.getByRole('button', { name: 'Add somebody' }).press('Enter');
  await ada.page.keyboard.type(`group ${HOSTILE}`);
  await ada.page.keyboard.press('Enter');
  await ada.page.getByText(/^Read by: group ops/).waitFor();
  await vera.page.goto(address);
  await vera.page.getByText('Read by some').waitFor();
  assert.equal(await found(vera.page, server, 'zebra'), 1);
  // The list of the tag counts once the capture has none of its own.
  const headers = { origin: server.origin };
  const tagged = await ada.page.request.patch(`${server.origin}/api/captures/${id}`, { data: { add_tags: ['payroll'] }, headers });
  assert.equal(tagged.status(), 204);
  await ada.page.reload();
  await ada.page.getByRole('button', { name: 'Read by some' }).press('Enter');
  await ada.page.getByRole('button', { name: 'Say who may read it' }).press('Enter');
  await ada.page.getByRole('radio', { name: /Whoever its tags let read it \(payroll: only the owner and admins\)/ }).check();
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await until('nothing is found', async () => await found(vera.page, server, 'zebra') === 0);
  assert.equal(await vera.page.evaluate(() => window.hacked), undefined);
  await vera.context.close();
  await ada.context.close();
  assert.deepEqual(ada.complaints, []);
  assert.deepEqual(vera.complaints.filter((text) => !/status of 404/.test(text)), []);
}
