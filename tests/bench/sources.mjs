#!/usr/bin/env node
// What captures of several sources cost, beside the tools that people use for the same:
//
//     cargo build --release && node tests/bench/sources.mjs [ROUNDS [PART ...]]        (as root; 5 rounds by default)
//
//   recipe    the sources of "where does the time of this process go" of the whole machine while pairs of processes hand
//             bytes to each other, `dd bs=1` copies, a loop turns, and a compiler compiles; beside `perf sched record`,
//             `perf trace -s` and `perf record -g`, all three at once
//   losses    the same without perf
//   switches  nanoseconds of a switch, with and without stacks, beside the tracepoint and an off-CPU script of bpftrace
//   targets   nanoseconds of a switch with thread states of the whole system, of who switches, and of others
//   start     from the request to the answer, when all is attached: five sources, one source; with BATHYSCOPE_OLD, the
//             path of another binary, that one in turns with this one
//
// What is compared takes turns in each round. Prints tables of medians.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';

import { IS_ROOT, ROOT, Server, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { programRuns } from '../lib/programs.mjs';

const ROUNDS = Number(process.argv[2] ?? 5);
const PARTS = process.argv.slice(3);
const SECONDS = 8;
const STATISTICS = '/proc/sys/kernel/bpf_stats_enabled';
const FOLDER = mkdtempSync(join(tmpdir(), 'bathyscope-sources-'));
const BUSY = join(FOLDER, 'busy');
const INSTALLED = spawnSync('bpftrace', ['--version']).status === 0;
const BPFTRACE = INSTALLED ? 'bpftrace' : join(ROOT, 'tests/language/reference');

const sorted = (values) => [...values].sort((a, b) => a - b);
const quantile = (values, share) => sorted(values)[Math.round((values.length - 1) * share)];
const median = (values) => quantile(values, 0.5);
const count = (value) => Math.round(value).toLocaleString('en');
const installed = (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;
const sum = (values) => values.reduce((total, value) => total + value, 0);
const usual = (options) => Server.start({ profile: process.env.BATHYSCOPE_BIN ? undefined : 'release', ...options });

/** Runs a program to its end; gives what it printed. */
function output(words, input = 'inherit') {
  return new Promise((resolve) => {
    const child = spawn(words[0], words.slice(1), { stdio: [input, 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (bytes) => { said += bytes; });
    child.stderr.on('data', (bytes) => { said += bytes; });
    child.on('close', () => resolve(said));
  });
}

/** A process and its descendants. */
function family(pid) {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number));
    return [pid, ...children.flatMap(family)];
  } catch {
    return [];
  }
}

/** Seconds of CPU that processes have used, their children that ended included. */
function cpuSeconds(pids) {
  return sum(pids.map((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
      return sum(fields.slice(11, 15).map(Number)) / 100;
    } catch {
      return 0;
    }
  }));
}

/** What each part of the load did in a second, all at once. */
async function load() {
  const compiling = `n=0; end=$(($(date +%s%N) + ${SECONDS}000000000)); while [ $(date +%s%N) -lt $end ]; do gcc -O2 -c -o ${FOLDER}/o.o ${BUSY}.c; n=$((n+1)); done; echo $n`;
  const [pairs, dd, loop, compiler] = await Promise.all([
    output([BUSY, 'pairs', '8', String(SECONDS)]),
    output(['timeout', '-s', 'USR1', '-k', '0.2', String(SECONDS), 'dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1']),
    output([BUSY, 'spin', String(SECONDS)]),
    output(['sh', '-c', compiling]),
  ]);
  const copied = /(\d+) bytes.* copied, ([\d.e-]+) s/.exec(dd);
  if (!copied) throw new Error(`dd said: ${dd}`);
  return { pairs: Number(pairs) / SECONDS, dd: Number(copied[1]) / Number(copied[2]), loop: Number(loop) / SECONDS, compiler: Number(compiler) / SECONDS };
}

