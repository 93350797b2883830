#!/usr/bin/env node
// What large captures cost: storing them, opening them, and each question to them, through the console as a browser asks:
//
//     cargo build --release -p bathyscope -p bathyscope-tests --bin bathyscope --bin make_captures
//     node tests/bench/captures.mjs [MILLIONS ...]        (1 10 100 by default; as root, so that caches can be dropped)
//
// KINDS: which of `switches calls samples states`. The captures are made by tests/src/bin/make_captures. Beside them stand the same columns as rows of a plain
// SQLite table, with an index over time, where sqlite3 is installed (up to 100 million), and `perf script` on a recording of the same events,
// where perf can record them. Prints tables as docs/measurements.md has them. BATHYSCOPE_BENCH_DIR: where the captures go
// (100 million take some 4 GiB, and as rows of SQLite 5).

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';

import { IS_ROOT, ROOT, Server, binary } from '../lib/server.mjs';

const SIZES = process.argv.slice(2).map(Number).filter((n) => n > 0);
if (SIZES.length === 0) SIZES.push(1, 10, 100);
const MAKER = join(ROOT, 'target/release/make_captures');
const KINDS = (process.env.KINDS ?? 'switches calls samples states').split(' ');
/** Of states, what is computed from them is read. */
const DERIVED = 'thread states';
const WINDOWS = 300;
const WIDTH = 1280;
const MILLION = 1e6;
/** Rows of SQLite take many minutes to be stored beyond this. */
const MAX_PLAIN_MILLIONS = 100;

const keep = new Agent({ keepAlive: true, maxSockets: 1 });
const installed = (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;
const milliseconds = (begin) => Number(process.hrtime.bigint() - begin) / 1e6;
const at = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];
const short = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** The same numbers on every run. */
function dice(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Asks once, on a connection that stays; gives the answer's text and how long it took. */
function ask(server, path, body, encoding) {
  const begin = process.hrtime.bigint();
  const headers = { ...(encoding ? { 'Accept-Encoding': encoding } : {}), Origin: server.origin, 'Sec-Fetch-Site': 'same-origin', Cookie: server.cookie };
  if (body) headers['Content-Type'] = 'application/json';
  return new Promise((resolve, reject) => {
    const sent = request({ host: server.host, port: server.port, method: body ? 'POST' : 'GET', path, headers, agent: keep }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        const took = milliseconds(begin);
        const body = Buffer.concat(parts);
        const text = body.toString();
        if (answer.statusCode === 200) resolve({ took, text, bytes: body.length });
        else reject(new Error(`${path}: ${answer.statusCode} ${text}`));
      });
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  });
}

async function times(server, paths) {
  const all = [];
  for (const path of paths) all.push((await ask(server, path)).took);
  return { p50: at(all, 0.5), p99: at(all, 0.99) };
}

function dropCaches() {
  if (!IS_ROOT) return false;
  spawnSync('sync');
  try {
    writeFileSync('/proc/sys/vm/drop_caches', '3');
    return true;
  } catch {
    return false;
  }
}

async function served(data, use) {
  const server = await Server.start({ data, simulate: true, profile: 'release' });
  try {
    await server.logIn();
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** How long a fresh console takes from the first question about a capture to its first timeline, with nothing cached. */
async function opened(data, id, stream) {
  const cold = dropCaches();
  return served(data, async (server) => {
    const page = await ask(server, `/captures/${id}`);
    const facts = await ask(server, `/api/captures/${id}`);
    const line = await ask(server, `/api/captures/${id}/timeline?${stream === undefined ? '' : `stream=${stream}&`}width=${WIDTH}`);
    return { cold, took: page.took + facts.took + line.took, memory: memoryOf(server.childPid('console')) };
  });
}

function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? NaN) / 1024;
}

/** Random windows of a capture of this length, from the whole to a ten thousandth. */
function windows(id, length, kind, stream) {
  const roll = dice(7);
  return Array.from({ length: WINDOWS }, () => {
    const width = Math.max(1000, Math.floor(length * 10 ** (-4 * roll())));
    const start = Math.floor(roll() * (length - width));
    return `/api/captures/${id}/${kind}?stream=${stream}&start=${start}&end=${start + width}&width=${WIDTH}`;
  });
}

