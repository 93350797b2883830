// What a person does to find, measure and note things on the timeline; links and reloads keep all of it.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { TIMELINE, openTab } from './flows.mjs';

const part = (page, name) => new URL(page.url()).searchParams.get(name);
/** Where the flag of a head is: at its right end, pixels from the left of a wide timeline. */
const FLAG = 175;
const panel = (page) => page.getByRole('tabpanel', { name: 'Timeline', exact: true });

/** Finds a text in all of the capture and walks through what is found; the link keeps it. */
export async function findInCapture(page, text) {
  await openTab(page, 'Timeline');
  await page.locator(TIMELINE).focus();
  await page.keyboard.press('/');
  const field = page.getByRole('searchbox', { name: /^Find in all of the capture/ });
  await until('the field', () => field.evaluate((element) => element === document.activeElement));
  await field.fill(text);
  const count = panel(page).locator('.find-count');
  await until('a count', async () => /found$/.test(await count.textContent()));
  const all = Number((await count.textContent()).replace(/\D/g, ''));
  assert.ok(all > 2, `${all} rows`);
  await page.keyboard.press('Enter');
  await until('the first', async () => /^1 of /.test(await count.textContent()));
  await page.keyboard.press('Enter');
  await until('the second', async () => /^2 of /.test(await count.textContent()));
  const second = part(page, 'hit');
  await page.locator(TIMELINE).focus();
  await page.keyboard.press('n');
  await until('the third', async () => /^3 of /.test(await count.textContent()));
  await page.keyboard.press('Shift+N');
  await until('the second again', () => part(page, 'hit') === second);
  await until('its number', async () => /^2 of /.test(await count.textContent()));
  assert.equal(part(page, 'find'), text);
  await page.reload();
  await until('the same after a reload', async () => /^2 of /.test(await count.textContent()));
  // From the first one back it goes on from the end.
  await page.locator(TIMELINE).focus();
  await page.keyboard.press('Shift+N');
  await until('the first again', async () => /^1 of /.test(await count.textContent()));
  await page.keyboard.press('Shift+N');
  await until('the last', async () => /went on from the end$/.test(await count.textContent()));
  await walkFound(page);
  // A condition on columns no stream has is refused in words.
  await field.fill('nothing_of_this_name == 1');
  await panel(page).getByRole('alert').filter({ hasText: 'nothing_of_this_name' }).waitFor();
  await field.press('Escape');
  await until('the field is gone', async () => !(await field.isVisible()));
  assert.equal(part(page, 'find'), null);
  for (const name of ['CPUs', 'Threads', 'States']) {
    await panel(page).getByRole('button', { name, exact: true }).click();
    await until(`${name} without marks`, async () => (await capHeights(page)).length === 0);
  }
}

/** The heights at which the timeline has caps, which mark what was found: four pixels of one colour between two of the background. */
function capHeights(page) {
  return page.locator(TIMELINE).evaluate((canvas) => {
    const colour = (/** @type {string} */ name) => {
      const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
      const sample = canvas.parentElement.appendChild(document.createElement('i'));
      sample.style.color = `var(${name})`;
      context.fillStyle = getComputedStyle(sample).color;
      sample.remove();
      context.fillRect(0, 0, 1, 1);
      return new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0];
    };
    const [accent, background] = [colour('--accent'), colour('--bg')];
    const { width, height } = canvas;
    const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
    const thick = Math.round(4 * devicePixelRatio);
    const heights = new Set();
    for (let x = 0; x < width; x += 1) {
      for (let y = 1; y + thick < height; y += 1) {
        const is = (/** @type {number} */ at, /** @type {number} */ wanted) => pixels[at * width + x] === wanted;
        if (!is(y, accent) || !is(y - 1, background) || !is(y + thick, background)) continue;
        let length = 1;
        while (length < thick && is(y + length, accent)) length += 1;
        if (length === thick) heights.add(y);
      }
    }
    return [...heights];
  });
}

/** Moves the window about: each part of time is asked for once. */
async function walkFound(page) {
  const asked = [];
  const finished = (request) => {
    const { pathname, search } = new URL(request.url());
    if (/\/find$/.test(pathname) && /[?&]reach=/.test(search)) asked.push(search);
  };
  page.on('requestfinished', finished);
  await page.locator(TIMELINE).focus();
  await page.keyboard.press('0');
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  await until('marks of the window', () => asked.length > 0);
  for (const key of ['d', 'a', 'd', 'a']) {
    const before = part(page, 'from');
    await page.keyboard.press(key);
    await until('another window', () => part(page, 'from') !== before);
  }
  for (const name of ['CPUs', 'Threads', 'States']) {
    await panel(page).getByRole('button', { name, exact: true }).click();
    // One height is that of the strip below the times; the others are those of tracks.
    await until(`marks on tracks of ${name}`, async () => (await capHeights(page)).length > 1);
  }
  await page.keyboard.press('0');
  page.off('requestfinished', finished);
  assert.equal(new Set(asked).size, asked.length, `no part of time is asked for twice: ${asked.join(' ')}`);
}

