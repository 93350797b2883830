// A person's way through the console on the running kernel, as root: record events of a command, watch them, read them
// as table and timeline; record a profile and read it as a flame graph; come back after a restart.

import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';

import { ROOT, Server, dataFolder, removeFolder, until } from '../lib/server.mjs';
import {
  arrangeTree, chooseCommand, chooseTracepoint, ended, openTab, readInfo, rowCount, rowsInSight, selectRange, sortAndFilter,
  runsUntilStopped, startCapture, tickFields, walkFlame, walkInstructions, walkStates, walkTimeline, watchAndStop, writeCondition,
} from './flows.mjs';
import { pasteCommands, pasteWhatIsRefused } from './command_flows.mjs';
import { buildOpens, readOpens, unfoldAndTry } from './builder_flows.mjs';
import { buildVariables, describedList, readMemory, readVariables, undescribedList } from './variable_flows.mjs';
import { logIn, openBrowser, openPage } from './lib.mjs';
import { findInCapture, noteOnTimeline } from './notes_flows.mjs';
import { findWhyLate } from './path_flows.mjs';
import { openOutlier, readBusy, readHeat, readHistogram, readOffsets, recordSpread } from './distribution_flows.mjs';
import { standBetween, transformStacks, walkCallTree } from './stack_flows.mjs';
import {
  completeScript, correctScript, openEditor, openExample, openToolByWords, readScript, runScript, runScriptAgain, stopAfterMoments, walkMaps, walkStacks,
} from './script_flows.mjs';
import { workTogether } from './team_flows.mjs';
import { asker, readSpan, readWhoRan, recordMoments } from './timeline_flows.mjs';

const TRACEPOINT = 'raw_syscalls:sys_enter';
// Reads and writes of dd's blocks; what it does besides is rejected in the kernel.
const CONDITION = 'args[2] == 16777216';
let browser;
let server;
let page;
let complaints;
const data = dataFolder();
const programs = mkdtempSync(join(tmpdir(), 'bathyscope-programs-'));
const ids = {};

before(async () => {
  server = await Server.start({ data, options: ['--commands', 'as-root'] });
  browser = await openBrowser();
  ({ page, complaints } = await openPage(browser));
});

after(async () => {
  await browser?.close();
  await server?.stop();
  removeFolder(data);
  removeFolder(programs);
});

test('1. the printed link logs in and leaves no token behind', async () => {
  await logIn(page, server);
  assert.ok(!page.url().includes(server.token));
  const { page: other, context } = await openPage(browser);
  await other.goto(server.link);
  await other.getByRole('alert').waitFor();
  assert.equal(new URL(other.url()).pathname, '/login', 'the token works once');
  await context.close();
});

test('2. the start page says what this host can do', async () => {
  await page.getByRole('heading', { name: /What do you want to see/ }).waitFor();
  await page.locator('#caps').getByText('Tracepoints').first().waitFor();
  for (const name of ['Trace events', 'Profile CPU']) await page.getByRole('link', { name }).waitFor();
  await page.goto(`${server.origin}/host`);
  await page.getByText(/attached to/).first().waitFor();
  await page.goto(server.origin);
});

test('3. and 5. events of a command: chosen by typing, watched live, stopped', async () => {
  // Hostile names are what the kernel tells: this one becomes the process's name.
  const hostile = join(programs, '<img src=x>');
  copyFileSync('/usr/bin/dd', hostile);
  chmodSync(hostile, 0o755);
  chmodSync(programs, 0o755);
  await chooseTracepoint(page, { typed: 'raw_sys', name: TRACEPOINT });
  await tickFields(page, { name: TRACEPOINT, fields: ['id', 'args'] });
  await writeCondition(page, { name: TRACEPOINT, text: CONDITION });
  await chooseCommand(page, { command: `'${hostile}' if=/dev/zero of=/dev/null bs=16M count=1000000`, user: 'nobody' });
  await runsUntilStopped(page);
  const begin = performance.now();
  ids.events = await startCapture(page);
  await until('the first rows', async () => await rowCount(page) > 0);
  console.log(`# from Start to the first row on screen: ${(performance.now() - begin).toFixed(0)} ms`);
  await watchAndStop(page, 50);
  const capture = await (await page.request.get(`${server.origin}/api/captures/${ids.events}`)).json();
  assert.equal(capture.state, 'finished', JSON.stringify(capture));
  assert.ok(capture.ledger.streams[0].filtered > 0, 'the predicate rejected the reads');
});

test('6. the table: sorted and filtered over all rows, hostile names as text', async () => {
  await sortAndFilter(page, { column: 'id', filter: 'id == 1', matches: /^1$/ });
  const rows = await until('rows in sight', async () => { const rows = await rowsInSight(page); return rows.length > 3 && rows; });
  assert.ok(rows.every((row) => row.includes('<img src=x>')), `${rows[0]}`);
});

