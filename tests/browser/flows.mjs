// What a person does, step by step, in the words of the page. Each function leaves the page in the state it checked.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { nextJson } from './lib.mjs';
import { readRange } from './range_flows.mjs';

const query = (page) => new URL(page.url()).searchParams;

/** The number of rows that a table says it has, without its header. */
export async function rowCount(page) {
  return Number(await page.getByRole('grid', { name: 'Events' }).getAttribute('aria-rowcount')) - 1;
}

/** The texts of the rows in sight, cell by cell. */
export async function rowsInSight(page) {
  return page.getByRole('grid', { name: 'Events' }).evaluate((grid) => [...grid.querySelectorAll('.vt-row')]
    .filter((row) => row.checkVisibility()).map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent)));
}

/** Opens the form from the start page and finds a tracepoint by typing a part of its name. */
export async function chooseTracepoint(page, { typed, name }) {
  await page.getByRole('link', { name: 'Trace events' }).click();
  await page.waitForURL(/\/new/);
  const field = page.getByRole('combobox', { name: 'Tracepoint', exact: true });
  await field.pressSequentially(typed);
  await page.getByRole('option').filter({ hasText: name }).first().waitFor();
  await page.getByRole('option', { name, exact: true }).click();
  await page.getByRole('region', { name }).getByText(/^Records/).waitFor();
}

/** Ticks exactly `fields` of a chosen tracepoint. */
export async function tickFields(page, { name, fields }) {
  const probe = page.getByRole('region', { name });
  await probe.getByRole('button', { name: 'None' }).click();
  for (const field of fields) await probe.getByRole('checkbox', { name: new RegExp(`^${field}\\b`) }).check();
  await probe.getByText(`Records ${fields.length} of`).waitFor();
}

/** Adds a condition with the rows editor and waits for the server to have read it. */
export async function addCondition(page, { name, field, value, reads }) {
  const probe = page.getByRole('region', { name });
  await probe.getByRole('button', { name: /^Add a condition/ }).click();
  await probe.getByLabel('Field of condition 1').selectOption(field);
  await probe.getByLabel('Value of condition 1').fill(value);
  await probe.getByText(reads).waitFor();
}

/** Writes a condition as text; the server reads it. */
export async function writeCondition(page, { name, text }) {
  const probe = page.getByRole('region', { name });
  await probe.getByRole('button', { name: 'Text', exact: true }).click();
  const wrong = await nextJson(page, /\/api\/predicate\?/, () => probe.getByLabel('Condition as text').fill(`${text} &&`));
  assert.equal(wrong.ok, false);
  await probe.getByText(wrong.message).waitFor();
  const right = await nextJson(page, /\/api\/predicate\?/, () => probe.getByLabel('Condition as text').fill(text));
  assert.deepEqual(right, { ok: true, normal: text });
}

export async function chooseCommand(page, { command, user }) {
  await page.getByRole('radio', { name: 'A command' }).check();
  await page.getByLabel('Command with arguments').fill(command);
  if (user) {
    await page.getByRole('combobox', { name: 'Run as' }).pressSequentially(user);
    await page.getByRole('option', { name: user, exact: true }).click();
  }
}

/** Fills the form for system calls of the whole system: a set found by typing, and which results. */
export async function chooseCalls(page, { typed, set, results }) {
  await page.getByRole('tab', { name: 'System calls', selected: true }).waitFor();
  await page.getByRole('combobox', { name: 'Calls' }).pressSequentially(typed);
  await page.getByRole('option').filter({ hasText: set }).first().click();
  await page.getByRole('combobox', { name: 'Results' }).selectOption({ label: results });
  await page.getByRole('radio', { name: 'Whole system' }).check();
}

/** Run again opens the same form with the same choices. */
export async function runCallsAgain(page, { calls, results }) {
  await page.getByRole('button', { name: /^Run again/ }).or(page.getByRole('link', { name: /^Run again/ })).click();
  await page.getByRole('tab', { name: 'System calls', selected: true }).waitFor();
  await until('the calls', async () => await page.getByRole('combobox', { name: 'Calls' }).inputValue() === calls);
  assert.equal(await page.getByRole('combobox', { name: 'Results' }).inputValue(), results);
}

