#!/usr/bin/env node
// What scripts cost, beside bpftrace: from text to attached, one body at all system calls, and a hit of each usual body.
//
//     cargo build --release && node tests/bench/language.mjs [ROUNDS [PART ...]]
//
// As root; 10 rounds of all parts by default, which are: start warm everywhere hits. Of hits there are at least 15 pairs.
// Where no bpftrace is installed, it is the one that tests/language/reference unpacks.
//
// Both tools take turns in the same run, with the same scripts. Prints tables of medians; the spread is the machine's noise.

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';

import { IS_ROOT, Server, binary, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { programRuns } from '../lib/programs.mjs';

const ROUNDS = Number(process.argv[2] ?? 10);
const OURS = binary(process.env.BATHYSCOPE_BIN ? undefined : 'release');
const INSTALLED = spawnSync('bpftrace', ['--version']).status === 0;
const BPFTRACE = INSTALLED ? 'bpftrace' : new URL('../language/reference', import.meta.url).pathname;
const TOOLS = { bathyscope: [OURS, 'trace', '-q', '-B', 'line', '-e'], bpftrace: [BPFTRACE, '-q', '-B', 'line', '-e'] };
const ENVIRONMENT = { ...process.env, BPFTRACE_MAX_PROBES: '1024' };
const STATISTICS = '/proc/sys/kernel/bpf_stats_enabled';
const DD = ['if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=200k'];
/** A read and a write for each byte. */
const CALLS = 2 * 200 * 1024;

const sorted = (values) => [...values].sort((a, b) => a - b);
const median = (values) => {
  const all = sorted(values);
  const middle = all.length >> 1;
  return all.length % 2 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
};
const spread = (values) => `${sorted(values)[0].toFixed(1)} to ${sorted(values).at(-1).toFixed(1)}`;

/** A process and its descendants. */
function family(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number));
  return [pid, ...children.flatMap(family)];
}

/** MiB that a process and its descendants had resident at most, each for itself. */
const peak = (pid) => family(pid).map((one) =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/status`, 'utf8'))[1]) / 1024).reduce((a, b) => a + b, 0);

/** MiB that they have for themselves and their share of what several have. */
const share = (pid) => family(pid).map((one) =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, 'utf8'))[1]) / 1024).reduce((a, b) => a + b, 0);

/** Runs to the end; milliseconds. */
function timed(words) {
  const begin = performance.now();
  const { status, stderr } = spawnSync(words[0], words.slice(1), { env: ENVIRONMENT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${words.join(' ')}: ${status}\n${stderr}`);
  return performance.now() - begin;
}

/** A tool that has printed something, which it does when all is attached. */
class Running {
  static async start(tool, script) {
    const words = [...TOOLS[tool], script];
    const running = new Running();
    const begin = performance.now();
    running.child = spawn(words[0], words.slice(1), { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] });
    let errors = '';
    running.child.stderr.on('data', (bytes) => { errors += bytes; });
    running.ended = new Promise((resolve) => { running.child.on('exit', resolve); });
    await new Promise((resolve, reject) => {
      running.child.stdout.once('data', resolve);
      running.ended.then((code) => reject(new Error(`${tool} ended with ${code}: ${errors}`)));
    });
    running.attached = performance.now() - begin;
    running.child.stdout.resume();
    return running;
  }

  /** Ctrl+C; milliseconds to the end of the process. */
  async stop() {
    const begin = performance.now();
    this.child.kill('SIGINT');
    await this.ended;
    return performance.now() - begin;
  }

  /** Run time and runs of each BPF program that the tool holds, by its id. */
  programs() {
    return programRuns(family(this.child.pid));
  }

  /** Nanoseconds of a hit while dd makes its system calls; of a pair of probes those of both. */
  hit() {
    const before = this.programs();
    spawnSync('dd', DD);
    let sum = 0;
    for (const [id, { ns, runs }] of this.programs()) {
      const was = before.get(id) ?? { ns: 0, runs: 0 };
      if (runs - was.runs >= CALLS * 0.9) sum += (ns - was.ns) / (runs - was.runs);
    }
    if (sum === 0) throw new Error('no program ran as often as dd made system calls');
    return sum;
  }
}

async function start() {
  const script = 'BEGIN { exit(); }';
  const times = { bathyscope: [], bpftrace: [] };
  for (const tool of Object.keys(TOOLS)) timed([...TOOLS[tool], script]);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const tool of Object.keys(TOOLS)) times[tool].push(timed([...TOOLS[tool], script]));
  }
  console.log(`\n| \`-e '${script}'\`, cold | ms | spread | peak MiB resident, sum | share of MiB |`);
  console.log('| --- | --- | --- | --- | --- |');
  for (const tool of Object.keys(TOOLS)) {
    const running = await Running.start(tool, 'BEGIN { printf("ready\\n"); } tracepoint:sched:sched_switch { @ = count(); }');
    const [most, own] = [peak(running.child.pid), share(running.child.pid)];
    await running.stop();
    console.log(`| ${tool} | ${median(times[tool]).toFixed(1)} | ${spread(times[tool])} | ${most.toFixed(0)} | ${own.toFixed(0)} |`);
  }
}

