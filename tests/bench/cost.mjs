#!/usr/bin/env node
// What observing costs, and what of it is lost, beside the tools that people use for the same:
//
//     cargo build --release && node tests/bench/cost.mjs [ROUNDS [PART ...]]        (as root; 5 rounds by default)
//
//   calls    `dd bs=1` under tracers of all its system calls
//   samples  share of a CPU that sampling takes at 99, 999 and 9999 Hz, for the sampled and for the sampler
//   graph    calls of one busy function by function_graph, stored without loss; in the kernel lab, beside trace-cmd
//   flight   what a flight recorder takes, fired and not, beside a capture of the same events
//   guard    how soon a probe on the busiest function is off, and how the host answers meanwhile; in the kernel lab
//
// Tools take turns in each round. A tool that is not installed, or cannot run on this kernel, has a line that says so. The
// lab is emulated: of its times only ratios mean something.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { IS_ROOT, ROOT, Server, binary, dataFolder, removeFolder, until } from '../lib/server.mjs';

const ROUNDS = Number(process.argv[2] ?? 5);
const PARTS = process.argv.slice(3);
const OURS = binary(process.env.BATHYSCOPE_BIN ? undefined : 'release');
const IN_LAB = process.env.BATHYSCOPE_LAB === '1';
const BYTES = 100 * 1024;
const DD = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', `count=${BYTES}`];
const SERIES = '6.12';

const sorted = (values) => [...values].sort((a, b) => a - b);
const median = (values) => {
  const all = sorted(values);
  const middle = all.length >> 1;
  return all.length % 2 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
};
const range = (values) => `${sorted(values)[0].toPrecision(3)} to ${sorted(values).at(-1).toPrecision(3)}`;
const count = (value) => Math.round(value).toLocaleString('en');
const installed = (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

/** Runs a program to its end; gives what it said and how it ended. */
function run(words, options = {}) {
  const { stdout, stderr, status, error } = spawnSync(words[0], words.slice(1), { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  return { said: `${stdout ?? ''}${stderr ?? ''}`, status, error };
}

/** Seconds that dd says it copied for; none if it did not run. */
const seconds = (said) => Number(/copied, ([\d.e-]+) s/.exec(said)?.[1] ?? NaN);
const sumOf = (said, pattern) => [...said.matchAll(pattern)].reduce((sum, [, n]) => sum + Number(n.replaceAll(',', '')), 0);

/** Each tool: its words before dd's, and how many events it says it lost. */
const TRACERS = {
  untraced: { words: [] },
  'bathyscope strace': { words: [OURS, 'strace', '-f', '-o', '/dev/null'], lost: (said) => sumOf(said, /LOST ([\d,]+)/g) },
  'bathyscope strace -c': { words: [OURS, 'strace', '-f', '-c', '-o', '/dev/null'], lost: (said) => sumOf(said, /LOST ([\d,]+)/g) },
  strace: { words: ['strace', '-f', '-o', '/dev/null'], lost: () => 0 },
  'strace -c': { words: ['strace', '-f', '-c', '-o', '/dev/null'], lost: () => 0 },
  'perf trace': { words: ['perf', 'trace', '-o', '/dev/null', '--'], lost: (said) => sumOf(said, /LOST (\d+) events/g) },
  'perf trace -s': { words: ['perf', 'trace', '-s', '-o', '/dev/null', '--'], lost: (said) => sumOf(said, /LOST (\d+) events/g) },
  sysdig: { words: ['sysdig', '-w', '/dev/null', '--'], lost: () => NaN },
  'bathyscope count': { script: [OURS, 'trace', '-q', '-e'] },
  'bpftrace count': { script: ['bpftrace', '-q', '-e'] },
};
const COUNT = 'tracepoint:raw_syscalls:sys_enter { @ = count(); } interval:s:60 { exit(); }';

/** One run of dd under a tracer; a reason if it cannot be. */
async function traced({ words, script, lost }) {
  const tool = (words ?? script)[0];
  if (tool && !existsSync(tool) && !installed(tool)) return { why: 'not installed' };
  if (script) return counted(script);
  const { said, status } = run([...words, ...DD]);
  const time = seconds(said);
  if (Number.isNaN(time)) return { why: said.trim().split('\n').at(-1).slice(0, 100) || `status ${status}` };
  return { time, lost: lost?.(said) ?? 0 };
}

/** dd beside a script that counts all system calls. */
async function counted(script) {
  const child = spawn(script[0], [...script.slice(1), `BEGIN { printf("ready\\n"); } ${COUNT}`], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let bad = '';
  child.stdout.on('data', (bytes) => { out += bytes; });
  child.stderr.on('data', (bytes) => { bad += bytes; });
  const ended = new Promise((resolve) => { child.on('exit', resolve); });
  let over = false;
  ended.then(() => { over = true; });
  await until('the script', () => over || out.includes('ready'));
  if (over) return { why: bad.trim().split('\n')[0].slice(0, 100) };
  const time = seconds(run(DD).said);
  child.kill('SIGINT');
  await ended;
  return { time, lost: 0 };
}

async function calls() {
  const results = new Map(Object.keys(TRACERS).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, tracer] of Object.entries(TRACERS)) {
      const before = results.get(name);
      if (before[0]?.why === undefined) before.push(await traced(tracer));
    }
  }
  const base = median(results.get('untraced').map(({ time }) => time));
  console.log(`\n\`dd bs=1 count=${BYTES}\`, ${2 * BYTES} calls of read and write; spread of the untraced: ${range(results.get('untraced').map(({ time }) => time))} s\n`);
  console.log('| tool | seconds | times untraced | lost in a run |\n| --- | --- | --- | --- |');
  for (const [name, runs] of results) {
    if (runs[0].why !== undefined) console.log(`| ${name} | | | ${runs[0].why} |`);
    else console.log(`| ${name} | ${median(runs.map(({ time }) => time)).toFixed(3)} | ${(median(runs.map(({ time }) => time)) / base).toFixed(2)} | ${count(median(runs.map(({ lost }) => lost)))} |`);
  }
}

/** Nanoseconds of CPU that the threads of a process have used. */
const threadsNs = (pid) => spawnSync('sh', ['-c', `cat /proc/${pid}/task/*/schedstat`], { encoding: 'utf8' }).stdout.trim().split('\n').reduce((sum, line) => sum + Number(line.split(' ')[0]), 0);

/** Turns of a loop in a second, from a process that does nothing else. */
function spinner() {
  const code = 'let n=0;const end=Date.now()+Number(process.argv[1])*1000;while(Date.now()<end){for(let i=0;i<1e5;i+=1)n+=i&1;process.turns=(process.turns??0)+1}console.log(process.turns)';
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['-e', code, '4'], { stdio: ['ignore', 'pipe', 'ignore'] });
    let out = '';
    child.stdout.on('data', (bytes) => { out += bytes; });
    child.on('exit', () => resolve(Number(out)));
  });
}