/** Asks for the memory and the branches of samples: a box, and words found by typing. */
export async function chooseRecords(page, { typed, word, then }) {
  await page.getByRole('tab', { name: 'Profile', selected: true }).waitFor();
  await page.getByRole('checkbox', { name: 'the memory access of each sample' }).check();
  const branches = page.getByRole('combobox', { name: 'Branches' });
  await branches.pressSequentially(typed);
  await page.getByRole('option').filter({ hasText: word }).first().click();
  await branches.pressSequentially(then);
  await branches.press('Escape');
}

/** Both are rows: accesses beside the stacks, branches in a stream of their own. */
export async function readRecords(page, { stream }) {
  await openTab(page, 'Events');
  await until('accesses', async () => (await rowsInSight(page)).some((row) => row.includes('L1 or L2 hit') && row.includes('[heap]')));
  await page.getByRole('group', { name: 'Stream' }).getByRole('button', { name: stream }).click();
  await until('branches', async () => (await rowsInSight(page)).some((row) => row.includes('ind_call')));
  assert.equal(query(page).get('stream'), '1');
}

/** Makes a capture long enough to be stopped by hand, on a busy machine too. */
export async function runsUntilStopped(page) {
  await page.getByLabel('After', { exact: true }).fill('300');
}

/** Presses Start; gives the capture's id when its page is there. */
export async function startCapture(page) {
  await page.getByRole('button', { name: /^Start capture/ }).click();
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  return /captures\/([0-9a-f]{16})/.exec(page.url())[1];
}

/** Rows arrive while it runs; its cost is in sight; Stop ends it. */
export async function watchAndStop(page, least = 20) {
  await until('live rows', async () => await rowCount(page) >= least);
  await followsInHigherWindow(page);
  await page.locator('#cap-live').getByText('per hit').first().waitFor();
  await page.getByRole('button', { name: /^Stop/ }).click();
  await ended(page);
}

/** A window that becomes higher, and with it the table, is no scrolling: rows go on to be followed. */
async function followsInHigherWindow(page) {
  const grid = page.getByRole('grid', { name: 'Events' });
  const tall = () => grid.evaluate((table) => table.clientHeight);
  const { width, height } = page.viewportSize();
  const before = await tall();
  await page.setViewportSize({ width, height: height + 150 });
  await until('the higher table', async () => await tall() > before + 100);
  const rows = await rowCount(page);
  await until('further rows', async () => await rowCount(page) > rows);
  await page.setViewportSize({ width, height });
  assert.equal(await page.getByRole('button', { name: /^Follow/ }).count(), 0, 'it follows');
}

export async function ended(page) {
  await page.getByRole('button', { name: /^Run again/ }).or(page.getByRole('link', { name: /^Run again/ })).waitFor();
}

export async function openTab(page, name) {
  await page.getByRole('tab', { name, exact: true }).click();
  await page.getByRole('tabpanel', { name, exact: true }).waitFor();
}

/** The Events tab over all rows: sorts by a column, filters, and the address holds both. */
export async function sortAndFilter(page, { column, filter, matches }) {
  await openTab(page, 'Events');
  const total = await until('stored rows', () => rowCount(page));
  const sorted = await nextJson(page, /\/rows\?.*sort=/, () => page.getByRole('grid', { name: 'Events' }).getByRole('button', { name: column, exact: true }).click());
  await until('the order in the address', () => query(page).get('sort') === column);
  const at = sorted.columns.findIndex((one) => one.name === column);
  const values = sorted.rows.map((row) => row[at]);
  const ascending = [...values].sort((a, b) => (typeof a === 'number' ? a - b : String(a) < String(b) ? -1 : 1));
  assert.deepEqual(values, ascending);
  const box = page.getByLabel(/^Filter rows/);
  await nextJson(page, /\/rows\?.*filter=/, async () => { await box.fill(filter); await box.press('Enter'); });
  await until('fewer rows', async () => await rowCount(page) > 0 && await rowCount(page) < total);
  for (const row of await until('rows in sight', async () => {
    const rows = await rowsInSight(page);
    return rows.length > 0 && rows.every((cells) => cells.length > 0) && rows;
  })) assert.ok(row.some((cell) => matches.test(cell)), `${row}`);
  await until('the filter in the address', () => query(page).get('filter') === filter);
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  await until('all rows again', async () => await rowCount(page) === total);
  return total;
}

