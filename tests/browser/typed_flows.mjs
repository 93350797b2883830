// What people have typed: long titles in tables and dialogs, texts that were not saved, entries that were refused.

import { strict as assert } from 'node:assert';

import { Server, dataFolder, removeFolder } from '../lib/server.mjs';
import { logIn, openPage } from './lib.mjs';

const LONG = 'x'.repeat(200);

/** Whether an element is within a box from side to side. */
async function isWithin(inner, left, right) {
  const box = await inner.boundingBox();
  assert.ok(box.x >= left && box.x + box.width <= right, `from ${box.x} to ${box.x + box.width}, not within ${left} to ${right}`);
}

/** A title without blanks is cut in tables, and a dialog is no wider for it. */
async function readLongTitles(page, origin, post, capture) {
  await post('/api/shares/allowed', { allowed: true });
  await post('/api/shares', { capture, title: LONG });
  await post('/api/investigations', { title: LONG });
  for (const width of [1280, 2560]) {
    await page.setViewportSize({ width, height: 800 });
    for (const [path, action] of [['/shares', 'Revoke'], ['/investigations', 'Delete']]) {
      await page.goto(origin + path);
      const button = page.getByRole('button', { name: `${action} ${LONG}` });
      await button.waitFor();
      await isWithin(button, 0, width);
      assert.equal(await page.locator('td.wide').getAttribute('title'), LONG);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${origin}/captures/${capture}?v=3&tab=info`);
  await page.getByRole('button', { name: 'Add to investigation' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add to an investigation' });
  await dialog.waitFor();
  const { x, width } = await dialog.boundingBox();
  assert.ok(width <= 562, `the dialog is ${width} wide`);
  for (const part of await dialog.locator('select, input[type=text]:visible, button').all()) await isWithin(part, x, x + width);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}

/** A note and a block that were typed are offered again after Escape and after the page was loaded anew, which is asked about. */
async function goOn(page, asked, origin, capture) {
  await page.goto(`${origin}/captures/${capture}?v=3&tab=info`);
  await page.getByRole('button', { name: 'Write a note', exact: true }).click();
  const field = page.getByLabel('Text of the new note');
  await field.pressSequentially('half a thought');
  await page.keyboard.press('Escape');
  await page.getByText('Your text is not saved.').waitFor();
  await page.getByRole('button', { name: 'Go on with the note' }).click();
  assert.equal(await field.inputValue(), 'half a thought');
  await field.pressSequentially(' more');
  await page.reload();
  assert.deepEqual(asked.splice(0), ['beforeunload']);
  await page.getByRole('button', { name: 'Go on with the note' }).click();
  await page.getByText('This was typed before and not saved.').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('half a thought more').waitFor();
  await page.getByRole('button', { name: 'Write a note', exact: true }).click();
  assert.equal(await field.inputValue(), '', 'what is saved is not offered');
  await page.keyboard.press('Escape');
}

/** A block is written over the page's width, and grows. */
async function writeBlock(page, asked, origin) {
  await page.goto(`${origin}/investigations`);
  await page.getByRole('link', { name: LONG }).click();
  await page.getByRole('button', { name: 'Add a text' }).click();
  const field = page.getByLabel('Text', { exact: true });
  const low = (await field.boundingBox()).height;
  await field.fill('a line\n'.repeat(12));
  const { width, height } = await field.boundingBox();
  assert.ok(width > 800 && height > low + 100, `${width} by ${height}, was ${low} high`);
  await page.reload();
  assert.deepEqual(asked.splice(0), ['beforeunload']);
  await page.getByRole('button', { name: 'Add a text' }).click();
  assert.match(await field.inputValue(), /^(a line\n){12}$/);
  await page.getByRole('button', { name: 'Discard it' }).click();
  assert.equal(await field.inputValue(), '');
}

/** An entry that is refused stays in its dialog, with what is wrong. */
async function addAgain(page, origin, post) {
  await post('/api/people', { name: 'bob', role: 'viewer' });
  await page.goto(`${origin}/people`);
  await page.getByRole('button', { name: 'Add a person' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a person' });
  await dialog.getByLabel('Name').fill('BOB');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByRole('alert').getByText('Failed.').waitFor();
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'BOB');
  assert.ok(!(await dialog.textContent()).includes('`'));
  await dialog.getByLabel('Name').fill('eva');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('dialog', { name: 'A link for eva' }).waitFor();
  assert.equal(await dialog.count(), 0);
}

/** All of it, with a console of its own. */
export async function keepTyped(browser) {
  const data = dataFolder(true);
  const server = await Server.start({ data, simulate: true, unprivileged: true });
  try {
    const { page, context } = await openPage(browser);
    await logIn(page, server);
    const { origin } = server;
    const post = async (path, body) => {
      const answer = await page.request.post(origin + path, { data: body, headers: { origin } });
      assert.ok(answer.ok(), `${path}: ${answer.status()} ${await answer.text()}`);
      return answer;
    };
    const { items } = await (await page.request.get(`${origin}/api/samples`)).json();
    const { id } = await (await post(`/api/samples/${items[0].name}`)).json();
    await readLongTitles(page, origin, post, id);
    const asked = [];
    page.removeAllListeners('dialog');
    page.on('dialog', (dialog) => { asked.push(dialog.type()); void dialog.accept(); });
    await goOn(page, asked, origin, id);
    await writeBlock(page, asked, origin);
    await addAgain(page, origin, post);
    await context.close();
  } finally {
    await server.stop();
    removeFolder(data);
  }
}
