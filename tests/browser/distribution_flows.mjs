// What a person does with distributions: a histogram by groups, a selection that drives all tabs, heat maps, offsets in the second,
// how busy CPUs were, single rows, files.

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';

import { until } from '../lib/server.mjs';
import { colours, openTab, rowCount } from './flows.mjs';
import { nextJson } from './lib.mjs';

const query = (page) => new URL(page.url()).searchParams;
const panel = (page) => page.locator('#panel-distribution');
const HISTOGRAM = /\/distribution\?/;
const HEAT = /\/distribution\/heat\?/;
const BUSY = /\/distribution\/utilisation\?/;
const SINGLE = /\/distribution\/scatter\?/;

/** Records system calls and states of threads for a moment; the address of the capture. */
export async function recordSpread(page, origin) {
  const sources = [
    { id: 'calls', method: { syscalls: { calls: [], fd_paths: false } } },
    { id: 'states', method: { states: {} } },
  ];
  const spec = { name: 'spread', sources, target: 'system', limits: { duration_ms: 1500, budget_cpu_permille: 50 } };
  const answer = await page.request.post(`${origin}/api/captures`, { data: spec, headers: { origin } });
  const { id } = await answer.json();
  await until('an ended capture with computed streams', async () => {
    const { running, computed, streams } = await (await page.request.get(`${origin}/api/captures/${id}`)).json();
    return !running && !computed.is_busy && streams.some(({ name, rows }) => name === 'cpu occupation' && rows > 0);
  });
  return `${origin}/captures/${id}`;
}

const asker = (page) => async (path) => (await page.request.get(page.url().replace('/captures/', '/api/captures/').replace(/\?.*/, '') + path)).json();
const choose = (page, label, value) => panel(page).getByRole('combobox', { name: label, exact: true }).selectOption(value);
const form = (page, name) => panel(page).getByRole('group', { name: 'Form' }).getByRole('button', { name, exact: true });
const plot = (page) => panel(page).locator('svg.plot').first();
const chart = (page) => panel(page).locator('canvas.heat-canvas');
const number = (text) => Number(text.replaceAll(',', ''));
const total = (answer) => answer.all.counts.reduce((a, b) => a + b, 0);

/** Opens the tab on the stream of system calls; its histogram's answer. */
async function openSpread(page, link) {
  await page.goto(`${link}?v=3&tab=events`);
  const { streams } = await (await page.request.get(link.replace('/captures/', '/api/captures/'))).json();
  const stream = streams.find(({ name }) => name === 'syscalls').index;
  await page.goto(`${link}?v=3&tab=events&stream=${stream}`);
  return nextJson(page, HISTOGRAM, () => openTab(page, 'Distribution'));
}

/** Buckets are exact; groups are those of another column; a click and keys add conditions; the way back; the link. */
export async function readHistogram(page, link) {
  const all = await openSpread(page, link);
  assert.equal(all.column, 'duration_ns', 'what the rows are about');
  assert.equal(total(all) + all.without + all.below + all.above, all.rows);
  const ask = asker(page);
  const [low, high] = all.buckets[all.all.counts.indexOf(Math.max(...all.all.counts))];
  const inBucket = `kind != "signal" && kind != "exit" && kind != "data" && kind != "thread exit" && duration_ns >= ${low} && duration_ns < ${high}`;
  const naive = await ask(`/rows?stream=${all.stream ?? query(page).get('stream')}&filter=${encodeURIComponent(inBucket)}&limit=1`);
  assert.equal(naive.matched, Math.max(...all.all.counts), 'rows of a bucket are as many as the table finds');
  const split = await nextJson(page, HISTOGRAM, () => choose(page, 'Told apart by', 'call'));
  assert.ok(split.groups.length > 1 && split.groups.length <= 5);
  assert.deepEqual(split.all, all.all);
  await until('a line for each group', async () => await panel(page).locator('.plot-group').count() === split.groups.length);
  await choose(page, 'Where groups are', 'beside');
  await until('a plot for each group', async () => await panel(page).locator('svg.plot').count() === split.groups.length);
  await choose(page, 'What is drawn', 'cumulative');
  await until('the curve in the address', () => query(page).get('curve') === 'cumulative' && query(page).get('laid') === 'beside');
  const again = await nextJson(page, HISTOGRAM, () => page.reload());
  assert.deepEqual(again, split, 'the link opens the same');
  await until('plots again', async () => await panel(page).locator('svg.plot').count() === split.groups.length);
  // The name of a group is a condition.
  await nextJson(page, HISTOGRAM, () => panel(page).locator('.spread-percentiles tbody button').first().click());
  assert.equal(query(page).get('filter'), split.groups[0].filter);
  await page.keyboard.press('z');
  await until('the way back', () => query(page).get('filter') === null);
  await choose(page, 'Told apart by', '-');
  await choose(page, 'What is drawn', 'rows');
  // By keys: from the first bucket over three.
  await until('one plot', async () => await panel(page).locator('svg.plot').count() === 1);
  await plot(page).focus();
  for (const key of ['Home', 'Shift+ArrowRight', 'Shift+ArrowRight']) await page.keyboard.press(key);
  const words = await panel(page).locator('.spread-lines .readout').textContent();
  const only = await nextJson(page, HISTOGRAM, () => page.keyboard.press('Enter'));
  const limits = `duration_ns between ${all.buckets[0][0]} and ${all.buckets[2][1] - 1}`;
  assert.equal(query(page).get('filter'), limits);
  const three = all.all.counts.slice(0, 3).reduce((a, b) => a + b, 0);
  assert.equal(only.all.rows, three);
  assert.ok(words.includes(`${three.toLocaleString('en')} row`), words);
  await openTab(page, 'Events');
  await until('the rows of the table', async () => await rowCount(page) === only.rows);
  await openTab(page, 'Distribution');
  await page.keyboard.press('z');
  await until('no filter', () => query(page).get('filter') === null);
}

