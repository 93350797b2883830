// What a person does with scripts: writes one, runs it, reads its maps and output, begins with a tool or an example.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { colours, ended, frames, openTab, readInfo } from './flows.mjs';
import { nextJson } from './lib.mjs';

/** Has a histogram, counts by name, counts by stack, and says something now and then. */
export const SCRIPT = `// Who runs, and where CPU time goes.
tracepoint:sched:sched_switch {
  @pids = hist(args.next_pid);
  @switches[args.next_comm] = count();
}
profile:hz:49 {
  @stacks[comm, kstack, ustack] = count();
}
interval:ms:100 {
  @round += 1;
  printf("round %d\\n", @round);
}
`;

/** What the editor holds, whatever of it is in sight: it is in a tree of its own, which locators see through. */
const editor = (page) => page.getByRole('textbox', { name: 'Script', exact: true });
const lines = (page) => page.locator('#script-editor .cm-line').allTextContents();
const verdict = (page) => page.locator('#script-verdict');
const list = (page) => page.locator('#script-editor').getByRole('listbox');

/** Replaces what the editor holds by `text`; quickly, as a paste does. */
export async function writeScript(page, text) {
  await editor(page).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
}

/** The editor holds `words`. */
export async function editorHolds(page, words) {
  await until(`the editor with ${words}`, async () => (await lines(page)).join('\n').includes(words));
}

/** The Script tab by way of the start page. */
export async function openEditor(page) {
  await page.goto(new URL('/new', page.url()).href);
  await page.getByRole('tab', { name: 'Script', exact: true }).click();
  await editor(page).waitFor();
  await editorHolds(page, 'sys_enter_openat');
}

/** What is wrong is said with its place; the place leads there; once it is right, that is said. */
export async function correctScript(page) {
  // The answer about what the editor begins with must not be taken for that about the mistake.
  await verdict(page).getByText(/^Compiles in/).waitFor();
  const wrong = 'interval:s:1 {\n  printf("%d\\n", nsec);\n}';
  const answer = await nextJson(page, /\/scripts\/check/, () => writeScript(page, wrong));
  assert.equal(answer.ok, false);
  const [{ line, column, message }] = answer.messages;
  assert.equal(line, 2);
  await page.locator('#script-problems').getByText(message).waitFor();
  await editor(page).evaluate((element) => element.blur());
  await page.getByRole('button', { name: `${line}:${column}`, exact: true }).click();
  assert.ok(await editor(page).evaluate((element) => element.matches(':focus')), 'the place leads into the editor');
  // The word is selected: typing replaces it.
  await page.keyboard.type('nsecs');
  await editorHolds(page, 'nsecs)');
  await verdict(page).getByText(/^Compiles in/).waitFor();
  assert.equal(await page.locator('#script-problems li').count(), 0);
}

/** What fits comes while typing; Escape closes it and no more. Keys of the page do not act meanwhile. */
export async function completeScript(page) {
  await writeScript(page, '');
  const address = page.url();
  await page.keyboard.type('tracepoint:sched:sched_sw');
  await list(page).waitFor();
  await list(page).getByRole('option', { name: /sched_switch/ }).first().waitFor();
  await page.keyboard.press('Escape');
  await list(page).waitFor({ state: 'hidden' });
  assert.ok(await editor(page).evaluate((element) => element.matches(':focus')), 'Escape stays in the editor');
  assert.equal(page.url(), address);
  await page.keyboard.press('Control+Space');
  // By click: a key right after the list came is not taken for an answer to it.
  await list(page).getByRole('option', { name: /sched_switch/ }).first().click();
  await editorHolds(page, 'tracepoint:sched:sched_switch');
  // Each of these is a shortcut of some page where nobody types: search, help, commands, "go to".
  await page.keyboard.type(' // / ? > gh gn 1 2 e');
  await editorHolds(page, '// / ? > gh gn 1 2 e');
  assert.equal(page.url(), address);
  assert.equal(await page.locator('dialog[open]').count(), 0);
}

/**
 * Ctrl+Enter starts it from within the editor; gives the capture's id. It ends when it is stopped: neither after the ten
 * seconds of the form nor by the guard, as how much the host switches beside the tests is not theirs to say.
 */
export async function runScript(page, { title }) {
  await writeScript(page, SCRIPT);
  await verdict(page).getByText(/^Compiles in/).waitFor();
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('After', { exact: true }).fill('300');
  await page.getByLabel('when exceeded', { exact: true }).selectOption('only warn');
  await editor(page).click();
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  return /captures\/([0-9a-f]{16})/.exec(page.url())[1];
}

/** A refused script stays in the editor, with what is wrong with it. */
export async function refuseScript(page) {
  await writeScript(page, 'tracepoint:sched:no_such_thing { @ = count(); }');
  await page.keyboard.press('Control+Enter');
  await page.locator('#problems').getByText(/\S/).first().waitFor();
  await page.locator('#script-problems').getByText(/no_such_thing/).waitFor();
  assert.equal(new URL(page.url()).pathname, '/new');
  await page.getByRole('button', { name: /^Start capture/, disabled: false }).waitFor();
}

const view = (page, name) => page.getByRole('group', { name: 'View' }).getByRole('button', { name, exact: true });
const entry = (page, name) => page.getByRole('navigation', { name: 'Maps' }).getByRole('button', { name });

