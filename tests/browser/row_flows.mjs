// What a person does with the rows of a capture: values of columns, filters with suggestions.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { openTab } from './flows.mjs';
import { nextJson } from './lib.mjs';

const query = (page) => new URL(page.url()).searchParams;
const panel = (page) => page.getByRole('complementary', { name: 'Values of columns' });
const section = (page, name) => panel(page).getByRole('region', { name, exact: true });
const FACETS = /\/facets\?/;
const ROWS = /\/rows\?/;

/** Opens the table of rows without anything chosen. */
async function openRows(page) {
  await page.goto(`${page.url().split('?')[0]}?v=3&tab=events`);
  await until('rows', async () => await page.locator('#panel-events .vt-row:not([hidden])').count() > 5);
}

/** Shows the values of columns by the key, and gives the answer. */
async function openFacets(page) {
  return nextJson(page, FACETS, () => page.keyboard.press('f'));
}

/** Values are counted, taken into the filter and out of it, by pointer and keyboard; the text says the same, and the link too. */
export async function chooseValues(page) {
  await openRows(page);
  const answer = await openFacets(page);
  assert.equal(answer.looked_at, answer.total);
  const comm = answer.facets.find(({ column }) => column.name === 'comm');
  assert.ok(comm.values.length > 1, 'several names');
  // Bytes that are no text cannot be said.
  const [first, second] = comm.values.filter(({ literal }) => literal !== null);
  const value = (one) => section(page, 'comm').locator('.facet-value', { hasText: one.value }).first();
  const only = await nextJson(page, ROWS, () => value(first).click());
  assert.equal(only.matched, first.rows);
  assert.equal(query(page).get('filter'), `comm == ${first.literal}`);
  assert.equal(await page.locator('#filter').inputValue(), `comm == ${first.literal}`);
  const both = await nextJson(page, ROWS, () => value(second).click());
  assert.equal(both.matched, first.rows + second.rows);
  assert.equal(query(page).get('filter'), `comm in (${first.literal}, ${second.literal})`);
  await until('both pressed', async () => await section(page, 'comm').locator('.facet-value[aria-pressed="true"]').count() === 2);
  const without = await nextJson(page, ROWS, () => value(first).click({ modifiers: ['Shift'] }));
  assert.equal(without.matched, second.rows);
  assert.equal(query(page).get('filter'), `comm == ${second.literal} && comm != ${first.literal}`);
  // The text is edited, and the values follow.
  await page.locator('#filter').fill(`comm != ${first.literal}`);
  const rest = await nextJson(page, ROWS, () => page.keyboard.press('Enter'));
  assert.equal(rest.matched, answer.rows - first.rows);
  await until('one excluded', async () => await section(page, 'comm').locator('.is-never').count() === 1);
  assert.equal(await section(page, 'comm').locator('.facet-value[aria-pressed="true"]').count(), 0);
  // By keyboard: down from the head of the column, and out of the filter again.
  await section(page, 'comm').locator('.facet-head').focus();
  await page.keyboard.press('ArrowDown');
  const named = await page.evaluate(() => document.activeElement?.textContent ?? '');
  assert.ok(named.length > 0 && await page.evaluate(() => document.activeElement?.className.includes('facet-value')));
  const all = await nextJson(page, ROWS, () => section(page, 'comm').locator('.is-never .facet-not').click());
  assert.equal(all.matched, answer.rows);
  const again = await nextJson(page, FACETS, () => page.reload());
  assert.deepEqual(again.facets.map(({ column }) => column.name), answer.facets.map(({ column }) => column.name));
  await section(page, 'comm').locator('.facet-value').first().waitFor();
  await page.keyboard.press('f');
  await until('no values', async () => !query(page).has('facets') && !(await panel(page).isVisible()));
}