/** How many different colours a canvas shows: a blank one shows one. */
export async function colours(page, selector) {
  return page.locator(selector).evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

export const TIMELINE = '#panel-timeline canvas';

/** The Timeline tab: keys zoom and pan, a drag selects, the address holds it all. */
export async function walkTimeline(page) {
  await openTab(page, 'Timeline');
  // What has states shows them first.
  await page.getByRole('button', { name: 'CPUs', exact: true }).click();
  await until('tracks of CPUs', () => query(page).get('group') === 'cpu');
  const canvas = page.locator(TIMELINE);
  await until('a drawn timeline', async () => await colours(page, TIMELINE) > 4);
  await canvas.focus();
  const seen = () => [Number(query(page).get('from')), Number(query(page).get('to'))];
  for (let press = 0; press < 4; press += 1) await page.keyboard.press('w');
  await until('the zoomed range in the address', () => query(page).has('from'));
  const zoomed = await until('a settled address', settledValue(seen));
  await page.keyboard.press('d');
  const panned = await until('a panned range', () => (seen()[0] > zoomed[0] ? seen() : null));
  assert.ok(Math.abs((panned[1] - panned[0]) - (zoomed[1] - zoomed[0])) <= 2, 'panning keeps the span');
  await page.keyboard.press('a');
  await until('panned back', () => seen()[0] < panned[0]);
  await page.keyboard.press('s');
  await until('zoomed out', () => !query(page).has('from') || seen()[1] - seen()[0] > zoomed[1] - zoomed[0]);
  await page.keyboard.press('0');
  await until('the whole capture', () => !query(page).has('from'));
  const box = await canvas.boundingBox();
  await page.keyboard.down('Control');
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60);
  await page.mouse.wheel(0, -300);
  await page.keyboard.up('Control');
  await until('Ctrl and the wheel zoom', () => query(page).has('from'));
  await page.keyboard.press('0');
  await until('the whole capture', () => !query(page).has('from'));
  await page.getByRole('button', { name: 'Threads' }).click();
  await until('tracks of threads', () => query(page).get('group') === 'thread');
  await until('a drawn timeline of threads', async () => await colours(page, TIMELINE) > 4);
}

/**
 * The tree of tracks: what is picked, its neighbours, a range with sums, tracks that are found, and a link to all of it.
 * `takesTime`: the capture has system calls beside states.
 */
