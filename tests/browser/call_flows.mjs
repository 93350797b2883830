// The table of system calls and the tree of processes, held against what the tables of the same capture say in SQL; their lines
// filter the other views.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { openTab } from './flows.mjs';
import { nextJson } from './lib.mjs';

const query = (page) => new URL(page.url()).searchParams;
const CALLS = /\/syscalls\?|\/syscalls$/;
const PROCESSES = /\/processes(\?|$)/;
const COUNTED = "kind in ('call', 'unfinished', 'inside')";

/** Calls by call, by process and call, by bytes; durations of one; a line filters all views, and the link says it. */
export async function countCalls(page, { origin, id, ask }) {
  const plain = await nextJson(page, CALLS, () => page.goto(`${origin}/captures/${id}?v=3&tab=systemcalls`));
  const expected = await ask(`select call, count(*) as calls, coalesce(sum(duration_ns), 0) as time, sum(error is not null and error <> '') as failed
    from syscalls where ${COUNTED} group by call order by time desc, calls desc`);
  const told = plain.lines.map(({ call, count, time, failed }) => ({ call, calls: count, time, failed }));
  assert.ok(told.length > 1);
  assert.deepEqual(told.map(({ call }) => call).toSorted(), expected.map(({ call }) => call).toSorted());
  for (const line of told) assert.deepEqual(line, expected.find(({ call }) => call === line.call));
  assert.deepEqual(told.map(({ time }) => time), expected.map(({ time }) => time));
  const table = page.getByRole('table', { name: 'System calls' });
  const rows = table.locator('tbody tr');
  await until('lines', async () => await rows.count() === told.length);
  assert.ok(plain.all.running + plain.all.waiting > 0, 'states split calls into running and waiting');
  assert.match(await table.locator('thead').innerText(), /Running\s+Waiting/);
  // By keyboard: a line shows its durations, of which all are counted.
  await page.locator('.syscall-lines').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: `Durations: ${told[0].call}` }).waitFor();
  const counts = await page.locator('.syscall-beside table.histogram tbody tr:not(.gap) td:nth-child(3)').allInnerTexts();
  const [{ count, without }] = plain.lines;
  assert.equal(counts.reduce((all, text) => all + Number(text.replaceAll(',', '')), 0), count - without);
  const groups = page.getByRole('combobox', { name: 'What calls are counted by' });
  const by = await nextJson(page, CALLS, () => groups.selectOption('process_call'));
  const pairs = await ask(`select distinct pid, call from syscalls where ${COUNTED}`);
  assert.equal(by.lines.length + by.rest.lines, pairs.length);
  assert.equal(query(page).get('callsby'), 'process_call');
  const bytes = await nextJson(page, CALLS, () => page.getByRole('combobox', { name: 'Order of lines and files' }).selectOption('bytes'));
  assert.ok(bytes.lines.every(({ bytes: moved }, at) => at === 0 || moved <= bytes.lines[at - 1].bytes));
  // One line alone, in all views.
  const [first] = bytes.lines;
  const only = await nextJson(page, CALLS, () => rows.first().getByRole('button', { name: /^Only/ }).click());
  assert.deepEqual([only.all.count, only.all.time], [first.count, first.time]);
  assert.equal(query(page).get('filter'), first.filter);
  assert.deepEqual(await nextJson(page, CALLS, () => page.reload()), only);
  const found = await nextJson(page, /\/rows\?/, () => openTab(page, 'Events'));
  assert.ok(found.matched >= first.count, JSON.stringify(found.matched));
  await openTab(page, 'System calls');
  const none = page.getByText('No system call in this range and filter.');
  await nextJson(page, CALLS, async () => {
    await page.locator('#filter').fill('call == "nothing"');
    await page.locator('#filter').press('Enter');
  });
  await none.waitFor();
}

