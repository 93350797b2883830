// A person's way through the console with the simulated agent, as a user without any rights: nothing here needs root.

import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';

import { IS_ROOT, Server, binary, dataFolder, removeFolder, until } from '../lib/server.mjs';
import {
  addCondition, chooseCalls, chooseRecords, readRecords, ended, openTab, readInfo, rowCount, rowsInSight, runCallsAgain, selectRange, settledValue, startCapture, tickFields,
  arrangeTree, bringSysdigLine, chooseGraph, chooseTracepoint, flameOfCalls, listFunctions, rankCalls, runsUntilStopped, walkCalls, walkChart, walkFlame, walkInstructions, walkStates, walkTimeline, watchAndStop,
} from './flows.mjs';
import {
  chooseByName, deleteOpen, foldTime, leaveOwnOut, legendOfWindow, openTool, rangeOfMaps, readTool, seeProgress, watchScript,
} from './capture_flows.mjs';
import { findInCapture, noteOnTimeline, noteTrack } from './notes_flows.mjs';
import { compareTwo, compareViews, followSeries } from './compare_flows.mjs';
import { tagAndFind } from './label_flows.mjs';
import { findByNote } from './search_flows.mjs';
import { fireAndRead } from './flight_flows.mjs';
import { collide, investigateTogether, noteFrame, noteRow, noteTogether } from './investigation_flows.mjs';
import { shareAndRevoke, shareInvestigation } from './share_flows.mjs';
import { addPerson } from './people_flows.mjs';
import { limitReaders } from './rights_flows.mjs';
import { signInElsewhere } from './sign_in_flows.mjs';
import { tellOthers } from './webhook_flows.mjs';
import { findWhyLate } from './path_flows.mjs';
import { asker, readSpan, readWhoRan, recordMoments } from './timeline_flows.mjs';
import { chooseKind, findNothing, searchCatalogue } from './catalog_flows.mjs';
import {
  completeCommands, followSameCommands, keepProbes, pasteCommands, pasteWhatIsRefused, readSameCommands,
} from './command_flows.mjs';
import { countCalls, walkProcesses } from './call_flows.mjs';
import { beginAsTool, buildByKeys, fillTool, runBuiltAgain, suggestForTool } from './access_flows.mjs';
import { followGuide, readGuideCommands } from './guide_flows.mjs';
import { buildOpens, buildTwo, countPattern, editBothWays, readOpens } from './builder_flows.mjs';
import { buildScripts, everyRowHasAWay, fillForms, keepByMouse, openPages, startByApi } from './mouse_ways.mjs';
import { logIn, openBrowser, openPage } from './lib.mjs';
import {
  completeScript, correctScript, openEditor, openExample, openToolByWords, readScript, refuseScript, runScript, runScriptAgain, stopAfterMoments,
  walkMaps, walkStacks,
} from './script_flows.mjs';
import { arrangeColumns, chooseRangeOfNumbers, chooseValues, completeFilter, groupRows, pairRows, saveSeenRows } from './row_flows.mjs';
import { chooseBuckets, openOutlier, readBusy, readHeat, readHistogram, readOffsets, recordSpread } from './distribution_flows.mjs';
import { colourFrames, compareStacks, openFile, readTimeOrder, renameFrames, standBetween, transformStacks, walkCallTree } from './stack_flows.mjs';
import { walkTreeRows } from './tree_flows.mjs';
import { chooseWeights, countCpuTime } from './weight_flows.mjs';
import { cutTrack, insertNames, makeMistakes, runExample, seeBars, seeLines, showTrack } from './sql_flows.mjs';

const TRACEPOINT = 'sched:sched_switch';
const HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=2</script>\u202e';
let browser;
let server;
let page;
let complaints;
let id;
const data = dataFolder(true);

before(async () => {
  server = await Server.start({ data, simulate: true, unprivileged: true });
  browser = await openBrowser();
  ({ page, complaints } = await openPage(browser));
});

