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

/** Records all system calls by the API; gives the capture's id. */
async function recordCalls(page, server, name) {
  const spec = { name, sources: [{ id: 'calls', method: { syscalls: {} } }], target: 'system', limits: { duration_ms: 500 } };
  const started = await page.request.post(`${server.origin}/api/captures`, { data: spec, headers: { origin: server.origin } });
  const { id } = await started.json();
  await until('the end of the capture', async () => !(await (await page.request.get(`${server.origin}/api/captures/${id}`)).json()).running);
  return id;
}

/** One comparison for all tabs: chosen once, told by a chip, kept when the tab is changed and in the link, and ended. */
export async function compareViews(page, server) {
  const first = await recordCalls(page, server, HOSTILE);
  const second = await recordCalls(page, server, 'the second');
  await page.goto(`${server.origin}/captures/${second}?v=3&tab=systemcalls`);
  const params = () => new URL(page.url()).searchParams;
  await page.getByRole('button', { name: 'Against…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Compare this view with' });
  await dialog.getByLabel('The other capture').selectOption(first);
  await dialog.getByRole('radio', { name: 'another capture, all of it' }).check();
  const answer = page.waitForResponse(/\/syscalls\/compare\?/);
  await dialog.getByRole('button', { name: 'Compare' }).click();
  const told = await (await answer).json();
  await page.waitForURL((url) => url.searchParams.get('against') === first);
  const table = page.getByRole('table', { name: 'System calls of both sides' });
  const rows = table.locator('tbody tr');
  await until('lines of both sides', async () => (await rows.count()) === told.lines.length);
  assert.ok(told.lines.length > 1 && told.normalised === 'time');
  const chip = page.locator('.against-chip');
  await chip.getByRole('link', { name: HOSTILE }).waitFor();
  assert.equal(await page.evaluate(() => window.compared), undefined);
  // By keyboard: arrows walk the lines, Enter shows how long calls took on both sides.
  await rows.first().getByRole('button').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('.against-histogram svg').waitFor();
  // Sorted by the difference, the greatest first, in the address.
  await table.getByRole('button', { name: 'Difference' }).click();
  await page.waitForURL((url) => url.searchParams.get('versus') === '-0.difference');
  const numbers = async () => (await table.locator('tbody tr td:nth-child(4)').allInnerTexts()).map((text) => text.replace(/^[▲▼?] /, ''));
  await until('the order', async () => {
    const signs = (await numbers()).map((text) => (text.startsWith('+') ? 1 : text.startsWith('−') ? -1 : 0));
    return signs.length === told.lines.length && signs.every((sign, i) => i === 0 || sign <= signs[i - 1]);
  });
  await page.getByRole('combobox', { name: 'By what amounts are compared' }).selectOption('none');
  await page.waitForURL((url) => url.searchParams.get('per') === 'none');
  // The other tabs have the same comparison; those that compare nothing say so.
  await page.getByRole('tab', { name: 'Events' }).click();
  await chip.getByText('not in this tab').waitFor();
  await page.getByRole('button', { name: 'Group', exact: true }).click();
  const groups = page.getByRole('table', { name: 'Groups of both sides' });
  await groups.locator('tbody tr').first().waitFor();
  await page.getByRole('button', { name: 'Values', exact: true }).click();
  await page.locator('.against-value').first().waitFor();
  await page.getByRole('tab', { name: 'Distribution' }).click();
  await page.getByRole('button', { name: 'Over time' }).click();
  await page.getByRole('heading', { name: 'There', exact: true }).waitFor();
  await page.getByText('one scale of shades').waitFor();
  assert.equal(await page.locator('.spread-heat canvas:visible').count(), 2);
  // A link has it all.
  const link = page.url();
  await page.goto('about:blank');
  await page.goto(link);
  await page.getByRole('heading', { name: 'There', exact: true }).waitFor();
  await page.getByRole('tab', { name: 'System calls' }).click();
  await until('lines as counted', async () => (await rows.count()) === told.lines.length);
  await page.getByRole('button', { name: 'End the comparison' }).press('Enter');
  await page.waitForURL((url) => url.searchParams.get('against') === null);
  await page.getByRole('table', { name: 'System calls', exact: true }).waitFor();
  assert.deepEqual([params().get('versus'), params().get('againstsame')], [null, null]);
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
