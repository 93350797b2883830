// A capture is shared with people without a login: a part of it, at the same view, until the link is revoked while it is open.

import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder, until } from '../lib/server.mjs';
import { openPage } from './lib.mjs';
import { closeFile, openFile, saveInvestigation } from './saved_flows.mjs';

const OPENS = /views can be opened/;

/** Allows shares, where nobody had. */
async function allow(page, server, id) {
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=events`);
  const share = page.getByRole('button', { name: 'Share', exact: true });
  await share.waitFor();
  assert.equal(await share.getAttribute('aria-disabled'), 'true');
  await share.click({ force: true });
  await page.getByText('Shares are not allowed in this console').first().waitFor();
  await page.goto(`${server.origin}/shares`);
  await page.getByText('There is no share.').waitFor();
  await page.getByRole('button', { name: 'Allow shares' }).click();
  await page.getByText('Shares are allowed in this console.').waitFor();
}

/** Makes a link to what the page shows, by keys; gives its address. */
async function makeLink(page, { only, choose = [] }) {
  await page.getByRole('button', { name: 'Share', exact: true }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Share' });
  assert.ok(await dialog.getByLabel('show notes all the same').isDisabled(), 'nothing is removed yet');
  for (const label of choose) await dialog.getByLabel(label).check();
  if (choose.some((label) => label !== OPENS)) assert.equal(await dialog.getByLabel('Title').inputValue(), '', 'the title is not that of the capture');
  await dialog.getByLabel('Title').fill('Look at this <b>');
  if (only) await dialog.getByLabel('only what this view shows').check();
  await dialog.getByRole('button', { name: 'Make link' }).click();
  const link = page.getByLabel('The link', { exact: true }).and(page.locator('input'));
  await link.waitFor();
  const url = await link.inputValue();
  await page.getByText('Only this machine opens it').waitFor();
  await page.getByRole('button', { name: 'Close', exact: true }).and(page.locator('.share-dialog button')).click();
  return url;
}

/** Revokes the only link of this title. */
async function revoke(page, server) {
  await page.goto(`${server.origin}/shares`);
  await page.getByText(/(ago|just now), opened 1 time/).first().waitFor();
  await page.getByRole('button', { name: 'Revoke Look at this <b>' }).click();
  await page.getByText('There is no share.').waitFor();
}

/** An investigation is saved as a file, which opens with the network off. */
async function readOffline(browser, page) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-file-'));
  const path = await saveInvestigation(page, folder, /^Why_b_is_b_it_slow_-[0-9a-f]{16}\.html$/);
  const file = await openFile(browser, path);
  const { page: reader } = file;
  await until('the picture', async () =>
    await reader.locator('.block-view img').first().evaluate((image) => image.naturalWidth > 100));
  assert.equal(await reader.evaluate(() => window.hacked), undefined);
  await closeFile(file);
  removeFolder(folder);
}

/** An investigation is sent: as a file, and as a link that others follow without a login while it is written, until it is revoked. */
export async function shareInvestigation(browser, page, server, address) {
  await page.goto(address);
  await readOffline(browser, page);
  const url = await makeLink(page, { only: false });
  const { page: visitor, context, complaints } = await openPage(browser);
  const asked = [];
  visitor.on('request', (request) => asked.push(request.url()));
  await visitor.goto(url);
  await visitor.waitForURL((at) => /^\/s\/[0-9a-f]{16}\/investigations\/[0-9a-f]{16}$/.test(at.pathname));
  await visitor.getByText(/Look at this <b> · shared by admin until .* · read only · shows an investigation/).waitFor();
  const blocks = visitor.getByRole('list', { name: 'Blocks' }).locator('> li');
  await until('the picture', async () => await blocks.locator('img').first().evaluate((image) => image.naturalWidth > 100));
  assert.equal(await blocks.locator('a[href^="/captures"]').count(), 0, 'nothing leads to captures');
  assert.equal(await visitor.getByRole('button', { name: /Add a|Rename|Edit|Delete|Copy link/ }).count(), 0);
  // What is written meanwhile is seen.
  await page.getByRole('button', { name: 'Add a text' }).click();
  await page.getByRole('textbox', { name: 'Text' }).fill('written later');
  await page.keyboard.press('Control+Enter');
  await visitor.getByText('written later').waitFor();
  const left = asked.map((one) => new URL(one).pathname).filter((path) => !/^\/(s\/[0-9a-f]{16}|assets)(\/|$)/.test(path));
  assert.deepEqual(left, [], 'nothing else is asked');
  assert.deepEqual(complaints, []);
  await revoke(page, server);
  await visitor.getByText('This link has expired or was revoked.').waitFor();
  assert.equal(await visitor.getByText('written later').count(), 1, 'what was read stays');
  await context.close();
  await openSharedView(browser, page, server, address);
}

/** A view on a shared investigation is opened where the link's maker chose so. */
async function openSharedView(browser, page, server, address) {
  await page.goto(address);
  const url = await makeLink(page, { only: false, choose: [OPENS] });
  const { page: visitor, context, complaints } = await openPage(browser);
  const asked = [];
  visitor.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await visitor.goto(url);
  await visitor.getByText(/shows an investigation, whose views can be opened/).waitFor();
  await visitor.locator('a.block-view').first().click();
  await visitor.waitForURL((at) => /^\/s\/[0-9a-f]{16}\/blocks\/[0-9a-f]{16}\/captures\/[0-9a-f]{16}$/.test(at.pathname));
  await visitor.getByText(/read only · shows only/).waitFor();
  await visitor.locator('[role=tabpanel]:visible').first().waitFor();
  await visitor.getByRole('tab', { name: 'Events' }).click();
  await until('rows', async () => (await visitor.locator('#panel-events [role=row], #panel-events tr').count()) > 1);
  const left = asked.filter((path) => !/^\/(s\/[0-9a-f]{16}|assets)(\/|$)/.test(path));
  assert.deepEqual(left, [], 'nothing else is asked');
  assert.deepEqual(complaints, []);
  await context.close();
  await revoke(page, server);
}

/** A link that removes names and has a preview: neither the rows nor the head has any, and the address alone tells its title. */
async function shareWithoutNames(browser, page, server, id) {
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=events`);
  const url = await makeLink(page, { only: false, choose: [/names: of processes/, 'preview in chats'] });
  const { page: visitor, context, complaints } = await openPage(browser);
  const told = await (await context.request.get(url.split('#')[0])).text();
  assert.ok(told.includes('<meta property="og:title" content="Look at this &#60;b&#62;">'), told);
  const picture = await context.request.get(`${url.split('#')[0]}/preview.png`);
  assert.equal(picture.headers()['content-type'], 'image/png');
  await visitor.goto(url);
  await visitor.getByText('Names are removed from this view. Notes are left out.').waitFor();
  await visitor.getByText(/^name-[a-z2-9]{8}$/).first().waitFor();
  await visitor.getByRole('tab', { name: 'Processes' }).click();
  await visitor.getByText('cannot be shown without what this share removes').waitFor();
  await visitor.getByRole('tab', { name: 'Timeline' }).click();
  await visitor.locator('#panel-timeline canvas').first().waitFor();
  await visitor.getByRole('tab', { name: 'Info' }).click();
  await visitor.locator('#panel-info dl').first().waitFor();
  await visitor.locator('#panel-info').getByText('Notes are left out.').waitFor();
  await visitor.keyboard.press('?');
  const keys = await visitor.locator('#help-keys').textContent();
  for (const none of ['Run again', 'Pin the capture', 'investigation', 'Commands']) assert.ok(!keys.includes(none), none);
  assert.ok(keys.includes('Filter rows'), keys);
  await visitor.keyboard.press('Escape');
  assert.deepEqual(complaints, []);
  await context.close();
  await page.goto(`${server.origin}/shares`);
  await page.getByText('Names are removed from this view.').waitFor();
  await revoke(page, server);
}

