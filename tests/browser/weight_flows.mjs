// What stacks are weighted by, chosen in the flame graph's tab: rows, a column of numbers, and what is left out.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { ended } from './flows.mjs';
import { nextJson } from './lib.mjs';

const FLAME = /\/flame\?/;
const query = (page) => new URL(page.url()).searchParams;
const SCRIPT = `tracepoint:sched:sched_switch { printf("%d %d %s\\n", (int64)pid % 7 - 3, cgroup, kstack); }`;

/** Starts a capture whose rows have a stack, a number that may be negative, and a control group. */
async function record(page, origin) {
  const spec = { method: { script: { text: SCRIPT } }, target: 'system', limits: { duration_ms: 700, budget_cpu_permille: 1000 } };
  const { id } = await (await page.request.post(`${origin}/api/captures`, { data: spec, headers: { origin } })).json();
  await page.goto(`${origin}/captures/${id}?v=3&tab=flame`);
  await ended(page);
  return id;
}

/** A column is chosen in one place and counts in the graph, the tree, functions, between callers, and in the link. */
export async function chooseWeights(page, origin) {
  const before = page.url();
  const id = await record(page, origin);
  const counted = page.getByRole('combobox', { name: 'What is counted' });
  const rows = await nextJson(page, FLAME, () => page.reload());
  assert.deepEqual([rows.unit, rows.total > 0], ['rows', true]);
  const { weights } = await (await page.request.get(`${origin}/api/captures/${id}`)).json();
  const column = weights.find(({ value }) => !value.startsWith('@'));
  const summed = await nextJson(page, FLAME, () => counted.selectOption(column.value));
  assert.equal(query(page).get('unit'), column.value);
  assert.ok(summed.total !== rows.total && summed.left_out.negative > 0, JSON.stringify(summed.left_out));
  const said = page.locator('#panel-flame .flame-said');
  await until('what was left out', async () => (await said.textContent()).includes('with a negative value left out'));
  assert.ok((await said.textContent()).includes(column.title));
  const again = await nextJson(page, FLAME, () => page.reload());
  assert.deepEqual(again, summed, 'the link counts the same');
  const tree = await nextJson(page, FLAME, () => page.getByRole('button', { name: 'Call tree', exact: true }).click());
  assert.equal(tree.total, summed.total);
  const functions = await nextJson(page, /\/flame\/functions\?/, () => page.getByRole('button', { name: 'Functions', exact: true }).click());
  assert.equal(functions.samples, summed.total);
  const between = await nextJson(page, /\/flame\/sandwich\?/, () => page.getByRole('button', { name: 'Callers and callees', exact: true }).click());
  assert.ok(between.total > 0 && between.callees.left_out.negative === summed.left_out.negative);
  const chart = await nextJson(page, /\/flame\/chart\?/, () => page.getByRole('button', { name: 'Time order' }).click());
  assert.equal(chart.recorded, rows.total, 'in the order of time every row is drawn');
  await nextJson(page, FLAME, () => page.getByRole('button', { name: 'Time order' }).click());
  const levels = page.getByRole('combobox', { name: 'The first level' });
  const contained = await nextJson(page, FLAME, () => levels.selectOption('container'));
  const first = contained.nodes.name.filter((_name, i) => contained.nodes.depth[i] === 1).map((i) => contained.names[i]);
  assert.ok(first.length > 0 && first.every((name) => /control group/.test(name)), String(first));
  await page.goto(before);
}

/** A profile counts CPU time; its samples say no container, which is told in words. */
export async function countCpuTime(page) {
  const address = `${page.url().split('?')[0]}?v=3&tab=flame`;
  // Nothing that was asked before is answered after this.
  await page.goto('about:blank');
  const samples = await nextJson(page, FLAME, () => page.goto(address));
  const counted = page.getByRole('combobox', { name: 'What is counted' });
  const timed = await nextJson(page, FLAME, () => counted.selectOption('cpu_time'));
  assert.equal(timed.unit, 'nanoseconds');
  assert.ok(timed.total % samples.total === 0 && timed.total > samples.total, `${timed.total} of ${samples.total} samples`);
  await nextJson(page, FLAME, () => counted.selectOption('samples'));
  const levels = page.getByRole('combobox', { name: 'The first level' });
  await levels.selectOption('container');
  await page.locator('#panel-flame').getByText('no control group was recorded').waitFor();
  await nextJson(page, FLAME, () => levels.selectOption('process'));
}
