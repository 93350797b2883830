// Makes the sample captures in the current folder, with a manifest; tests/samples/record runs it in the kernel lab.

import { chmodSync, copyFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Server, dataFolder, until } from '../lib/server.mjs';

const [programs] = process.argv.slice(2);
const MAX_BYTES = 300 << 10;
// Copied, so that the captures name a path that exists for nobody rather than one of this machine.
const words = '/tmp/words';
copyFileSync(join(programs, 'words'), words);
chmodSync(words, 0o755);
const texts = readdirSync('/usr/share/common-licenses').map((name) => `/usr/share/common-licenses/${name}`);

const probe = (tracepoint, fields) => ({ tracepoint, fields });
const SAMPLES = [
  {
    name: 'scheduler',
    title: 'Scheduler: two threads count words',
    about: 'Context switches and wake-ups of a program whose two threads read files, count their words and sleep.',
    spec: {
      method: { events: { probes: [
        probe('sched:sched_switch', ['prev_comm', 'prev_pid', 'prev_state', 'next_comm', 'next_pid']),
        probe('sched:sched_wakeup', ['comm', 'pid', 'target_cpu']),
      ] } },
      target: { command: { argv: [words, '1000', '/tmp/report', ...texts], children: true } },
      limits: { duration_ms: 60_000 },
    },
  },
  {
    name: 'files',
    title: 'Files that grep opens',
    about: 'Each call of openat by grep -r with the name it asked for, and what the kernel answered.',
    spec: {
      method: { events: { probes: [
        probe('syscalls:sys_enter_openat', ['dfd', 'filename', 'flags', 'mode']),
        probe('syscalls:sys_exit_openat', ['ret']),
      ] } },
      target: { command: { argv: ['grep', '-rl', 'without any warranty', '/usr/share/common-licenses', '/usr/share/perl5'], children: true } },
      limits: { duration_ms: 60_000 },
    },
  },
  {
    name: 'profile',
    title: 'CPU profile: counting words',
    about: 'Stacks of kernel and program, sampled 199 times a second on each CPU, of a program that reads, counts, sorts and writes.',
    spec: {
      method: { profile: { frequency_hz: 199, kernel_stacks: true, user_stacks: true } },
      target: { command: { argv: [words, '8000', '/tmp/report', ...texts], children: true } },
      limits: { duration_ms: 60_000 },
    },
  },
];

const server = await Server.start({ data: dataFolder() });
await server.logIn();
const manifest = [];
for (const { name, title, about, spec } of SAMPLES) {
  const { id } = await server.api('POST', '/api/captures', { name: title, ...spec });
  const capture = await until('the end', async () => {
    const now = await server.api('GET', `/api/captures/${id}`);
    return now.running ? null : now;
  }, 240);
  if (capture.state !== 'finished') throw new Error(`${name}: ${JSON.stringify(capture)}`);
  const answer = await server.send('GET', `/api/captures/${id}/export?format=bathy`);
  const parts = [];
  for await (const part of answer) parts.push(part);
  writeFileSync(`${name}.bathy`, Buffer.concat(parts));
  const { size } = statSync(`${name}.bathy`);
  const rows = capture.streams.map((stream) => `${stream.rows} of ${stream.name}`).join(', ');
  console.log(`${name}: ${rows}; ${size} bytes; lost ${JSON.stringify(capture.ledger.losses)}`);
  if (size > MAX_BYTES) throw new Error(`${name}.bathy is larger than ${MAX_BYTES} bytes`);
  manifest.push({ id, name, title, about });
}
writeFileSync('samples.json', `${JSON.stringify(manifest, null, 2)}\n`);
await server.stop();