export async function walkStates(page, takesTime = false) {
  await nextJsonless(page, /\/tracks\/window\?/, () => openTab(page, 'Timeline'));
  const canvas = page.locator(TIMELINE);
  await until('drawn states', async () => await colours(page, TIMELINE) > 6);
  await page.locator('#panel-timeline .legend-entry').filter({ hasText: 'running' }).waitFor();
  const readout = page.locator('#panel-timeline .readout');
  await canvas.focus();
  // Down to the first row with something on it, and pick what is there.
  for (let press = 0; press < 3; press += 1) await page.keyboard.press('ArrowDown');
  await until('words of a track', async () => /CPU \d/.test(await readout.textContent()));
  await page.keyboard.press('Enter');
  const panel = page.getByRole('region', { name: 'What is picked' });
  await panel.getByRole('heading').waitFor();
  await until('what is picked in the address', () => query(page).has('picked'));
  const first = query(page).get('picked');
  await page.keyboard.press('.');
  await until('the next one', () => query(page).get('picked') !== first);
  await page.keyboard.press(',');
  await until('the one before', () => query(page).get('picked') === first);
  await page.keyboard.press('f');
  await until('a window of what is picked', () => query(page).has('from'));
  await panel.getByText('cpu', { exact: true }).waitFor();
  // The link has all of it.
  const heading = await panel.getByRole('heading').textContent();
  await page.reload();
  await until('the same is picked', async () => await panel.getByRole('heading').textContent() === heading);
  await page.keyboard.press('0');
  await canvas.focus();
  await page.keyboard.press('Escape');
  await until('nothing is picked', () => !query(page).has('picked'));
  await selectRange(page, 0.3, 0.6);
  await readRange(page, panel, takesTime);
  const tracks = page.locator('#panel-timeline .panel-bar .quiet').first();
  const all = await tracks.textContent();
  await page.getByRole('searchbox', { name: /Find tracks/ }).fill('CPU 1');
  await until('fewer tracks', async () => await tracks.textContent() !== all && /track/.test(await tracks.textContent()));
  assert.equal(query(page).get('name'), 'CPU 1');
  await page.getByRole('searchbox', { name: /Find tracks/ }).fill('');
  await until('all tracks', async () => await tracks.textContent() === all);
}

/** What a canvas shows, pixel by pixel, as a short text. */
async function pixelsOf(page, selector) {
  return page.locator(selector).evaluate(async (canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return [...new Uint8Array(await crypto.subtle.digest('SHA-256', data))].slice(0, 8).join('.');
  });
}

/**
 * How the tree is arranged, and how its time is divided: rows are hidden, made higher and moved, long time without rows is
 * folded, two ranges stand side by side. A link shows the same pixels.
 */
export async function arrangeTree(page) {
  const canvas = page.locator(TIMELINE);
  await canvas.focus();
  await page.keyboard.press('0');
  await page.keyboard.press('Escape');
  await until('nothing is selected', () => !query(page).has('start'));
  for (let press = 0; press < 2; press += 1) await page.keyboard.press('ArrowDown');
  await until('words of a CPU', async () => /CPU 0/.test(await page.locator('#panel-timeline .readout').textContent()));
  await page.keyboard.press('Alt+ArrowDown');
  await until('another order', () => query(page).get('moved')?.endsWith('cpu:0'));
  await page.keyboard.press('+');
  await until('a higher row', () => query(page).get('tall') === 'cpu:0=high');
  await page.keyboard.press('Shift+F10');
  const menu = page.getByRole('menu', { name: 'CPU 0' });
  await menu.getByRole('menuitem', { name: /Hide/ }).waitFor();
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'hidden' });
  await canvas.focus();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('h');
  await until('a hidden row', () => query(page).get('hidden') === 'cpu:1');
  await page.getByRole('button', { name: 'Show 1 hidden track' }).waitFor();
  await page.keyboard.press('w');
  await until('a window in the address', () => query(page).has('from'));
  await page.keyboard.press('Escape');
  await page.mouse.move(2, 2);
  const read = async () => [page.url(), await pixelsOf(page, TIMELINE)];
  // What was drawn while it was zoomed can be finer than what a link asks for: two that open the link see the same.
  const [url] = await until('a picture that stays', settledValue(read));
  await page.goto(url);
  await until('drawn tracks', async () => await colours(page, TIMELINE) > 6);
  // On a busy machine a picture can stay for a while before it is whole: so often as that is found, it is opened once more.
  let [, pixels] = await until('the picture of the link', settledValue(read));
  await until('the same pixels', async () => {
    const before = pixels;
    await page.reload();
    await until('drawn tracks', async () => await colours(page, TIMELINE) > 6);
    [, pixels] = await until('the picture of the link', settledValue(read));
    return before === pixels;
  });
  await page.getByRole('button', { name: 'Show 1 hidden track' }).click();
  await until('no hidden row', () => !query(page).has('hidden'));
  await divideTime(page);
}