/** Numbers are drawn as bars, of which a drag takes a range; bounds are typed too; values are searched. */
export async function chooseRangeOfNumbers(page) {
  await openRows(page);
  const name = await numberColumn(page);
  await page.goto(`${page.url().split('?')[0]}?v=3&tab=events&facets=${encodeURIComponent(name)}`);
  await section(page, name).locator('.facet-bars').waitFor();
  const box = await section(page, name).locator('.facet-bars').boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + box.width * 0.1, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 4 });
  const dragged = await nextJson(page, ROWS, () => page.mouse.up());
  const [, low, high] = /between (-?\d+) and (-?\d+)$/.exec(query(page).get('filter') ?? '') ?? [];
  assert.ok(low !== undefined && BigInt(low) < BigInt(high), query(page).get('filter') ?? 'no filter');
  assert.ok(dragged.matched > 0 && dragged.matched <= dragged.total);
  const from = section(page, name).getByRole('textbox', { name: `${name}: from` });
  await until('the bound in its field', async () => await from.inputValue() === low);
  await from.fill(high);
  const narrow = await nextJson(page, ROWS, () => page.keyboard.press('Enter'));
  assert.ok(narrow.matched <= dragged.matched);
  assert.ok(query(page).get('filter')?.endsWith(`between ${high} and ${high}`));
  await nextJson(page, ROWS, () => section(page, name).getByRole('button', { name: 'Clear' }).click());
  assert.equal(query(page).get('filter'), null);
  const find = section(page, name).getByRole('searchbox');
  const found = await nextJson(page, /\/facets\?.*search=1/, () => find.fill('1'));
  assert.ok(found.facets[0].values.every(({ value }) => String(value).includes('1')));
  await nextJson(page, FACETS, () => page.keyboard.press('Escape'));
  await page.goto(`${page.url().split('?')[0]}?v=3&tab=events`);
}

/** A column with many numbers. */
async function numberColumn(page) {
  const id = /captures\/([0-9a-f]+)/.exec(page.url())?.[1];
  const answer = await page.evaluate(async (path) => (await fetch(path)).json(), `/api/captures/${id}/facets`);
  const found = answer.facets.find(({ column, distinct, bars }) => column.display === 'decimal' && distinct > 20 && bars.length > 5);
  assert.ok(found, 'a column with many numbers');
  return found.column.name;
}

