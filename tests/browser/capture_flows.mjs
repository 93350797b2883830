// What the page of a capture shows first and keeps true: its tab, its map, its names, its range, its readouts, its end.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { colours, ended, openTab } from './flows.mjs';
import { nextJson } from './lib.mjs';

const query = (page) => new URL(page.url()).searchParams;
const maps = (page) => page.getByRole('navigation', { name: 'Maps' });

/** A tool as people write one: a heading, a table, results, and a map that is only scratch space. */
const TOOL = `// spy: who is switched to
//
// view: histogram
begin { printf("%-16s %s\\n", "NAME", "PID"); }
tracepoint:sched:sched_switch {
  @names[args.next_comm] = count();
  @pids_us = hist(args.next_pid);
  @last[args.prev_pid] = nsecs;
  printf("%-16s %d\\n", args.next_comm, args.next_pid);
}
profile:hz:49 { @stacks_us[comm, ustack, kstack] = sum(1500); }
end { clear(@last); }
`;

/** Asks the API from within the page, as its scripts do. */
async function ask(page, method, path, body = undefined) {
  return page.evaluate(async ([how, where, what]) => {
    const json = what === undefined ? {} : { body: JSON.stringify(what), headers: { 'content-type': 'application/json' } };
    const answer = await fetch(where, { method: how, credentials: 'same-origin', ...json });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${how} ${where}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }, [method, path, body]);
}

/** Records with a script until it has read its maps a few times; gives the capture's id. */
async function record(page, { text, name = '' }) {
  const spec = { name, method: { script: { text } }, target: 'system', limits: { duration_ms: 4000, over_budget: 'warn' } };
  const { id } = await ask(page, 'POST', '/api/captures', spec);
  await until('its end', async () => (await ask(page, 'GET', `/api/captures/${id}`)).state === 'finished');
  return id;
}

async function selected(page, tab) {
  await page.getByRole('tab', { name: tab, selected: true }).waitFor();
}

/** A script's page begins with what its header asks for; scratch space is folded away; columns say their unit. */
export async function openTool(page, origin) {
  const id = await record(page, { text: TOOL });
  await page.goto(`${origin}/captures/${id}`);
  await selected(page, 'Maps');
  await page.getByRole('heading', { name: 'spy: who is switched to' }).waitFor();
  await maps(page).getByRole('button', { name: /^@pids_us/, pressed: true }).waitFor();
  await page.getByRole('columnheader', { name: 'Bucket (µs)' }).waitFor();
  const folded = maps(page).locator('details');
  await folded.getByText('1 map held nothing when read').waitFor();
  assert.equal(await maps(page).getByRole('button', { name: /^@last/ }).isVisible(), false);
  await folded.locator('summary').click();
  await maps(page).getByRole('button', { name: /^@last/ }).click();
  await page.getByText('@last held nothing when it was read (scratch space of the script).').waitFor();
  return id;
}

/** What a tool prints is a stream of the tool's name, its heading is no row of it, and a beginning is nobody's. */
export async function readTool(page, origin, id) {
  await page.goto(`${origin}/captures/${id}?tab=events`);
  await page.getByRole('group', { name: 'Stream' }).getByRole('button', { name: 'spy', exact: true, pressed: true }).waitFor();
  const { streams } = await ask(page, 'GET', `/api/captures/${id}`);
  assert.ok(streams.some(({ name }) => name === 'heading:4'), JSON.stringify(streams.map(({ name }) => name)));
  const index = streams.findIndex(({ name }) => name === 'heading:4');
  const { rows } = await ask(page, 'GET', `/api/captures/${id}/rows?stream=${index}&limit=5`);
  assert.deepEqual(rows.map((row) => row.slice(2, 4)), [[0, 0]], 'a beginning is of no thread');
}

/** A sum of microseconds by stack is time, and the kernel is called by the program whatever the order of the key. */
export async function foldTime(page, origin, id) {
  const { unit, nodes, total } = await nextJson(page, /view=flame/, () => page.goto(`${origin}/captures/${id}?tab=flame`));
  assert.equal(unit, 'microseconds');
  assert.ok(total > 0);
  const last = [];
  const kernel = 2;
  const user = 3;
  const wrong = nodes.depth.filter((depth, i) => { last[depth] = nodes.kind[i]; return nodes.kind[i] === user && last[depth - 1] === kernel; });
  assert.ok(nodes.kind.includes(kernel) && nodes.kind.includes(user), `${nodes.kind}`);
  assert.equal(wrong.length, 0, 'no program is called by the kernel');
  await until('time below the graph', async () => /^[\d.]+ (ms|s|min)/.test(await page.locator('.flame-said').textContent()));
}