async function warm() {
  const data = dataFolder();
  const server = await Server.start({ data, profile: process.env.BATHYSCOPE_BIN ? undefined : 'release', options: ['--log', 'debug', '--scripts', 'on'] });
  await server.logIn();
  const answers = [];
  const inside = [];
  for (let round = 0; round < ROUNDS + 1; round += 1) {
    const text = 'tracepoint:sched:sched_switch { @[args.next_comm] = count(); }';
    const begin = performance.now();
    const { id } = await server.api('POST', '/api/captures', {
      method: { script: { text } }, target: 'system', limits: { duration_ms: 20_000 },
    });
    answers.push(performance.now() - begin);
    await server.api('POST', `/api/captures/${id}/stop`);
    await until('the end', async () => !(await server.api('GET', `/api/captures/${id}`)).running);
    const line = server.said.split('\n').filter((it) => it.includes('the probes are attached')).at(-1) ?? '';
    const numbers = ['compile_ns', 'load_ns', 'attach_ns'].map((name) => Number(new RegExp(`${name}"?[=:]\\s*(\\d+)`).exec(line)?.[1]) / 1e6);
    inside.push(numbers);
    // The kernel still detaches in the background; what is attached meanwhile waits for it.
    await new Promise((resolve) => { setTimeout(resolve, 300); });
  }
  await server.stop();
  removeFolder(data);
  // The first one finds out what the kernel has.
  const later = inside.slice(1);
  const of = (index) => median(later.map((numbers) => numbers[index])).toFixed(2);
  const sum = median(later.map((numbers) => numbers.reduce((a, b) => a + b, 0))).toFixed(2);
  console.log(`\nthrough a running agent: compile ${of(0)}, load ${of(1)}, attach ${of(2)}, together ${sum} ms; the request is answered after ${median(answers.slice(1)).toFixed(1)} ms (medians of ${ROUNDS}); the first one took ${inside[0].reduce((a, b) => a + b, 0).toFixed(1)} ms`);
}

async function everywhere() {
  // What BEGIN prints comes before the rest is attached: the timer, which is attached last, tells.
  const script = 'tracepoint:syscalls:sys_enter_* { @[probe] = count(); } interval:ms:1 { printf("attached\\n"); }';
  console.log('\n| one body at every `sys_enter_*` | attached after ms | ended after ms | spread of the end |');
  console.log('| --- | --- | --- | --- |');
  const times = { bathyscope: [], bpftrace: [] };
  for (let round = 0; round < Math.min(ROUNDS, 5); round += 1) {
    for (const tool of Object.keys(TOOLS)) {
      const running = await Running.start(tool, script);
      times[tool].push([running.attached, await running.stop()]);
    }
  }
  for (const [tool, pairs] of Object.entries(times)) {
    const ends = pairs.map(([, end]) => end);
    console.log(`| ${tool} | ${median(pairs.map(([attach]) => attach)).toFixed(0)} | ${median(ends).toFixed(0)} | ${spread(ends)} |`);
  }
}

async function hits() {
  const at = (body, predicate = '') => `tracepoint:raw_syscalls:sys_enter ${predicate}{ ${body} } interval:ms:1 { printf("on\\n"); }`;
  const cases = {
    'count': at('@ = count();'),
    'count by tid': at('@[tid] = count();'),
    'count by [comm, pid]': at('@[comm, pid] = count();'),
    'sum by key': at('@[pid] = sum(args.id);'),
    'hist': at('@ = hist(args.id);'),
    'predicate that rejects': at('@ = count();', '/pid == 1/ '),
    'count by kstack': at('@[kstack] = count();'),
    'printf': at('printf("%d %d\\n", pid, args.id);', '/comm == "dd"/ '),
    'latency pair': `tracepoint:raw_syscalls:sys_exit /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s, tid); } ${at('@s[tid] = nsecs;')}`,
  };
  const wanted = process.env.CASE ?? '';
  writeFileSync(STATISTICS, '1');
  console.log('\n| ns a hit | bathyscope | bpftrace | ratio, median | quartiles of the ratio |');
  console.log('| --- | --- | --- | --- | --- |');
  for (const [name, script] of Object.entries(cases).filter(([name]) => new RegExp(wanted).test(name))) {
    const found = { bathyscope: [], bpftrace: [] };
    for (let pair = 0; pair < Number(process.env.PAIRS ?? 15); pair += 1) {
      // Each goes first half of the time.
      const order = pair % 2 ? ['bpftrace', 'bathyscope'] : ['bathyscope', 'bpftrace'];
      for (const tool of order) {
        const running = await Running.start(tool, script);
        // The first calls make the entries of maps.
        running.hit();
        found[tool].push(running.hit());
        await running.stop();
      }
    }
    const ratios = sorted(found.bathyscope.map((ns, index) => ns / found.bpftrace[index]));
    const quartile = (part) => ratios[Math.floor((ratios.length - 1) * part)].toFixed(2);
    console.log(`| ${name} | ${median(found.bathyscope).toFixed(0)} | ${median(found.bpftrace).toFixed(0)} | ${median(ratios).toFixed(2)} | ${quartile(0.25)} to ${quartile(0.75)} |`);
  }
  writeFileSync(STATISTICS, '0');
}

if (!IS_ROOT || spawnSync(BPFTRACE, ['--version']).status !== 0) {
  console.log('SKIPPED: the benchmark of scripts — root and bpftrace');
  process.exit(0);
}
const version = spawnSync(BPFTRACE, ['--version'], { encoding: 'utf8' }).stdout.trim();
console.log(`${cpus().length} CPUs, ${cpus()[0].model}, Linux ${readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim()}, ${version}; medians of ${ROUNDS} interleaved rounds; load average ${loadavg().map((one) => one.toFixed(1)).join(' ')}`);
const parts = { start, warm, everywhere, hits };
for (const part of process.argv.length > 3 ? process.argv.slice(3) : Object.keys(parts)) await parts[part]();
console.log(`\nload average at the end: ${loadavg().map((one) => one.toFixed(1)).join(' ')}`);