after(async () => {
  await browser?.close();
  await server?.stop();
  removeFolder(data);
});

test('it runs without rights', async () => {
  if (IS_ROOT) {
    const { readFileSync } = await import('node:fs');
    for (const verb of ['agent', 'console']) {
      // As much of the name as the kernel keeps.
      assert.equal(readFileSync(`/proc/${server.childPid(verb)}/comm`, 'utf8').trim(), `bathyscope-${verb}`.slice(0, 15));
      assert.match(readFileSync(`/proc/${server.childPid(verb)}/status`, 'utf8'), /^Uid:\t65534\t65534\t65534\t65534$/m);
    }
  }
  // Also where the page that asks for the link is open already.
  await page.goto(server.origin);
  await page.waitForURL(/\/login$/);
  await logIn(page, server);
  await page.getByText(/simulated/i).first().waitFor();
});

test('who is busy: lists, their order, and a row that leads to the form', async () => {
  await page.goto(server.origin);
  const panel = page.getByRole('region', { name: 'Who is busy', exact: true });
  const firstName = () => page.locator('.busy-table tbody tr td').first().textContent();
  await until('the busiest process', async () => await firstName() === 'java');
  await page.locator('.busy-facts').getByText('Pressure').waitFor();
  // Hostile names are text, and a process says in which container it runs.
  await panel.getByText('<img src=x oner').waitFor();
  await page.locator('.busy-table').getByText('orders-db').waitFor();
  const numbers = async () => page.locator('.busy-table tbody tr').first().locator('td.num').allTextContents();
  const before = (await numbers()).join();
  await until('numbers that move', async () => (await numbers()).join() !== before);
  await page.getByRole('button', { name: 'java', exact: true }).click();
  const files = page.getByRole('region', { name: 'Open files and sockets of java (1533)' });
  await files.getByText('TCP 127.0.0.1:8080 listens').waitFor();
  await files.getByRole('button', { name: 'Close' }).click();
  await files.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Read', exact: true }).focus();
  await page.keyboard.press('Enter');
  await until('the process that reads most', async () => await firstName() === 'database');
  for (const [list, name] of [['Users', /^\w+$/], ['Containers', /^orders-db$/], ['Disks', /^vda$/], ['Network', /^eth0$/]]) {
    await page.getByRole('button', { name: list, exact: true }).click();
    await until(`a row of ${list}`, async () => name.test(await firstName()));
  }
  assert.ok((await page.getByRole('link', { name: 'eth0: why is it slow?' }).getAttribute('href')).endsWith('?recipe=network'));
  await page.getByRole('button', { name: 'Containers', exact: true }).click();
  await page.getByRole('link', { name: 'orders-db: what does it do?' }).click();
  await page.waitForURL(/\/new\?recipe=process-time/);
  await until('the container in the form', async () =>
    await page.getByLabel('Service, container or control group').inputValue() === 'orders-db');
  await page.goto(server.origin);
  await page.getByRole('link', { name: 'java: what does it do?' }).click();
  await until('the process in the form', async () => await page.locator('#pid').inputValue() === '1533');
  assert.ok(await page.getByRole('radio', { name: 'One process' }).isChecked());
  assert.equal(await page.getByRole('tab', { selected: true }).textContent(), 'Profile');
  await page.goto(server.origin);
});

test('the guided start: questions lead to a tool, by keyboard, and its commands fill forms', async () => {
  await followGuide(page, server.origin);
  await readGuideCommands(page);
});

