#!/usr/bin/env node
// What a flame graph of as many frames as there can be costs in Chromium, as nodes of the page and on a canvas: what the page's thread
// does of each frame of the screen while the pointer moves over it, keys walk through it, it scrolls, and it is drawn anew.
//
//     cargo build --release -p bathyscope -p bathyscope-tests --bin bathyscope --bin make_captures
//     node tests/bench/flame.mjs [debug]
//
// The capture is `wide` of tests/src/bin/make_captures: 19,600 frames, each wider than a pixel at 1280. With SVG the page's own
// number of frames beyond which it takes a canvas is replaced on the way to the browser. Prints a table as docs/measurements.md has it.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Server, binary } from '../lib/server.mjs';
import { logIn, openBrowser, openPage } from '../browser/lib.mjs';
import { SCRIPT, TASKS, at, scriptOfFrames, short, traced } from './frames.mjs';

const profile = process.argv[2] ?? 'release';
const MAKER = join(dirname(binary(profile)), 'make_captures');
const FRAMES_AT = '.flame-scroll';
const MOVES = 240;
const PRESSES = 200;
const TURNS = 120;
const DRAWS = 30;

/** Lets the page show what was done. */
const shown = (page) => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));

const focused = (page) => page.locator('#panel-flame .flame-scroll').evaluate((scroller) => {
  const [canvas, svg] = [scroller.querySelector('.flame-canvas'), scroller.querySelector('svg.flame')];
  (canvas?.checkVisibility() ? canvas : svg).focus();
});

const ACTS = {
  'the pointer moves': async (page) => {
    const box = await page.locator(FRAMES_AT).first().boundingBox();
    for (let i = 0; i < MOVES; i += 1) {
      await page.mouse.move(box.x + (box.width * ((i * 7) % MOVES)) / MOVES, box.y + box.height * (0.2 + (0.7 * i) / MOVES));
      await shown(page);
    }
  },
  'keys walk': async (page) => {
    await focused(page);
    await page.keyboard.press('Home');
    for (let i = 0; i < 12; i += 1) await page.keyboard.press('ArrowUp');
    for (let i = 0; i < PRESSES; i += 1) {
      await page.keyboard.press('ArrowRight');
      await shown(page);
    }
  },
  'it scrolls': async (page) => {
    await page.setViewportSize({ width: 1280, height: 700 });
    await shown(page);
    const box = await page.locator(FRAMES_AT).first().boundingBox();
    await page.mouse.move(box.x + 400, box.y + 100);
    for (let i = 0; i < TURNS; i += 1) {
      await page.mouse.wheel(0, i % 20 < 10 ? -30 : 30);
      await shown(page);
    }
    await page.setViewportSize({ width: 1280, height: 1200 });
    await shown(page);
  },
  'all is drawn anew': async (page) => {
    await focused(page);
    for (let i = 0; i < DRAWS; i += 1) {
      await page.keyboard.press('v');
      await shown(page);
    }
  },
};

async function measure(page, server, id, svg) {
  if (svg) {
    await page.route(/\.js(\?|$)/, async (route) => {
      const answer = await route.fetch();
      const text = await answer.text();
      await route.fulfill({ response: answer, body: text.replace(/MOST_NODES = 2000/, 'MOST_NODES = 1e9') });
    });
  }
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=flame`);
  await page.locator(svg ? 'svg.flame g[data-i]' : '.flame-canvas').first().waitFor();
  await shown(page);
  for (const [what, act] of Object.entries(ACTS)) {
    await act(page);
    const events = await traced(page, () => act(page));
    const script = scriptOfFrames(events, SCRIPT).frames;
    const all = scriptOfFrames(events, TASKS).frames;
    const cells = [script, all].flatMap((frames) => [0.5, 0.95].map((share) => short(at(frames, share))));
    console.log(`| ${svg ? 'SVG' : 'canvas'} | ${what} | ${script.length} | ${cells.join(' | ')} |`);
  }
}

async function main() {
  const data = mkdtempSync(join(process.env.BATHYSCOPE_BENCH_DIR ?? tmpdir(), 'bathyscope-flame-'));
  const { id } = JSON.parse(execFileSync(MAKER, [data, '60000', 'wide'], { encoding: 'utf8' }));
  const server = await Server.start({ data, simulate: true, profile });
  const browser = await openBrowser();
  try {
    console.log(`${cpus().length} × ${cpus()[0].model}; load ${loadavg().map((load) => load.toFixed(1)).join(' ')}`);
    console.log('\n| drawn as | what | frames | script ms, p50 | p95 | all ms of the page\u2019s thread, p50 | p95 |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |');
    const { page } = await openPage(browser, { viewport: { width: 1280, height: 1200 } });
    await logIn(page, server);
    // Once the page is changed on its way, it stays so.
    for (const svg of [false, true]) await measure(page, server, id, svg);
  } finally {
    await browser.close();
    await server.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

await main();