async function divideTime(page) {
  const told = page.locator('#panel-timeline .timeline-told .quiet').last();
  const fold = page.getByRole('button', { name: 'Fold empty time' });
  await page.keyboard.press('0');
  await until('all of the capture', () => !query(page).has('from'));
  await fold.click();
  await until('what is folded', async () => /without rows/.test(await told.textContent()));
  assert.equal(query(page).get('fold'), '1');
  await fold.click();
  await until('nothing folded', () => !query(page).has('fold'));
  const [first] = await selectRange(page, 0.1, 0.2);
  await page.keyboard.press('b');
  await until('the first range', async () => /select the second/.test(await told.textContent()));
  const [second] = await selectRange(page, 0.5, 0.6);
  await page.keyboard.press('b');
  await until('two ranges', () => Number(query(page).get('beside')) === second - first);
  await until('the window of the first', () => query(page).has('from'));
  assert.match(await told.textContent(), /aligned at their starts/);
  await page.getByRole('button', { name: 'One range alone' }).click();
  await until('one range', () => !query(page).has('beside'));
  await page.keyboard.press('0');
}

/** For `until`: what `read` gives once it gives the same twice in a row. */
export function settledValue(read) {
  let before = null;
  return async () => {
    const now = await read();
    const text = JSON.stringify(now);
    const same = text === before;
    before = text;
    return same ? now : null;
  };
}

async function nextJsonless(page, pattern, cause) {
  await Promise.all([page.waitForResponse((r) => pattern.test(r.url()) && r.ok()), cause()]);
}

/** Drags a range from `from` to `to`, shares of the timeline's width. */
export async function selectRange(page, from, to) {
  const box = await page.locator(TIMELINE).boundingBox();
  const labels = 190;
  const x = (share) => box.x + labels + (box.width - labels) * share;
  await page.mouse.move(x(from), box.y + 60);
  await page.mouse.down();
  await page.mouse.move(x((from + to) / 2), box.y + 60, { steps: 4 });
  await page.mouse.move(x(to), box.y + 60, { steps: 4 });
  await page.mouse.up();
  await until('the selected range in the address', () => query(page).has('start') && query(page).has('end'));
  return [Number(query(page).get('start')), Number(query(page).get('end'))];
}

export const frames = (page) => page.locator('svg.flame g[data-i]');

/** The Flame graph tab: names, zoom by click, reset by key, search with an exact count. */
export async function walkFlame(page, { expects, search }) {
  // A profile opens with it.
  const isOpen = await page.getByRole('tab', { name: 'Flame graph', selected: true }).count() > 0;
  const answer = await nextJson(page, /\/flame\?/, () => (isOpen ? page.reload() : openTab(page, 'Flame graph')));
  assert.ok(answer.total > 0);
  for (const name of expects) assert.ok(answer.names.some((one) => one.includes(name)), `${name} is in ${answer.names}`);
  await until('drawn frames', async () => await frames(page).count() > 2);
  const texts = await page.locator('svg.flame text').allTextContents();
  assert.ok(texts.some((text) => text.length > 2), 'frames have names');
  const inner = answer.nodes.depth.findIndex((depth, i) => depth === 2 && answer.nodes.value[i] * 20 > answer.total);
  await frames(page).nth(inner).click();
  await until('the zoom in the address', () => query(page).get('focus') === answer.nodes.id[inner]);
  await page.getByRole('navigation', { name: 'Zoomed path' }).getByRole('button').first().waitFor();
  await page.locator('svg.flame').focus();
  await page.keyboard.press('Escape');
  await until('no zoom', () => !query(page).has('focus'));
  const box = page.getByRole('searchbox', { name: 'Find in names' });
  const found = await nextJson(page, /\/flame\?.*search=/, () => box.fill(search));
  assert.ok(found.matched_samples > 0 && found.matched_samples <= found.total);
  await page.locator('svg.flame .is-match').first().waitFor();
  await nextJsonless(page, /\/flame\?/, () => box.fill(''));
  return answer;
}

