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
  const found = await nextJson(page, FACETS, () => find.fill('1'));
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

/** Columns are chosen, written otherwise, moved, made wider and kept at the left; a row is copied. */
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
  // By a column.
  const heading = (name) => grid(page).getByRole('columnheader', { name }).getByRole('button');
  const sorted = await nextJson(page, ROWS, () => heading('ret').click());
  assert.equal(query(page).get('sort'), 'ret');
  await grid(page).focus();
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