/** Shares a part, opens it without a login, and revokes it while it is open. */
export async function shareAndRevoke(browser, page, server, id) {
  await allow(page, server, id);
  await shareWithoutNames(browser, page, server, id);
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=events&filter=cpu%20%3D%3D%201`);
  const url = await makeLink(page, { only: true });
  const { page: visitor, context, complaints } = await openPage(browser);
  const asked = [];
  visitor.on('request', (request) => asked.push(request.url()));
  const [, token] = url.split('#');
  await visitor.goto(url);
  await visitor.waitForURL((at) => at.pathname.endsWith(`/captures/${id}`));
  const address = new URL(visitor.url());
  assert.deepEqual([address.searchParams.get('tab'), address.searchParams.get('filter')], ['events', 'cpu == 1']);
  assert.equal(address.hash, '');
  await visitor.getByText(/Look at this <b> · shared by admin until .* · read only · shows only rows with cpu == 1/).waitFor();
  await until('rows', async () => (await visitor.locator('#panel-events [role=row], #panel-events tr').count()) > 2);
  // All that there is has this CPU, whatever is asked.
  const of = (query) => visitor.evaluate(async (it) => {
    const below = location.pathname.replace('/captures/', '/api/captures/');
    return (await (await fetch(`${below}/rows?limit=1000${it}`)).json()).rows.map((row) => row[1]);
  }, query);
  assert.deepEqual([...new Set(await of(''))].map(Number), [1]);
  assert.deepEqual(await of('&filter=cpu%20%3D%3D%200'), []);
  await visitor.getByRole('tab', { name: 'SQL' }).click();
  await visitor.getByText('A share has no SQL').waitFor();
  await visitor.getByRole('tab', { name: 'Timeline' }).click();
  await visitor.locator('#panel-timeline canvas').first().waitFor();
  await visitor.reload();
  await visitor.getByText(/shared by admin/).waitFor();
  assert.ok(asked.every((address) => !new URL(address).href.split('#')[0].includes(token)), 'no address has the token');
  const left = asked.map((address) => new URL(address).pathname).filter((path) => !/^\/(s\/[0-9a-f]{16}|assets)(\/|$)/.test(path));
  assert.deepEqual(left, [], 'nothing else is asked');
  assert.deepEqual(complaints, []);
  await revoke(page, server);
  await visitor.getByText('This link has expired or was revoked.').waitFor();
  await visitor.goto(url.replace(/#.*/, `#${token}`));
  await visitor.getByText('This link cannot be opened').waitFor();
  await visitor.goto(url.split('#')[0]);
  await visitor.getByText('This link is not complete').waitFor();
  await visitor.goto(`${server.origin}/captures/${id}`);
  await visitor.waitForURL(/\/login/);
  await context.close();
}