/** Stops a capture; gives what it is when it has ended. */
async function stopped(server, id) {
  await server.api('POST', `/api/captures/${id}/stop`);
  return until('the end', async () => {
    const now = await server.api('GET', `/api/captures/${id}`);
    return now.running ? null : now;
  });
}

async function sampledByUs(server, hertz) {
  const { id } = await server.api('POST', '/api/captures', { method: { profile: { frequency_hz: hertz, kernel_stacks: true, user_stacks: true } }, target: 'system', limits: { budget_cpu_permille: 1000, duration_ms: 60_000 } });
  const pids = [server.childPid('console'), server.childPid('agent')];
  const before = pids.map(threadsNs);
  const begin = performance.now();
  const turns = await spinner();
  const seconds = (performance.now() - begin) / 1000;
  const used = pids.map(threadsNs).reduce((sum, now, i) => sum + now - before[i], 0) / 1e9 / seconds;
  const capture = await stopped(server, id);
  const lost = capture.ledger.losses.reduce((sum, loss) => sum + loss.count, 0);
  return { turns, used, stored: capture.ledger.streams[0].stored, lost };
}

async function sampledByPerf(hertz) {
  const file = join(process.env.TMPDIR ?? '/tmp', `bathyscope-bench-${process.pid}.data`);
  const child = spawn('perf', ['record', '-a', '-g', '-F', String(hertz), '-o', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (bytes) => { said += bytes; });
  const ended = new Promise((resolve) => { child.on('exit', resolve); });
  await until('perf', () => existsSync(file) && statSync(file).size > 0);
  const [before, begin] = [threadsNs(child.pid), performance.now()];
  const turns = await spinner();
  const used = (threadsNs(child.pid) - before) / 1e6 / (performance.now() - begin);
  child.kill('SIGINT');
  await ended;
  rmSync(file, { force: true });
  return { turns, used, stored: Number(/\((\d+) samples\)/.exec(said)?.[1] ?? NaN), lost: sumOf(said, /lost (\d+)/gi) };
}

async function samples() {
  const data = dataFolder();
  const server = await Server.start({ data, profile: process.env.BATHYSCOPE_BIN ? undefined : 'release' });
  await server.logIn();
  const results = new Map();
  const add = (name, result) => results.set(name, [...results.get(name) ?? [], result]);
  for (let round = 0; round < ROUNDS; round += 1) {
    add('nobody', { turns: await spinner(), used: 0, stored: 0, lost: 0 });
    for (const hertz of [99, 999, 9999]) {
      add(`bathyscope ${hertz} Hz`, await sampledByUs(server, hertz));
      if (installed('perf')) add(`perf record ${hertz} Hz`, await sampledByPerf(hertz));
    }
  }
  await server.stop();
  removeFolder(data);
  const base = median(results.get('nobody').map(({ turns }) => turns));
  console.log(`\nSampling all CPUs with stacks beside a busy loop; turns of the loop without: ${range(results.get('nobody').map(({ turns }) => turns))}\n`);
  console.log('| sampler | slow-down of the loop | CPU of the sampler | samples | lost |\n| --- | --- | --- | --- | --- |');
  for (const [name, runs] of results) {
    const of = (key) => median(runs.map((one) => one[key]));
    console.log(`| ${name} | ${((base / of('turns') - 1) * 100).toFixed(1)} % | ${(of('used') * 100).toFixed(2)} % | ${count(of('stored'))} | ${count(of('lost'))} |`);
  }
}

/** Events that dd's writes make below `vfs_write` in function_graph, and how fast they were stored. */
async function graphHere() {
  const work = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=20000'];
  const file = '/tmp/bench-trace.dat';
  const data = dataFolder();
  const tools = {
    bathyscope: [OURS, 'record', '--data', data, '-p', 'function_graph', '-g', 'vfs_write', ...work],
    'trace-cmd': ['trace-cmd', 'record', '-o', file, '-p', 'function_graph', '-g', 'vfs_write', ...work],
  };
  const results = { untraced: [], bathyscope: [], 'trace-cmd': [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    results.untraced.push({ time: seconds(run(work).said), stored: 0, lost: 0 });
    for (const [name, words] of Object.entries(tools)) {
      const { said, status } = run(words);
      if (status !== 0) throw new Error(`${name}: ${said}`);
      results[name].push({ time: seconds(said), ...(name === 'bathyscope' ? storedByUs(said) : storedByTraceCmd(file)) });
    }
  }
  removeFolder(data);
  console.log('\n`dd bs=1 count=20000` under function_graph from `vfs_write`, emulated: only ratios mean something\n');
  console.log('| tool | seconds | events stored | events/s | lost |\n| --- | --- | --- | --- | --- |');
  for (const [name, runs] of Object.entries(results)) {
    const of = (key) => median(runs.map((one) => one[key]));
    console.log(`| ${name} | ${of('time').toFixed(2)} | ${count(of('stored'))} | ${count(of('stored') / of('time'))} | ${count(of('lost'))} |`);
  }
}

/** Rows of calls are two events each, an entry and its exit. */
function storedByUs(said) {
  return { stored: sumOf(said, /function_graph: \d+ hits, \d+ filtered, (\d+) recorded/g) * 2, lost: sumOf(said, /LOST ([\d,]+)/g) };
}

function storedByTraceCmd(file) {
  const { said } = run(['trace-cmd', 'report', '--stat', '-i', file]);
  const text = run(['sh', '-c', `trace-cmd report -i ${file} | grep -c funcgraph_`]).said;
  return { stored: Number(text.trim()), lost: sumOf(said, /overrun: (\d+)/g) + sumOf(said, /dropped events: (\d+)/g) };
}

/** From the breach of the budget to no more hits, on the busiest function there is. */
async function guardHere() {
  const load = spawn('sh', ['-c', 'while :; do dd if=/dev/zero of=/dev/null bs=1 count=100000 2>/dev/null; done'], { stdio: 'ignore', detached: true });
  const data = dataFolder();
  const server = await Server.start({ data, profile: process.env.BATHYSCOPE_BIN ? undefined : 'release' });
  await server.logIn();
  const off = [];
  const answers = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { id } = await server.api('POST', '/api/captures', { method: { script: { text: 'kprobe:vfs_write { @[kstack] = count(); @t = hist(nsecs % 1000); }' } }, target: 'system', limits: { budget_cpu_permille: 10 } });
    const begin = performance.now();
    for (;;) {
      const asked = performance.now();
      const now = await server.api('GET', `/api/captures/${id}`);
      answers.push(performance.now() - asked);
      if (!now.running) {
        off.push([(performance.now() - begin) / 1000, now.reason]);
        break;
      }
      if (performance.now() - begin > 60_000) throw new Error('the guard did nothing for a minute');
    }
  }
  process.kill(-load.pid, 'SIGKILL');
  await server.stop();
  removeFolder(data);
  console.log('\nA kprobe with stacks on `vfs_write` beside an endless `dd bs=1`, budget 1 % of a CPU, emulated\n');
  console.log(`from the answer to the start until the capture had ended: ${range(off.map(([time]) => time))} s, median ${median(off.map(([time]) => time)).toFixed(2)} s`);
  console.log(`the console answered meanwhile in ${median(answers).toFixed(1)} ms (median), ${Math.max(...answers).toFixed(0)} ms at most`);
  console.log(`reason told: ${off[0][1]}`);
}

/** Runs a part of this file in the kernel lab. */
function inLab(part) {
  const folder = join(ROOT, 'target', 'lab-scratch', 'bench');
  spawnSync('mkdir', ['-p', folder]);
  const words = ['-k', SERIES, '-m', '2G', '-t', '900', folder, 'env', `BATHYSCOPE_BIN=${OURS}`, process.execPath, join(ROOT, 'tests/bench/cost.mjs'), String(Math.min(ROUNDS, 3)), part];
  const { said, status } = run([join(ROOT, 'tests/lab/boot'), ...words]);
  console.log(status === 0 ? said.trim() : `${part}: the kernel lab failed (${status})\n${said.slice(-4000)}`);
}

const FLOOD = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=500k'];

/** A flood of system calls while it is recorded: `flight` as in a capture's limits, and whether it is fired at the end. */
async function flown(server, { flight, fires }) {
  const spec = {
    method: { events: { probes: [{ tracepoint: 'raw_syscalls:sys_enter', fields: ['id'] }] } },
    target: 'system',
    limits: { duration_ms: 120_000, budget_cpu_permille: 1000, ...(flight && { flight }) },
  };
  const { id } = await server.api('POST', '/api/captures', spec);
  const pids = [server.childPid('console'), server.childPid('agent')];
  await until('the first rows', async () => (await server.api('GET', `/api/captures/${id}`)).ledger.streams[0].hits > 0);
  const before = pids.map(threadsNs);
  const time = seconds(run(FLOOD).said);
  const stored = fires && (await server.api('POST', `/api/captures/${id}/fire`)).id;
  const capture = await stopped(server, id);
  const used = pids.map(threadsNs).reduce((sum, now, i) => sum + now - before[i], 0) / 1e9;
  const kept = stored ? await server.api('GET', `/api/captures/${stored}`) : capture;
  const { hits } = capture.ledger.streams[0];
  const lost = capture.ledger.losses.filter(({ stage }) => stage !== 'not_kept').reduce((sum, loss) => sum + loss.count, 0);
  return { time, used: used / (hits / 1e6), rows: kept.ledger.streams[0].stored, bytes: kept.chunk_bytes, lost };
}

async function flight() {
  const data = dataFolder();
  const server = await Server.start({ data, profile: process.env.BATHYSCOPE_BIN ? undefined : 'release' });
  await server.logIn();
  const kept = (memory_mib) => ({ before_s: 60, after_s: 0, memory_mib, triggers: [] });
  const ways = {
    'a capture': {},
    'a flight recorder of 64 MiB that nothing fires': { flight: kept(64) },
    'with a condition on each row that never holds': { flight: { ...kept(64), triggers: ['id == 999999'] } },
    'the same of 4 MiB': { flight: { ...kept(4), triggers: ['id == 999999'] } },
    'of 64 MiB, fired at the end': { flight: kept(64), fires: true },
  };
  const results = new Map(Object.keys(ways).map((name) => [name, []]));
  const untraced = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    untraced.push(seconds(run(FLOOD).said));
    for (const [name, way] of Object.entries(ways)) results.get(name).push(await flown(server, way));
  }
  await server.stop();
  removeFolder(data);
  console.log('\n`dd bs=1 count=500k` while each system call is recorded\n');
  console.log('| way | times untraced | CPU of ours for a million rows | rows kept | bytes of them | lost |\n| --- | --- | --- | --- | --- | --- |');
  for (const [name, runs] of results) {
    const of = (key) => median(runs.map((one) => one[key]));
    console.log(`| ${name} | ${(of('time') / median(untraced)).toFixed(2)} | ${of('used').toFixed(2)} s (${range(runs.map(({ used }) => used))}) | ${count(of('rows'))} | ${count(of('bytes'))} | ${count(of('lost'))} |`);
  }
}

const ALL = { calls, samples, flight, graph: () => (IN_LAB ? graphHere() : inLab('graph')), guard: () => (IN_LAB ? guardHere() : inLab('guard')) };
if (!IS_ROOT) {
  console.log('SKIPPED: the benchmark of costs — root');
  process.exit(0);
}
const release = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();
console.log(`${cpus().length} CPUs, ${cpus()[0].model}, Linux ${release}; medians of ${ROUNDS} rounds`);
for (const part of PARTS.length > 0 ? PARTS : Object.keys(ALL)) {
  if (!ALL[part]) throw new Error(`no part ${part}; there are ${Object.keys(ALL).join(' ')}`);
  await ALL[part]();
}