/** The functions of the same samples: ordered by what they took themselves, then with what they called; one leads back. */
export async function listFunctions(page) {
  const own = await nextJson(page, /\/flame\/functions\?/, () => page.getByRole('button', { name: 'Functions', exact: true }).click());
  assert.ok(own.functions.length > 1 && own.functions[0].own >= own.functions[1].own);
  const table = page.locator('.flame-functions table');
  await until('a row for each', async () => await table.locator('tbody tr').count() === own.functions.length);
  const total = await nextJson(page, /\/flame\/functions\?.*sort=total/, () => table.getByRole('button', { name: 'Total' }).click());
  assert.equal(Math.max(...total.functions.map((one) => one.total)), total.functions[0].total);
  await until('the table in the address', () => query(page).get('flame') === 'functions' && query(page).get('top') === 'total');
  const { name } = total.functions[0];
  const found = await nextJson(page, /\/flame\?.*search=/, () => table.getByRole('button', { name: `Find ${name} in the graph`, exact: true }).first().click());
  assert.ok(found.matched_samples > 0, `${name} is in the graph`);
  await nextJsonless(page, /\/flame\?/, () => page.getByRole('searchbox', { name: 'Find in names' }).fill(''));
}

/** The instruction that is current: its place within the function. */
const currentCode = (page) => page.locator('.flame-code tr.is-current').evaluateAll(([row]) => row?.cells[3].textContent ?? null);

/**
 * The instructions of a function: opened by its name in the table of functions, walked with the keyboard, opened again by
 * the address. `jumps`: one of them is a jump within the function, which Enter follows.
 */
export async function walkInstructions(page, { name, jumps }) {
  if (query(page).get('flame') !== 'functions') await page.getByRole('button', { name: 'Functions', exact: true }).click();
  const answer = await nextJson(page, /\/flame\/annotate\?/, () => page.locator('.flame-functions .call-name').getByText(name, { exact: true }).click());
  const { rows, hottest } = answer.shown;
  const place = (i) => `+0x${rows[i].at.toString(16)}`;
  assert.ok(hottest.length > 1 && rows.some(({ text }) => text), `${name} has samples at some instructions: ${JSON.stringify(answer.shown)}`);
  await until('the function in the address', () => query(page).get('code') === name);
  const at = (i, what) => until(what, async () => await currentCode(page) === place(i));
  await at(hottest[0], 'the hottest instruction');
  await page.keyboard.press('n');
  await at(hottest[1], 'the next hottest');
  await page.keyboard.press('p');
  await at(hottest[0], 'the hottest again');
  await page.keyboard.press('Home');
  await at(0, 'the first instruction');
  await page.keyboard.press('ArrowDown');
  await at(1, 'the one below it');
  await page.keyboard.press('ArrowUp');
  await at(0, 'the first again');
  if (jumps) await followJump(page, rows, at);
  const said = await page.locator('.flame-code tbody tr').count();
  const again = await nextJson(page, /\/flame\/annotate\?/, () => page.reload());
  assert.deepEqual(again, answer);
  await until('the same instructions', async () => await page.locator('.flame-code tbody tr').count() === said);
  await at(hottest[0], 'the hottest instruction of the link');
  await page.keyboard.press('Escape');
  await until('the functions again', () => !query(page).has('code'));
  await page.locator('.flame-functions .call-name').getByText(name, { exact: true }).waitFor();
}

async function followJump(page, rows, at) {
  const from = rows.findIndex(({ target }) => target !== null && rows.some((row) => row.at === target));
  assert.ok(from >= 0, 'there is a jump');
  for (let press = 0; press < from; press += 1) await page.keyboard.press('ArrowDown');
  await at(from, 'the jump');
  await page.keyboard.press('Enter');
  await at(rows.findIndex((row) => row.at === rows[from].target), 'where it goes');
}