/** The tree is walked, closed and searched by keys; a process and what it started is all that other views show. */
export async function walkProcesses(page, { origin, id, ask }) {
  const tree = await nextJson(page, PROCESSES, () => page.goto(`${origin}/captures/${id}?v=3&tab=processes`));
  assert.ok(tree.processes.length > 1, JSON.stringify(tree).slice(0, 1000));
  const table = page.getByRole('treegrid', { name: 'Processes' });
  const rows = table.locator('tbody tr');
  // The kernel's own threads are closed at first.
  const kernel = tree.processes.findIndex(({ pid, comm, descendants }) => pid === 2 && comm === 'kthreadd' && descendants > 0);
  const hidden = kernel < 0 ? 0 : tree.processes[kernel].descendants;
  await until('lines', async () => await rows.count() === Math.min(1000, tree.processes.length - hidden));
  if (kernel >= 0) {
    await rows.nth(kernel).focus();
    await page.keyboard.press('ArrowRight');
    await until('all lines', async () => await rows.count() === Math.min(1000, tree.processes.length));
  }
  await ownersOfProcesses(page, { tree, rows, ask });
  const [{ pids }] = await ask('select count(distinct pid) as pids from processes');
  assert.ok(tree.processes.length + tree.more <= pids, `${tree.processes.length} of ${pids}`);
  const first = tree.processes.findIndex(({ filter }) => filter !== '');
  await rows.nth(0).focus();
  for (let at = 0; at < first; at += 1) await page.keyboard.press('ArrowDown');
  const parent = tree.processes.findIndex(({ descendants }) => descendants > 0);
  if (parent >= 0) {
    await rows.nth(parent).focus();
    await page.keyboard.press('ArrowLeft');
    await until('a closed line', async () => await rows.count() === tree.processes.length - tree.processes[parent].descendants);
    await page.keyboard.press('ArrowRight');
    await until('an open line', async () => await rows.count() === tree.processes.length);
  }
  // One whose id is in no other's: 1 is found in 1201 too.
  const isAlone = (id) => tree.processes.filter(({ pid }) => String(pid).includes(id)).length === 1;
  const one = tree.processes.find(({ pid, filter, samples, running }) => filter && isAlone(String(pid)) && ((running ?? 0) > 0 || (samples ?? 0) > 0))
    ?? tree.processes[first];
  const search = page.getByRole('searchbox', { name: 'Find processes' });
  await search.fill(String(one.pid));
  await until('found lines', async () => await rows.count() < tree.processes.length);
  await search.fill('');
  await rows.nth(tree.processes.indexOf(one)).focus();
  await page.keyboard.press('Enter');
  await until('the filter', () => query(page).get('filter') === one.filter);
  assert.doesNotMatch(await page.locator('#panel-processes').innerText(), /user and container|was there before,/);
}

/** Users, containers and parents of what was there before are those that SQL tells. */
async function ownersOfProcesses(page, { tree, rows, ask }) {
  assert.ok(tree.has_owners && tree.has_parents);
  const told = await ask(`select pid, kind, name, parent from processes where kind in ('user', 'group', 'parent')`);
  const by = new Map(told.map((row) => [`${row.kind} ${row.pid}`, row]));
  const before = tree.processes.filter(({ start }) => start === undefined);
  assert.ok(before.some(({ pid, user }) => user && user === by.get(`user ${pid}`)?.name));
  const parents = before.filter(({ parent }) => parent !== undefined);
  assert.ok(parents.length > 0 && parents.every(({ pid, parent }) => tree.processes[parent].pid === by.get(`parent ${pid}`)?.parent));
  for (const { pid, user = '', group = '', is_inherited: isInherited } of before) {
    if (isInherited) continue;
    assert.deepEqual([user, group], ['user', 'group'].map((kind) => by.get(`${kind} ${pid}`)?.name ?? ''), `process ${pid}`);
  }
  const at = tree.processes.findIndex(({ user, container, unit }) => user && (container || unit));
  if (at < 0) return;
  const { user, container, unit } = tree.processes[at];
  const text = await rows.nth(at).innerText();
  assert.ok(text.includes(user) && text.includes(container || unit), text);
}