test('a question: its sources in the form, one left out, one added, and the capture of all', async () => {
  await page.goto(server.origin);
  await page.getByRole('link', { name: 'Where does the time of this process go?' }).click();
  const list = page.getByRole('group', { name: 'Sources of this capture' });
  const ids = () => list.locator('.source b').allTextContents();
  await until('the sources', async () => (await ids()).join() === 'on-cpu,states,syscalls,faults,counters');
  await page.locator('#pid').fill('1201');
  await list.getByRole('button', { name: 'Leave faults out' }).click();
  await list.getByTitle('Edit syscalls').click();
  await until('system calls in the form', async () =>
    await page.getByRole('tab', { selected: true }).textContent() === 'System calls');
  assert.equal(await page.locator('#pid').inputValue(), '1201', 'the target stays');
  await page.locator('#sys-calls').fill('read, write');
  // A source that is not whole is told before another one is shown.
  await page.getByRole('button', { name: 'Add a source' }).click();
  await list.getByTitle('Edit on-cpu').click();
  await page.getByText('Add at least one tracepoint.').waitFor();
  await page.getByRole('tab', { name: 'Counts' }).click();
  await page.locator('#count-events').fill('cs');
  await list.getByTitle('Edit syscalls').click();
  assert.equal(await page.locator('#sys-calls').inputValue(), 'read, write', 'what was typed is kept');
  assert.deepEqual(await ids(), ['on-cpu', 'states', 'syscalls', 'counters', 'count']);
  await page.locator('#duration').fill('2');
  const id = await startCapture(page);
  assert.match(page.url(), /tab=flame/, 'it opens where the recipe says');
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=info`);
  const sources = page.getByRole('region', { name: 'Sources' });
  await until('rows of each source', async () => {
    // A row that is drawn anew just now has no cells.
    const rows = await sources.locator('tbody tr').allInnerTexts();
    return rows.length === 5 && rows.every((row) => Number((row.split('\t')[3] ?? '').replaceAll(',', '')) > 0);
  });
  await page.goto(`${server.origin}/new?from=${id}`);
  await until('the sources again', async () => (await ids()).join() === 'on-cpu,states,syscalls,counters,count');
  await page.goto(server.origin);
});

test('streams that are computed: states of threads, removed, computed again, and a span of one\'s own', async () => {
  const spec = { sources: [{ id: 'states', method: { states: { sleep_stacks: true } } }], target: 'system', limits: { duration_ms: 700, budget_cpu_permille: 50 } };
  const { id } = await (await page.request.post(`${server.origin}/api/captures`, { data: spec, headers: { origin: server.origin } })).json();
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=info`);
  await ended(page);
  const computed = page.getByRole('region', { name: 'Computed streams' });
  const row = (name) => computed.getByRole('row').filter({ hasText: name });
  const told = async (name, state) => until(`${name}: ${state}`, async () => (await row(name).innerText()).split('\t')[1].trim() === state);
  await told('thread states', 'complete');
  await openTab(page, 'Events');
  await page.getByRole('button', { name: 'run-queue latency' }).click();
  await until('latencies', async () => await rowCount(page) > 0);
  await walkStates(page);
  await arrangeTree(page);
  await findWhyLate(page, { ask: asker(page, server.origin, id) });
  await findInCapture(page, 'preempted');
  await noteOnTimeline(page, 'why <img src=x onerror="window.hacked=3"> was late');
  await noteTrack(page, 'this CPU <img src=x onerror="window.hacked=4"> is the slow one');
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=flame`);
  await page.getByText(/\d+ (ms|s|min)/).first().waitFor();
  await openTab(page, 'Info');
  await row('thread states').getByRole('button', { name: 'Remove' }).click();
  await told('thread states', 'removed');
  await openTab(page, 'Events');
  assert.equal(await page.getByRole('button', { name: 'run-queue latency' }).count(), 0);
  await openTab(page, 'Info');
  await computed.getByRole('button', { name: 'Compute thread states' }).click();
  await told('thread states', 'complete');
  await computed.getByText('Add a span of your own').click();
  await computed.getByRole('button', { name: 'Compute', exact: true }).click();
  await computed.getByText('A span needs a name').waitFor();
  await computed.getByLabel('Name').fill(HOSTILE);
  await computed.getByLabel('Key: its columns').first().fill('next_tid');
  await computed.getByLabel('Key: its columns').last().fill('tid');
  await computed.getByRole('button', { name: 'Compute', exact: true }).click();
  await told('"><img', 'complete');
  await page.goto(server.origin);
});

test('3 ms of a CPU: who ran; a span of two events: its histogram, and a link to it', async () => {
  const moments = await recordMoments(page, server.origin, 700);
  const [link, ask] = [`${server.origin}/captures/${moments}`, asker(page, server.origin, moments)];
  await readWhoRan(page, link, ask);
  await readSpan(page, link, ask, 'woken <b>to</b> run');
  await page.goto(server.origin);
});

test('rows of the tree beside states: notes, results of SQL, outputs of a script', async () => walkTreeRows(page, server.origin));

test('events: chosen by typing, watched live, stopped', async () => {
  await chooseTracepoint(page, { typed: 'sched_sw', name: TRACEPOINT });
  await tickFields(page, { name: TRACEPOINT, fields: ['prev_comm', 'next_comm', 'next_pid'] });
  await addCondition(page, { name: TRACEPOINT, field: 'next_pid', value: '0', reads: 'next_pid == 0' });
  await page.getByRole('button', { name: 'Remove condition 1' }).click();
  await page.getByLabel('Title').fill(HOSTILE);
  await runsUntilStopped(page);
  id = await startCapture(page);
  await watchAndStop(page, 100);
});

test('the table scrolls through all rows with the keyboard', async () => {
  await openTab(page, 'Events');
  const total = await until('stored rows', () => rowCount(page));
  const grid = page.getByRole('grid', { name: 'Events' });
  const firstInSight = async () => (await rowsInSight(page))[0]?.join();
  const atTop = async () => await grid.evaluate((element) => element.scrollTop) === 0 && firstInSight();
  await grid.focus();
  await page.keyboard.press('Home');
  const first = await until('the first rows', settledValue(atTop));
  await page.keyboard.press('End');
  await until('other rows', async () => { const now = await firstInSight(); return now && now !== first; });
  await page.keyboard.press('Home');
  await until('the first rows again', async () => await atTop() === first);
  assert.ok(total > 100);
});

test('p12 hostile names are text on every tab', async () => {
  assert.ok((await page.title()).includes('<img src=x'));
  await page.getByRole('heading', { name: /<img src=x onerror/ }).waitFor();
  const names = (await (await page.request.get(`${server.origin}/api/captures/${id}/rows?stream=0&limit=500`)).json()).rows.map((row) => row[4]);
  const hostile = names.find((name) => /[<>"&]/.test(name));
  assert.ok(hostile, `the simulated agent has hostile names among ${[...new Set(names)].slice(0, 20)}`);
  await page.goto(`${server.origin}/captures`);
  await page.getByText(/<img src=x onerror/).first().waitFor();
  await page.goto(`${server.origin}/captures/${id}`);
});

test('p29 losses are in sight beside the rows', async () => {
  const capture = await (await page.request.get(`${server.origin}/api/captures/${id}`)).json();
  const lost = capture.ledger.losses.reduce((sum, loss) => sum + loss.count, 0);
  if (lost > 0) await page.locator('#cap-chips').getByText(/lost/).first().waitFor();
  await readInfo(page, [TRACEPOINT, /Emitted/, lost > 0 ? /ring buffer was full|did not run|not be decoded/ : 'Nothing was lost.']);
});

test('the timeline: zoom, pan and selection', async () => {
  await walkTimeline(page);
  const [start, end] = await selectRange(page, 0.3, 0.5);
  assert.ok(start < end);
});

test('questions in SQL: examples, names, lines, mistakes', async () => {
  await page.goto(`${server.origin}/captures/${id}`);
  await runExample(page);
  await insertNames(page);
  await seeLines(page);
  await seeBars(page);
  await makeMistakes(page);
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400.*\/query/.test(text)));
});

test('results of SQL as tracks of the timeline', async () => {
  await page.goto(`${server.origin}/captures/${id}?v=1&tab=sql`);
  await showTrack(page);
  await cutTrack(page);
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400.*\/query/.test(text)));
});

test('system calls by call and process, and what started what, as SQL counts them', async () => {
  const id = await recordMoments(page, server.origin, 600);
  const capture = { origin: server.origin, id, ask: asker(page, server.origin, id) };
  await countCalls(page, capture);
  await walkProcesses(page, capture);
});

test('a profile as a flame graph', async () => {
  await page.goto(`${server.origin}/new?method=profile`);
  await page.getByRole('radio', { name: 'Whole system' }).check();
  await page.getByLabel('After', { exact: true }).fill('1');
  await startCapture(page);
  await ended(page);
  const answer = await (await page.request.get(page.url().replace('/captures/', '/api/captures/').replace(/\?.*/, '') + '/flame')).json();
  const name = answer.names[answer.nodes.name[answer.nodes.depth.findIndex((depth) => depth === 3)]];
  await walkFlame(page, { expects: [name], search: name.slice(0, 12) });
  await listFunctions(page);
});

/** A capture of two events, and what to do with its rows. */
async function withRows(...flows) {
  const before = page.url();
  const probe = (tracepoint, ...fields) => ({ tracepoint, fields });
  const events = { probes: [probe('raw_syscalls:sys_exit', 'id', 'ret'), probe('syscalls:sys_enter_openat', 'filename', 'flags')] };
  const spec = { sources: [{ id: 'calls', method: { events } }], target: 'system', limits: { duration_ms: 700 } };
  const { id } = await (await page.request.post(`${server.origin}/api/captures`, { data: spec, headers: { origin: server.origin } })).json();
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=events`);
  await ended(page);
  for (const flow of flows) await flow(page);
  await page.goto(before);
  // What is half typed, and what is wrong, is refused.
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400.*filter=/.test(text)));
}

