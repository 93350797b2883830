// What a person does with SQL: runs an example, writes a query, sees it as lines, makes a mistake, gives up, opens a link.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { colours, openTab } from './flows.mjs';
import { nextJson } from './lib.mjs';

const QUERY = /\/api\/captures\/[0-9a-f]+\/query$/;
const ENDLESS = 'with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r';
const editor = (page) => page.getByRole('textbox', { name: 'Query in SQL' });
const panel = (page) => page.getByRole('tabpanel', { name: 'SQL', exact: true });
const part = (page, name) => new URL(page.url()).searchParams.get(name);

/** The texts of the result's rows in sight. */
export async function resultRows(page) {
  const grid = panel(page).getByRole('grid', { name: 'Result' });
  if (!(await grid.isVisible())) return [];
  return grid.evaluate((table) => [...table.querySelectorAll('.vt-row')].filter((row) => row.checkVisibility())
    .map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent)));
}

/** Writes a query and runs it with the keyboard; gives the answer. */
export async function ask(page, sql) {
  await editor(page).fill(sql);
  return nextJson(page, QUERY, () => editor(page).press('Control+Enter'));
}

/** An example of the list runs and its rows are in sight. */
export async function runExample(page) {
  await openTab(page, 'SQL');
  const examples = panel(page).getByRole('combobox', { name: 'Examples' });
  await until('examples', async () => await examples.locator('option').count() > 4);
  const answer = await nextJson(page, QUERY, () => examples.selectOption({ label: 'sched:sched_switch: who has the most rows' }));
  assert.ok(answer.rows.length > 0);
  await until('its rows', async () => (await resultRows(page)).length > 0);
  assert.match(await editor(page).inputValue(), /group by comm, pid/);
}

/** Names beside the query go into it where the cursor is. */
export async function insertNames(page) {
  await editor(page).fill('select ');
  const tables = panel(page).getByRole('group', { name: 'Tables' });
  await tables.getByRole('button', { name: 'cpu', exact: true }).first().click();
  await page.keyboard.insertText(' from ');
  await tables.getByRole('button', { name: 'sched_switch', exact: true }).click();
  assert.equal(await editor(page).inputValue(), 'select cpu from sched_switch');
  await page.keyboard.insertText(' group by cpu order by cpu');
  await nextJson(page, QUERY, () => editor(page).press('Control+Enter'));
  await until('the CPUs', async () => (await resultRows(page))[0]?.[0] === '0');
}

/** A result over time as lines, whose link opens the same. */
export async function seeLines(page) {
  await ask(page, 'select time / 10000000 * 10000000 as start_ns, count(*) as rows from sched_switch group by 1 order by 1');
  await panel(page).getByRole('button', { name: 'Chart', exact: true }).click();
  const chart = panel(page).getByRole('img', { name: /^Values over time/ });
  await chart.waitFor();
  assert.equal(part(page, 'result'), 'chart');
  await nextJson(page, QUERY, () => page.reload());
  await chart.waitFor();
  assert.match(await editor(page).inputValue(), /count\(\*\) as rows/);
  await panel(page).getByRole('button', { name: 'Table', exact: true }).click();
  await until('rows', async () => (await resultRows(page)).length > 1);
}

/** A mistake is told beside the query with what there is; Escape ends a query without end. */
export async function makeMistakes(page) {
  await ask(page, 'select tiem from sched_switch');
  const said = panel(page).getByRole('alert');
  await said.getByText(/no such column: tiem/i).waitFor();
  await said.getByText(/sched_switch has time, cpu, pid/).waitFor();
  await ask(page, 'delete from sched_switch');
  await said.getByText(/may not be modified|nothing can be created/i).waitFor();
  await editor(page).fill(ENDLESS);
  await editor(page).press('Control+Enter');
  await until('a query that runs', () => panel(page).getByRole('button', { name: /^Cancel/ }).isEnabled());
  await editor(page).press('Escape');
  await panel(page).getByText('Cancelled.').waitFor();
  // What was cancelled makes way for the next.
  const answer = await ask(page, 'select 1 as one');
  assert.deepEqual(answer.rows, [[1]]);
}

