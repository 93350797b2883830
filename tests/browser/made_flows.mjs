// Flows over captures that a program made: names that try to be something else than text, in files from the disk, and flame graphs
// with as many frames as there can be.

import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { IS_ROOT, Server, binary, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { logIn, nextJson, openPage } from './lib.mjs';

/** The program that makes captures, beside the binary. */
const MAKER = join(dirname(binary()), 'make_captures');
const NOBODY = '65534';
const FLAME = /\/flame\?/;
const query = (page) => new URL(page.url()).searchParams;

/** Runs `flow` with a page on a console whose captures were made: `{kind: how many events}`. Gives their ids by kind. */
export async function withMade(browser, made, flow) {
  assert.ok(existsSync(MAKER), `${MAKER} is built with all targets`);
  const data = dataFolder(true);
  const ids = {};
  for (const [kind, events] of Object.entries(made)) {
    const words = [MAKER, data, String(events), kind];
    if (IS_ROOT) words.unshift('setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups');
    ids[kind] = JSON.parse(execFileSync(words[0], words.slice(1), { encoding: 'utf8' })).id;
  }
  const server = await Server.start({ data, simulate: true, unprivileged: true });
  const opened = await openPage(browser);
  try {
    await logIn(opened.page, server);
    await flow({ ...opened, server, ids });
    assert.deepEqual(opened.complaints, []);
  } finally {
    await opened.context.close();
    await server.stop();
    removeFolder(data);
  }
}

/** The names of a file as they are drawn, and what ran in it. */
async function readFile(browser, path) {
  const { page, context, complaints } = await openPage(browser);
  await page.goto(`file://${path}`);
  await page.locator('g').first().waitFor({ state: 'attached' });
  const titles = await page.locator('g > title').allTextContents();
  const kinds = await page.evaluate(() => [...new Set([...document.querySelectorAll('*')].map((one) => one.localName))].sort());
  const handlers = await page.evaluate(() => [...document.querySelectorAll('*')].flatMap((one) => [...one.attributes]).filter(({ name, value }) => /^on|href/i.test(name) || /javascript:/i.test(value)).map(({ name }) => name));
  const scripts = await page.locator('script').count();
  return { page, context, complaints, titles, kinds, handlers, scripts };
}

/** Files of a capture with hostile names, with script and without, opened from the disk: nothing runs, and names are text. */
export async function openHostileFiles({ page, server, ids }, browser) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-hostile-'));
  const graph = await (await page.request.get(`${server.origin}/api/captures/${ids.hostile}/flame?width=8192`)).json();
  assert.ok(graph.names.some((name) => name.includes('<script>')) && graph.names.length > 50);
  for (const [format, allowed] of [['svg', 1], ['svg_plain', 0]]) {
    for (const invert of [0, 1]) {
      const path = join(folder, `${format}-${invert}.svg`);
      const answer = await page.request.get(`${server.origin}/api/captures/${ids.hostile}/export?format=${format}&width=8192&invert=${invert}&search=script`);
      writeFileSync(path, await answer.body());
      const file = await readFile(browser, path);
      assert.equal(file.scripts, allowed, `${format}: the file's own script and no other`);
      assert.deepEqual(file.handlers, [], `${format}: no attribute runs anything`);
      const known = ['g', 'rect', 'script', 'style', 'svg', 'text', 'title'].filter((kind) => kind !== 'script' || allowed > 0);
      assert.deepEqual(file.kinds, known, `${format}: only elements of ours`);
      for (const name of graph.names.filter((one) => one.length < 500)) {
        // XML cannot hold two characters that names are shown with.
        const written = name.replaceAll('\ufffe', '\\u{fffe}').replaceAll('\uffff', '\\u{ffff}');
        assert.ok(file.titles.some((title) => title.startsWith(`${written} (`)), `${format}: ${JSON.stringify(name)} is text`);
      }
      if (allowed) await useFile(file);
      assert.deepEqual(file.complaints, [], `${format}: nothing ran`);
      await file.context.close();
    }
  }
  removeFolder(folder);
}

