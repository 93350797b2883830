// What a person reads from a selected range of a timeline.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { nextJson } from './lib.mjs';

const query = (page) => new URL(page.url()).searchParams;

/**
 * Reads the panel of the range that is selected: who ran, who waited, what took how long, who woke whom; over all tracks and over
 * one. `takesTime`: the capture has system calls.
 */
export async function readRange(page, panel, takesTime) {
  const table = (name) => panel.getByRole('table', { name });
  const tab = (name) => panel.getByRole('tab', { name, exact: true });
  const states = table('States by thread');
  await until('threads with their states', async () => await states.getByRole('row').count() > 2);
  assert.match(await states.getByRole('row').nth(1).innerText(), /running/, 'who ran comes first');
  await states.getByRole('columnheader').getByRole('button', { name: 'longest' }).click();
  await until('the order in the address', () => query(page).get('ranked') === '-longest');

  // By the keyboard to the next tab, which a capture without anything that takes time cannot fill.
  await tab('States by thread').focus();
  await page.keyboard.press('ArrowRight');
  await until('the tab in the address', () => query(page).get('panel') === 'slices');
  if (takesTime) await readSlices(page, table('Slices by name'));
  else await panel.getByText(/Record system calls/).waitFor();
  assert.equal(query(page).get('ranked'), null, 'an order is that of a tab');

  const waits = await nextJson(page, /\/range\/waits\?/, () => tab('Run-queue latency').click());
  assert.ok(waits.threads.length > 0 && waits.all.longest >= waits.threads[0].durations.longest);
  await table('Run-queue latency by thread').locator('.range-open').first().click();
  await panel.locator('.range-list .histogram').waitFor();

  const wakeups = await nextJson(page, /\/range\/wakeups\?/, () => tab('Wake-ups').click());
  const matrix = table('Who woke whom, how often');
  await until('a row for each waker', async () => await matrix.getByRole('row').count() >= wakeups.wakers.length + 1);
  await page.reload();
  await until('the same matrix', async () => await matrix.getByRole('row').count() >= wakeups.wakers.length + 1);

  // Over the tracks that are found by a name.
  const all = await nextJson(page, /\/range\/threads\?/, () => tab('States by thread').click());
  await page.getByRole('searchbox', { name: /Find tracks/ }).fill(all.threads[0].key);
  const one = await nextJson(page, /\/range\/threads\?.*tracks=/, () => panel.getByRole('button', { name: 'Marked' }).click());
  // Of a short number there can be a longer one.
  assert.ok(one.threads.length < all.threads.length && one.threads.some(({ key }) => key === all.threads[0].key));
  for (const { key } of one.threads) assert.ok(key.startsWith(all.threads[0].key), `${key} is found by ${all.threads[0].key}`);
  assert.equal(query(page).get('over'), 'marked');
  await panel.getByText(/over \d+ tracks? found by/).waitFor();
  await panel.getByRole('button', { name: 'All tracks' }).click();
  await page.getByRole('searchbox', { name: /Find tracks/ }).fill('');

  // On to the longest, and back to the range.
  await states.getByRole('button', { name: 'Longest', exact: true }).first().click();
  await until('what was longest is picked', () => query(page).has('picked'));
  await panel.getByRole('button', { name: 'Close' }).click();
  await states.waitFor();
}

/** What took time, by name: the histogram of one, which the link opens again. */
async function readSlices(page, table) {
  const open = table.locator('.range-open').first();
  const name = await open.textContent();
  await open.click();
  const histogram = table.locator('.histogram');
  await histogram.waitFor();
  assert.ok(query(page).get('opened').endsWith(`/${name}`));
  await page.reload();
  await histogram.waitFor();
  await table.locator('.range-open[aria-expanded=true]').click();
  await until('a closed histogram', async () => await histogram.count() === 0 && query(page).get('opened') === null);
}