/** Maps, histograms and the heat map show the selected range; a drag over the heat map selects one. */
export async function rangeOfMaps(page, origin, id) {
  const { maps: all } = await ask(page, 'GET', `/api/captures/${id}/maps`);
  const { n } = all.find(({ name }) => name === '@pids_us');
  const whole = await nextJson(page, /view=histogram/, () => page.goto(`${origin}/captures/${id}?tab=maps&map=${n}&show=histogram`));
  const part = await nextJson(page, /view=histogram.*start=/, () => page.goto(`${origin}/captures/${id}?tab=maps&map=${n}&show=histogram&start=1500000000&end=3500000000`));
  assert.ok(part.total > 0 && part.total < whole.total, `${part.total} of ${whole.total}`);
  await page.getByText(/^added between the reads at/).waitFor();
  await page.goto(`${origin}/captures/${id}?tab=maps&map=${n}&show=heatmap`);
  await until('a drawn heat map', async () => await colours(page, '.heat-canvas') > 4);
  const box = await page.locator('.heat-canvas').boundingBox();
  const x = (share) => box.x + 64 + (box.width - 64) * share;
  await page.mouse.move(x(0.4), box.y + 20);
  await page.mouse.down();
  await page.mouse.move(x(0.6), box.y + 20, { steps: 4 });
  const [answer] = await Promise.all([page.waitForResponse((r) => /view=heatmap.*start=/.test(r.url())), page.mouse.move(x(0.9), box.y + 20, { steps: 4 }), page.mouse.up()]);
  const heat = await answer.json();
  const [start, end] = [Number(query(page).get('start')), Number(query(page).get('end'))];
  assert.ok(heat.columns.length > 0 && heat.columns.every(({ from, time }) => time > start && from < end), JSON.stringify([start, end, heat.columns.map(({ time }) => time)]));
  assert.equal(query(page).get('show'), 'heatmap', 'a drag is no click on a cell');
  // Bars stand beside the column that they show.
  const names = all.find(({ name }) => name === '@names');
  await page.goto(`${origin}/captures/${id}?tab=maps&map=${names.n}&show=table`);
  const head = await page.locator('.maps-table thead th').evaluateAll((cells) => cells.map((cell) => `${cell.className} ${cell.ariaSort ?? ''}`));
  await until('a table', async () => await page.locator('.maps-table tbody tr').count() > 0);
  const cells = await page.locator('.maps-table thead th').evaluateAll((all) => all.map((cell) => [cell.className, cell.ariaSort]));
  const bar = cells.findIndex(([name]) => name === 'bar-head');
  assert.equal(cells[bar - 1][1], 'descending', JSON.stringify(head));
}

/** What the timeline says of a window is of that window, also when the link is opened again. */
export async function legendOfWindow(page, origin, id) {
  const legend = async () => (await page.locator('#panel-timeline .legend-entry').evaluateAll((all) => all.map((one) => one.title))).join('\n');
  const address = `${origin}/captures/${id}?tab=timeline&group=cpu&from=1000000000&to=1200000000`;
  await page.goto(address);
  const before = await until('a legend', legend);
  await page.locator('#panel-timeline canvas').focus();
  await page.keyboard.press('0');
  await until('another legend', async () => { const now = await legend(); return now && now !== before; });
  await page.goto('about:blank');
  await page.goto(address);
  await until('the same legend', async () => await legend() === before);
}

/** Own processes are left out with one click, and come back with another. */
export async function leaveOwnOut(page, origin, id) {
  await page.goto(`${origin}/captures/${id}?tab=events`);
  const button = page.getByRole('button', { name: 'Without Bathyscope' });
  await nextJson(page, /\/rows\?.*filter=/, () => button.click());
  await until('the condition in the address', () => /comm !~ "bathyscope\*"/.test(query(page).get('filter') ?? ''));
  await page.getByRole('button', { name: 'Without Bathyscope', pressed: true }).click();
  await until('no condition', () => !query(page).has('filter'));
}