test('rows: values of columns, ranges of numbers, a filter that is completed', async () => {
  await withRows(chooseValues, chooseRangeOfNumbers, completeFilter);
});

test('rows: columns are arranged, rows sorted by several, copied, grouped, paired and saved', async () => {
  await withRows(arrangeColumns, groupRows, pairRows, saveSeenRows);
});

test('stacks: transforms by keys, names by a pattern, colours, the tree, callers and callees', async () => {
  await transformStacks(page);
  await renameFrames(page);
  await colourFrames(page);
  await walkCallTree(page);
  await standBetween(page);
});

test('captures beside each other, and runs of the same as a series', async () => {
  const before = page.url();
  await compareTwo(page, server);
  await compareViews(page, server);
  await followSeries(page, server);
  await page.goto(before);
});

test('weights of stacks: CPU time of a profile, rows and a column of a script, containers', async () => {
  await countCpuTime(page);
  await chooseWeights(page, server.origin);
  // A container that was not recorded is refused.
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400.*by=container/.test(text)));
});

test('stacks in the order of time: walked and zoomed by keys, transformed, by CPU, with the link', async () => {
  await readTimeOrder(page);
});

test('stacks compared with those of another filter; a file that zooms and searches from the disk', async () => {
  await compareStacks(page);
  await openFile(page, page.context());
});