test('6. the timeline: zoom, pan and selection', async () => {
  await walkTimeline(page);
  const [start, end] = await selectRange(page, 0.2, 0.6);
  await openTab(page, 'Events');
  const all = await (await page.request.get(`${server.origin}/api/captures/${ids.events}/rows?stream=0&limit=1&start=${start}&end=${end}`)).json();
  await until('the rows of the range', async () => await rowCount(page) === all.matched);
  assert.ok(all.matched < all.total);
});

test('6. info: spec, host, ledger, overhead', async () => {
  await readInfo(page, [TRACEPOINT, CONDITION, 'nobody', /Emitted/, 'Nothing was lost.', /ns$/]);
});

test('4. a profile of the whole system as a flame graph, also of a range', async () => {
  await page.goto(server.origin);
  await page.getByRole('link', { name: 'Profile CPU' }).click();
  await page.getByRole('tab', { name: 'Profile', selected: true }).waitFor();
  await page.getByRole('radio', { name: 'A command' }).check();
  await page.getByLabel('Command with arguments').fill(`'${ROOT}/target/test-programs/spin' 2500`);
  await page.getByLabel('After', { exact: true }).fill('20');
  ids.profile = await startCapture(page);
  await ended(page);
  await walkFlame(page, { expects: ['spin_inner', 'spin_outer', 'main'], search: 'spin_mid' });
  await transformStacks(page);
  await walkCallTree(page);
  await standBetween(page);
  await openTab(page, 'Timeline');
  const whole = await (await page.request.get(`${server.origin}/api/captures/${ids.profile}/flame`)).json();
  const [start, end] = await selectRange(page, 0.1, 0.4);
  const [part] = await Promise.all([
    page.waitForResponse((response) => /\/flame\?/.test(response.url())).then((response) => response.json()),
    openTab(page, 'Flame graph'),
  ]);
  assert.ok(part.total > 0 && part.total < whole.total, `${part.total} of ${whole.total} samples from ${start} to ${end}`);
  await walkInstructions(page, { name: 'spin_inner', jumps: true });
  const [download] = await Promise.all([page.waitForEvent('download'), downloadSvg()]);
  assert.match(download.suggestedFilename(), /\.svg$/);
});

async function downloadSvg() {
  await page.getByRole('button', { name: /^Export/ }).click();
  await page.getByRole('menuitem', { name: /zooms/ }).click();
}

test('distributions of what the machine does', async () => {
  const link = await recordSpread(page, server.origin);
  ids.spread = link.split('/').at(-1);
  await readHistogram(page, link);
  await readHeat(page, link);
  await readOffsets(page, link);
  await readBusy(page, link);
  await openOutlier(page, link);
  // A period that is too short is refused.
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400.*\/distribution\/heat/.test(text)));
  await page.goto(server.origin);
});

test('6. run again opens the same spec', async () => {
  await page.goto(`${server.origin}/captures/${ids.events}`);
  await page.getByRole('link', { name: /^Run again/ }).or(page.getByRole('button', { name: /^Run again/ })).click();
  await page.waitForURL(/\/new\?.*from=/);
  await page.getByRole('region', { name: TRACEPOINT }).getByText('Records 2 of').waitFor();
  await until('the command', async () => /<img src=x>/.test(await page.getByLabel('Command with arguments').inputValue()));
  assert.equal(await page.getByRole('combobox', { name: 'Run as' }).inputValue(), 'nobody');
  assert.equal(await page.getByLabel('Field of condition 1').inputValue(), 'args[2]');
  assert.equal(await page.getByLabel('Value of condition 1').inputValue(), '16777216');
});

test('a script: written, completed, run on this kernel, read, and again', async () => {
  await openEditor(page);
  await correctScript(page);
  await completeScript(page);
  ids.script = await runScript(page, { title: 'Who runs' });
  await stopAfterMoments(page, server.origin, ids.script);
  await walkMaps(page);
  await walkStacks(page);
  await readScript(page);
  await runScriptAgain(page);
});

test('the probe builder: who opens what and how long it takes, members through pointers, a trial', async () => {
  const { actions, id } = await buildOpens(page, { origin: server.origin });
  assert.ok(actions <= 6, `${actions} actions`);
  ids.opens = id;
  await readOpens(page);
  await page.getByRole('button', { name: /^Stop/ }).click();
  await ended(page);
  const { items } = await (await page.request.get(`${server.origin}/api/captures/${id}/rows?stream=0&limit=50`)).json().catch(() => ({}));
  assert.ok(items === undefined || items.length > 0);
  await unfoldAndTry(page, { origin: server.origin });
});

test('the probe builder: variables of a program, with keys alone', async (t) => {
  const program = describedList(programs);
  if (!program) return t.skip('no C compiler');
  ids.variables = await buildVariables(page, { origin: server.origin, program });
  await ended(page);
  await readVariables(page);
});

test('the probe builder: memory that nothing describes, byte by byte', async (t) => {
  const program = describedList(programs);
  if (!program) return t.skip('no C compiler');
  await readMemory(page, { origin: server.origin, program: undescribedList(program) });
});