/** The recipe's sources through a running agent; `budget` in permille of a CPU. */
async function recipeOfOurs(server, sources, budget, reading = 'usual') {
  const limits = { duration_ms: 600_000, budget_cpu_permille: budget };
  const { id } = await server.api('POST', '/api/captures', { sources, target: 'system', limits });
  if (reading === 'high') readUrgently(server.childPid('console'));
  const pids = () => family(server.child.pid);
  const before = cpuSeconds(pids());
  const did = await load();
  await server.api('POST', `/api/captures/${id}/stop`);
  await until('the end', async () => !(await server.api('GET', `/api/captures/${id}`)).running);
  const cpu = cpuSeconds(pids()) - before;
  const capture = await server.api('GET', `/api/captures/${id}`);
  const recorded = capture.ledger.streams;
  const [emitted, stored] = ['emitted', 'stored'].map((what) => sum(recorded.map((stream) => stream[what])));
  const off = capture.sources.map(({ state }, place) => ({ state, source: sources[place].id })).filter(({ state }) => state !== 'ended');
  const bytes = await recordedBytes(server, id);
  await server.api('DELETE', `/api/captures/${id}`);
  return { did, emitted, stored, lost: capture.lost, bytes: bytes / stored, cpu, off: off.map(({ source, state }) => `${source} ${state}`).join(', ') };
}

/** What `--high-priority` does, also where root may not raise the limit that lets the console do it (CAP_SYS_RESOURCE). */
function readUrgently(console) {
  for (const tid of readdirSync(`/proc/${console}/task`)) {
    const name = readFileSync(`/proc/${console}/task/${tid}/comm`, 'utf8').trim();
    if (['bathyscope-ring', 'bathyscope-rows'].includes(name)) setPriority(Number(tid), -10);
  }
}

/** What a capture takes without the streams that were computed of it. */
async function recordedBytes(server, id) {
  const capture = () => server.api('GET', `/api/captures/${id}`);
  const { computed } = await until('the computed streams', async () => {
    const now = await capture();
    return now.computed.is_busy ? null : now;
  }, 300);
  for (const { number } of computed.rules) await server.api('DELETE', `/api/captures/${id}/computed/${number}`);
  return (await capture()).bytes;
}

/** A tool of perf that has opened its events. */
async function perfTool(words) {
  const child = spawn('perf', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const tool = { child, said: '' };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => { tool.said += bytes; });
  tool.ended = new Promise((resolve) => { child.on('exit', resolve); });
  const isEvent = (descriptor) => {
    try {
      return readlinkSync(`/proc/${child.pid}/fd/${descriptor}`).includes('perf_event');
    } catch {
      return false;
    }
  };
  await until(`perf ${words[0]}`, () => readdirSync(`/proc/${child.pid}/fd`).filter(isEvent).length >= cpus().length);
  return tool;
}

async function recipeOfPerf() {
  const file = (name) => join(FOLDER, name);
  const tools = [
    await perfTool(['sched', 'record', '-a', '-o', file('sched')]),
    await perfTool(['trace', '-s', '-a', '-o', file('trace')]),
    await perfTool(['record', '-a', '-g', '-F', '99', '-o', file('samples')]),
  ];
  const did = await load();
  const running = tools.flatMap(({ child }) => family(child.pid));
  tools.forEach(({ child }) => child.kill('SIGINT'));
  let cpu = cpuSeconds(running);
  await Promise.all(tools.map(({ ended }) => ended));
  const recorded = ['sched', 'samples'].map((name) => events(file(name)));
  const calls = readFileSync(file('trace'), 'utf8');
  const traced = sum([...calls.matchAll(/, (\d+) events, /g)].map(([, n]) => Number(n)));
  const said = tools.map((tool) => tool.said).join('\n') + calls;
  const lost = sum([...said.matchAll(/LOST (\d+) events/g)].map(([, n]) => Number(n))) + sum(recorded.map((one) => one.lost));
  const stored = sum(recorded.map((one) => one.events));
  const bytes = sum(['sched', 'samples'].map((name) => statSync(file(name)).size));
  ['sched', 'trace', 'samples'].forEach((name) => rmSync(file(name), { force: true }));
  return { did, emitted: stored + traced + lost, stored, lost, bytes: bytes / stored, cpu, off: `${count(traced)} events of calls only counted` };
}