/** Columns, operators and values are offered as the filter is typed; what it cannot mean is said below it. */
export async function completeFilter(page) {
  await openRows(page);
  await page.keyboard.press('e');
  const list = page.getByRole('listbox', { name: 'What can stand here' });
  const options = list.getByRole('option');
  await until('columns', async () => await options.filter({ hasText: 'comm' }).count() > 0);
  await page.keyboard.type('com');
  await until('fewer columns', async () => (await options.first().textContent())?.startsWith('comm') ?? false);
  await page.keyboard.press('Tab');
  await until('the column', async () => await page.locator('#filter').inputValue() === 'comm ');
  await until('operators', async () => await options.filter({ hasText: 'contains' }).count() > 0);
  await page.keyboard.type('in (');
  await until('values', async () => (await options.first().textContent())?.startsWith('"') ?? false);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await until('a value', async () => /^comm in \(".+"$/.test(await page.locator('#filter').inputValue()));
  await page.keyboard.type(')');
  await page.keyboard.press('Escape');
  assert.ok((await page.locator('#filter').inputValue()).endsWith(')'), 'Escape takes the suggestions first');
  const rows = await nextJson(page, ROWS, () => page.keyboard.press('Enter'));
  assert.ok(rows.matched > 0 && rows.matched < rows.total);
  const cases = [['comm matches "^[a-z]"', null], ['comm contains "zz zz"', null], ['comm matches "("', /no regular expression/], ['pid in (1', /after a value/]];
  for (const [text, problem] of cases) {
    await page.locator('#filter').fill(text);
    await page.keyboard.press('Enter');
    const said = page.locator('#filter-problem');
    if (problem) await until(`${text} is refused`, async () => problem.test(await said.textContent() ?? ''));
    else await until(`${text} is taken`, async () => !(await said.isVisible()) && query(page).get('filter') === text);
  }
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  await until('no filter', () => !query(page).has('filter'));
}

const grid = (page) => page.getByRole('grid', { name: 'Events' });
const headings = async (page) => (await grid(page).getByRole('columnheader').allTextContents()).map((text) => text.replace(/ [↑↓]\d?$/, ''));
const firstCells = async (page) => page.locator('#panel-events .vt-row:not([hidden])').first().locator('.vt-cell').allTextContents();

/** Columns are chosen, written otherwise, moved, made wider and kept at the left; rows are sorted by several; a row is copied. */
export async function arrangeColumns(page) {
  await openRows(page);
  const all = await headings(page);
  assert.ok(all.length >= 7, all.join());
  await page.keyboard.press('c');
  const dialog = page.getByRole('dialog', { name: 'Columns' });
  await dialog.getByRole('button', { name: 'None' }).click();
  for (const name of ['time', 'comm', 'ret']) await dialog.getByRole('checkbox', { name: `Show ${name}`, exact: true }).check();
  await dialog.getByRole('combobox', { name: 'How ret is written' }).selectOption('hex');
  await dialog.getByRole('combobox', { name: 'How time is written' }).selectOption('us');
  await dialog.getByRole('checkbox', { name: 'Keep comm at the left' }).check();
  await dialog.getByRole('button', { name: 'Show', exact: true }).click();
  await until('three columns', async () => (await headings(page)).join() === 'comm,time, µs,ret');
  assert.equal(query(page).get('columns'), 'time|fus,comm|p,ret|fhex');
  assert.match((await firstCells(page))[2], /^-?0x[0-9a-f]+$/);
  await page.reload();
  await until('the same columns', async () => (await headings(page)).join() === 'comm,time, µs,ret');
  // Wider by keys and by the pointer, and moved by keys.
  await grid(page).focus();
  await page.keyboard.press('ArrowRight');
  const width = async (at) => (await grid(page).getByRole('columnheader').nth(at).boundingBox())?.width ?? 0;
  const before = await width(1);
  await page.keyboard.press('Shift+ArrowRight');
  await until('a wider column', async () => await width(1) > before + 10);
  await page.keyboard.press('Control+Shift+ArrowRight');
  await until('columns changed places', async () => (await headings(page)).join() === 'comm,ret,time, µs');
  const edge = await grid(page).getByRole('columnheader').nth(1).locator('.vt-edge').boundingBox();
  const narrow = await width(1);
  await page.mouse.move(edge.x + 3, edge.y + 8);
  await page.mouse.down();
  await page.mouse.move(edge.x + 63, edge.y + 8, { steps: 3 });
  await page.mouse.up();
  await until('wider by the pointer', async () => Math.abs(await width(1) - narrow - 60) < 4);
  // By one column, then by another after it.
  const heading = (name) => grid(page).getByRole('columnheader', { name }).getByRole('button');
  await nextJson(page, /\/rows\?.*sort=comm/, () => heading('comm').click());
  const sorted = await nextJson(page, /\/rows\?.*then=ret/, () => heading('ret').click({ modifiers: ['Shift'] }));
  assert.deepEqual([query(page).get('sort'), query(page).get('then')], ['comm', 'ret']);
  const at = (name) => sorted.columns.findIndex((column) => column.name === name);
  const keys = sorted.rows.map((row) => [row[at('comm')], row[at('ret')]]);
  assert.ok(keys.every(([comm, ret], i) => i === 0 || comm !== keys[i - 1][0] || Number(ret) >= Number(keys[i - 1][1])), 'by both');
  await grid(page).focus();
  // From the column that was moved to the one before it.
  await page.keyboard.press('ArrowLeft');
  const turned = await nextJson(page, /\/rows\?.*then=-ret/, () => page.keyboard.press('Shift+S'));
  assert.ok(turned.rows.length > 0 && query(page).get('then') === '-ret');
  // A row in full is copied three ways.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  const copied = async (form) => {
    await page.getByRole('group', { name: 'Copy the row' }).getByRole('button', { name: form }).click();
    await page.getByText(`Copied the row as ${form}.`).first().waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  const json = JSON.parse(await copied('JSON'));
  assert.deepEqual(Object.keys(json), sorted.columns.map(({ name }) => name));
  assert.match(await copied('Markdown'), /^\| column \| value \|\n\| --- \| --- \|\n\| time \| /);
  assert.match(await copied('text'), /^time +\d/);
  await page.keyboard.press('Escape');
}

/** Rows are grouped by columns, as a table, bars and lines; a group leads to its rows; the query in SQL says the same. */
export async function groupRows(page) {
  await openRows(page);
  const PIVOT = /\/pivot\?/;
  const first = await nextJson(page, PIVOT, () => page.keyboard.press('b'));
  assert.equal(first.columns.map(({ name }) => name).join(), 'comm,rows');
  const total = first.lines.reduce((sum, { cells }) => sum + cells[1], 0);
  assert.equal(total, first.rows);
  await nextJson(page, PIVOT, () => page.getByRole('combobox', { name: 'Group by one more column' }).selectOption('cpu'));
  for (const value of ['sum(ret)', 'p99(ret)', 'first(id)', 'distinct(id)'])
    await nextJson(page, PIVOT, () => page.getByRole('combobox', { name: 'Tell one more value' }).selectOption({ label: value }));
  const groups = page.getByRole('grid', { name: 'Groups' });
  const sorted = await nextJson(page, PIVOT, () => groups.getByRole('columnheader', { name: 'sum(ret)' }).getByRole('button').click());
  assert.ok(sorted.lines.every(({ cells }, i) => i === 0 || cells[3] <= sorted.lines[i - 1].cells[3]), 'the greatest sum first');
  assert.deepEqual(sorted.columns.map(({ name }) => name), ['comm', 'cpu', 'rows', 'sum(ret)', 'p99(ret)', 'first(id)', 'distinct(id)']);
  const drawn = await nextJson(page, PIVOT, () => page.getByRole('button', { name: 'Over time' }).click());
  assert.ok(drawn.series.lines.length > 1 && drawn.series.lines[0].some((value) => value > 0));
  await page.locator('.pivot .lines-canvas').waitFor();
  // The same values as a heat map: a cell leads to its rows, and back.
  const heat = await nextJson(page, PIVOT, () => page.getByRole('button', { name: 'Heat map' }).click());
  const values = heat.series.lines[0];
  const column = values.findIndex((value) => value > 0);
  const canvas = page.locator('.pivot-heat canvas');
  await page.locator('.pivot-heat .heat-legend li').nth(1).waitFor();
  await canvas.focus();
  const walk = async () => {
    await page.keyboard.press('ArrowUp');
    return (await page.locator('.pivot .readout').textContent()) ?? '';
  };
  const words = `${heat.lines[0].cells.slice(0, 2).join(', ')}, `;
  await until('the first group', async () => (await walk()).startsWith(words));
  for (let at = 0; at < column; at += 1) await page.keyboard.press('ArrowRight');
  await until('what is in it', async () => !/nothing/.test((await page.locator('.pivot .readout').textContent()) ?? ''));
  const link = page.url();
  const inside = await nextJson(page, ROWS, () => page.keyboard.press('Enter'));
  assert.equal(inside.matched, values[column], 'as many rows as the cell says');
  await nextJson(page, PIVOT, () => page.goto(link));
  await nextJson(page, PIVOT, () => page.getByRole('button', { name: 'Bars', exact: true }).click());
  await until('bars', async () => await page.locator('.pivot-bars li').count() === sorted.lines.length + 1);
  const again = await nextJson(page, PIVOT, () => page.reload());
  assert.deepEqual(again.lines.map(({ cells }) => cells), sorted.lines.map(({ cells }) => cells));
  // The same in SQL, with a filter.
  await page.locator('#filter').fill('ret between -2 and 2000 && comm not in ("nobody")');
  const filtered = await nextJson(page, PIVOT, () => page.keyboard.press('Enter'));
  await page.getByRole('button', { name: 'To SQL' }).click();
  await until('the tab', () => query(page).get('tab') === 'sql');
  const sql = query(page).get('sql');
  const id = /captures\/([0-9a-f]+)/.exec(page.url())?.[1];
  const answer = await page.request.post(`${new URL(page.url()).origin}/api/captures/${id}/query`, {
    data: { sql }, headers: { origin: new URL(page.url()).origin },
  });
  assert.equal(answer.status(), 200, `${sql}\n${await answer.text()}`);
  const asked = await answer.json();
  const key = (row) => JSON.stringify(row);
  assert.deepEqual(asked.columns.map(({ name }) => name), filtered.columns.map(({ name }) => name));
  // Names are made visible in both.
  assert.deepEqual(asked.rows.map(key).toSorted(), filtered.lines.map(({ cells }) => key(cells)).toSorted());
  // A group leads to its rows.
  await openTab(page, 'Events');
  await nextJson(page, PIVOT, () => page.getByRole('button', { name: 'Table', exact: true }).click());
  const line = filtered.lines.findIndex(({ condition }) => condition !== null);
  await groups.focus();
  await page.keyboard.press('Home');
  for (let i = 0; i < line; i += 1) await page.keyboard.press('ArrowDown');
  const rows = await nextJson(page, ROWS, () => page.keyboard.press('Enter'));
  assert.equal(rows.matched, filtered.lines[line].cells[2]);
  assert.ok(!query(page).has('groupby'));
}

/** Rows are told of their neighbours of the same key, and sorted by the time between. */
export async function pairRows(page) {
  await openRows(page);
  await page.getByRole('button', { name: 'Pairs' }).click();
  const dialog = page.getByRole('dialog', { name: 'Previous and next row' });
  const values = dialog.getByRole('group', { name: /Also tell/ });
  await values.getByRole('checkbox', { name: 'id', exact: true }).check();
  const answer = await nextJson(page, ROWS, () => dialog.getByRole('button', { name: 'Show', exact: true }).click());
  assert.deepEqual(answer.columns.slice(-4).map(({ name }) => name), ['since_previous', 'until_next', 'previous id', 'next id']);
  assert.deepEqual([query(page).get('pairs'), query(page).get('neighbours')], ['tid', 'id']);
  const [tid, at] = ['tid', 'since_previous'].map((name) => answer.columns.findIndex((column) => column.name === name));
  answer.rows.forEach((row, i) => {
    const before = answer.rows.slice(0, i).findLast((one) => one[tid] === row[tid]);
    assert.equal(row[at], before ? row[0] - before[0] : null);
    if (before) assert.equal(row[at + 2], before[answer.columns.findIndex(({ name }) => name === 'id')]);
  });
  const heading = grid(page).getByRole('columnheader', { name: 'since_previous' }).getByRole('button');
  await nextJson(page, ROWS, () => heading.click());
  const longest = await nextJson(page, ROWS, () => heading.click());
  const intervals = longest.rows.map((row) => row[at] ?? -1);
  assert.ok(intervals[0] > 0 && intervals.every((value, i) => i === 0 || value <= intervals[i - 1]), 'the longest first');
}

/** What is seen is saved: its columns, order and formats; and the scroll bar tells the time at its place. */
export async function saveSeenRows(page) {
  const { readFileSync } = await import('node:fs');
  await page.goto(`${page.url().split('?')[0]}?v=3&tab=events&columns=ret%7Cfhex,comm,time&sort=ret&order=desc&filter=ret+%3E%3D+0`);
  await until('rows', async () => await page.locator('#panel-events .vt-row:not([hidden])').count() > 5);
  const id = /captures\/([0-9a-f]+)/.exec(page.url())?.[1];
  const path = `/api/captures/${id}/rows?stream=0&sort=ret&order=desc&filter=ret+%3E%3D+0&limit=10000`;
  const rows = await page.evaluate(async (where) => (await fetch(where)).json(), path);
  const at = Object.fromEntries(rows.columns.map(({ name }, i) => [name, i]));
  for (const [format, read] of [
    ['CSV', (text) => text.trim().split('\r\n').slice(1).map((line) => Number(line.split(',')[0]))],
    ['NDJSON', (text) => text.trim().split('\n').map((line) => Number(JSON.parse(line).ret))],
    ['Markdown', (text) => text.trim().split('\n').slice(2).map((line) => Number(line.split('|')[1].trim()))],
  ]) {
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Save rows' });
    const [download] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('button', { name: format }).click()]);
    const text = readFileSync(await download.path(), 'utf8');
    assert.deepEqual(read(text), rows.rows.map((row) => row[at.ret]), `${format}: all rows in their order`);
    await dialog.waitFor({ state: 'detached' });
  }
  await openRows(page);
  await grid(page).hover();
  await page.mouse.wheel(0, 4000);
  const when = page.locator('.events-when');
  await when.waitFor();
  await until('a time', async () => /\d+\.\d{9}/.test(await when.textContent() ?? ''));
  const said = Number(/(\d+\.\d{9})/.exec(await when.textContent() ?? '')?.[1]);
  assert.ok(said > 0, 'later than the first row');
}
