#!/usr/bin/env node
// Stacks folded and drawn beside inferno (`cargo install inferno`): from samples to folded lines and to a flame graph, what the
// picture weighs, and how long Chromium takes to show it from disk.
//
//     cargo build --release -p bathyscope -p bathyscope-tests --bin bathyscope --bin make_captures
//     node tests/bench/inferno.mjs [EVENTS] [debug]
//
// Ours reads the samples of a capture in a console that has just started and kept nothing, and answers by HTTP. Inferno reads the same
// samples as the text of `perf script`, which perf would have to write first. Both in turns; prints a table as docs/measurements.md
// has it: medians, and the median of the ratios of pairs. The pictures are those of `wide` of make_captures.

import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { Server, binary } from '../lib/server.mjs';
import { openBrowser } from '../browser/lib.mjs';
import { at, short } from './frames.mjs';

const [events = '1000000', profile = 'release'] = process.argv.slice(2);
const MAKER = join(dirname(binary(profile)), 'make_captures');
const PAIRS = 7;
const OPENINGS = 9;
const median = (values) => at(values, 0.5);

/** Milliseconds that something takes. */
async function timed(act) {
  const start = process.hrtime.bigint();
  await act();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

const shell = (command) => execFileSync('bash', ['-c', command], { stdio: ['ignore', 'ignore', 'inherit'], maxBuffer: 1 << 30 });

/** A file of a capture, as text. */
async function fileOf(server, id, format) {
  const answer = await server.send('GET', `/api/captures/${id}/export?format=${format}`);
  if (answer.statusCode !== 200) throw new Error(`${format}: ${answer.statusCode}`);
  const parts = [];
  for await (const part of answer) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** Asks a console that has just started, and ends it. */
async function ask(data, id, format) {
  const server = await Server.start({ data, simulate: true, profile });
  try {
    await server.logIn();
    let text = '';
    const ms = await timed(async () => { text = await fileOf(server, id, format); });
    return { ms, text };
  } finally {
    await server.stop();
  }
}

/** Writes folded stacks as `perf script` prints samples. */
function writeAsPerf(folded, path) {
  const file = openSync(path, 'w');
  for (const line of folded.trimEnd().split('\n')) {
    const space = line.lastIndexOf(' ');
    const [comm, ...frames] = line.slice(0, space).split(';');
    const lines = frames.reverse().map((name, i) => `\t${(0xffff0000 + i).toString(16)} ${name}+0x10 (/usr/lib/some)`);
    const sample = `${comm} 4221/4221 [000] 12.500000: 10101010 cpu-clock: \n${lines.join('\n')}\n\n`;
    const count = Number(line.slice(space + 1));
    for (let left = count; left > 0; left -= 1000) writeSync(file, sample.repeat(Math.min(left, 1000)));
  }
  closeSync(file);
}

async function compare(name, ours, theirs) {
  const pairs = [];
  for (let pair = 0; pair < PAIRS; pair += 1) pairs.push([await ours(), await theirs()]);
  const [mine, its] = [0, 1].map((side) => median(pairs.map((pair) => pair[side])));
  const ratio = median(pairs.map(([a, b]) => a / b));
  console.log(`| ${name} | ${short(mine)} ms | ${short(its)} ms | ${ratio.toFixed(2)} |`);
}

/** Milliseconds until Chromium has shown a file from disk. */
async function opening(browser, path) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1200 } });
  try {
    return await timed(async () => {
      await page.goto(pathToFileURL(path).href);
      await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
    });
  } finally {
    await page.close();
  }
}

async function main() {
  const folder = mkdtempSync(join(process.env.BATHYSCOPE_BENCH_DIR ?? tmpdir(), 'bathyscope-inferno-'));
  // The console runs as another user.
  chmodSync(folder, 0o755);
  const inFolder = (name) => join(folder, name);
  const make = (count, kind) => {
    const data = inFolder(kind);
    return { data, id: JSON.parse(execFileSync(MAKER, [data, count, kind], { encoding: 'utf8' })).id };
  };
  const browser = await openBrowser();
  try {
    const [samples, wide] = [make(events, 'samples'), make('60000', 'wide')];
    const { text: folded } = await ask(samples.data, samples.id, 'folded');
    writeAsPerf(folded, inFolder('perf.txt'));
    console.log(`${events} samples, ${folded.split('\n').length - 1} distinct stacks; load ${loadavg().map((load) => load.toFixed(1)).join(' ')}`);
    console.log('\n| what | ours | inferno | ratio |\n| --- | ---: | ---: | ---: |');
    const ours = (format) => async () => (await ask(samples.data, samples.id, format)).ms;
    const collapse = `inferno-collapse-perf < ${inFolder('perf.txt')}`;
    await compare('samples to folded stacks', ours('folded'), () => timed(() => shell(`${collapse} > ${inFolder('theirs.folded')}`)));
    await compare('samples to a flame graph', ours('svg'), () => timed(() => shell(`${collapse} 2>/dev/null | inferno-flamegraph > ${inFolder('theirs.svg')}`)));
    writeFileSync(inFolder('wide.folded'), (await ask(wide.data, wide.id, 'folded')).text);
    writeFileSync(inFolder('ours.svg'), (await ask(wide.data, wide.id, 'svg')).text);
    shell(`inferno-flamegraph < ${inFolder('wide.folded')} > ${inFolder('theirs.svg')}`);
    const [mine, its] = ['ours.svg', 'theirs.svg'].map((name) => statSync(inFolder(name)).size);
    console.log(`| a flame graph of 19,600 frames weighs | ${(mine / 1e6).toFixed(2)} MB | ${(its / 1e6).toFixed(2)} MB | ${(mine / its).toFixed(2)} |`);
    const openings = [];
    for (let i = 0; i < OPENINGS; i += 1) openings.push([await opening(browser, inFolder('ours.svg')), await opening(browser, inFolder('theirs.svg'))]);
    const [a, b] = [0, 1].map((side) => median(openings.map((pair) => pair[side])));
    console.log(`| Chromium shows it after | ${short(a)} ms | ${short(b)} ms | ${median(openings.map(([x, y]) => x / y)).toFixed(2)} |`);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
