// Two captures beside each other, and runs of the same as a series with marks and a baseline.

import assert from 'node:assert/strict';
import { until } from '../lib/server.mjs';

const HOSTILE = 'run "><img src=x onerror="window.compared=1">';

/** Records the same profile by the API; gives the capture's id. */
async function record(page, server, { hz = 199, again = '' } = {}) {
  const method = { profile: { frequency_hz: hz, kernel_stacks: true, user_stacks: true } };
  const spec = { name: HOSTILE, sources: [{ id: 'cpu', method }], target: 'system', limits: { duration_ms: 400 } };
  const query = again ? `?again=${again}` : '';
  const started = await page.request.post(`${server.origin}/api/captures${query}`, { data: spec, headers: { origin: server.origin } });
  const { id } = await started.json();
  await until('the end of the capture', async () => !(await (await page.request.get(`${server.origin}/api/captures/${id}`)).json()).running);
  return id;
}

/** Selects two in the history, compares them, follows a link to the differential flame graph, and comes back. */
export async function compareTwo(page, server) {
  const first = await record(page, server, { hz: 99 });
  const second = await record(page, server);
  await page.goto(`${server.origin}/captures`);
  const rows = page.locator('#history tbody tr');
  await until('both captures', async () => (await rows.count()) > 1);
  await rows.first().focus();
  await page.keyboard.press('x');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('x');
  await page.getByRole('toolbar', { name: 'Selected captures' }).getByRole('button', { name: 'Compare' }).click();
  await page.waitForURL(/\/compare\?/);
  const params = new URL(page.url()).searchParams;
  assert.deepEqual([params.get('v'), params.get('a'), params.get('b')], ['1', first, second], 'the first is what it was before');
  await page.getByRole('heading', { name: 'What was asked for' }).waitFor();
  const spec = page.locator('section', { has: page.getByRole('heading', { name: 'What was asked for' }) });
  await spec.getByRole('cell', { name: '99', exact: true }).waitFor();
  await spec.getByRole('cell', { name: '199', exact: true }).waitFor();
  await page.getByText('The events of the first were made up.').waitFor();
  assert.equal(await page.evaluate(() => window.compared), undefined);
  const differential = page.getByRole('link', { name: 'Differential flame graph' });
  await differential.click();
  await page.waitForURL((url) => url.searchParams.get('against') === first);
  await page.locator('svg.is-difference').waitFor();
  await page.goBack();
  await differential.waitFor();
  await page.getByRole('link', { name: 'Swap' }).click();
  await page.waitForURL((url) => url.searchParams.get('a') === second);
  // From the page of a capture: what was recorded the same is offered first.
  await page.goto(`${server.origin}/captures/${second}`);
  await page.getByRole('button', { name: 'Compare with…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Compare with' });
  await dialog.getByRole('radio').first().waitFor();
  await dialog.getByLabel('Search captures').fill('nothing-is-called-so');
  await dialog.getByText('No match.').waitFor();
  await page.keyboard.press('Escape');
}

/** Three runs as a series: a chart with a mark, numbers that are chosen, a baseline, the way there from history and capture. */
export async function followSeries(page, server) {
  const first = await record(page, server);
  const second = await record(page, server, { again: first });
  await page.request.post(`${server.origin}/api/marks`, {
    data: { text: 'shop <b>2.1</b>', link: 'https://ci.example/7' },
    headers: { origin: server.origin },
  });
  const third = await record(page, server, { again: second });
  const info = await (await page.request.get(`${server.origin}/api/captures/${third}`)).json();
  assert.equal(info.run.again_of, second);
  const series = `${server.origin}/api/series/${info.run.series}`;
  await until('all key numbers', async () => (await (await page.request.get(series)).json()).runs.every((run) => run.computed));
  await page.goto(`${server.origin}/captures`);
  await page.locator('#history tbody tr').first().getByRole('link', { name: /^\d+ runs$/ }).click();
  await page.waitForURL(/\/series\//);
  const charts = page.locator('.series-chart');
  await until('charts', async () => (await charts.count()) > 0);
  const runs = page.locator('#series-runs tbody tr');
  assert.ok((await runs.count()) >= 3);
  // The keyboard walks through the runs.
  await charts.first().locator('svg').focus();
  await page.keyboard.press('End');
  await charts.first().locator('.series-readout', { hasText: '±' }).waitFor();
  await charts.first().locator('.series-mark').first().waitFor();
  await page.getByRole('link', { name: 'shop <b>2.1</b>' }).waitFor();
  // Numbers are chosen, and in the link.
  await page.locator('#series-numbers summary').press('Enter');
  const count = await charts.count();
  await page.getByRole('checkbox', { name: 'rows of cpu-clock' }).check();
  await until('one more chart', async () => (await charts.count()) === count + 1);
  assert.ok(new URL(page.url()).searchParams.getAll('number').includes('count@cpu-clock'));
  await page.reload();
  await until('the chosen charts', async () => (await charts.count()) === count + 1);
  // A baseline, with which later runs are compared.
  const oldest = runs.nth((await runs.count()) - 1);
  await oldest.getByRole('button', { name: /^Make the baseline/ }).click();
  await page.getByText('Later runs are compared with this one.').waitFor();
  await runs.first().locator('.series-verdict').first().waitFor();
  await runs.first().getByRole('link', { name: 'Compare with the baseline' }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()]);
  assert.match(download.suggestedFilename(), /^series-[0-9a-f]{16}\.csv$/);
  await runs.first().locator('td.name a').click();
  await page.waitForURL(`**/captures/${third}*`);
  await page.getByRole('link', { name: /runs: / }).waitFor();
  assert.equal(await page.evaluate(() => window.compared), undefined);
}
