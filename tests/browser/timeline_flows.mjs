// What a person reads on the timeline of a capture, held against what the tables of the same capture say in SQL: who ran on a CPU,
// and how long a span of one's own took. It is the same on a simulated and on a real capture.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { TIMELINE, openTab } from './flows.mjs';
import { nextJson } from './lib.mjs';

const LABELS = 190;
const query = (page) => new URL(page.url()).searchParams;
const panelOf = (page) => page.getByRole('region', { name: 'What is picked' });

/** Records who ran and which calls were made for a while, everywhere; gives the capture's id when its streams are computed. */
export async function recordMoments(page, origin, duration_ms) {
  const calls = { syscalls: { calls: ['read', 'write', 'clock_nanosleep', 'wait4'] } };
  const sources = [{ id: 'states', method: { states: { sleep_stacks: true } } }, { id: 'calls', method: calls }];
  const spec = { name: 'Who ran and who waited', sources, target: 'system', limits: { duration_ms, budget_cpu_permille: 800 } };
  const made = await page.request.post(`${origin}/api/captures`, { data: spec, headers: { origin } });
  assert.ok(made.ok(), await made.text());
  const { id } = await made.json();
  await until('computed streams', async () => {
    const answer = await page.request.get(`${origin}/api/captures/${id}`);
    assert.ok(answer.ok(), await answer.text());
    const { running, computed } = await answer.json();
    return !running && !computed.is_busy && computed.rules.some(({ state }) => state === 'complete');
  });
  return id;
}

/** A function that asks a capture in SQL, and gives rows as objects. */
export function asker(page, origin, id) {
  return async (sql) => {
    const data = { sql, limits: { rows: 50_000 } };
    const answer = await page.request.post(`${origin}/api/captures/${id}/query`, { data, headers: { origin } });
    assert.ok(answer.ok(), `${sql}: ${await answer.text()}`);
    const { columns, rows, truncated } = await answer.json();
    assert.equal(truncated ?? null, null, `all rows of ${sql}`);
    return rows.map((row) => Object.fromEntries(row.map((cell, i) => [columns[i].name, cell])));
  };
}

/** Moves the pointer down the tree until the readout tells of the wanted row; gives where that is. */
async function pointAt(page, words) {
  const box = await page.locator(TIMELINE).boundingBox();
  const readout = page.locator('#panel-timeline .readout');
  for (let y = 30; y < box.height; y += 8) {
    await page.mouse.move(box.x + LABELS + 40, box.y + y);
    await page.mouse.move(box.x + LABELS + 44, box.y + y);
    if (words.test(await readout.textContent())) return { ...box, y: box.y + y };
  }
  throw new Error(`no row of ${words}`);
}