/** Windows of so many tracks of a capture, as the tree of the timeline asks for them: times, and bytes as they are sent. */
async function trackWindows(server, id, length, count) {
  const { tracks } = JSON.parse((await ask(server, `/api/captures/${id}/tracks`)).text);
  const roll = dice(13);
  const all = [];
  for (let i = 0; i < WINDOWS; i += 1) {
    const width = Math.max(1000, Math.floor(length * 10 ** (-4 * roll())));
    const start = Math.floor(roll() * (length - width));
    const first = Math.floor(roll() * Math.max(1, tracks.length - count));
    const ids = tracks.slice(first, first + count).map((track) => track.id).join(',');
    all.push(await ask(server, `/api/captures/${id}/tracks/window?tracks=${ids}&start=${start}&end=${start + width}&width=${WIDTH}`, undefined, 'zstd'));
  }
  const of = (key) => all.map((one) => one[key]);
  return { p50: at(of('took'), 0.5), p99: at(of('took'), 0.99), bytes50: at(of('bytes'), 0.5), most: Math.max(...of('bytes')) };
}

/** Computes the streams of a capture of states, with the command for it: seconds, the most memory, and what each stream has. */
async function computed(data, id) {
  const begin = process.hrtime.bigint();
  const child = spawn(binary('release'), ['captures', 'compute', '--data', data, id], { stdio: ['ignore', 'inherit', 'inherit'] });
  let memory = 0;
  const watch = setInterval(() => {
    try {
      memory = Math.max(memory, memoryOf(child.pid) || 0);
    } catch { /* it has ended */ }
  }, 50);
  const code = await new Promise((resolve) => { child.on('exit', resolve); });
  clearInterval(watch);
  if (code !== 0) throw new Error(`captures compute: ${code}`);
  const took = milliseconds(begin) / 1000;
  const { streams, bytes } = await served(data, async (server) => JSON.parse((await ask(server, `/api/captures/${id}`)).text));
  return { took, memory, stream: streams.findIndex(({ name }) => name === DERIVED), streams, bytes };
}

async function askAll(server, { id, what, events }, stream = 0) {
  const facts = JSON.parse((await ask(server, `/api/captures/${id}`)).text);
  const length = facts.end_ns - facts.start_ns;
  const { rows, name: table } = facts.streams[stream];
  const base = `/api/captures/${id}`;
  const roll = dice(11);
  const range = (count) => Math.min(length, Math.ceil(length * (count / rows)));
  const found = {};
  await times(server, windows(id, length, 'timeline', stream).slice(0, 5));
  found.window = await times(server, windows(id, length, 'timeline', stream));
  found.page = await times(server, Array.from({ length: WINDOWS }, () => `${base}/rows?stream=${stream}&limit=100&offset=${Math.floor(roll() * rows)}`));
  const scanned = Math.min(rows, 10 * MILLION);
  const filter = encodeURIComponent(what === 'samples' ? 'tid == 3123 && cpu == 5' : what === 'states' ? 'tid == 1007 && cpu == 3' : what === 'calls' ? 'tid == 2123 && duration_ns > 1000000' : 'next_pid == 1234 && prev_state == 1');
  const filtered = await ask(server, `${base}/rate?stream=${stream}&bins=600&end=${range(scanned)}&filter=${filter}`);
  found.filter = { took: filtered.took, rows: scanned };
  if (what === 'samples') {
    const folded = Math.min(rows, MILLION);
    const flame = await ask(server, `${base}/flame?end=${range(folded)}&width=${WIDTH}`);
    found.flame = { took: flame.took, rows: folded, bytes: flame.text.length };
  }
  const sql = { switches: `select count(*), sum(next_pid), max(cpu) from "${table}"`, calls: `select count(*), sum(duration_ns), max(cpu) from "${table}"`, samples: `select count(*), sum(tid), max(cpu) from "${table}"`, states: `select count(*), sum(duration_ns), max(cpu) from "${table}"` }[what];
  const answer = await ask(server, `${base}/query`, { sql, limits: { time_ms: 60000 } });
  found.sql = { took: answer.took, rows };
  if (what === 'states') found.tracks = [await trackWindows(server, id, length, 40), await trackWindows(server, id, length, 200)];
  found.memory = memoryOf(server.childPid('console'));
  found.events = events;
  return found;
}