/** Samples in a file of perf, and what it says that it lost. */
function events(file) {
  const { stdout } = spawnSync('perf', ['report', '--stats', '-i', file], { encoding: 'utf8', maxBuffer: 1 << 28 });
  const number = (name) => Number(new RegExp(`^\\s*${name} events:\\s+(\\d+)`, 'm').exec(stdout)?.[1] ?? 0);
  return { events: number('SAMPLE'), lost: number('LOST_SAMPLES') };
}

/** The recipe beside perf. */
const recipe = () => recipes({ perf: installed('perf') });

/** What is lost of it, and what the load pays for less loss. */
const losses = () => recipes({ perf: false });

async function recipes({ perf }) {
  const data = dataFolder();
  const server = await usual({ data });
  await server.logIn();
  const { sources } = (await server.api('GET', '/api/recipes')).items.find(({ name }) => name === 'process-time');
  const tools = {
    nobody: async () => ({ did: await load(), emitted: 0, stored: 0, lost: 0, bytes: 0, cpu: 0, off: '' }),
    'bathyscope, budget 5 % of a CPU': () => recipeOfOurs(server, sources, 50),
    'bathyscope, budget of a CPU': () => recipeOfOurs(server, sources, 1000),
    'bathyscope, budget of a CPU, high priority': () => recipeOfOurs(server, sources, 1000, 'high'),
    ...(perf ? { 'perf, three tools': recipeOfPerf } : {}),
  };
  const results = Object.fromEntries(Object.keys(tools).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, tool] of Object.entries(tools)) {
      results[name].push(await tool());
      console.error(`round ${round + 1}, ${name}: ${JSON.stringify(results[name].at(-1))}`);
    }
  }
  await server.stop();
  removeFolder(data);
  const parts = ['pairs', 'dd', 'loop', 'compiler'];
  console.log(`\n${ROUNDS} rounds of ${SECONDS} s. How many times slower than untraced in the same round, median (range)\n`);
  console.log(`| tool | ${parts.join(' | ')} | events | stored | lost | bytes of one stored | CPU of the tool, s | |`);
  console.log(`| --- | ${parts.map(() => '---:').join(' | ')} | ---: | ---: | ---: | ---: | ---: | --- |`);
  for (const [name, runs] of Object.entries(results)) {
    const slower = parts.map((part) => {
      const ratios = runs.map(({ did }, round) => results.nobody[round].did[part] / did[part]);
      return `${median(ratios).toFixed(2)} (${quantile(ratios, 0).toFixed(2)} to ${quantile(ratios, 1).toFixed(2)})`;
    });
    const of = (key) => median(runs.map((run) => run[key]));
    console.log(`| ${name} | ${slower.join(' | ')} | ${count(of('emitted'))} | ${count(of('stored'))} | ${count(of('lost'))} | ${of('bytes').toFixed(1)} | ${of('cpu').toFixed(1)} | ${runs.at(-1).off} |`);
  }
  const base = results.nobody.map(({ did }) => did);
  console.log(`\nUntraced, a second: ${parts.map((part) => `${part} ${count(median(base.map((did) => did[part])))}`).join(', ')}`);
}

/** Switches: `perf bench sched pipe` on one CPU, two for each turn. */
const TURNS = 60_000;
const pipe = () => output(['taskset', '-c', '1', 'perf', 'bench', 'sched', 'pipe', '-T', '-l', String(TURNS)]);

async function switchOfOurs(server, method, target = 'system') {
  const spec = { sources: [{ id: 'one', method }], target, limits: { duration_ms: 60_000, budget_cpu_permille: 1000 } };
  const { id } = await server.api('POST', '/api/captures', spec);
  const agent = server.childPid('agent');
  const ns = await nsOfPrograms(() => family(agent), pipe);
  await server.api('POST', `/api/captures/${id}/stop`);
  await until('the end', async () => !(await server.api('GET', `/api/captures/${id}`)).running);
  await server.api('DELETE', `/api/captures/${id}`);
  return ns;
}