/** Zooms, points and searches in a file whose names are hostile: the script handles them as text. */
async function useFile({ page, complaints }) {
  const all = page.locator('g.f');
  const count = await all.count();
  for (let i = 1; i < count; i += 7) {
    await all.nth(i).dispatchEvent('mouseover');
    await all.nth(i).dispatchEvent('click');
  }
  await page.locator('#reset').dispatchEvent('click');
  for (const text of ['<script>', '(', '"><svg onload=alert(1)>', '^']) {
    page.removeAllListeners('dialog');
    page.once('dialog', (dialog) => dialog.accept(text));
    await page.locator('#find').dispatchEvent('click');
    await until('what was found', async () => (await page.locator('#said').textContent()).startsWith(`Found ${text}: `));
  }
  page.on('dialog', (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  assert.equal(await page.locator('script').count(), 1);
}

const canvas = (page) => page.locator('#panel-flame .flame-scroll .flame-canvas');
const readout = (page) => page.locator('#panel-flame .flame-lines .readout');

/** The colour of the canvas at a place of the page. */
const colorAt = (page, x, y) => canvas(page).evaluate((element, [left, top]) => {
  const box = element.getBoundingClientRect();
  const ratio = element.width / box.width;
  return [...element.getContext('2d').getImageData(Math.round((left - box.left) * ratio), Math.round((top - box.top) * ratio), 1, 1).data].join();
}, [x, y]);

/** As many frames as there can be are on a canvas, with the same keys, pointer, search, zoom, menu, link and themes as few. */
export async function walkWideGraph({ page, server, ids }) {
  await page.goto(`${server.origin}/captures/${ids.wide}?v=3&tab=flame`);
  const answer = await nextJson(page, FLAME, () => page.reload());
  assert.ok(answer.nodes.id.length > 19_000 && answer.cut.nodes === 0, `${answer.nodes.id.length} frames`);
  await canvas(page).waitFor();
  assert.equal(await page.locator('svg.flame g[data-i]').count(), 0);
  // Keys: from the root two levels up, and to the side.
  await canvas(page).focus();
  for (const key of ['Home', 'ArrowUp', 'ArrowUp']) await page.keyboard.press(key);
  await until('the first function', async () => (await readout(page).locator('b').textContent()) === 'level_0::function_0');
  for (let level = 1; level <= 3; level += 1) await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowRight');
  await until('its neighbour', async () => (await readout(page).locator('b').textContent()) === 'level_3::function_1');
  // The pointer tells and zooms.
  const box = await canvas(page).boundingBox();
  const at = { x: box.x + box.width * 0.8, y: box.y + box.height - 9 - 18 * 4 };
  await page.mouse.move(at.x, at.y);
  await until('the frame below the pointer', async () => (await readout(page).locator('b').textContent()) === 'level_2::function_3');
  const zoomed = await nextJson(page, FLAME, () => page.mouse.click(at.x, at.y));
  assert.equal(zoomed.focus, query(page).get('focus'));
  assert.ok(zoomed.focus_total < zoomed.total / 3 && zoomed.nodes.id.length > 4000);
  await canvas(page).focus();
  const reset = await nextJson(page, FLAME, () => page.keyboard.press('Escape'));
  assert.equal(reset.nodes.id.length, answer.nodes.id.length);
  await searchWide(page, at);
  await changeWide(page, at);
  // The link opens the same.
  const again = await nextJson(page, FLAME, () => page.reload());
  assert.deepEqual(again.nodes.id, answer.nodes.id);
}

/** What is not found is dimmed; Enter walks from hit to hit. */
async function searchWide(page, { x, y }) {
  await until('a drawn frame', async () => !(await colorAt(page, x, y)).endsWith(',0'));
  const usual = await colorAt(page, x, y - 4);
  const box = page.getByRole('searchbox', { name: 'Find in names' });
  const found = await nextJson(page, /\/flame\?.*search=/, () => box.fill('level_9::'));
  assert.equal(found.matched_samples, found.total);
  await until('dimmed frames', async () => (await colorAt(page, x, y - 4)) !== usual);
  await box.press('Enter');
  await until('the first hit', async () => /^level_9::/.test((await readout(page).locator('b').textContent()) ?? ''));
  await nextJson(page, FLAME, () => box.fill(''));
  await until('frames as before', async () => (await colorAt(page, x, y - 4)) === usual);
}

/** A menu, transforms by key and back, the root on top, scrolling, and the dark theme. */
async function changeWide(page, { x, y }) {
  await page.mouse.click(x, y, { button: 'right' });
  const menu = page.getByRole('menu', { name: 'level_2::function_3', exact: true });
  await menu.waitFor();
  await page.keyboard.press('Escape');
  await canvas(page).focus();
  const dropped = await nextJson(page, FLAME, () => page.keyboard.press('d'));
  assert.ok(dropped.total < dropped.recorded);
  await canvas(page).focus();
  const back = await nextJson(page, FLAME, () => page.keyboard.press('z'));
  assert.equal(back.total, back.recorded);
  const light = await colorAt(page, x, y);
  await page.emulateMedia({ colorScheme: 'dark' });
  await until('colours of the dark theme', async () => (await colorAt(page, x, y)) !== light);
  await page.emulateMedia({ colorScheme: null });
  await canvas(page).focus();
  await page.keyboard.press('v');
  await until('the root on top', () => query(page).get('shape') === 'icicle');
  const scroller = page.locator('#panel-flame .flame-scroll').first();
  // The graph that is drawn last begins at its top: what was scrolled before it came is scrolled once more.
  // Ten levels below the root is the tenth row: the process is the first below it.
  let moves = 0;
  await until('the frame that was scrolled to', async () => {
    await scroller.evaluate((element) => { element.scrollTop = 180; });
    const box = await canvas(page).boundingBox();
    await page.mouse.move(box.x + 3 + (moves++ % 2), box.y + 9);
    return (await readout(page).locator('b').textContent()) === 'level_8::function_0';
  });
  await page.keyboard.press('v');
  await until('the root below', () => query(page).get('shape') === 'flame');
  await page.goto(page.url().replace(/&shape=\w+/, ''));
}
