// Rows of the tree of tracks that are not states and slices: notes, results of SQL, outputs of scripts, samples.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { ended } from './flows.mjs';

const QUERY = "select time, duration_ns, comm from thread_states where state = 'sleeping'";
const query = (page) => new URL(page.url()).searchParams;
const canvasOf = (page) => page.locator('#panel-timeline .timeline-canvas');
const readout = async (page) => (await page.locator('#panel-timeline .readout').textContent()) ?? '';
const picked = (page) => page.getByRole('region', { name: 'What is picked' });

/** What is recorded: states, samples, and what a script prints and counts. */
export const SOURCES = [
  { id: 'states', method: { states: {} } },
  { id: 'samples', method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: true } } },
  {
    id: 'script',
    method: { script: { text: 'tracepoint:sched:sched_switch { printf("%s left CPU %d\\n", comm, cpu); @left[cpu] = count(); } interval:ms:100 { print(@left); }' } },
  },
];

/** Puts the cursor on the row whose words match, with the keyboard. */
async function goTo(page, words) {
  const canvas = canvasOf(page);
  await canvas.focus();
  await page.mouse.move(2, 2);
  for (let press = 0; press < 80; press += 1) await page.keyboard.press('ArrowUp');
  for (let press = 0; press < 80; press += 1) {
    if (words.test(await readout(page))) return;
    await page.keyboard.press('ArrowDown');
  }
  assert.fail(`no row says ${words}: ${await readout(page)}`);
}

/** A result of SQL is a row of the tree: picked, walked, linked to, shown in another way, renamed, removed. */
async function walkQuery(page) {
  await goTo(page, /^Sleeps: (?!its rows)/);
  await page.keyboard.press('Enter');
  await picked(page).getByText('Sleeps', { exact: true }).waitFor();
  const first = query(page).get('picked');
  assert.match(first, /^-\/sql:[0-9a-f]+\/0@/);
  await page.keyboard.press('.');
  await until('the next row', () => query(page).get('picked') !== first);
  await page.keyboard.press(',');
  await until('the row before', () => query(page).get('picked') === first);
  const heading = await picked(page).getByRole('heading').textContent();
  await page.reload();
  await until('the same row', async () => await picked(page).getByRole('heading').textContent() === heading);
  await goTo(page, /^Sleeps: (?!its rows)/);
  await page.keyboard.press('p');
  await until('a pinned row', () => /^sql:/.test(query(page).get('pins') ?? ''));
  const menu = page.getByRole('menu', { name: 'Sleeps' });
  const choose = async (name) => {
    await goTo(page, /^Sleeps: /);
    await page.keyboard.press('Shift+F10');
    await menu.getByRole('menuitem', { name, exact: true }).click();
    await menu.waitFor({ state: 'hidden' });
  };
  await choose('Show as instants');
  await until('another kind', () => JSON.parse(query(page).get('tracks'))[0][2] === 'instants');
  await choose('Rename');
  const name = page.getByRole('textbox', { name: /^Name of the track/ });
  await name.fill('Asleep');
  await name.press('Enter');
  await until('another name', () => JSON.parse(query(page).get('tracks'))[0][0] === 'Asleep');
  await goTo(page, /^Asleep: /);
  await page.keyboard.press('Shift+F10');
  await page.getByRole('menuitem', { name: 'Remove the track' }).click();
  await until('no track', () => !query(page).has('tracks'));
}

/** Samples of a thread and events of a script are picked and walked, as are notes. */
async function walkOthers(page) {
  await goTo(page, /^@left: /);
  await page.keyboard.press('Enter');
  await picked(page).getByText('@left', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await goTo(page, /^comm cpu: /);
  await page.keyboard.press('Enter');
  await picked(page).getByText('args.comm', { exact: true }).or(picked(page).getByText('comm', { exact: true })).first().waitFor();
  const first = await until('an event in the address', () => query(page).get('picked'));
  await page.keyboard.press('.');
  await until('the next event', () => query(page).get('picked') !== first);
  await page.keyboard.press(',');
  await until('the event before', () => query(page).get('picked') === first);
  await page.keyboard.press('Escape');
  await goTo(page, /^Notes: /);
  await page.keyboard.press('Enter');
  await until('a note', () => query(page).has('note'));
  await page.keyboard.press('Escape');
}

/** Makes a capture of all of these and walks through the rows. */
export async function walkTreeRows(page, origin) {
  const spec = { sources: SOURCES, target: 'system', limits: { duration_ms: 1200, budget_cpu_permille: 100 } };
  const headers = { origin };
  const { id } = await (await page.request.post(`${origin}/api/captures`, { data: spec, headers })).json();
  await page.goto(`${origin}/captures/${id}?v=3&tab=info`);
  await ended(page);
  const note = { start: 300_000_000, end: null, track: null, text: 'here', colour: null };
  assert.equal((await page.request.post(`${origin}/api/captures/${id}/notes`, { data: note, headers })).status(), 201);
  const tracks = JSON.stringify([['Sleeps', QUERY]]);
  await page.goto(`${origin}/captures/${id}?${new URLSearchParams({ v: '3', tab: 'timeline', tracks })}`);
  await walkQuery(page);
  await walkOthers(page);
  // A filter of rows says in words what it does here.
  await page.goto(`${origin}/captures/${id}?${new URLSearchParams({ v: '3', tab: 'timeline', filter: 'cpu == 0' })}`);
  await page.locator('#panel-timeline').getByText(/^The filter counts for samples, events and outputs. States and slices are all there/).waitFor();
  await page.goto(origin);
}
