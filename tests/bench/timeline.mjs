#!/usr/bin/env node
// How the timeline feels in Chromium: what scripts do of each frame while it pans and zooms with all tracks of a tall window in sight, and
// how long it takes from the click on a capture to its first drawn timeline in a browser that has been there before.
//
//     cargo build --release -p bathyscope -p bathyscope-tests --bin bathyscope --bin make_captures
//     node tests/bench/timeline.mjs [MILLIONS] [TRACKS]        (1 and 200 by default)
//
// The capture is made by tests/src/bin/make_captures and computed by `bathyscope captures compute`, or taken from BATHYSCOPE_DATA, a data
// directory that has one. Script time is that of Chromium's own trace: calls of functions, timers, microtasks, events, frames and garbage
// collection on the page's thread, each once, between the end of one frame and that of the next. Prints a table as docs/measurements.md has it.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

import { ROOT, Server, binary, until } from '../lib/server.mjs';
import { logIn, openBrowser, openPage } from '../browser/lib.mjs';
import { at, scriptOfFrames, short, traced } from './frames.mjs';

const [millions = 1, tracks = 200] = process.argv.slice(2).map(Number);
const MAKER = join(ROOT, 'target/release/make_captures');
const ROW_PIXELS = 24;
/** What is above and below the tracks. */
const AROUND_PIXELS = 330;
const CANVAS = '#panel-timeline .timeline-canvas';
const HELD_MS = 1200;
/** Held one after another: to the right and left, into the middle, and there again, and out. */
const KEYS = ['s', 'w', 'd', 'a', 'w', 'd', 'a', 's', 'd', 's'];
const CLICKS = 9;

/** Makes the capture, unless there is one; gives the data directory, and what removes it. */
function made() {
  const known = process.env.BATHYSCOPE_DATA;
  if (known) return { data: known, remove: () => {} };
  if (!existsSync(MAKER)) throw new Error(`${MAKER} does not exist; build it as the head of this file says`);
  const data = mkdtempSync(join(process.env.BATHYSCOPE_BENCH_DIR ?? tmpdir(), 'bathyscope-timeline-'));
  const run = (words) => {
    const { status, stdout, stderr } = spawnSync(words[0], words.slice(1), { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  const { id } = JSON.parse(run([MAKER, data, String(millions * 1e6), 'states']));
  run([binary('release'), 'captures', 'compute', '--data', data, id]);
  return { data, remove: () => rmSync(data, { recursive: true, force: true }) };
}

/** Notes when a picture with something on it is drawn first, counted from the last click. */
function watchFirstPicture() {
  addEventListener('click', () => sessionStorage.setItem('clicked', String(performance.timeOrigin + performance.now())), true);
  const { prototype } = OffscreenCanvasRenderingContext2D;
  const { putImageData } = prototype;
  let drawn = false;
  prototype.putImageData = function put(image, ...rest) {
    putImageData.call(this, image, ...rest);
    if (drawn) return;
    const colours = new Set();
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < pixels.length && colours.size < 4; i += 7) colours.add(pixels[i]);
    drawn = colours.size >= 4;
    if (drawn) requestAnimationFrame(() => { window.firstPicture = performance.timeOrigin + performance.now() - Number(sessionStorage.getItem('clicked')); });
  };
}

/** From the click on a link to the timeline of a capture to its first picture, in milliseconds. */
async function clicks(page, origin) {
  const took = [];
  for (let click = 0; click <= CLICKS; click += 1) {
    await page.goto(`${origin}/captures`);
    const link = page.locator('a[href^="/captures/"]').first();
    await link.evaluate((element) => { element.href = `${element.pathname}?v=3&tab=timeline`; });
    await link.click();
    await page.waitForURL(/tab=timeline/);
    const first = await until('a drawn timeline', () => page.evaluate(() => window.firstPicture));
    if (click > 0) took.push(first);
  }
  return took;
}

async function walk(page) {
  await page.locator(CANVAS).focus();
  for (const key of KEYS) {
    await page.keyboard.down(key);
    await page.waitForTimeout(HELD_MS);
    await page.keyboard.up(key);
  }
}

async function main() {
  const { data, remove } = made();
  const server = await Server.start({ data, simulate: true, profile: 'release' });
  const browser = await openBrowser();
  try {
    const { page, complaints } = await openPage(browser);
    await page.addInitScript(watchFirstPicture);
    await logIn(page, server);
    const took = await clicks(page, server.origin);
    console.log(`${cpus().length} × ${cpus()[0].model}; load ${loadavg().map((load) => load.toFixed(1)).join(' ')}`);
    console.log(`\nFrom the click to the first drawn timeline, ${CLICKS} times: p50 ${short(at(took, 0.5))} ms, worst ${short(Math.max(...took))} ms`);
    console.log('\n| in sight | frames | frames with scripts | script ms a frame, p50 | p95 | worst |\n| --- | ---: | ---: | ---: | ---: | ---: |');
    for (const [what, height] of [['1280 × 1000', 1000], [`${tracks} rows`, tracks * ROW_PIXELS + AROUND_PIXELS]]) {
      await page.setViewportSize({ width: 1280, height });
      await walk(page);
      const { frames, count } = scriptOfFrames(await traced(page, () => walk(page)));
      console.log(`| ${what} | ${count} | ${frames.length} | ${short(at(frames, 0.5))} | ${short(at(frames, 0.95))} | ${short(Math.max(...frames))} |`);
    }
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
  } finally {
    await browser.close();
    await server.stop();
    remove();
  }
}

await main();