/** Selects 3 ms of a CPU on which threads took turns, and reads who ran. */
export async function readWhoRan(page, link, ask) {
  const [busy] = await ask('select cpu, time / 3000000 as part, count(distinct tid) as threads from cpu_occupation where time > 10000000 group by 1, 2 order by 3 desc, 1, 2 limit 1');
  assert.ok(busy?.threads > 0, 'some CPU was busy');
  const middle = busy.part * 3e6 + 1.5e6;
  await page.goto(`${link}?v=3&tab=timeline&from=${middle - 5e6}&to=${middle + 5e6}`);
  await page.locator('#panel-timeline .legend-entry').filter({ hasText: 'running' }).waitFor();
  const row = await pointAt(page, new RegExp(`^CPU ${busy.cpu}\\b`));
  const at = (share) => row.x + LABELS + (row.width - LABELS) * share;
  await page.keyboard.down('Alt');
  await page.mouse.move(at(0.35), row.y);
  await page.mouse.down();
  await page.mouse.move(at(0.5), row.y, { steps: 4 });
  await page.mouse.move(at(0.65), row.y, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Alt');
  await until('a selected range', () => query(page).has('start'));
  const [start, end] = [Number(query(page).get('start')), Number(query(page).get('end'))];
  assert.ok(Math.abs(end - start - 3e6) < 60_000, `3 ms are selected: ${end - start} ns`);
  const panel = panelOf(page);
  await panel.getByRole('heading', { name: /^(2\.9\d|3(\.0\d)?) ms selected$/ }).waitFor();
  const choice = panel.getByRole('group', { name: 'Which tracks are counted' });
  const answer = await nextJson(page, /\/range\/threads\?.*tracks=\d/, () => choice.getByRole('button', { name: `CPU ${busy.cpu}` }).click());
  assert.equal(query(page).get('over'), `row:cpu:${busy.cpu}`);
  await panel.getByText(`over CPU ${busy.cpu}`, { exact: true }).waitFor();

  const inside = `overlap(time, time + duration_ns, ${start}, ${end})`;
  const ran = await ask(`select tid, comm, sum(${inside}) as ns from cpu_occupation where cpu = ${busy.cpu} and tid > 0 ` +
    `and time < ${end} and time + duration_ns > ${start} group by tid having ns > 0 order by ns desc, tid`);
  const running = answer.states.indexOf('running');
  const told = answer.threads.flatMap(({ key, states }) => states.filter(({ state, time }) => state === running && time > 0)
    .map(({ time }) => ({ tid: Number(key.replace('tid:', '')), ns: time })));
  const byTid = (a, b) => a.tid - b.tid;
  assert.deepEqual(told.sort(byTid), ran.map(({ tid, ns }) => ({ tid, ns })).sort(byTid), 'who ran is what the CPU did');
  assert.ok(ran.reduce((sum, { ns }) => sum + ns, 0) <= end - start, 'one at a time');

  const table = panel.getByRole('table', { name: 'States by thread' });
  const first = table.locator('tbody tr').first();
  await until('who ran longest', async () => await first.locator('td').nth(3).getAttribute('title') === `${ran[0].ns} ns`);
  const [thread, , state, , share] = await first.locator('td').allTextContents();
  assert.ok(thread.endsWith(`tid ${ran[0].tid}`) && state === 'running', `${thread} ${state}`);
  assert.ok(Math.abs(Number.parseFloat(share) - (100 * ran[0].ns) / (end - start)) < 0.6, `${share} of the range`);
  // The range need not have a whole run: the middle of what is in it of the longest.
  const [{ middle: thing }] = await ask(`select (max(time, ${start}) + min(time + duration_ns, ${end})) / 2 as middle, ${inside} as ns ` +
    `from cpu_occupation where cpu = ${busy.cpu} and tid > 0 and ns > 0 order by ns desc limit 1`);
  await fitByDoubleClick(page, row, at((thing - middle + 5e6) / 1e7));
  const said = await table.innerText();
  await page.reload();
  await until('the same after a reload', async () => await table.isVisible() && await table.innerText() === said);
  await selectByKeys(page, table, said);
}

/** A double click fits what is there and picks it; `0` and Escape lead back. */
async function fitByDoubleClick(page, row, x) {
  const address = page.url();
  await page.mouse.dblclick(x, row.y);
  const [, start] = await until('what is there is picked', () => /^\d+\/cpu:\d+\/\d+@(-?\d+)$/.exec(query(page).get('picked') ?? ''));
  const old = new URL(address).searchParams.get('from');
  await until('it is fitted', () => {
    const [from, to] = ['from', 'to'].map((name) => Number(query(page).get(name)));
    return from !== Number(old) && from <= Number(start) && Number(start) <= to;
  });
  await page.goto(address);
  await page.locator('#panel-timeline .legend-entry').filter({ hasText: 'running' }).waitFor();
}

/** The same with keys alone: another end of the range, and all tracks instead of one. */
async function selectByKeys(page, table, said) {
  const canvas = page.locator(TIMELINE);
  await canvas.focus();
  await page.mouse.move(2, 2);
  const readout = page.locator('#panel-timeline .readout');
  await until('a CPU at the cursor', async () => {
    await page.keyboard.press('ArrowDown');
    return /^CPU \d/.test(await readout.textContent());
  });
  await page.keyboard.press('Shift+ArrowRight');
  const before = query(page).get('start');
  await page.keyboard.press('i');
  await until('another begin', () => query(page).get('start') !== before);
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('o');
  await until('another end', () => Number(query(page).get('end')) > Number(query(page).get('start')));
  const given = query(page).get('over');
  await page.keyboard.press('u');
  // The address follows when the page has time for it.
  await until('one choice', () => query(page).get('over') !== given);
  const one = query(page).get('over');
  await page.keyboard.press('u');
  await until('the other choice', () => query(page).get('over') !== one);
  await until('another table', async () => await table.innerText() !== said);
  await page.keyboard.press('Escape');
  await until('no range', () => !query(page).has('start'));
}

/** The spans of two streams of events as somebody would find them with a pencil: one at a time for each key. */
function joined(begins, ends) {
  const all = [...begins.map(({ time, key }) => ({ time, key, begins: 1 })), ...ends.map(({ time, key }) => ({ time, key, begins: 0 }))];
  all.sort((a, b) => a.time - b.time || b.begins - a.begins);
  const open = new Map();
  const durations = [];
  for (const { time, key, begins: isBegin } of all) {
    if (isBegin) open.set(key, time);
    else if (open.has(key)) {
      durations.push(time - open.get(key));
      open.delete(key);
    }
  }
  return durations;
}

/** How many are in each power of two, as histograms have them. */
function powers(durations) {
  const counts = new Map();
  for (const ns of durations) {
    const low = ns < 1 ? 0 : 2 ** Math.floor(Math.log2(ns));
    counts.set(low, (counts.get(low) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

/** Defines a span of two events, reads the histogram of how long it took, and gives a link to it to somebody who has not the span. */
export async function readSpan(page, link, ask, name) {
  await page.goto(`${link}?v=3&tab=info`);
  const computed = page.getByRole('region', { name: 'Computed streams' });
  const row = computed.getByRole('row').filter({ hasText: name.slice(0, 20) });
  const told = async (state) => until(`${name}: ${state}`, async () => (await row.innerText()).split('\t')[1].trim() === state);
  await computed.getByText('Add a span of your own').click();
  await computed.getByLabel('Name').fill(name);
  await computed.getByLabel('Begins with a row of').selectOption('wakeups');
  await computed.getByLabel('Key: its columns').first().fill('wakee_tid');
  await computed.getByLabel('Ends with a row of').selectOption('switches');
  await computed.getByLabel('Key: its columns').last().fill('next_tid');
  await computed.getByLabel('Of several open ones').selectOption('exclusive');
  await computed.getByRole('button', { name: 'Compute', exact: true }).click();
  await told('complete');
  const answer = await nextJson(page, /\/range\/slices\?/, () => row.getByRole('button', { name: 'Histogram' }).click());
  const { durations } = answer.slices.find((slice) => slice.name === name);

  const begins = await ask('select time, wakee_tid as key from wakeups order by time');
  const ends = await ask('select time, next_tid as key from switches order by time');
  const naive = joined(begins, ends);
  assert.ok(naive.length > 10, `${naive.length} spans`);
  assert.equal(durations.count, naive.length);
  assert.deepEqual(durations.buckets, powers(naive), 'the histogram is that of a join by hand');
  assert.equal(durations.longest, Math.max(...naive));

  const panel = panelOf(page);
  const histogram = panel.locator('.range-list .histogram');
  await histogram.waitFor();
  assert.equal(query(page).get('panel'), 'slices');
  assert.match(query(page).get('spans'), /: begin = wakeups on \(wakee_tid\), end = switches on \(next_tid\), exclusive$/);
  await until('a bar for each power of two', async () => await histogram.getByRole('row').count() >= durations.buckets.length);
  const shared = page.url();
  await giveLink(page, { shared, row, told, histogram, link });
}

/** A link that shows a span opens it although it was removed meanwhile. */
async function giveLink(page, { shared, row, told, histogram, link }) {
  await page.goto(`${link}?v=3&tab=info`);
  await row.getByRole('button', { name: 'Remove' }).click();
  await told('removed');
  await page.goto(shared);
  const notice = page.locator('#cap-spans .notice');
  await notice.getByText(/^This link shows the span/).waitFor();
  await notice.getByRole('button', { name: 'Compute it' }).click();
  await histogram.waitFor();
  await until('no notice', async () => await notice.count() === 0);
  await openTab(page, 'Timeline');
  await page.locator(TIMELINE).focus();
  await page.keyboard.press('Escape');
}