/** Nanoseconds of one run of each program that these processes hold, of those that ran for most of the switches. */
async function nsOfPrograms(pids, work) {
  const read = () => programRuns(pids());
  const before = read();
  await work();
  const each = [...read()].map(([id, { ns, runs }]) => ({ id, ns: ns - (before.get(id)?.ns ?? 0), runs: runs - (before.get(id)?.runs ?? 0) }));
  return each.filter(({ runs }) => runs > TURNS * 1.8).sort((a, b) => b.runs - a.runs).map(({ ns, runs }) => ns / runs);
}

const OFF_CPU = `BEGIN { printf("ready\\n"); }
tracepoint:sched:sched_switch {
  if (args.prev_pid > 0) { @start[args.prev_pid] = nsecs; @stack[args.prev_pid] = (kstack, ustack); }
  $began = @start[args.next_pid];
  if ($began > 0) { @blocked[@stack[args.next_pid], args.next_comm] = sum(nsecs - $began); delete(@start, args.next_pid); }
}`;
const OFF_CPU_PLAIN = OFF_CPU.replace(' @stack[args.prev_pid] = (kstack, ustack);', '').replace('@stack[args.next_pid], ', '');

async function switchOfBpftrace(script) {
  const child = spawn(BPFTRACE, ['-q', '-B', 'line', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (bytes) => { errors += bytes; });
  const ended = new Promise((resolve) => { child.on('exit', resolve); });
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    ended.then((code) => reject(new Error(`bpftrace ended with ${code}: ${errors}`)));
  });
  child.stdout.resume();
  await pipe();
  const ns = await nsOfPrograms(() => family(child.pid), pipe);
  child.kill('SIGINT');
  await ended;
  return ns;
}

/** Of whom: everybody, some that these switches are of, and one that they are not of. */
async function targets() {
  const states = (target) => (server) => switchOfOurs(server, { states: {} }, target);
  await nanoseconds({
    'of the whole system': states('system'),
    'of a user, who it is': states({ user: { user: 'root' } }),
    'of threads by name, which they are': states({ comm: { pattern: 'perf' } }),
    'of another user': states({ user: { user: 'nobody' } }),
    'of another process': states({ process: { pid: process.pid, children: false } }),
    'of another process with its children': states({ process: { pid: process.pid, children: true } }),
  });
}

async function switches() {
  const fields = ['prev_comm', 'prev_pid', 'prev_prio', 'prev_state', 'next_comm', 'next_pid', 'next_prio'];
  await nanoseconds({
    'thread states': (server) => switchOfOurs(server, { states: {} }),
    'thread states with stacks at sleep': (server) => switchOfOurs(server, { states: { sleep_stacks: true } }),
    'the tracepoint, all fields': (server) => switchOfOurs(server, { events: { probes: [{ tracepoint: 'sched:sched_switch', fields }] } }),
    'bpftrace, off-CPU time by name': () => switchOfBpftrace(OFF_CPU_PLAIN),
    'bpftrace, off-CPU time by stacks': () => switchOfBpftrace(OFF_CPU),
  });
}

/** Runs all cases in turns and prints what a run of each of their programs takes. */
async function nanoseconds(cases) {
  const data = dataFolder();
  const server = await usual({ data });
  await server.logIn();
  const before = readFileSync(STATISTICS, 'utf8');
  writeFileSync(STATISTICS, '1');
  const results = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, one] of Object.entries(cases)) results[name].push(await one(server));
    console.error(`round ${round + 1}: ${JSON.stringify(Object.values(results).map((all) => all.at(-1).map(Math.round)))}`);
  }
  writeFileSync(STATISTICS, before);
  await server.stop();
  removeFolder(data);
  console.log(`\nNanoseconds of a run of each program, the kernel's own, ${ROUNDS} rounds: median, quartiles\n\n| | ns |\n| --- | --- |`);
  for (const [name, runs] of Object.entries(results)) {
    const programs = Math.min(...runs.map((run) => run.length));
    const cells = Array.from({ length: programs }, (_, at) => {
      const all = runs.map((run) => run[at]);
      return `${median(all).toFixed(0)} (${quantile(all, 0.25).toFixed(0)} to ${quantile(all, 0.75).toFixed(0)})`;
    });
    console.log(`| ${name} | ${cells.join('; ')} |`);
  }
}