/** Buckets of equal width, limits that are typed, nonsense that is refused, a table of all numbers. */
export async function chooseBuckets(page, link) {
  await openSpread(page, link);
  const linear = await nextJson(page, HISTOGRAM, () => choose(page, 'Buckets', 'linear 20'));
  assert.ok(linear.buckets.length <= 20);
  const widths = new Set(linear.buckets.map(([low, high]) => high - low));
  assert.equal(widths.size, 1, 'of equal width');
  const to = panel(page).getByRole('textbox', { name: 'Values to below' });
  const limited = await nextJson(page, HISTOGRAM, async () => { await to.fill('10 us'); await to.press('Enter'); });
  assert.equal(query(page).get('high'), '10000');
  assert.equal(limited.above + total(limited) + limited.without, limited.rows);
  await panel(page).getByText(/above the upper limit/).waitFor();
  await to.fill('many');
  await to.press('Enter');
  await page.getByText('many is no number').waitFor();
  await nextJson(page, HISTOGRAM, async () => { await to.fill(''); await to.press('Enter'); });
  await panel(page).getByText(/buckets? as a table/).click();
  const cells = panel(page).locator('.spread-buckets tbody tr:not(.gap) td:nth-child(3)');
  const counted = (await cells.allTextContents()).map(number).reduce((a, b) => a + b, 0);
  assert.equal(counted, total(linear));
  const [csv] = await Promise.all([page.waitForEvent('download'), panel(page).getByRole('button', { name: 'CSV', exact: true }).click()]);
  const lines = readFileSync(await csv.path(), 'utf8').trim().split('\r\n');
  assert.equal(lines.length, 1 + linear.buckets.length);
  const [svg] = await Promise.all([page.waitForEvent('download'), panel(page).getByRole('button', { name: 'SVG', exact: true }).click()]);
  const text = readFileSync(await svg.path(), 'utf8');
  assert.match(text, /^<\?xml .*<title>.*duration_ns/s);
  assert.ok(!text.includes('class=') && text.includes('fill="rgb'), 'colours are written into the file');
}

/** Over time: a drag selects time and values at once, and all tabs follow; a cell's rows are one click away. */
export async function readHeat(page, link) {
  await openSpread(page, link);
  const heat = await nextJson(page, HEAT, () => form(page, 'Over time').click());
  await until('a drawn heat map', async () => await colours(page, '#panel-distribution canvas.heat-canvas') > 4);
  const cells = heat.cells.count.reduce((a, b) => a + b, 0);
  assert.equal(cells + heat.without, heat.rows);
  const legend = panel(page).locator('.heat-legend');
  assert.match(await legend.textContent(), /^01/, 'nothing differs from little');
  await choose(page, 'What shades tell', 'rank');
  assert.equal(query(page).get('shades'), 'rank');
  const box = await chart(page).boundingBox();
  const at = (x, y) => page.mouse.move(box.x + 72 + (box.width - 72) * x, box.y + (box.height - 22) * y, { steps: 3 });
  await at(0.25, 0.02);
  await page.mouse.down();
  await at(0.75, 0.55);
  const selected = await nextJson(page, HEAT, () => page.mouse.up());
  const [start, end] = ['start', 'end'].map((name) => Number(query(page).get(name)));
  assert.ok(start > 0 && end > start && /^duration_ns between \d+ and \d+$/.test(query(page).get('filter')));
  assert.ok(selected.rows > 0 && selected.rows < heat.rows);
  await openTab(page, 'Events');
  await until('the rows of the selection', async () => await rowCount(page) === selected.rows);
  await openTab(page, 'Distribution');
  await page.keyboard.press('z');
  await until('all of it', () => query(page).get('start') === null && query(page).get('filter') === null);
  // By keys to a cell, and its rows.
  await until('all cells again', async () => await colours(page, '#panel-distribution canvas.heat-canvas') > 4);
  const column = heat.cells.column[0];
  const row = heat.cells.row[0];
  await chart(page).focus();
  await page.keyboard.press('ArrowRight');
  for (let i = 0; i < column; i += 1) await page.keyboard.press('ArrowRight');
  for (let i = 0; i < row; i += 1) await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await panel(page).locator('.spread-lines .readout').getByText(new RegExp(`: ${heat.cells.count[0]} rows?$`)).waitFor();
  await panel(page).getByRole('button', { name: 'Rows', exact: true }).click();
  await page.getByRole('tabpanel', { name: 'Events', exact: true }).waitFor();
  await until('its rows', async () => await rowCount(page) === heat.cells.count[0]);
}

