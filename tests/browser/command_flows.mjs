// Commands that people know from other tools: pasted into the box on top, and told of captures and forms.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';

const sameAs = (page) => page.locator('.same-as');
const listed = (page) => sameAs(page).locator('.same-command pre').allInnerTexts();

/** Of a stored capture commands are told that ask the same, each copied with a key. */
export async function readSameCommands(page, link) {
  await page.goto(`${link}?v=3&tab=info`);
  const summary = sameAs(page).locator('summary');
  await summary.waitFor();
  await summary.press('Enter');
  const commands = await until('commands', async () => { const all = await listed(page); return all.length > 1 && all; });
  assert.ok(commands.some((text) => text.startsWith('bathyscope run ')), `${commands}`);
  await sameAs(page).getByText('It asks for exactly the same.').first().waitFor();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await sameAs(page).getByRole('button', { name: /^Copy the command of/ }).first().press('Enter');
  await page.getByText('Copied the command.').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), commands[0]);
}

/** The commands of a form follow what is filled in, and say when it is not whole. */
export async function followSameCommands(page, origin) {
  await page.goto(`${origin}/new?command=${encodeURIComponent('perf record -F 99 -g -p 1201 -- sleep 2')}`);
  await until('the form', async () => await page.locator('#pid').inputValue() === '1201');
  await sameAs(page).locator('summary').press('Enter');
  await until('the same command', async () => (await listed(page))[0] === 'perf record -F 99 -g -p 1201 -- sleep 2');
  await page.locator('#pid').fill('1202');
  await until('the other process', async () => (await listed(page))[0] === 'perf record -F 99 -g -p 1202 -- sleep 2');
  await page.locator('#max-events').fill('100');
  await sameAs(page).getByText('It differs in limits that it does not have: max events.').first().waitFor();
  await page.locator('#pid').fill('');
  await sameAs(page).getByText('listed as soon as the form has everything').waitFor();
}