/** The same columns as rows of SQLite: storing, size, counting, a sum over all, one window. */
function plain(folder, events) {
  if (!installed('sqlite3')) return null;
  const file = join(folder, 'plain.db');
  const timed = (sql) => {
    const begin = process.hrtime.bigint();
    const { status, stderr } = spawnSync('sqlite3', [file, sql], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return milliseconds(begin) / 1000;
  };
  timed('pragma journal_mode=wal; create table e(time integer, cpu integer, pid integer, tid integer, comm integer, prev_state integer, next_comm integer, next_pid integer); create index e_time on e(time)');
  const ingest = timed(`insert into e select value*4000, abs(random())%16, 900+abs(random())%400, 900+abs(random())%400, abs(random())%200, abs(random())%2, abs(random())%200, 900+abs(random())%400 from generate_series(1, ${events})`);
  timed('pragma wal_checkpoint(truncate)');
  const bytes = statSync(file).size;
  const sum = timed('select count(*), sum(next_pid), max(cpu) from e');
  const width = events * 4000;
  const window = timed(`select cpu, (time - ${width * 0.2})/${Math.ceil((width * 0.5) / WIDTH)} as bin, count(*) from e where time between ${width * 0.2} and ${width * 0.7} group by cpu, bin`);
  rmSync(file);
  return { ingest: events / ingest, bytes: bytes / events, sum: events / sum, window: window * 1000 };
}

/** Events that perf recorded, how large its file is, and how fast it prints them. */
function perfs(folder) {
  if (!IS_ROOT || !installed('perf')) return null;
  const file = join(folder, 'perf.data');
  const load = 'for i in 1 2 3 4; do dd if=/dev/zero bs=1 count=400000 2>/dev/null | cat >/dev/null & done; wait';
  const recorded = spawnSync('perf', ['record', '-a', '-m', '2048', '-o', file, '-e', 'sched:sched_switch,sched:sched_wakeup', '--', 'sh', '-c', load], { encoding: 'utf8' });
  if (recorded.status !== 0) return null;
  const begin = process.hrtime.bigint();
  const { stdout } = spawnSync('sh', ['-c', `perf script -i ${file} 2>/dev/null | wc -l`], { encoding: 'utf8' });
  const took = milliseconds(begin) / 1000;
  const events = Number(stdout);
  const bytes = statSync(file).size;
  rmSync(file);
  return { events, bytes: bytes / events, perSecond: events / took };
}

function heading(text, columns) {
  console.log(`\n### ${text}\n\n| ${columns.join(' | ')} |\n| ${columns.map((_, i) => (i === 0 ? '---' : '---:')).join(' | ')} |`);
}

const line = (cells) => console.log(`| ${cells.join(' | ')} |`);

/** How long the same arithmetic takes ten times: what else the machine does. */
function noise() {
  const took = Array.from({ length: 10 }, () => {
    const begin = process.hrtime.bigint();
    let sum = 0;
    for (let i = 0; i < 5e7; i += 1) sum = (sum * 31 + i) | 0;
    return milliseconds(begin) + (sum === 1 ? 1 : 0);
  });
  return at(took, 1) / at(took, 0);
}

async function main() {
  if (!existsSync(MAKER)) throw new Error(`${MAKER} does not exist; build it as the head of this file says`);
  binary('release');
  const parent = process.env.BATHYSCOPE_BENCH_DIR ?? tmpdir();
  console.log(`${cpus().length} × ${cpus()[0].model}; the slowest of ten equal runs took ${noise().toFixed(2)} times the fastest's time`);
  const all = [];
  for (const size of SIZES) {
    const data = mkdtempSync(join(parent, 'bathyscope-captures-'));
    try {
      const made = spawnSync(MAKER, [data, String(size * MILLION), ...KINDS], { encoding: 'utf8' });
      if (made.status !== 0) throw new Error(made.stderr);
      const bytes = statSync(join(data, 'bathyscope.db')).size;
      for (const capture of made.stdout.trim().split('\n').map((text) => JSON.parse(text))) {
        const derived = capture.what === 'states' ? await computed(data, capture.id) : null;
        const open = await opened(data, capture.id, derived?.stream);
        all.push({ size, capture, bytes, open, derived, found: await served(data, (server) => askAll(server, capture, derived?.stream)) });
        console.error(`${size} M ${capture.what}: done`);
      }
      const beside = size <= MAX_PLAIN_MILLIONS && KINDS.includes('switches') ? plain(data, size * MILLION) : null;
      all.filter((one) => one.size === size).forEach((one) => { one.plain = one.capture.what === 'switches' ? beside : null; });
    } finally {
      rmSync(data, { recursive: true, force: true });
    }
  }
  heading('Storing', ['capture', 'M events/s of one CPU', 'encoding alone', 'bytes/event', 'with index and texts', 'peak memory at half → end, MiB', 'SQLite rows: M/s', 'bytes']);
  for (const { size, capture: c, plain: p } of all) {
    const mib = (bytes) => (bytes / 2 ** 20).toFixed(0);
    line([`${size} M ${c.what}`, short(c.events / (c.encode_cpu_s + c.store_cpu_s) / MILLION), short(c.events / c.encode_cpu_s / MILLION), short(c.chunk_bytes / c.events), short(c.all_bytes / c.events), `${mib(c.half_peak_bytes)} → ${mib(c.peak_bytes)}`, p ? short(p.ingest / MILLION) : '', p ? short(p.bytes) : '']);
  }
  heading('Opening and reading, in milliseconds', ['capture', `first timeline, ${all[0].open.cold ? 'cold' : 'caches not dropped'}`, 'window p50', 'p99', 'page p50', 'p99', 'filter', 'of M rows', 'flame graph', 'memory, MiB', 'SQLite: window']);
  for (const { size, capture: c, open, found: f, plain: p } of all) {
    line([`${size} M ${c.what}`, short(open.took), short(f.window.p50), short(f.window.p99), short(f.page.p50), short(f.page.p99), short(f.filter.took), short(f.filter.rows / MILLION), f.flame ? `${short(f.flame.took)} of ${short(f.flame.rows / MILLION)} M` : '', f.memory.toFixed(0), p ? short(p.window) : '']);
  }
  heading('SQL, `select count(*), sum(…), max(cpu)`', ['capture', 'M rows', 's', 'M rows/s', 'SQLite rows: M/s']);
  for (const { size, capture: c, found: f, plain: p } of all) {
    line([`${size} M ${c.what}`, short(f.sql.rows / MILLION), short(f.sql.took / 1000), short(f.sql.rows / f.sql.took / 1000), p ? short(p.sum / MILLION) : '']);
  }
  const derived = all.filter((one) => one.derived);
  if (derived.length > 0) heading('Streams computed from switches and wake-ups, stored', ['capture', 's', 'most memory, MiB', 'rows, M', 'bytes a row, with index and tracks']);
  for (const { size, capture: c, derived: d } of derived) {
    const made = d.streams.filter(({ rule }) => rule !== '').reduce((sum, { rows }) => sum + rows, 0);
    line([`${size} M events`, short(d.took), d.memory.toFixed(0), short(made / MILLION), short((d.bytes - c.all_bytes) / made)]);
  }
  if (derived.length > 0) heading('Windows of tracks', ['capture', 'tracks', 'p50, ms', 'p99, ms', 'bytes as sent, p50', 'the most']);
  for (const { size, found: f } of derived) {
    [40, 200].forEach((count, i) => line([`${size} M events`, count, short(f.tracks[i].p50), short(f.tracks[i].p99), f.tracks[i].bytes50, f.tracks[i].most]));
  }
  const perf = perfs(parent);
  console.log(perf ? `\nperf: ${perf.events} events recorded, ${short(perf.bytes)} bytes each; \`perf script\` prints ${short(perf.perSecond / MILLION)} M events/s` : '\nperf: cannot record here');
  keep.destroy();
}

await main();