async function showMap(page, map, name) {
  await entry(page, map).click();
  await page.getByRole('navigation', { name: 'Maps' }).getByRole('button', { name: map, pressed: true }).waitFor();
  await view(page, name).click();
  await page.getByRole('group', { name: 'View' }).getByRole('button', { name, exact: true, pressed: true }).waitFor();
}

/** The Maps tab of `SCRIPT`'s capture: each view of each kind, with the numbers that the server gives. */
export async function walkMaps(page) {
  await openTab(page, 'Maps');
  await until('four maps', async () => await page.getByRole('navigation', { name: 'Maps' }).getByRole('button').count() === 4);
  const histogram = await nextJson(page, /view=histogram/, () => showMap(page, /^@pids/, 'Histogram'));
  assert.ok(histogram.total > 0);
  const bars = page.locator('table.histogram tbody tr:not(.gap)');
  await until('a row for each bucket', async () => await bars.count() === histogram.buckets.length);
  await page.getByText('Last').or(page.getByText(/^read at/)).first().waitFor();
  const heat = await nextJson(page, /view=heatmap/, () => showMap(page, /^@pids/, 'Heat map'));
  assert.ok(heat.columns.length > 1 && heat.most > 0, JSON.stringify(heat).slice(0, 300));
  await until('a drawn heat map', async () => await colours(page, '.heat-canvas') > 4);
  await page.locator('.heat-canvas').focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('#panel-maps .readout').getByText(/value/).waitFor();
  const moment = await nextJson(page, /view=histogram/, () => page.keyboard.press('Enter'));
  assert.equal(moment.at.snapshot, heat.columns[0].snapshot, 'a column leads to its histogram');
  const table = await nextJson(page, /view=table/, () => showMap(page, /^@switches/, 'Table'));
  await until('a row for each key', async () => await page.locator('.maps-table tbody tr').count() === table.rows.length);
  await nextJson(page, /view=series/, () => showMap(page, /^@switches/, 'Over time'));
  await until('drawn lines', async () => await colours(page, '.lines-canvas') > 4);
  assert.ok(await page.locator('.lines-legend li').count() > 1);
}

/** A map of stacks, as the flame graph that its view leads to. */
export async function walkStacks(page) {
  await openTab(page, 'Maps');
  await entry(page, /^@stacks/).click();
  await view(page, 'Flame graph').click();
  await page.getByRole('tab', { name: 'Flame graph', selected: true }).waitFor();
  // On a busy machine there are so many stacks that they are drawn on a canvas.
  const canvas = page.locator('#panel-flame .flame-canvas');
  await until('drawn frames', async () => await frames(page).count() > 2 || await canvas.isVisible());
  assert.equal(new URL(page.url()).searchParams.get('source')?.startsWith('@'), true);
}

/** What it printed, and what was run, are there to be read. */
export async function readScript(page) {
  await openTab(page, 'Output');
  await until('the output', async () => /^round 1\nround 2\n/.test(await page.locator('#panel-output pre').textContent()));
  await readInfo(page, ['@switches', /Emitted/]);
  assert.equal(await page.locator('#panel-info pre.script').textContent(), SCRIPT);
}

/** Run again has the script in the editor. */
export async function runScriptAgain(page) {
  await page.getByRole('link', { name: /^Run again/ }).or(page.getByRole('button', { name: /^Run again/ })).click();
  await page.waitForURL(/\/new\?.*from=/);
  await page.getByRole('tab', { name: 'Script', selected: true }).waitFor();
  await editorHolds(page, '@stacks[comm, kstack, ustack]');
  await verdict(page).getByText(/^Compiles in/).waitFor();
}

/** Tools are found by words; one opens in the editor. */
export async function openToolByWords(page, { words, tool }) {
  await page.goto(new URL('/tools', page.url()).href);
  const rows = page.locator('#tools tbody tr');
  await until('the tools', async () => await rows.count() > 20);
  const all = await rows.count();
  await page.getByLabel('Find a tool').fill(words);
  await until('fewer tools', async () => await rows.count() > 0 && await rows.count() < all);
  await page.getByRole('link', { name: tool, exact: true }).click();
  await page.waitForURL(/\/new\?.*tool=/);
  await editorHolds(page, `${tool}:`);
  await until('its name', async () => await page.getByLabel('Title').inputValue() === tool);
}

/** An example of the reference opens in the editor, and a word can be found. */
export async function openExample(page) {
  await page.goto(new URL('/language', page.url()).href);
  const first = page.locator('.example').first();
  await first.waitFor();
  await page.getByLabel('Find a word').fill('kstack');
  await page.locator('#words dt').getByText(/kstack/).first().waitFor();
  await until('few words', async () => await page.locator('#words dt').count() < 20);
  const text = await first.locator('pre').textContent();
  await first.getByRole('link', { name: 'Open in the editor' }).click();
  await page.waitForURL(/\/new\?.*script=/);
  await editorHolds(page, text.trim().split('\n')[0]);
}

/** Waits until it has read its maps several times, then stops it. */
export async function stopAfterMoments(page, origin, id, moments = 3) {
  const ask = async (path) => (await page.request.get(`${origin}/api/captures/${id}${path}`)).json();
  await until(`${moments} readings of maps`, async () => {
    const { maps } = await ask('/maps');
    if (maps.length === 4 && maps.every((map) => map.snapshots >= moments)) return true;
    const capture = await ask('');
    assert.equal(capture.state, 'recording', JSON.stringify({ capture, maps }));
    return false;
  });
  await page.getByRole('button', { name: /^Stop/ }).click();
  await ended(page);
}