/** Fills the form for system calls from a line of sysdig; one that cannot be filtered is refused beside it. */
export async function bringSysdigLine(page, origin) {
  await page.goto(`${origin}/new?method=syscalls`);
  const line = page.getByRole('textbox', { name: 'sysdig filter' });
  await line.fill('fd.prot=80');
  const [refused] = await Promise.all([page.waitForResponse(/\/api\/syscalls\/filter/), line.press('Enter')]);
  assert.equal(refused.status(), 400);
  await page.getByText('is no field that is known here').waitFor();
  await line.fill('proc.ppid=4711 and (fd.port=80 or fd.name startswith /etc)');
  await line.press('Enter');
  await page.getByText('what the kernel cannot decide').waitFor();
  assert.equal(await page.getByLabel('Filter of rows').inputValue(), 'proc.ppid=4711 and (fd.port=80 or fd.name startswith /etc)');
  assert.equal(await page.getByLabel('Descends from').inputValue(), '4711');
  await line.fill('proc.name=nginx and evt.type in (open, openat) and evt.failed=true');
  await line.press('Enter');
  await page.getByText('The form is filled from the filter.').waitFor();
  assert.equal(await page.getByRole('combobox', { name: 'Calls' }).inputValue(), 'open, openat');
  assert.equal(await page.getByLabel('Thread name').inputValue(), 'nginx');
  assert.ok(await page.getByRole('radio', { name: 'Threads by name' }).isChecked());
}

/** The Info tab: what was asked, where, what it cost, and books that balance. */
export async function readInfo(page, words) {
  await openTab(page, 'Info');
  const panel = page.locator('#panel-info');
  for (const word of words) await panel.getByText(word).first().waitFor();
}

/** Fills the form for ftrace's tree of calls of the whole system, with an event beside. */
export async function chooseGraph(page, { event }) {
  const tracer = page.getByRole('combobox', { name: 'Tracer' });
  await tracer.pressSequentially('function_g');
  await page.getByRole('option', { name: /^function_graph/ }).first().click();
  await page.getByRole('combobox', { name: 'Events', exact: true }).pressSequentially(event);
  await page.getByRole('option').filter({ hasText: event }).first().click();
  await page.getByRole('radio', { name: 'Whole system' }).check();
}

const callRows = (page) => page.getByRole('treegrid', { name: 'Calls' }).evaluate((grid) => [...grid.querySelectorAll('.vt-row')]
  .filter((row) => row.checkVisibility()).map((row) => ({ level: Number(row.getAttribute('aria-level')), name: row.querySelector('.call-name')?.textContent ?? '', current: row.classList.contains('is-current') })));
const currentCall = async (page) => (await callRows(page)).find((row) => row.current);

/** The tree of calls: unfolds with the keyboard, searches, and the address opens the same again. */
export async function walkCalls(page) {
  // Without the readouts of the recording, which keep their line until the page is opened again.
  await page.reload();
  await openTab(page, 'Calls');
  const grid = page.getByRole('treegrid', { name: 'Calls' });
  await until('calls', async () => (await callRows(page)).some((row) => row.name.startsWith('do_syscall_64()')));
  await grid.focus();
  await page.keyboard.press('Home');
  // What began before the recording has no beginning.
  await page.getByText('no entry recorded').first().waitFor();
  for (let press = 0; press < 40 && (await currentCall(page))?.name !== 'do_syscall_64() { … }'; press += 1) await page.keyboard.press('ArrowDown');
  for (const [level, name] of [[1, 'do_syscall_64() {'], [2, 'ksys_'], [3, 'vfs_']]) {
    await until(`${name} at level ${level}`, async () => { const now = await currentCall(page); return now?.level === level && now.name.startsWith(name.slice(0, 5)); });
    await page.keyboard.press('ArrowRight');
    await until('what is within it', async () => { const rows = await callRows(page); const at = rows.findIndex((row) => row.current); return rows[at + 1]?.level === level + 1 && rows[at + 1].name !== ''; });
    await page.keyboard.press('ArrowRight');
  }
  await until('the fourth level', async () => (await currentCall(page))?.level === 4);
  await until('the unfolded calls in the address', () => /^\d+\.\d+\.\d+$/.test(query(page).get('open') ?? ''));
  const before = { rows: await callRows(page), call: query(page).get('call') };
  await page.reload();
  await until('the same rows', async () => JSON.stringify(await callRows(page)) === JSON.stringify(before.rows));
  assert.equal(query(page).get('call'), before.call);
  await page.keyboard.press('/');
  const found = await nextJson(page, /\/calls\?.*search=/, async () => { await page.keyboard.type('schedule'); await page.keyboard.press('Enter'); });
  assert.ok(found.total > 0);
  await until('a call that was found', async () => (await currentCall(page))?.name === 'schedule()');
  await page.getByText(new RegExp(`^\\d+ of ${found.total.toLocaleString('en-US')}$`)).waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Only calls longer than').fill('50us');
  await nextJson(page, /\/calls\?.*longer=50000/, () => page.getByLabel('Only calls longer than').press('Enter'));
  await page.getByLabel('Only calls longer than').fill('');
  await page.getByLabel('Only calls longer than').press('Enter');
}