/** Measures what is picked, writes a note there, changes it, removes it and takes that back; a reload keeps it. */
export async function noteOnTimeline(page, text) {
  await openTab(page, 'Timeline');
  const canvas = page.locator(TIMELINE);
  await canvas.focus();
  await page.keyboard.press('0');
  await page.keyboard.press('Escape');
  await until('nothing is selected', () => part(page, 'start') === null && part(page, 'picked') === null);
  const readout = panel(page).locator('.readout');
  for (let press = 0; press < 3; press += 1) await page.keyboard.press('ArrowDown');
  await until('words of a track', async () => /CPU \d/.test(await readout.textContent()));
  await page.keyboard.press('Enter');
  await until('what is picked', () => part(page, 'picked') !== null);
  await page.keyboard.press('m');
  await until('a measured span', () => /^\d+~\d+$/.test(part(page, 'span') ?? ''));
  await page.keyboard.press('Shift+M');
  const field = page.getByRole('textbox', { name: 'Text of the new note' });
  await field.fill(text);
  await field.press('Enter');
  await until('the note in the address', () => part(page, 'note') !== null);
  assert.equal(part(page, 'span'), null, 'the kept note takes the place of the span');
  const id = part(page, 'note');
  await canvas.focus();
  await page.keyboard.press('l');
  const list = page.getByRole('region', { name: 'Notes' });
  const line = list.locator(`[data-note="${id}"]`);
  await line.getByText(text).waitFor();
  assert.match(await line.getByRole('link').textContent(), /^\d+\.\d{9} to \d+\.\d{9} s, /);
  await line.getByRole('button', { name: 'Change' }).click();
  const edit = list.getByRole('textbox', { name: 'Text of the note' });
  await edit.fill(`${text}, again`);
  await list.getByRole('combobox', { name: 'Colour of the note' }).selectOption('2');
  await edit.press('Control+Enter');
  await line.getByText(`${text}, again`).waitFor();
  await line.getByRole('link').press('Delete');
  await until('no line', async () => await line.count() === 0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await line.waitFor();
  await page.reload();
  await line.getByText(`${text}, again`).waitFor();
  assert.equal(await line.getAttribute('aria-current'), 'true');
  // Its link opens it alone.
  const link = await line.getByRole('link').getAttribute('href');
  assert.equal(new URL(link, page.url()).searchParams.get('note'), id);
  await page.goto(new URL(link, page.url()).href);
  await line.waitFor();
  await list.getByRole('button', { name: 'Close' }).click();
  await canvas.focus();
  await page.keyboard.press('Escape');
  await until('no note is selected', () => part(page, 'note') === null);
}

/** A note on a track as a whole: written from the menu of its head by the mouse, seen at the head, found from Info; also by keys. */
export async function noteTrack(page, text) {
  await openTab(page, 'Timeline');
  await panel(page).getByRole('button', { name: 'States', exact: true }).click();
  const canvas = page.locator(TIMELINE);
  const readout = panel(page).locator('.readout');
  const field = page.getByRole('textbox', { name: 'Text of the new note' });
  // The head of the first CPU: below the ruler and the head of the group.
  const { x, y } = await canvas.boundingBox();
  const head = async () => {
    for (let down = 60; down < 200; down += 8) {
      await page.mouse.click(x + 40, y + down, { button: 'right' });
      const menu = page.getByRole('menu', { name: /^CPU 0/ });
      if (await menu.isVisible()) {
        await page.keyboard.press('Escape');
        await menu.waitFor({ state: 'hidden' });
        return { x: x + 40, y: y + down };
      }
      await page.keyboard.press('Escape');
    }
    return assert.fail('no head of CPU 0');
  };
  const at = await head();
  const menu = page.getByRole('menu', { name: /^CPU 0/ });
  await page.mouse.click(at.x, at.y, { button: 'right' });
  await menu.getByRole('menuitem', { name: 'Write a note on the track' }).click();
  await until('the field', () => field.evaluate((element) => element === document.activeElement));
  await field.fill(text);
  await field.press('Enter');
  await until('the note in the address', () => part(page, 'note') !== null);
  const id = part(page, 'note');
  // The head tells it, and its flag leads to it.
  await page.mouse.move(at.x, at.y);
  await until('words at the head', async () => (await readout.textContent()).includes(text));
  await canvas.focus();
  await page.keyboard.press('Escape');
  await until('no note is selected', () => part(page, 'note') === null);
  await page.mouse.click(x + FLAG, at.y);
  await until('the note of the flag', () => part(page, 'note') === id);
  const list = page.getByRole('region', { name: 'Notes' });
  const line = list.locator(`[data-note="${id}"]`);
  await line.getByText(text).waitFor();
  assert.equal(await line.getByRole('link').textContent(), 'Track cpu:0');
  // From Info it leads to the track, also where that was hidden, and after a reload.
  await page.mouse.click(at.x, at.y, { button: 'right' });
  await menu.getByRole('menuitem', { name: 'Hide' }).click();
  await until('a hidden track', () => part(page, 'hidden') !== null);
  await openTab(page, 'Info');
  await page.locator('#panel-info').locator(`[data-note="${id}"]`).getByRole('link').click();
  await until('it is shown again', () => part(page, 'hidden') === null && part(page, 'tab') !== 'info');
  await until('the cursor on it', async () => /^CPU 0/.test(await readout.textContent()));
  await page.reload();
  await line.getByText(text).waitFor();
  // By keys: the menu of the row at the cursor.
  await canvas.focus();
  await page.mouse.move(2, 2);
  for (let press = 0; press < 80; press += 1) await page.keyboard.press('ArrowUp');
  await until('a row at the cursor', async () => {
    await page.keyboard.press('ArrowDown');
    return /^CPU 1/.test(await readout.textContent());
  });
  await page.keyboard.press('Shift+F10');
  await page.getByRole('menu', { name: /^CPU 1/ }).getByRole('menuitem', { name: 'Write a note on the track' }).press('Enter');
  await field.fill(`${text} by keys`);
  await field.press('Enter');
  await list.getByText(`${text} by keys`).waitFor();
  await list.getByRole('button', { name: 'Close' }).click();
}