/** The second by column, the offset in it from bottom to top: a drag goes on from a cell to a later one, and is a range. */
export async function readOffsets(page, link) {
  await openSpread(page, link);
  await nextJson(page, HEAT, () => form(page, 'Offset in the second').click());
  const tenth = await nextJson(page, HEAT, () => choose(page, 'Length of a column', '100000000'));
  assert.equal(tenth.step, 1e8);
  assert.equal(tenth.cells.count.reduce((a, b) => a + b, 0), tenth.rows);
  await until('drawn offsets', async () => await colours(page, '#panel-distribution canvas.heat-canvas') > 4);
  const box = await chart(page).boundingBox();
  const at = (x, y) => page.mouse.move(box.x + 72 + (box.width - 72) * x, box.y + (box.height - 22) * y, { steps: 3 });
  await at(2.5 / tenth.columns, 0.5);
  await page.mouse.down();
  await at(5.5 / tenth.columns, 0.25);
  await nextJson(page, HEAT, () => page.mouse.up());
  const [start, end] = ['start', 'end'].map((name) => Number(query(page).get(name)));
  assert.ok(start >= 2e8 && start < 3e8 && end > 5e8 && end <= 6e8, `${start} to ${end}`);
  assert.equal(query(page).get('filter'), null);
  await page.keyboard.press('z');
  await until('all of it', () => query(page).get('start') === null);
  await page.goto(`${page.url()}&period=1000`);
  await panel(page).getByText(/the number of periods in the range is/).waitFor();
}

/** How busy CPUs were, held against SQL; what devices need is told, with a way to record it. */
export async function readBusy(page, link) {
  await openSpread(page, link);
  const busy = await nextJson(page, BUSY, () => form(page, 'Utilisation').click());
  await until('drawn CPUs', async () => await colours(page, '#panel-distribution canvas.heat-canvas') > 2);
  const inside = `sum(overlap(time, time + duration_ns, ${busy.start}, ${busy.end}))`;
  const sql = `select cpu, ${inside} from "cpu occupation" where tid != 0 group by cpu order by cpu`;
  const { rows } = await (await page.request.post(`${link.replace('/captures/', '/api/captures/')}/query`, {
    data: { sql }, headers: { origin: new URL(link).origin },
  })).json();
  assert.deepEqual(busy.keys.filter((key) => key.busy > 0).map(({ key, busy: ns }) => [key, ns]), rows.map(([cpu, ns]) => [`cpu:${cpu}`, ns]));
  await panel(page).getByText(/How busy devices were is computed from the tracepoints/).waitFor();
  const again = panel(page).getByRole('link', { name: 'Run again with tracepoints' });
  assert.match(await again.getAttribute('href'), /^\/new\?from=[0-9a-f]{16}&add=events$/);
  await nextJson(page, BUSY, () => panel(page).locator('.spread-percentiles tbody button').last().click());
  assert.equal(query(page).get('filter'), busy.keys[0].filter);
  await page.keyboard.press('z');
  await until('no filter', () => query(page).get('filter') === null);
}

/** Where rows are few each is a dot: the greatest is one key away, and opens its row. */
export async function openOutlier(page, link) {
  await openSpread(page, link);
  const { stream } = Object.fromEntries(query(page));
  let single = await nextJson(page, SINGLE, () => form(page, 'Single rows').click());
  if (single.shown > single.most) {
    // A machine that does something has more: only the slow ones.
    await panel(page).getByText(/up to 20,000 are drawn one by one/).waitFor();
    const from = panel(page).getByRole('textbox', { name: 'Values from' });
    single = await nextJson(page, SINGLE, async () => { await from.fill('5 ms'); await from.press('Enter'); });
  }
  assert.ok(single.rows.length > 0, 'few enough');
  await until('drawn dots', async () => await colours(page, '#panel-distribution canvas.heat-canvas') > 2);
  const greatest = Math.max(...single.values.map(Number));
  await chart(page).focus();
  await page.keyboard.press('ArrowUp');
  const page1 = await nextJson(page, /\/rows\?/, () => page.keyboard.press('Enter'));
  const at = page1.columns.findIndex(({ name }) => name === 'duration_ns');
  assert.equal(page1.rows[0][at], greatest);
  const drawer = panel(page).getByRole('complementary', { name: 'Row' });
  await drawer.getByText('duration_ns', { exact: true }).waitFor();
  const heading = await drawer.getByRole('heading').first().textContent();
  await panel(page).getByRole('button', { name: 'Rows', exact: true }).click();
  await page.getByRole('tabpanel', { name: 'Events', exact: true }).waitFor();
  assert.equal(query(page).get('stream') ?? stream, stream);
  assert.equal(`Row ${(Number(query(page).get('row')) + 1).toLocaleString('en')}`, heading);
}
