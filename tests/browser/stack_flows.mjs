// What a person does with stacks beside looking at the graph: transforms, the call tree, callers and callees, comparisons, a file.

import { strict as assert } from 'node:assert';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { until } from '../lib/server.mjs';
import { frames, openTab } from './flows.mjs';
import { nextJson } from './lib.mjs';

const query = (page) => new URL(page.url()).searchParams;
const changes = (page) => page.getByRole('navigation', { name: 'What was done with stacks' });
const svg = (page) => page.locator('#panel-flame .flame-scroll > svg.flame').first();
const FLAME = /\/flame\?/;

/** Opens the graph without anything done with it, and gives its answer. */
async function openGraph(page) {
  await page.goto(`${page.url().split('?')[0]}?v=3&tab=events`);
  return nextJson(page, FLAME, () => openTab(page, 'Flame graph'));
}

/** Walks by keyboard to a function with callers and callees: the first frame of the second level or above it. */
async function walkToFunction(page) {
  await svg(page).focus();
  for (const key of ['Home', 'ArrowUp', 'ArrowUp']) await page.keyboard.press(key);
  return (await page.locator('#panel-flame .flame-lines .readout b').textContent()) ?? '';
}

/** Every letter does what it says to the numbers; steps are taken back by clicks and keys; the link opens the same. */
export async function transformStacks(page) {
  const plain = await openGraph(page);
  await until('drawn frames', async () => await frames(page).count() > 2);
  const name = await walkToFunction(page);
  assert.ok(plain.names.includes(name), name);
  const press = (key) => nextJson(page, FLAME, () => page.keyboard.press(key));
  const only = await press('f');
  assert.equal(query(page).get('transforms'), `f.${name.replaceAll('%', '%25').replaceAll('~', '%7E')}`);
  assert.ok(only.total <= plain.total && only.recorded === plain.total);
  assert.equal(only.transforms[0].samples, only.total);
  await changes(page).getByRole('button', { name: `Only ${name}`, exact: true }).waitFor();
  const undone = await press('z');
  assert.deepEqual([undone.total, undone.nodes.id.length], [plain.total, plain.nodes.id.length]);
  await walkToFunction(page);
  const dropped = await press('d');
  assert.ok(dropped.total < plain.total || dropped.total === 0);
  assert.equal(dropped.total + only.total, plain.total, 'samples with a function and without it are all');
  await press('z');
  await walkToFunction(page);
  const merged = await press('m');
  assert.equal(merged.total, plain.total);
  assert.ok(!merged.names.includes(name), 'the function is left out');
  const hidden = await press('h');
  assert.equal(hidden.transforms.length, 2);
  assert.ok(!hidden.nodes.kind.includes(2), 'no frame of the kernel');
  const again = await nextJson(page, FLAME, () => page.reload());
  assert.deepEqual(again, hidden);
  const first = await nextJson(page, FLAME, () => changes(page).getByRole('button', { name: `Without ${name}`, exact: true }).click());
  assert.equal(first.transforms.length, 1);
  await nextJson(page, FLAME, () => changes(page).getByRole('button', { name: /^All of/ }).click());
  assert.equal(query(page).get('transforms'), null);
}

/** The menu of a frame has the same; a pattern gives names another text; a wrong one is told in words. */
export async function renameFrames(page) {
  await openGraph(page);
  await until('drawn frames', async () => await frames(page).count() > 2);
  const name = await walkToFunction(page);
  await page.keyboard.press('Shift+F10');
  const menu = page.getByRole('menu', { name, exact: true });
  await menu.waitFor();
  await menu.getByRole('menuitem', { name: 'Give it another name…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Show names as others' });
  await dialog.getByLabel('are shown as').fill('renamed');
  const renamed = await nextJson(page, FLAME, () => page.keyboard.press('Enter'));
  assert.ok(renamed.names.includes('renamed') && !renamed.names.includes(name));
  await nextJson(page, FLAME, () => changes(page).getByRole('button', { name: /^All of/ }).click());
}