test('the instructions of a function: opened by its name, walked with keys, linked to', async () => {
  const path = page.url().replace('/captures/', '/api/captures/').replace(/\?.*/, '');
  // The instructions are kept after the rows.
  const name = await until('kept instructions', async () => {
    const { functions } = await (await page.request.get(`${path}/flame/functions`)).json();
    for (const one of functions.filter(({ own, kind }) => kind === 3 && own > 1)) {
      const { shown } = await (await page.request.get(`${path}/flame/annotate?function=${encodeURIComponent(one.name)}`)).json();
      if (shown?.kept > 0 && shown.hottest.length > 1) return one.name;
    }
    return null;
  });
  await openTab(page, 'Flame graph');
  // The simulated program is made of returns.
  await walkInstructions(page, { name, jumps: false });
});

test('distributions: a histogram by groups, buckets of one\'s choice, heat maps, offsets, busy CPUs, single rows', async () => {
  const link = await recordSpread(page, server.origin);
  await readHistogram(page, link);
  await chooseBuckets(page, link);
  await readHeat(page, link);
  await readOffsets(page, link);
  await readBusy(page, link);
  await openOutlier(page, link);
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400.*\/distribution\/heat/.test(text)));
});

test('memory and branches of samples: chosen, read, run again', async () => {
  await page.goto(`${server.origin}/new?method=profile`);
  await chooseRecords(page, { typed: 'any_c', word: 'any_call', then: 'save_type' });
  await page.getByRole('radio', { name: 'Whole system' }).check();
  await page.getByLabel('After', { exact: true }).fill('1');
  const made = await startCapture(page);
  await ended(page);
  await readRecords(page, { stream: 'branches' });
  const { memory, branches } = (await (await page.request.get(`${server.origin}/api/captures/${made}`)).json()).spec.sources[0].method.profile;
  assert.deepEqual([memory, branches], [true, ['any_call', 'save_type']]);
  await openTab(page, 'Info');
  await page.getByText('accesses to memory, branches (any_call, save_type)').waitFor();
  await page.getByRole('button', { name: /^Run again/ }).or(page.getByRole('link', { name: /^Run again/ })).click();
  await page.getByRole('tab', { name: 'Profile', selected: true }).waitFor();
  await until('the branches', async () => await page.getByRole('combobox', { name: 'Branches' }).inputValue() === 'any_call, save_type');
  assert.ok(await page.getByRole('checkbox', { name: 'the memory access of each sample' }).isChecked());
});