const tracks = (page) => page.getByRole('group', { name: 'Tracks of queries' });
const track = (page, name) => tracks(page).getByRole('region', { name: `Track ${name}`, exact: true });

/** A number for each text as bars. */
export async function seeBars(page) {
  await ask(page, 'select comm, count(*) as rows from sched_switch group by comm order by rows desc');
  await panel(page).getByRole('button', { name: 'Chart', exact: true }).click();
  const bars = panel(page).getByRole('group', { name: 'Bars' });
  await until('a bar for each name', async () => await bars.locator('tbody .bar').count() > 1);
  await panel(page).getByRole('button', { name: 'Table', exact: true }).click();
}

/** A result as a track of the timeline: named, shown in another way, walked with the keyboard, linked to, removed. */
export async function showTrack(page) {
  await ask(page, 'select comm, count(*) as rows from sched_switch group by comm');
  const button = panel(page).getByRole('button', { name: 'Show in the timeline' });
  assert.ok(await button.isHidden(), 'without a time there is nothing to show');
  await ask(page, 'select time, comm, 2000000 as duration from sched_switch where cpu = 0');
  await nextJson(page, QUERY, () => button.press('Enter'));
  const first = track(page, 'Query 1');
  await first.getByRole('application', { name: /slices\. / }).waitFor();
  await until('drawn slices', async () => await colours(page, '.sql-track canvas') > 4);
  await first.getByRole('textbox', { name: 'Name of the track' }).fill('On CPU 0');
  await page.keyboard.press('Enter');
  const named = track(page, 'On CPU 0');
  await named.getByRole('combobox', { name: 'Shown as' }).selectOption('counters');
  const canvas = named.getByRole('application', { name: /values\. / });
  await canvas.waitFor();
  assert.deepEqual(JSON.parse(part(page, 'tracks')).map(([name, , kind]) => [name, kind]), [['On CPU 0', 'counters']]);
  await named.getByRole('combobox', { name: 'Shown as' }).selectOption('slices');
  await nextJson(page, QUERY, () => page.reload());
  const again = named.getByRole('application', { name: /slices\. / });
  await again.focus();
  await page.keyboard.press('Home');
  await page.locator('#panel-timeline .readout').getByText(/^On CPU 0: .+, 2 ms {2}/).waitFor();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await until('the time of the slice', () => Number(part(page, 'end')) - Number(part(page, 'start')) === 2_000_000);
  await page.keyboard.press('Escape');
  await until('no range', () => part(page, 'start') === null);
  await nextJson(page, QUERY, () => named.getByRole('button', { name: 'Open the query of On CPU 0' }).click());
  assert.match(await editor(page).inputValue(), /where cpu = 0/);
  await openTab(page, 'Timeline');
  await named.getByRole('button', { name: 'Remove the track On CPU 0' }).press('Enter');
  await until('no track', async () => part(page, 'tracks') === null && await tracks(page).isHidden());
}

/** A result that was cut says so and is asked for again where somebody zooms; a mistake is told in the track's place. */
export async function cutTrack(page) {
  const many = 'with recursive r(time) as (select 0 union all select time + 1000 from r limit 50000) select time from r';
  const address = new URL(page.url());
  address.search = new URLSearchParams({ v: '1', tab: 'timeline', tracks: JSON.stringify([['Many', many], ['Wrong', 'select tiem from sched_switch'], ['Timeless', 'select 1 as one']]) }).toString();
  await page.goto(address.href);
  await track(page, 'Many').getByText(/^Only the first 10,000 rows of the result/).waitFor();
  await track(page, 'Wrong').getByRole('alert').getByText(/no such column: tiem/).waitFor();
  await track(page, 'Timeless').getByRole('alert').getByText(/No column of the result is a time/).waitFor();
  address.searchParams.set('from', '20000000');
  address.searchParams.set('to', '21000000');
  await page.goto(address.href);
  // A screen on each side, all of it.
  await track(page, 'Many').getByRole('application', { name: /^Many: 3,001 instants\. / }).waitFor();
  assert.ok(await track(page, 'Many').getByText(/^Only/).isHidden());
  address.searchParams.delete('tracks');
  await page.goto(address.href);
}