/** Colours tell kinds, modules and packages, with a legend; the root goes on top and below. */
export async function colourFrames(page) {
  await openGraph(page);
  const legend = page.locator('#panel-flame .flame-foot .flame-legend');
  await until('a legend', async () => await legend.locator('li').count() > 0);
  const kinds = await legend.textContent();
  await page.getByRole('combobox', { name: 'What colours tell' }).selectOption('module');
  await until('modules in the legend', async () => (await legend.textContent()) !== kinds);
  assert.equal(query(page).get('colors'), 'module');
  const top = () => frames(page).first().locator('rect').getAttribute('y');
  const below = Number(await top());
  await svg(page).focus();
  await page.keyboard.press('v');
  await until('the root on top', async () => Number(await top()) === 0);
  assert.ok(below > 0 && query(page).get('shape') === 'icicle');
  await page.keyboard.press('v');
  await page.getByRole('combobox', { name: 'What colours tell' }).selectOption('kind');
  const levels = page.getByRole('combobox', { name: 'The first level' });
  for (const [by, shape] of [['thread', / \d+$/], ['cpu', /^CPU \d+$/], ['process', /./]]) {
    const answer = await nextJson(page, FLAME, () => levels.selectOption(by));
    const names = answer.nodes.name.filter((_name, i) => answer.nodes.depth[i] === 1).map((i) => answer.names[i]);
    assert.ok(names.length > 0 && names.every((one) => shape.test(one)), `${by}: ${names}`);
  }
}

/** The tree opens along the heaviest path, is walked and opened by keys, and has the same transforms. */
export async function walkCallTree(page) {
  await openGraph(page);
  await nextJson(page, FLAME, () => page.getByRole('button', { name: 'Call tree', exact: true }).click());
  const tree = page.getByRole('treegrid', { name: 'Call tree' });
  const rows = tree.locator('tbody tr');
  await until('lines', async () => await rows.count() > 2);
  const before = await rows.count();
  await rows.first().focus();
  await page.keyboard.press('ArrowLeft');
  await until('a closed line', async () => await rows.count() < before);
  await page.keyboard.press('*');
  await until('all open', async () => await rows.count() >= before);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const name = await tree.locator('tr.is-current .call-name').textContent();
  const dropped = await nextJson(page, FLAME, () => page.keyboard.press('d'));
  assert.ok(!dropped.names.includes(name), `${name} is left out`);
  await nextJson(page, FLAME, () => changes(page).getByRole('button', { name: /^All of/ }).click());
  await page.getByRole('button', { name: 'Call tree', exact: true }).click();
  await until('the graph again', () => !query(page).has('flame'));
}

/** One function between callers and callees; another one by a click in a half, and by the list. */
export async function standBetween(page) {
  await openGraph(page);
  const first = await nextJson(page, /\/flame\/sandwich\?/, () => page.getByRole('button', { name: 'Callers and callees' }).click());
  assert.ok(first.total >= first.own && first.own > 0, JSON.stringify([first.total, first.own]));
  assert.equal(first.callers.total, first.callees.total);
  const half = page.locator('.between-halves svg.flame').first();
  await half.waitFor();
  const names = first.callers.nodes.depth.flatMap((depth, i) => (depth === 2 ? [first.callers.names[first.callers.nodes.name[i]]] : []));
  if (names.length > 0) {
    await half.focus();
    for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp']) await page.keyboard.press(key);
    const caller = await nextJson(page, /\/flame\/sandwich\?/, () => page.keyboard.press('Enter'));
    assert.ok(names.includes(caller.function) || caller.function !== first.function, caller.function);
    assert.equal(query(page).get('between'), caller.function);
  }
  const again = await nextJson(page, /\/flame\/sandwich\?/, () => page.reload());
  assert.equal(again.function, query(page).get('between') ?? first.function);
  await page.getByRole('button', { name: 'Callers and callees' }).click();
}