test('system calls: chosen by a set, recorded, run again', async () => {
  await page.goto(`${server.origin}/new?method=syscalls`);
  await chooseCalls(page, { typed: '%fi', set: '%file', results: 'only errors' });
  await page.getByLabel('After', { exact: true }).fill('1');
  const made = await startCapture(page);
  await ended(page);
  await openTab(page, 'Events');
  await until('failed calls', async () => (await rowsInSight(page)).some((row) => row.some((cell) => /ENOENT/.test(cell))));
  const asked = (await (await page.request.get(`${server.origin}/api/captures/${made}`)).json()).spec.sources[0].method;
  assert.deepEqual(asked, { syscalls: { calls: ['%file'], outcome: 'failed', min_duration_ns: 0, string_bytes: 32, fd_paths: true, signals: false } });
  await runCallsAgain(page, { calls: '%file', results: 'failed' });
});

test('a filter line of sysdig fills the form', async () => {
  await bringSysdigLine(page, server.origin);
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400.*syscalls\/filter/.test(text)));
});

test('calls of functions: as a tree, ranked, over time, folded', async () => {
  await page.goto(`${server.origin}/new?method=trace`);
  await chooseGraph(page, { event: 'irq:irq_handler_entry' });
  await page.getByLabel('After', { exact: true }).fill('2');
  await startCapture(page);
  await ended(page);
  await walkCalls(page);
  await rankCalls(page);
  await walkChart(page);
  await flameOfCalls(page);
});

test('the catalogue: searched by typing, opened, linked to', async () => {
  await searchCatalogue(page, { typed: 'sched switch', name: 'sched:sched_switch', shows: 'next_pid' });
  await chooseKind(page, { kind: 'Tracers', has: 'hwlat' });
  await chooseKind(page, { kind: 'BPF programs', has: 'count_reads #3' });
  await findNothing(page);
});

test('a script: written, corrected, completed', async () => {
  await openEditor(page);
  await correctScript(page);
  await completeScript(page);
});

test('a script that is refused stays in the editor', async () => {
  await refuseScript(page);
  // The refusal itself is what the browser's console may say.
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 422/.test(text)));
});