/** The readouts of a running script take one line, and nothing moves when it ends. */
export async function watchScript(page, origin) {
  await page.goto(`${origin}/captures`);
  const { id } = await ask(page, 'POST', '/api/captures', { name: '', method: { script: { text: TOOL.replace(/^\/\/.*\n/gm, '') } }, target: 'system', limits: { duration_ms: 60000, over_budget: 'warn' } });
  await page.goto(`${origin}/captures/${id}`);
  await page.getByRole('heading', { name: 'begin', exact: true }).waitFor();
  const readings = page.locator('#cap-live .live-line .reading');
  await until('readouts', async () => await readings.count() > 5);
  const top = () => page.locator('#minimap').evaluate((canvas) => canvas.getBoundingClientRect().top);
  await until('hits of its programs', async () => /^(?!0 )\S+ hits\/s$/.test((await readings.nth(1).textContent()).trim()));
  const before = await top();
  await page.getByText('Details', { exact: true }).click();
  await page.locator('.live-list').getByText('bathyscope-agent').waitFor();
  assert.equal(await top(), before, 'the list lies over the page');
  await page.getByText('Details', { exact: true }).click();
  await page.getByRole('button', { name: /^Stop/ }).click();
  await ended(page);
  assert.equal(await top(), before, 'nothing jumps when it ends');
}

/** What is being done is said beside the buttons. */
export async function seeProgress(page) {
  const covered = await page.evaluate(() => {
    const place = document.getElementById('progress');
    const wait = document.createElement('span');
    wait.textContent = 'Running a query that takes long';
    const cancel = document.createElement('button');
    cancel.textContent = 'Cancel';
    place.replaceChildren(wait, cancel);
    place.hidden = false;
    const reached = (button) => {
      const box = button.getBoundingClientRect();
      return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)?.closest('button, a') === button;
    };
    const found = [...document.querySelectorAll('#cap-actions button, #cap-actions a.button, #progress button')].filter((button) => button.checkVisibility());
    const names = found.filter((button) => !reached(button)).map((button) => button.textContent);
    place.hidden = true;
    return [found.length, names];
  });
  assert.ok(covered[0] > 4, `${covered[0]} buttons`);
  assert.deepEqual(covered[1], []);
}

/** A capture that is deleted while it is open offers nothing more. */
export async function deleteOpen(page, id) {
  await page.getByRole('link', { name: /^Run again/ }).waitFor();
  await ask(page, 'DELETE', `/api/captures/${id}`);
  // Without anything being done on the page.
  await page.getByRole('alert').getByText('This capture was deleted').waitFor();
  await openTab(page, 'SQL');
  await openTab(page, 'Events');
  for (const name of [/^Run again/, 'Rename', 'Pin', 'Copy link', 'Export']) assert.equal(await page.locator('#cap-actions').getByText(name).count(), 0, String(name));
  const address = page.url();
  await page.locator('#cap-title').click();
  await page.keyboard.press('r');
  assert.equal(page.url(), address);
}

/** A process is chosen by its name: taken if one has it, listed if several do, and kept with the capture. */
export async function chooseByName(page, origin) {
  await page.goto(`${origin}/new?method=profile`);
  await page.getByRole('radio', { name: 'One process' }).check();
  const field = page.getByRole('combobox', { name: 'Process' });
  await field.fill('no such thing');
  await page.getByRole('button', { name: /^Start capture/ }).click();
  await page.getByText('No match: no process has “no such thing” in its name').waitFor();
  await field.fill('a');
  await page.getByRole('button', { name: /^Start capture/ }).click();
  const listed = page.locator('.process-list button');
  await until('processes', async () => await listed.count() > 1);
  assert.match(await listed.first().textContent(), /--serve · \S+ · .* old · /);
  await listed.first().click();
  assert.match(await field.inputValue(), /^\d+$/);
  await field.fill('webserv');
  await page.getByLabel('After', { exact: true }).fill('1');
  await page.getByRole('button', { name: /^Start capture/ }).click();
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  await ended(page);
  await selected(page, 'Flame graph');
  await page.getByText(/webserver \(pid \d+\)/).first().waitFor();
  const { items } = await ask(page, 'GET', '/api/captures?q=webserver');
  assert.ok(items.some(({ target }) => /^webserver \(pid \d+\)$/.test(target)), JSON.stringify(items));
}