/** Stacks in the order of time: walked and zoomed by keys, transformed, by CPU, with the link. */
export async function readTimeOrder(page) {
  const CHART = /\/flame\/chart\?/;
  const plain = await openGraph(page);
  const chart = await nextJson(page, CHART, () => page.getByRole('button', { name: 'Time order' }).click());
  assert.equal(chart.recorded, plain.total, 'all samples are in the whole window');
  assert.ok(chart.lanes.every(({ key }) => key.startsWith('tid:')));
  const canvas = page.locator('.flame-time canvas');
  const readout = page.locator('.flame-time .readout');
  // Keys are for what is drawn, which is a moment after what was answered.
  const drawn = () => page.locator('#panel-flame').getByText(/samples? of .* in this window/).waitFor();
  await drawn();
  await canvas.focus();
  await page.keyboard.press('ArrowRight');
  await until('words of the first frame', async () => / at [\d.]+ s, /.test((await readout.textContent()) ?? ''));
  const first = chart.names[chart.lanes.find(({ boxes }) => boxes.name.length > 0).boxes.name[0]];
  assert.ok((await readout.textContent()).startsWith(first));
  const zoomed = await nextJson(page, CHART, () => page.keyboard.press('Enter'));
  assert.ok(zoomed.end - zoomed.start <= chart.end - chart.start && zoomed.recorded > 0);
  const window_ = () => [query(page).get('from'), query(page).get('to')];
  const panned = await nextJson(page, CHART, () => page.keyboard.press('w'));
  assert.ok(panned.end - panned.start < zoomed.end - zoomed.start);
  await until('the window in the link', async () => window_().every((at) => at !== null));
  const byCpu = await nextJson(page, CHART, () => page.locator('.flame-time').getByRole('button', { name: 'CPUs' }).click());
  assert.ok(byCpu.lanes.length > 0 && byCpu.lanes.every(({ key }) => key.startsWith('cpu:')));
  const again = await nextJson(page, CHART, () => page.reload());
  assert.deepEqual(again, byCpu, 'the link shows the same');
  await drawn();
  await canvas.focus();
  const all = await nextJson(page, CHART, () => page.keyboard.press('0'));
  assert.equal(all.recorded, plain.total);
  const hidden = await nextJson(page, CHART, () => page.keyboard.press('h'));
  assert.equal(hidden.transforms.length, 1);
  assert.ok(!hidden.lanes.some(({ boxes }) => boxes.kind.includes(2)), 'no frame of the kernel');
  await nextJson(page, CHART, () => page.keyboard.press('z'));
  await page.locator('.flame-time').getByRole('button', { name: 'Threads' }).click();
  await page.getByRole('button', { name: 'Time order' }).click();
  await until('the graph again', () => !query(page).has('flame'));
}

/** A comparison with another filter: by shares, turned round, by time; with the link; and its end. */
export async function compareStacks(page) {
  const plain = await openGraph(page);
  await page.getByRole('button', { name: 'Compare…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Compare this view with' });
  await dialog.getByLabel('Filter of the other').fill('cpu == 0');
  const compared = await nextJson(page, /\/flame\/compare\?/, () => dialog.getByRole('button', { name: 'Compare' }).click());
  assert.equal(compared.graph.total, plain.total);
  assert.ok(compared.other_totals[0] > 0 && compared.other_totals[0] < plain.total);
  assert.ok(Math.abs(compared.other[0] - plain.total) < 1, 'shares of all: both roots are the same');
  assert.ok(compared.functions.length > 0);
  const table = page.locator('.compare-table tbody tr');
  await until('functions', async () => await table.count() > 0);
  const turned = await nextJson(page, /\/flame\/compare\?.*turned=1/, () => page.getByRole('button', { name: 'Draw the other' }).click());
  assert.equal(turned.graph.total, compared.other_totals[0]);
  const counted = await nextJson(page, /\/flame\/compare\?.*normalised=none/, () => page.getByRole('combobox', { name: 'What is compared' }).selectOption('none'));
  assert.deepEqual(counted.scales, [1]);
  const again = await nextJson(page, /\/flame\/compare\?/, () => page.reload());
  assert.deepEqual(again, counted);
  await page.locator('svg.is-difference').focus();
  await page.keyboard.press('ArrowUp');
  await page.locator('.compare .readout b').waitFor();
  await nextJson(page, FLAME, () => page.getByRole('button', { name: 'End comparison' }).click());
  assert.equal(query(page).get('against'), null);
}

/** The file zooms, searches and goes back, opened from the disk without a server; names in it are text. */
export async function openFile(page, context) {
  const answer = await openGraph(page);
  await page.getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: /zooms/ }).click(),
  ]);
  const path = join(mkdtempSync(join(tmpdir(), 'bathyscope-svg-')), 'graph.svg');
  await download.saveAs(path);
  const file = await context.newPage();
  const complaints = [];
  file.on('pageerror', (error) => complaints.push(String(error)));
  file.on('dialog', (dialog) => dialog.accept('read'));
  await file.goto(`file://${path}`);
  const all = file.locator('g.f');
  assert.equal(await all.count(), answer.nodes.id.length);
  const wide = (i) => all.nth(i).locator('rect').first().evaluate((rect) => Number(rect.getAttribute('width')));
  const inner = answer.nodes.depth.findIndex((depth, i) => depth === 2 && answer.nodes.value[i] * 20 > answer.total);
  const [whole, before] = [await wide(0), await wide(inner)];
  await all.nth(inner).click();
  assert.ok(Math.abs((await wide(inner)) - whole) < 0.1 && before <= whole, 'it fills the width');
  await file.locator('#reset').click();
  assert.ok(Math.abs((await wide(inner)) - before) < 0.1, 'and is as wide as before');
  await file.locator('#find').click();
  await until('what was found', async () => /^Found read: [\d.]+ %/.test(await file.locator('#said').textContent()));
  assert.deepEqual(complaints, []);
  await file.close();
}
