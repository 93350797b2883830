#!/usr/bin/env node
// What tracing costs: the program that makes the most system calls a second, `dd bs=1`, untraced and under three
// tracers of `raw_syscalls:sys_enter`, in interleaved rounds on this machine.
//
//     cargo build --release && node tests/bench/overhead.mjs [ROUNDS]        (as root; 5 rounds by default)
//
// Prints one table. dd's own figure for its time is used everywhere, so starting and stopping a tracer is not counted.

import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, statSync, unlinkSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { IS_ROOT, Server, binary, dataFolder, removeFolder, until } from '../lib/server.mjs';

const ROUNDS = Number(process.argv[2] ?? 5);
const DD = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=500k'];
// A read and a write for each byte; what perf stored less than that, it lost (its own count is of chunks).
const CALLS = 2 * 500 * 1024;

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const sum = (values) => values.reduce((total, value) => total + value, 0);
const count = (value) => value.toLocaleString('en');

/** Runs a program to its end; gives what it wrote on stderr. */
function run(words, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(words[0], words.slice(1), { stdio: ['ignore', 'ignore', 'pipe'], ...options });
    let said = '';
    child.stderr.on('data', (bytes) => { said += bytes; });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve(said) : reject(new Error(`${words[0]}: ${code}\n${said}`))));
  });
}

/** Seconds that dd says it copied for. */
const seconds = (said) => Number(/copied, ([\d.e-]+) s/.exec(said)[1]);