test('a script runs: its maps, stacks, output, and again', async () => {
  const script = await runScript(page, { title: HOSTILE });
  await stopAfterMoments(page, server.origin, script);
  await walkMaps(page);
  await walkStacks(page);
  await readScript(page);
  await runScriptAgain(page);
});

test('a capture shows first what it is for, and says whose and of what its numbers are', async () => {
  const tool = await openTool(page, server.origin);
  await readTool(page, server.origin, tool);
  await foldTime(page, server.origin, tool);
  await rangeOfMaps(page, server.origin, tool);
  await legendOfWindow(page, server.origin, tool);
  await leaveOwnOut(page, server.origin, tool);
  await seeProgress(page);
  await deleteOpen(page, tool);
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 404.*\/api\/captures\//.test(text)));
});

test('a running script has one line of readouts', async () => watchScript(page, server.origin));

test('a process is chosen by its name', async () => chooseByName(page, server.origin));

test('a tool and an example open in the editor', async () => {
  await openToolByWords(page, { words: 'runqlat cpu', tool: 'runqlat' });
  await openExample(page);
});

test('commands of other tools that ask the same: of a capture, and of a form as it is filled in', async () => {
  const spec = { method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: true } }, target: 'system', limits: { duration_ms: 500 } };
  const { id: made } = await (await page.request.post(`${server.origin}/api/captures`, { data: spec, headers: { origin: server.origin } })).json();
  await readSameCommands(page, `${server.origin}/captures/${made}`);
  await followSameCommands(page, server.origin);
  await page.goto(server.origin);
});

test('commands are pasted, refused in words, and completed', async () => {
  await pasteCommands(page, server.origin);
  await pasteWhatIsRefused(page, server.origin);
  await completeCommands(page, server.origin);
});

test('each row of the table of commands by the mouse, and by the API', async () => {
  everyRowHasAWay();
  await fillForms(page, server.origin);
  await buildScripts(page, server.origin);
  await openPages(page, server.origin);
  await keepByMouse(page, server.origin);
  await startByApi(page, server.origin);
  // The simulated kernel does not have all that the rows name, which the forms tell.
  const told = /status of (400|404|422).*\/api\/(dynamic|builder|scripts|tracepoints)\//;
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !told.test(text)));
});

test('captures are tagged and described, found by words, tags and conditions, and sorted', async () => {
  const sample = (name) => page.evaluate(async (it) => (await (await fetch(`/api/samples/${it}`, { method: 'POST' })).json()).id, name);
  await page.goto(server.origin);
  const [id] = [await sample('profile'), await sample('scheduler')];
  await tagAndFind(page, server, id);
  await findByNote(page, server, id);
  await page.goto(server.origin);
});

test('a share: a part is opened without a login at the same view, and revoked while it is open', async () => {
  await page.goto(server.origin);
  const id = await page.evaluate(async () => (await (await fetch('/api/samples/scheduler', { method: 'POST' })).json()).id);
  await shareAndRevoke(browser, page, server, id);
  await page.goto(server.origin);
});

test('people: one is added, chooses a password, logs in and makes a token; disabled, their open page says so', async () => {
  await addPerson(browser, page, server);
  await limitReaders(browser, page, server);
  await page.goto(server.origin);
});

test('a flight recorder: it fires at a row and by hand, and what was stored says why', async () => {
  await fireAndRead(page, server);
  // A trigger that is misspelt is refused.
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 400/.test(text)));
  await page.goto(server.origin);
});