test('a tool and an example open in the editor', async () => {
  await openToolByWords(page, { words: 'runqlat cpu', tool: 'runqlat' });
  await openExample(page);
});

test('probes of a capture are detached by their buttons, on its page and on the host\u2019s', async () => {
  const dynamic = ['readline', 'add_history'].map((typed) => ({ typed, file: '/bin/bash' }));
  const cookies = await page.context().cookies();
  server.cookie = cookies.map((one) => `${one.name}=${one.value}`).join('; ');
  ({ id: ids.probes } = await server.api('POST', '/api/captures', { method: { trace: { dynamic } }, target: 'system', limits: { duration_ms: 120_000 } }));
  const path = `/api/captures/${ids.probes}/probes/detach`;
  for (const [url, name] of [[`/captures/${ids.probes}?v=1&tab=info`, 'probe_bash:readline'], ['/host', 'probe_bash:add_history']]) {
    await page.goto(server.origin + url);
    const button = page.getByRole('button', { name: `Detach ${name}` });
    await button.waitFor();
    const [answer] = await Promise.all([page.waitForResponse((response) => response.url().endsWith(path)), button.press('Enter')]);
    assert.equal(answer.status(), 200);
    assert.deepEqual(await answer.json(), { detached: [name] });
    await page.getByText(`Detached ${name}; the capture goes on.`).waitFor();
  }
  await server.api('POST', `/api/captures/${ids.probes}/stop`);
  await page.goto(`${server.origin}/captures/${ids.probes}`);
  await ended(page);
});

test('who ran and who waited, on the timeline: why a thread was late, ranges, notes, spans', async () => {
  // One writes now and then, the other is woken by that.
  const [writer, reader] = ['slow-writer', 'late-reader'].map((name) => join(programs, name));
  copyFileSync('/bin/sh', writer);
  copyFileSync('/usr/bin/dd', reader);
  for (const program of [writer, reader]) chmodSync(program, 0o755);
  const line = `'${writer}' -c 'while :; do echo tick; sleep 0.002; done' | '${reader}' of=/dev/null status=none`;
  const work = spawn('/bin/sh', ['-c', line], { stdio: 'ignore', detached: true });
  try {
    ids.moments = await recordMoments(page, server.origin, 1000);
  } finally {
    process.kill(-work.pid);
  }
  const [link, ask] = [`${server.origin}/captures/${ids.moments}`, asker(page, server.origin, ids.moments)];
  const [{ n }] = await ask("select count(*) as n from run_queue_latency where comm = 'late-reader' and waker_comm = 'slow-writer'");
  assert.ok(n > 10, `the writer woke the reader: ${n} times`);
  await page.goto(link);
  await walkStates(page, true);
  await arrangeTree(page);
  await findWhyLate(page, { thread: 'late-reader', ask });
  await findInCapture(page, 'late-reader');
  await noteOnTimeline(page, 'why the reader was late');
  await readWhoRan(page, link, ask);
  await readSpan(page, link, ask, 'woken to running');
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400.*nothing_of_this_name/.test(text)));
});

test('commands are pasted, refused in words, and started', async () => {
  ids.pasted = await pasteCommands(page, server.origin);
  await ended(page);
  await openTab(page, 'Events');
  await until('rows', async () => await rowCount(page) > 0);
  await pasteWhatIsRefused(page, server.origin);
});

test('7. history lists the captures; after a restart the address restores the view', async () => {
  await page.getByRole('link', { name: 'History' }).click();
  await until('all captures', async () => await page.locator('#history tbody tr').count() === Object.keys(ids).length);
  await page.goto(`${server.origin}/captures/${ids.profile}?v=1&tab=flame&search=spin_mid`);
  await page.locator('svg.flame .is-match').first().waitFor();
  const frames = await page.locator('svg.flame g').count();
  const [, listen] = server.origin.split('//');
  await server.stop();
  server = await Server.start({ data, listen });
  await logIn(page, server);
  await page.goto(`${server.origin}/captures/${ids.profile}?v=1&tab=flame&search=spin_mid`);
  await page.locator('svg.flame .is-match').first().waitFor();
  assert.equal(await page.locator('svg.flame g').count(), frames);
  assert.equal(await page.getByRole('searchbox', { name: 'Find in names' }).inputValue(), 'spin_mid');
  await page.goto(`${server.origin}/captures/${ids.events}?v=1&tab=timeline&group=thread&start=1000000&end=200000000`);
  await page.getByRole('tab', { name: 'Timeline', selected: true }).waitFor();
  await page.getByRole('button', { name: 'Threads', pressed: true }).waitFor();
});

test('the browser never complained and no hostile text ran', () => {
  assert.deepEqual(complaints.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|401|net::ERR_/.test(text)), []);
});

test('a team: capture, note, share, revoke, answer, file, find among ten thousand, compare, and a recorder that a slow call fires', () =>
  workTogether(browser));