const ONE = [{ id: 'switches', method: { events: { probes: [{ tracepoint: 'sched:sched_switch', fields: ['next_pid'] }] } } }];

/** Milliseconds from the request to the answer; the capture is ended and gone afterwards. */
async function started(server, body) {
  const begin = performance.now();
  const { id } = await server.api('POST', '/api/captures', body);
  const took = performance.now() - begin;
  await server.api('POST', `/api/captures/${id}/stop`);
  await until('the end', async () => !(await server.api('GET', `/api/captures/${id}`)).running);
  await server.api('DELETE', `/api/captures/${id}`);
  // The kernel still detaches in the background; what is attached meanwhile waits for it.
  await new Promise((resolve) => { setTimeout(resolve, 500); });
  return took;
}

async function start() {
  const server = await usual({ data: dataFolder() });
  await server.logIn();
  const { sources } = (await server.api('GET', '/api/recipes')).items.find(({ name }) => name === 'process-time');
  const limits = { duration_ms: 60_000, budget_cpu_permille: 1000 };
  const cases = {
    'five sources': [server, { sources, target: 'system', limits }],
    'one source': [server, { method: ONE[0].method, target: 'system', limits }],
  };
  let old = null;
  if (process.env.BATHYSCOPE_OLD) {
    process.env.BATHYSCOPE_BIN = process.env.BATHYSCOPE_OLD;
    old = await Server.start({ data: dataFolder() });
    await old.logIn();
    cases['five sources, the other binary'] = [old, { sources, target: 'system', limits }];
    cases['one source, the other binary'] = [old, { method: ONE[0].method, target: 'system', limits }];
  }
  for (const [where, body] of Object.values(cases)) await started(where, body);
  const results = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = 0; round < Math.max(ROUNDS, 15); round += 1) {
    for (const [name, [where, body]] of Object.entries(cases)) results[name].push(await started(where, body));
  }
  for (const one of [server, old].filter(Boolean)) {
    await one.stop();
    removeFolder(one.data);
  }
  console.log(`\nFrom the request to the answer, when all is attached, ${Math.max(ROUNDS, 15)} rounds, milliseconds\n\n| | median | quartiles |\n| --- | ---: | --- |`);
  for (const [name, all] of Object.entries(results)) console.log(`| ${name} | ${median(all).toFixed(1)} | ${quantile(all, 0.25).toFixed(1)} to ${quantile(all, 0.75).toFixed(1)} |`);
}

const ALL = { recipe, losses, switches, targets, start };
if (!IS_ROOT) {
  console.log('SKIPPED: the benchmark of sources — root');
  process.exit(0);
}
writeFileSync(`${BUSY}.c`, readFileSync(join(ROOT, 'tests/programs/busy.c')));
if (spawnSync('gcc', ['-O2', '-o', BUSY, `${BUSY}.c`], { stdio: 'inherit' }).status !== 0) throw new Error('gcc cannot compile the load');
console.log(`${cpus().length} CPUs, ${cpus()[0].model}, Linux ${readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim()}; load average ${loadavg().map((one) => one.toFixed(1)).join(' ')}`);
for (const part of PARTS.length > 0 ? PARTS : Object.keys(ALL)) {
  if (!ALL[part]) throw new Error(`no part ${part}; there are ${Object.keys(ALL).join(' ')}`);
  await ALL[part]();
}
rmSync(FOLDER, { recursive: true, force: true });