const memory = (pid, what) => Number(new RegExp(`^${what}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

async function ours(server) {
  const spec = {
    method: { events: { probes: [{ tracepoint: 'raw_syscalls:sys_enter', fields: ['id'] }] } },
    target: 'system',
    limits: { duration_ms: 120_000, budget_cpu_permille: 1000 },
  };
  const { id } = await server.api('POST', '/api/captures', spec);
  const pids = [server.childPid('console'), server.childPid('agent')];
  const peaks = [0, 0];
  const watch = setInterval(() => pids.forEach((pid, i) => { peaks[i] = Math.max(peaks[i], memory(pid, 'VmRSS')); }), 20);
  await until('the first rows', async () => (await server.api('GET', `/api/captures/${id}`)).streams[0].rows > 0);
  const time = seconds(await run(DD));
  await server.api('POST', `/api/captures/${id}/stop`);
  const capture = await until('the end', async () => {
    const now = await server.api('GET', `/api/captures/${id}`);
    return now.running ? null : now;
  });
  clearInterval(watch);
  const [stream] = capture.ledger.streams;
  const losses = {};
  for (const loss of capture.ledger.losses) losses[loss.stage] = (losses[loss.stage] ?? 0) + loss.count;
  return { time, emitted: stream.emitted, stored: stream.stored, losses, bytes: capture.bytes, peaks };
}

async function perf() {
  const file = join(process.env.TMPDIR ?? '/tmp', `bathyscope-bench-${process.pid}.data`);
  const said = await run(['perf', 'record', '-e', 'raw_syscalls:sys_enter', '-a', '-o', file, '--', ...DD]);
  const stats = execFileSync('perf', ['report', '--stats', '-i', file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const of = (kind) => Number(new RegExp(`^\\s+${kind} events:\\s+(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  const result = { time: seconds(said), stored: of('SAMPLE'), bytes: statSync(file).size };
  unlinkSync(file);
  return result;
}

async function strace() {
  return { time: seconds(await run(['strace', '-f', '-o', '/dev/null', ...DD])) };
}

/** Milliseconds from the request to the answer, to the first rows in the viewer's stream, over several captures. */
async function firstRow(server) {
  const answers = [];
  const rows = [];
  const attach = [];
  for (let i = 0; i < 7; i += 1) {
    const spec = {
      method: { events: { probes: [{ tracepoint: 'sched:sched_switch', fields: ['prev_comm', 'next_comm', 'next_pid'] }] } },
      target: 'system',
      limits: { duration_ms: 20_000 },
    };
    const begin = performance.now();
    const { id } = await server.api('POST', '/api/captures', spec);
    answers.push(performance.now() - begin);
    for await (const [name] of server.events(`/api/captures/${id}/live`)) {
      if (name === 'rows') break;
    }
    rows.push(performance.now() - begin);
    await server.api('POST', `/api/captures/${id}/stop`);
    await until('the end', async () => !(await server.api('GET', `/api/captures/${id}`)).running);
    const line = /"?compile_ns"?[=:]\s*(\d+).*?"?load_ns"?[=:]\s*(\d+).*?"?attach_ns"?[=:]\s*(\d+)/.exec(server.said.slice(-20_000));
    if (line) attach.push(sum(line.slice(1).map(Number)) / 1e6);
  }
  return { answer: median(answers), row: median(rows), attach: attach.length ? median(attach) : null };
}

if (!IS_ROOT) {
  console.log('SKIPPED: the benchmark of overhead — root');
  process.exit(0);
}
const data = dataFolder();
const server = await Server.start({ data, profile: 'release', options: ['--log', 'debug'] });
await server.logIn();
const idle = [server.childPid('console'), server.childPid('agent')].map((pid) => memory(pid, 'VmRSS'));
const latency = await firstRow(server);

await run(DD);
const results = { untraced: [], bathyscope: [], perf: [], strace: [] };
for (let round = 0; round < ROUNDS; round += 1) {
  results.untraced.push({ time: seconds(await run(DD)) });
  results.bathyscope.push(await ours(server));
  results.perf.push(await perf());
  results.strace.push(await strace());
}
await server.stop();
removeFolder(data);

const base = median(results.untraced.map((one) => one.time));
const spread = results.untraced.map((one) => one.time);
console.log(`${cpus().length} CPUs, ${cpus()[0].model}, Linux ${readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim()}; medians of ${ROUNDS} interleaved rounds`);
console.log(`noise of the machine: dd untraced from ${Math.min(...spread).toFixed(3)} to ${Math.max(...spread).toFixed(3)} s\n`);
console.log('| dd bs=1 count=500k | seconds | times untraced | events stored | lost | bytes stored |');
console.log('| --- | --- | --- | --- | --- | --- |');
for (const [name, runs] of Object.entries(results)) {
  const time = median(runs.map((one) => one.time));
  const stored = runs[0].stored === undefined ? '' : count(median(runs.map((one) => one.stored)));
  const lost = name === 'bathyscope' ? count(Math.round(median(runs.map((one) => sum(Object.values(one.losses))))))
    : name === 'perf' ? `at least ${count(median(runs.map((one) => Math.max(0, CALLS - one.stored))))}` : '';
  const bytes = runs[0].bytes === undefined ? '' : count(median(runs.map((one) => one.bytes)));
  console.log(`| ${name} | ${time.toFixed(3)} | ${(time / base).toFixed(2)} | ${stored} | ${lost} | ${bytes} |`);
}
const stages = {};
for (const one of results.bathyscope) for (const [stage, n] of Object.entries(one.losses)) stages[stage] = (stages[stage] ?? 0) + n;
const emitted = sum(results.bathyscope.map((one) => one.emitted));
console.log(`\nbathyscope, all rounds: emitted ${count(emitted)}, stored ${count(sum(results.bathyscope.map((one) => one.stored)))}, lost by stage ${JSON.stringify(stages)}`);
const peak = (i) => Math.max(...results.bathyscope.map((one) => one.peaks[i])).toFixed(0);
console.log(`memory (resident): console ${idle[0].toFixed(0)} MiB idle, ${peak(0)} MiB at most during capture; agent ${idle[1].toFixed(0)} and ${peak(1)} MiB`);
console.log(`start to answer ${latency.answer.toFixed(1)} ms, to the first row in the stream ${latency.row.toFixed(1)} ms (medians of 7)${latency.attach === null ? '' : `; compile, load and attach ${latency.attach.toFixed(2)} ms`}`);
console.log(`release binary ${(statSync(binary('release')).size / 2 ** 20).toFixed(1)} MiB`);