test('two people: notes that are answered and tied to a frame and a row, and an investigation that both see change', async () => {
  const profile = { frequency_hz: 99, kernel_stacks: true, user_stacks: true };
  const spec = { sources: [{ id: 'cpu', method: { profile } }], target: 'system', limits: { duration_ms: 700, budget_cpu_permille: 50 } };
  const { id: capture } = await (await page.request.post(`${server.origin}/api/captures`, { data: spec, headers: { origin: server.origin } })).json();
  await page.goto(`${server.origin}/captures/${capture}?v=3&tab=info`);
  await ended(page);
  const { stdout } = spawnSync(binary(), ['login-link', '--role', 'viewer', '--data', data], { encoding: 'utf8' });
  const { page: viewer, context, complaints: others } = await openPage(browser);
  await viewer.goto(stdout.trim());
  await viewer.waitForURL((url) => url.pathname === '/');
  await noteTogether(page, viewer, server.origin, capture);
  await noteFrame(page, viewer);
  await noteRow(page);
  const address = await investigateTogether(page, viewer);
  const second = await context.browser().newContext({ storageState: await page.context().storageState(), viewport: { width: 1280, height: 800 } });
  await collide(page, await second.newPage(), address);
  await second.close();
  await context.close();
  assert.deepEqual(others, []);
  await shareInvestigation(browser, page, server, address);
  await page.goto(server.origin);
});

test('the library: a probe is kept by paste, named, changed, restored, exported, deleted and restored', async () => {
  await keepProbes(page, server.origin);
  await page.goto(server.origin);
});

test('the probe builder: from the start page to who opens what, and how long it takes, in six actions', async () => {
  const { actions, id: opens } = await buildOpens(page, { origin: server.origin });
  assert.ok(actions <= 6, `${actions} actions`);
  await readOpens(page);
  await page.request.delete(`${server.origin}/api/captures/${opens}`);
  await editBothWays(page, { origin: server.origin });
  await countPattern(page, { origin: server.origin });
});

test('the probe builder: two probes in one script', async () => buildTwo(page, { origin: server.origin }));

test('the probe builder with keys alone, and what it has made opens in it again', async () => {
  const built = await buildByKeys(page, server.origin);
  const spec = { method: { script: { text: 'tracepoint:sched:sched_switch { @x[args.next_comm] = count(); }' } }, target: 'system', limits: { duration_ms: 300 } };
  const { id: written } = await (await page.request.post(`${server.origin}/api/captures`, { data: spec, headers: { origin: server.origin } })).json();
  await runBuiltAgain(page, server.origin, { built, written });
  for (const made of [built, written]) await page.request.delete(`${server.origin}/api/captures/${made}`, { headers: { origin: server.origin } });
});

test('a tool has a field for each parameter, and an example', async () => {
  await fillTool(page, server.origin);
  await suggestForTool(page, server.origin);
});

test('argdist, stackcount and trace are forms of the probe builder', async () => beginAsTool(page, server.origin));

test('a sample opens with one click', async () => {
  await page.goto(server.origin);
  const samples = page.locator('#samples button');
  await until('samples', async () => await samples.count() > 0);
  await samples.first().click();
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  await page.getByRole('tabpanel').first().waitFor();
  await openTab(page, 'Events');
  await until('its rows', async () => await rowCount(page) > 0);
});

test('a webhook is told of what a flight recorder stores', () => tellOthers(browser));

test('people log in at a provider', () => signInElsewhere(browser));

test('pages work from the keyboard and in the dark', async () => {
  await page.goto(server.origin);
  await page.keyboard.press('/');
  await page.keyboard.type('sched');
  await page.getByRole('option').first().waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.locator('#main').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.notEqual(dark, light);
});

test('logging out ends the session', async () => {
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL(/\/login/);
  await page.goto(`${server.origin}/captures`);
  assert.equal(new URL(page.url()).pathname, '/login');
});

test('the browser never complained and no hostile text ran', () => {
  // The browser tells of each answer that refuses something; flows ask for some: rows that are not there, a condition that asks
  // for nothing, and what is no tag.
  const asked = /status of 400 .*(\/find\?find=nothing_of_this_name|\/api\/captures\?q=is%3Alate|\/api\/captures\/[0-9a-f]{16}$)/;
  const others = complaints.filter((one) => !asked.test(one));
  assert.deepEqual(others, []);
});
