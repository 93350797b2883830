#!/usr/bin/env node
// Makes the README's pictures in tests/screenshots/ from the embedded sample captures, which are of a real kernel, and
// from what runs for a while (as root on this kernel, else simulated): states of threads, a script.
//
//     cargo build -p bathyscope && node tests/browser/screenshots.mjs

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { IS_ROOT, ROOT, Server, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { colours, ended, frames, openTab, rowsInSight, selectRange } from './flows.mjs';
import { logIn, openBrowser, openPage } from './lib.mjs';
import { editorHolds, writeScript } from './script_flows.mjs';

const FOLDER = join(ROOT, 'tests/screenshots');
mkdirSync(FOLDER, { recursive: true });
const data = dataFolder();
const server = await Server.start({ data, simulate: !IS_ROOT });
const browser = await openBrowser();
const { page } = await openPage(browser, { viewport: { width: 1280, height: 720 }, reducedMotion: 'reduce', timezoneId: 'UTC' });

async function shoot(name) {
  await page.mouse.move(1279, 719);
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  console.log(`tests/screenshots/${name}.png`);
}

async function openSample(name) {
  const { url } = await server.api('POST', `/api/samples/${name}`);
  await page.goto(server.origin + url);
  return url;
}

await logIn(page, server);
const cookies = await page.context().cookies();
server.cookie = cookies.map((one) => `${one.name}=${one.value}`).join('; ');

await page.locator('#caps').getByText('Tracepoints').first().waitFor();
await shoot('start');

await openSample('files');
await until('rows', async () => (await rowsInSight(page)).length > 5);
await shoot('events');

// Why gzip waits: what the threads of this machine do while one compresses what another packs.
const work = spawn('sh', ['-c', 'while :; do tar c /usr/share/doc 2>/dev/null | gzip -1 > /dev/null; done'], { stdio: 'ignore', detached: true });
const sources = [
  { id: 'states', method: { states: { sleep_stacks: true } } },
  { id: 'calls', method: { syscalls: { calls: ['read', 'write', 'openat'], fd_paths: false } } },
];
const spec = { name: 'Why does gzip wait?', sources, target: 'system', limits: { duration_ms: 1000, budget_cpu_permille: 500 } };
/** Records it; again if a busy machine lost rows, up to a few times. */
async function recordGzip(tries) {
  const { id } = await server.api('POST', '/api/captures', spec);
  const { ledger } = await until('computed states', async () => {
    const capture = await server.api('GET', `/api/captures/${id}`);
    return !capture.running && !capture.computed.is_busy && capture.computed.rules.length > 0 && capture;
  });
  return ledger.losses.length > 0 && tries > 1 ? recordGzip(tries - 1) : id;
}
const id = await recordGzip(8);
process.kill(-work.pid);
// The longest sleep of gzip that tar ended, in the gzip that ran longest; what is around it.
const wait = `select s.tid, s.time, s.time + s.duration_ns, w.waker_tid from thread_states s
  join run_queue_latency w on w.tid = s.tid and w.time = s.time + s.duration_ns
  where s.comm = 'gzip' and w.waker_comm = 'tar' and s.time > 2e8 and s.duration_ns < 2e7 order by s.duration_ns desc limit 1`;
const { rows: [[gzip, from, late, tar] = [0, 4e8, 4.1e8, 0]] } = await server.api('POST', `/api/captures/${id}/query`, { sql: wait });
await server.api('POST', `/api/captures/${id}/notes`, { start: late, text: 'tar has written: gzip reads on', colour: 3 });
const around = Math.max(2e6, Math.round((late - from) / 2));
const view = new URLSearchParams({
  v: '3', tab: 'timeline', from: String(from - 2 * around), to: String(late + 2 * around), start: String(from - around), end: String(late + around),
  pins: `tid:${gzip},tid:${tar}`, path: `tid:${gzip}`, panel: 'path',
});
await page.goto(`${server.origin}/captures/${id}?${view}`);
await until('a drawn timeline', async () => await colours(page, '#panel-timeline canvas') > 6);
await page.locator('#panel-timeline .path-tables').waitFor();
await shoot('timeline');

const profile = await openSample('profile');
await page.emulateMedia({ colorScheme: 'dark' });
await page.goto(`${server.origin}${profile}?v=1&tab=flame`);
await until('frames', async () => await frames(page).count() > 5);
await shoot('flame-dark');
await page.emulateMedia({ colorScheme: 'light' });
await openTab(page, 'Info');
await shoot('info');

await page.goto(`${server.origin}/new?tracepoint=sched:sched_switch`);
await page.getByRole('region', { name: 'sched:sched_switch' }).getByText(/^Records/).waitFor();
await shoot('new');

// A script of which the last line is being written, then what it shows of some work.
const LATENCY = `// How long threads wait for a CPU, by the name of who waits.
tracepoint:sched:sched_wakeup {
  @queued[args.pid] = nsecs;
}

tracepoint:sched:sched_switch {
  $since = @queued[args.next_pid];
  if ($since != 0) {
    @wait_ns = hist(nsecs - $since);
    @waits[args.next_comm] = count();
    delete(@queued, args.next_pid);
  }
}

end { clear(@queued); }
`;
await page.goto(`${server.origin}/new?method=script`);
await editorHolds(page, 'sys_enter_openat');
await writeScript(page, LATENCY);
await page.locator('#script-verdict').getByText(/^Compiles in/).waitFor();
await page.keyboard.type('tracepoint:sched:sched_');
await page.locator('#script-editor').getByRole('listbox').waitFor();
// Whatever was asked has been answered by now: the picture does not depend on who was quicker.
await page.locator('#script-problems li').first().waitFor();
await shoot('script');

await writeScript(page, LATENCY);
await page.locator('#script-verdict').getByText(/^Compiles in/).waitFor();
await page.getByLabel('Title').fill('Waiting for a CPU');
await page.getByRole('button', { name: /^Start capture/ }).click();
await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
await ended(page);
const { pathname } = new URL(page.url());
const { maps } = await server.api('GET', `/api${pathname}/maps`);
const waits = maps.find(({ name }) => name === '@wait_ns').n;
await page.goto(`${server.origin}${pathname}?v=1&tab=maps&map=${waits}&show=heatmap`);
await until('a drawn heat map', async () => await colours(page, '.heat-canvas') > 4);
await shoot('heatmap');

await browser.close();
await server.stop();
removeFolder(data);
