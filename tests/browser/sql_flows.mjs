// What a person does with SQL: runs an example, writes a query, sees it as lines, makes a mistake, gives up, opens a link.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { openTab } from './flows.mjs';
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
