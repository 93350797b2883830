// A flight recorder: made in the form, fired by a row and by hand, and what was stored.

import assert from 'node:assert/strict';
import { until } from '../lib/server.mjs';

/** Fills the form by keys, and starts it. */
async function begin(page, server) {
  await page.goto(`${server.origin}/new?method=syscalls`);
  await page.getByRole('tab', { name: 'System calls', selected: true }).waitFor();
  const flight = page.getByRole('checkbox', { name: /Keep only what is around an event/ });
  assert.equal(await page.getByLabel('Fires when').isVisible(), false);
  await flight.focus();
  await page.keyboard.press('Space');
  await page.getByText(/If the console ends|if the console ends/).waitFor();
  assert.equal(await page.getByLabel('After', { exact: true }).inputValue(), '', 'it has no time limit of its own');
  await page.getByLabel('After it').fill('0');
  await page.getByLabel('Pause').fill('1h');
  // What is misspelt is refused in words, at the form.
  await page.getByLabel('Fires when').fill('pressure disk > 5% for 1s');
  await page.keyboard.press('Control+Enter');
  await page.locator('#problems').getByText(/pressure cpu, memory or io/).waitFor();
  await page.getByLabel('Fires when').fill('');
  await page.getByRole('button', { name: 'duration_ns > 100ms', exact: true }).click();
  assert.equal(await page.getByLabel('Fires when').inputValue(), 'duration_ns > 100ms');
  await page.getByLabel('Fires when').fill('duration_ns > 0us');
  await page.getByLabel('Fires when').press('Control+Enter');
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
}

/** Starts one, sees it fire, fires it, reads what was stored, and stops it. */
export async function fireAndRead(page, server) {
  await begin(page, server);
  const recorder = page.url().replace(/.*\/captures\//, '').slice(0, 16);
  await page.getByText('Flight recorder.', { exact: false }).first().waitFor();
  await page.locator('#running').getByText(/^holds /).first().waitFor();
  await page.getByRole('link', { name: 'Open the last one' }).click();
  await page.getByText('Kept by a flight recorder.').waitFor();
  await until('the stored capture has ended', async () => {
    const { state } = await (await page.request.get(page.url().replace('/captures/', '/api/captures/').replace(/\?.*/, ''))).json();
    return state === 'finished';
  });
  await page.reload();
  const line = page.locator('#cap-flight');
  await line.getByText('duration_ns > 0us').waitFor();
  await line.getByText(/duration_ns [\d.]+ (ns|µs|ms|s)/).waitFor();
  await page.getByRole('button', { name: 'Show the moment' }).click();
  await page.waitForURL(/tab=timeline/);
  await page.getByRole('tab', { name: 'Info' }).click();
  await page.locator('#info-flight').getByText('What fired').waitFor();
  await page.locator('#info-flight').getByRole('link', { name: recorder }).click();
  await page.waitForURL(new RegExp(recorder));
  // By hand, although the pause lasts.
  const keep = page.getByRole('button', { name: /Keep what just happened/ });
  await keep.waitFor();
  await page.locator('#cap-title').click();
  await page.keyboard.press('Shift+K');
  await page.getByText('What just happened is being stored').waitFor();
  await page.getByRole('tab', { name: 'Info' }).click();
  await until('two were stored', async () => (await page.locator('#info-flight li a').count()) === 2);
  await page.getByRole('columnheader', { name: 'Not kept' }).waitFor();
  await page.keyboard.press('x');
  await page.getByText(/it has fired 2 times/).first().waitFor();
  // They are in the history, by what fired.
  await page.goto(`${server.origin}/captures`);
  await page.getByRole('link', { name: /duration_ns > 0/ }).first().waitFor();
  await page.getByRole('link', { name: /by hand of admin/ }).first().waitFor();
}