/** The ranking: sorted, by interrupt, and from the longest call to its place in the tree. */
export async function rankCalls(page) {
  const panel = page.getByRole('tabpanel', { name: 'Calls' });
  await panel.getByRole('button', { name: 'Functions', exact: true }).click();
  await panel.getByRole('button', { name: 'By interrupt' }).click();
  const ranked = await nextJson(page, /rank=longest/, () => panel.getByRole('columnheader', { name: 'Longest' }).getByRole('button').click());
  assert.match(ranked.rows[0].part, /\(irq \d+\)$/);
  await panel.getByRole('cell', { name: ranked.rows[0].part }).first().waitFor();
  await panel.getByRole('row').nth(1).getByRole('cell').nth(8).getByRole('button').click();
  await until('the longest call in the tree', async () => (await currentCall(page))?.name.startsWith(`${ranked.rows[0].function}()`));
  assert.equal(query(page).get('call'), String(ranked.rows[0].longest_id));
}

const CHART = '#panel-calls canvas';

/** The chart: keys zoom and walk, a drag selects, Escape clears, and the address opens the same again. */
export async function walkChart(page) {
  const panel = page.getByRole('tabpanel', { name: 'Calls' });
  await nextJson(page, /\/calls\/chart\?/, () => panel.getByRole('button', { name: 'Chart', exact: true }).click());
  const canvas = page.locator(CHART);
  await until('a drawn chart', async () => await colours(page, CHART) > 4);
  await canvas.focus();
  await page.keyboard.press('0');
  for (let press = 0; press < 6; press += 1) await page.keyboard.press('w');
  const seen = await until('a window in the address', () => query(page).get('to') && [Number(query(page).get('from')), Number(query(page).get('to'))]);
  assert.ok(seen[1] > seen[0]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
  await until('a call in the address', () => query(page).get('call'));
  await until('a call in the readout', async () => /\w+\(\) .*ns\)/.test(await panel.locator('.readout').textContent()));
  await nextJson(page, /\/calls\/chart\?.*lanes=cpu/, () => panel.getByRole('button', { name: 'CPUs', exact: true }).click());
  await panel.getByText(/2 CPUs/).waitFor();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 300, box.y + box.height - 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + box.height - 20, { steps: 4 });
  await page.mouse.up();
  await until('a range in the address', () => query(page).get('start'));
  const address = page.url();
  await page.reload();
  await until('the chart again', async () => await colours(page, CHART) > 4);
  assert.equal(page.url(), address);
  await canvas.focus();
  await page.keyboard.press('Escape');
  await until('no range', () => !query(page).get('start'));
}

/** Calls as a flame graph: time instead of samples. */
export async function flameOfCalls(page) {
  await openTab(page, 'Flame graph');
  const panel = page.getByRole('tabpanel', { name: 'Flame graph' });
  await until('time in calls', async () => /^[\d.]+ (µs|ms|s)( ·|$)/.test(await panel.locator('.flame-said').textContent()));
  await panel.getByRole('searchbox', { name: 'Find in names' }).fill('vfs_read');
  await until('time that was found', async () => /^[\d.]+ (µs|ms|s), [\d.]+ %$/.test(await panel.getByRole('status').first().textContent()));
}
