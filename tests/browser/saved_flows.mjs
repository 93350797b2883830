// A view, and an investigation with its views, are saved as one file, and read from the disk with the network off.

import { strict as assert } from 'node:assert';
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { removeFolder, until } from '../lib/server.mjs';
import { openPage } from './lib.mjs';

const MOST_BYTES = 20e6;

/** Saves what a page of a capture shows, with further tabs; gives the file's path. */
export async function saveView(page, folder, tabs) {
  await page.getByRole('button', { name: 'Export', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: /^This view/ }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Save this view as a file' });
  for (const tab of tabs) await dialog.getByLabel(tab, { exact: true }).check();
  assert.equal(await dialog.getByLabel('SQL', { exact: true }).count(), 0, 'what needs the server is not offered');
  return save(page, dialog, folder, /\.html$/);
}

/** Has the file of a dialog made, which tells how large it is, and saves it; gives its path. */
async function save(page, dialog, folder, name) {
  await dialog.getByRole('button', { name: 'Prepare' }).click();
  await dialog.getByText(/^The file has [\d.]+ [kM]i?B\./).waitFor();
  const coming = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  const saved = await coming;
  assert.match(saved.suggestedFilename(), name);
  const path = join(folder, 'view.html');
  await saved.saveAs(path);
  assert.ok(statSync(path).size < MOST_BYTES);
  assert.equal(await page.locator('#save-page').count(), 0);
  return path;
}

/** Saves the investigation that a page shows. */
export async function saveInvestigation(page, folder, name) {
  await page.getByRole('button', { name: 'Save as file' }).focus();
  await page.keyboard.press('Enter');
  return save(page, page.getByRole('dialog', { name: 'Save this investigation as a file' }), folder, name);
}

/** Opens a file where there is no network. */
export async function openFile(browser, path) {
  const opened = await openPage(browser);
  const asked = [];
  opened.page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) asked.push(request.url()); });
  await opened.context.addInitScript(() => {
    window.unanswered = [];
    document.addEventListener('unanswered', ({ detail }) => window.unanswered.push(detail));
  });
  await opened.context.setOffline(true);
  await opened.page.goto(`file://${path}`);
  await opened.page.getByText(/^A file · saved /).waitFor();
  return { ...opened, asked };
}

/** Closes it: nothing was asked of a server, nothing failed. */
export async function closeFile({ context, complaints, asked }) {
  assert.deepEqual(complaints, []);
  assert.deepEqual(asked, []);
  await context.close();
}

/** Saves what a view draws; gives the picture's size in pixels. */
async function savePicture(page, folder) {
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  const coming = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: /^Picture of this view/ }).click();
  const path = join(folder, 'view.png');
  await (await coming).saveAs(path);
  const bytes = readFileSync(path);
  assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
  return { wide: bytes.readUInt32BE(16), tall: bytes.readUInt32BE(20) };
}

/** Records states of threads of the simulated host; gives the capture once they are computed. */
async function recordStates(page, server) {
  const spec = { sources: [{ id: 'states', method: { states: {} } }], target: 'system', limits: { duration_ms: 700, budget_cpu_permille: 50 } };
  const headers = { origin: server.origin, 'sec-fetch-site': 'same-origin' };
  const { id } = await (await page.request.post(`${server.origin}/api/captures`, { data: spec, headers })).json();
  await until('the computed states', async () => {
    const { running, computed } = await (await page.request.get(`${server.origin}/api/captures/${id}`)).json();
    return !running && !computed.is_busy && computed.rules.some(({ rows }) => rows > 0);
  });
  return id;
}

/** Threads and their states: the tree, closer than it was, and a picture of it. */
export async function saveStates(browser, page, server) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-saved-'));
  const id = await recordStates(page, server);
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=timeline`);
  const legend = async (where) => (await where.locator('#panel-timeline .legend-entry').allTextContents()).join();
  const there = await until('the tree', () => legend(page));
  const canvas = await page.locator('.timeline-canvas').first().boundingBox();
  const picture = await savePicture(page, folder);
  assert.ok(picture.wide >= canvas.width && picture.tall > canvas.height, 'all of it, and the caption');
  const file = await openFile(browser, await saveView(page, folder, []));
  const one = file.page;
  await until('the same tree', async () => (await legend(one)) === there);
  await one.locator('.timeline-canvas').first().focus();
  for (let press = 0; press < 8; press += 1) await one.keyboard.press('w');
  await until('a window', () => /[?&]from=\d+&to=\d+/.test(one.url()));
  const address = one.url();
  // Opened again, it shows the same window.
  await one.reload();
  await until('the same tree', async () => (await legend(one)) === there);
  assert.equal(one.url(), address);
  await closeFile(file);
  removeFolder(folder);
}

/** A profile: its flame graph, timeline and rows. */
export async function saveProfile(browser, page, server, id) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-saved-'));
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=flame`);
  await page.locator('svg.flame g[data-i]').first().waitFor();
  const frames = await page.locator('svg.flame g[data-i]').count();
  const path = await saveView(page, folder, ['Events', 'Timeline']);
  assert.ok(!/https?:\/\/(?!127\.0\.0\.1|www\.w3\.org)/.test(readFileSync(path, 'utf8').replace(/<script type="application\/json"[^]*?<\/script>/, '')), 'it names no other host');
  const file = await openFile(browser, path);
  const one = file.page;
  const drawn = one.locator('svg.flame g[data-i]');
  await drawn.first().waitFor();
  assert.ok((await drawn.count()) >= frames, 'all that was drawn');
  // Zoomed and searched as there.
  const widest = drawn.nth(2);
  await widest.click();
  await one.getByRole('button', { name: /^Reset zoom/ }).waitFor();
  await one.keyboard.press('Escape');
  await one.getByLabel('Find in names').fill('a');
  await one.getByText(/\d.* samples?, [\d.]+ ?%/).first().waitFor();
  // Rows: sorted, searched; a condition needs the server, and that is said.
  await one.getByRole('tab', { name: 'Events' }).click();
  await one.locator('.vt-row').first().waitFor();
  const heading = one.getByRole('grid', { name: 'Events' }).getByRole('button', { name: 'comm', exact: true });
  const column = async () => one.locator('.vt-row').evaluateAll((rows) => rows.map((row) => row.children[4].textContent).filter((text) => text !== '–'));
  for (const way of [1, -1]) {
    await heading.click();
    await until('sorted rows', async () => {
      const found = await column();
      return found.length > 3 && found.every((text, i) => i === 0 || (text >= found[i - 1] ? 1 : -1) === way || text === found[i - 1]);
    });
  }
  assert.match(one.url(), /#\?v=3&tab=events&sort=comm&order=desc/);
  await one.getByLabel(/^Filter rows/).fill('pid == 1');
  await one.getByText('this file does not have it', { exact: false }).first().waitFor();
  await one.getByLabel(/^Filter rows/).fill('');
  await one.locator('.vt-row').first().waitFor();
  // The timeline: closer, and closer.
  await one.getByRole('tab', { name: 'Timeline' }).click();
  const canvas = one.locator('.timeline-canvas').first();
  await canvas.waitFor();
  await canvas.focus();
  await one.keyboard.press('w');
  await until('a window', () => /[?&]from=\d+&to=\d+/.test(one.url()));
  const window = one.url();
  for (let press = 0; press < 6; press += 1) await one.keyboard.press('w');
  await until('another window', () => one.url() !== window);
  // What asks the server for something else is grey and says why.
  await one.getByRole('button', { name: 'Find', exact: true }).click({ force: true });
  await one.getByText('This needs Bathyscope: it is not in this file.').first().waitFor();
  for (const tab of ['SQL', 'Info']) {
    await one.getByRole('tab', { name: tab, exact: true }).click();
    await one.getByText('This tab was not saved in this file.').locator('visible=true').waitFor();
  }
  await closeFile(file);
  removeFolder(folder);
}

/** Captures of kinds, each with the tabs that it has. */
async function recordKinds(page, server, kinds = KINDS) {
  const headers = { origin: server.origin, 'sec-fetch-site': 'same-origin' };
  const limits = { duration_ms: 500, budget_cpu_permille: 1000, over_budget: 'warn' };
  const ids = [];
  for (const sources of kinds) {
    const made = await page.request.post(`${server.origin}/api/captures`, { data: { sources, target: 'system', limits }, headers });
    assert.equal(made.status(), 201, await made.text());
    ids.push((await made.json()).id);
  }
  for (const id of ids)
    await until('the capture', async () => {
      const { running, computed } = await (await page.request.get(`${server.origin}/api/captures/${id}`)).json();
      return !running && !computed.is_busy;
    });
  return ids;
}

const KINDS = [
  [
    { id: 'events', method: { events: { probes: [{ tracepoint: 'sched:sched_switch', fields: ['next_pid', 'next_comm'] }] } } },
    { id: 'calls', method: { syscalls: {} } },
    { id: 'states', method: { states: {} } },
    { id: 'samples', method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: true } } },
    { id: 'counts', method: { count: { groups: [['cs']], interval_ms: 100 } } },
  ],
  [{ id: 'counts', method: { count: { groups: [['cs']], interval_ms: 100 } } }],
  [{ id: 'script', method: { script: { text: 'tracepoint:sched:sched_switch { printf("%s\\n", comm); @left[cpu] = count(); @from[kstack] = count(); @took = hist(cpu); } interval:ms:100 { print(@left); }' } } }],
  [{ id: 'trace', method: { trace: { tracer: 'function_graph', functions: ['vfs_*'] } } }],
];
/** Views with more than their tab in them. */
const VIEWS = ['', 'start=0&end=300000000', 'filter=cpu+%3E%3D+0', 'tab=flame&flame=functions&top=total', 'tab=flame&flame=between', 'tab=flame&flame=time&lanes=cpu', 'tab=flame&flame=tree&invert=1', 'tab=distribution&spread=heat', 'tab=distribution&spread=offsets', 'tab=distribution&spread=busy', 'tab=distribution&spread=single', 'tab=timeline&group=thread', 'tab=calls&calls=chart', 'tab=calls&calls=functions&rank=self', 'tab=events&groupby=comm'];

/** Each tab of a file shows what it had shown at the console: nothing is asked for that the file does not have. */
export async function saveEveryTab(browser, page, server, samples) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-saved-'));
  const path = join(folder, 'view.html');
  const ids = [...await recordKinds(page, server), ...samples];
  for (const id of ids) {
    await page.goto(`${server.origin}/captures/${id}?v=3&tab=info`);
    await page.locator('#panel-info').waitFor();
    const tabs = (await page.locator('.cap-bar .tabs [role=tab]').evaluateAll((all) => all.map((one) => one.id.slice(4)))).filter((tab) => tab !== 'sql');
    for (const view of id === ids[0] ? VIEWS : id === ids[3] ? ['', 'tab=calls&calls=chart', 'tab=calls&calls=functions&rank=self'] : ['']) {
      const answer = await page.request.get(`${server.origin}/api/captures/${id}/file?view=${encodeURIComponent(view)}&tabs=${tabs}`);
      assert.equal(answer.status(), 200, await answer.text().then((text) => text.slice(0, 400)));
      writeFileSync(path, await answer.body());
      const file = await openFile(browser, path);
      const one = file.page;
      // What the address names is open first.
      await one.locator('[role=tabpanel]:visible').first().waitFor();
      for (const tab of [...tabs, tabs[0]]) {
        await one.locator(`#tab-${tab}`).click();
        await one.locator(`#panel-${tab}`).waitFor();
        await one.waitForFunction(() => document.querySelector('.is-waiting, .progress:not([hidden])') === null);
      }
      assert.deepEqual(await one.evaluate(() => window.unanswered), [], `${id} ${view}`);
      await closeFile(file);
    }
  }
  removeFolder(folder);
}

/** What is pressed in tables of two sides: a head, or a choice; and what the first rows of heads say then. */
const PRESSED = [
  { head: 'There', sorted: 'There ↓' },
  { head: 'There', sorted: 'There ↑' },
  { head: 'Ratio', sorted: 'Ratio ↓' },
  { per: 'As shares of all', sorted: 'Ratio ↓' },
  { measure: true, sorted: '' },
  { head: 'Difference', sorted: 'Difference ↓' },
  { per: 'As counted', sorted: 'Difference ↓' },
];

/** Presses it where a table of two sides is; gives the lines in their order once they are as it says. */
async function pressed(where, { head, per, measure, inner, sorted }) {
  const table = where.locator('.against:visible .against-table');
  await table.waitFor();
  const heads = () => table.locator('thead tr').first().allTextContents();
  const before = (await heads()).join();
  if (head) await table.locator('thead').getByRole('button', { name: head }).click();
  if (per) await where.locator('.against:visible').getByLabel('By what amounts are compared').selectOption({ label: per });
  if (measure) await table.locator('thead tr').first().getByRole('button').first().click();
  if (inner !== undefined) await table.locator('tbody tr').nth(inner).getByRole('button').first().click();
  return until(`lines after ${JSON.stringify({ head, per, measure, inner })}`, async () => {
    if (await where.locator('.is-waiting, .progress:not([hidden])').count() > 0) return false;
    const shown = (await table.locator('thead th[aria-sort]:not([aria-sort=none])').allTextContents()).join();
    const isOther = (per || measure) ? (await heads()).join() !== before : true;
    return shown === sorted && isOther && (await table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.textContent)));
  });
}

/** Views against another capture: their lines are sorted with the network off, and stand as they do at the console. */
export async function saveCompared(browser, page, server) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-saved-'));
  const path = join(folder, 'view.html');
  const [before, after, script, later, trace, again] = await recordKinds(page, server, [KINDS[0], KINDS[0], KINDS[2], KINDS[2], KINDS[3], KINDS[3]]);
  for (const [id, other, view, unfolds] of [
    [after, before, 'tab=systemcalls&callsby=process_call', false],
    [after, before, 'tab=events&groupby=comm&measures=count,sum:pid', false],
    [again, trace, 'tab=calls&calls=functions', false],
    [again, trace, 'tab=calls&calls=tree', true],
    [later, script, 'tab=maps', false],
    [after, before, 'tab=distribution&spread=heat', null],
    [after, before, 'tab=flame', null],
  ]) {
    const whole = `v=3&${view}&against=${other}&againstsame=1`;
    const [, tab] = /tab=(\w+)/.exec(view);
    const answer = await page.request.get(`${server.origin}/api/captures/${id}/file?view=${encodeURIComponent(whole)}`);
    assert.equal(answer.status(), 200, await answer.text().then((text) => text.slice(0, 400)));
    writeFileSync(path, await answer.body());
    const file = await openFile(browser, path);
    const one = file.page;
    await page.goto(`${server.origin}/captures/${id}?${whole}`);
    if (unfolds !== null) {
      // The map has one number.
      const pressable = PRESSED.filter(({ measure }) => !measure || tab !== 'maps');
      const presses = unfolds ? [...pressable, { inner: 0, sorted: 'Difference ↓' }] : pressable;
      for (const press of presses) {
        const [there, here] = [await pressed(page, press), await pressed(one, press)];
        assert.ok(here.length > 0);
        assert.deepEqual(here, there, `${view} ${JSON.stringify(press)}`);
      }
    } else {
      await one.locator(tab === 'flame' ? 'svg.flame.is-difference g[data-i]' : '.spread-side').first().waitFor();
    }
    if (tab === 'flame')
      for (const per of ['time', 'none', 'total']) {
        await one.getByLabel('What is compared').selectOption(per);
        await one.getByRole('button', { name: 'Draw the other' }).click();
      }
    if (tab === 'flame') {
      // Zoomed, searched, the other way up; another comparison is not offered.
      await one.locator('svg.flame.is-difference g[data-i]').nth(2).click();
      await until('the zoom', async () => /[?&]focus=[^&]/.test(one.url()));
      await one.getByLabel('Find in names').fill('a');
      await until('the search', async () => /[?&]search=a/.test(one.url()));
      await one.getByRole('button', { name: 'Invert' }).click();
      await until('the other way up', async () => /[?&]invert=1/.test(one.url()));
      assert.equal(await one.getByRole('button', { name: 'Compare…' }).getAttribute('aria-disabled'), 'true');
    }
    // The chip names the other side. What asks the server is grey, and ending the comparison leads to the view alone.
    const chip = one.locator('.against-chip');
    const title = (await (await page.request.get(`${server.origin}/api/captures/${other}`)).json()).title;
    await chip.getByRole('link', { name: title }).waitFor();
    await chip.getByRole('button', { name: 'Change' }).click({ force: true });
    await one.getByText('This needs Bathyscope: it is not in this file.').first().waitFor();
    for (const only of await one.locator('.against-lines button[aria-label^="Only "]').all())
      assert.equal(await only.getAttribute('aria-disabled'), 'true');
    await chip.getByRole('button', { name: 'End the comparison' }).click();
    await until('the view alone', async () => (await one.locator('.against-table:visible, svg.is-difference:visible, .spread-side:visible').count()) === 0);
    await one.waitForFunction(() => document.querySelector('.is-waiting, .progress:not([hidden])') === null);
    assert.deepEqual(await one.evaluate(() => window.unanswered), [], view);
    await closeFile(file);
  }
  removeFolder(folder);
}

/** Adds blocks to a new investigation; gives its address. */
async function investigate(page, server, blocks) {
  const headers = { origin: server.origin, 'sec-fetch-site': 'same-origin' };
  const post = async (path, data) => {
    const made = await page.request.post(`${server.origin}${path}`, { data, headers });
    assert.equal(made.status(), 201, await made.text());
    return made.json();
  };
  const { id } = await post('/api/investigations', { title: 'Why <b>is</b> it slow?' });
  for (const content of blocks) await post(`/api/investigations/${id}/blocks`, { content });
  return `${server.origin}/investigations/${id}`;
}

/** Whether something is in sight. */
const isInSight = (place) => place.evaluate((one) => {
  const { top, bottom } = one.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
});

/** An investigation: its views open in their places, and lead back to where they were opened. */
export async function saveWithViews(browser, page, server, samples) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-saved-'));
  const long = Array.from({ length: 60 }, (_one, i) => `Line ${i}.`).join('\n\n');
  const states = await recordStates(page, server);
  await page.goto(await investigate(page, server, [
    { kind: 'text', text: long },
    { kind: 'view', capture: samples.profile, view: 'v=3&tab=flame', caption: 'Where its time goes' },
    { kind: 'view', capture: samples.files, view: 'v=3&tab=events&stream=0', caption: 'What it opens <img src=x onerror="window.hacked=1">' },
    { kind: 'comparison', capture: samples.profile, view: 'v=3&tab=flame&against=self&againstend=100000000&againststart=0', caption: 'Before and after' },
    { kind: 'view', capture: states, view: 'v=3&tab=timeline&start=100000000&end=200000000', caption: 'Who waits' },
    { kind: 'view', capture: samples.profile, view: 'v=3&tab=sql', caption: 'What was asked' },
    { kind: 'text', text: `${long}\n\n[elsewhere](/captures/${samples.profile})` },
  ]));
  const path = await saveInvestigation(page, folder, /^Why_b_is_b_it_slow_-[0-9a-f]{16}\.html$/);
  const text = readFileSync(path, 'utf8');
  assert.equal(text.match(/<script/g).length, 2, 'what it holds, and one classic script');
  assert.ok(!/https?:\/\/(?!127\.0\.0\.1|www\.w3\.org)/.test(text.replace(/<script type="application\/json"[^]*?<\/script>/, '')), 'it names no other host');
  const file = await openFile(browser, path);
  const one = file.page;
  const links = one.locator('a.block-view');
  await until('the pictures', async () =>
    (await one.locator('.block-view img').evaluateAll((all) => all.length === 5 && all.every((image) => image.naturalWidth > 100))));
  assert.equal(await links.count(), 4, 'SQL is a picture');
  await one.getByText('Only a picture: SQL asks Bathyscope itself, which no file can.', { exact: true }).waitFor();
  assert.equal(await one.getByRole('button', { name: /Add a|Rename|Edit|Delete|Copy link|Save as file/ }).count(), 0);
  // By a key; zoomed, searched; back by Escape, where the zoom is reset first.
  await links.nth(0).focus();
  await one.keyboard.press('Enter');
  const frames = one.locator('svg.flame g[data-i]');
  await frames.first().waitFor();
  assert.ok(!(await one.locator('#investigation').isVisible()));
  await frames.nth(2).click();
  await one.getByRole('button', { name: /^Reset zoom/ }).waitFor();
  await one.getByLabel('Find in names').fill('a');
  await one.getByText(/\d.* samples?, [\d.]+ ?%/).first().waitFor();
  assert.match(one.url(), /#[0-9a-f]{16}\?v=3&tab=flame/);
  await one.reload();
  await one.getByRole('button', { name: /^Reset zoom/ }).waitFor();
  await one.locator('svg.flame').first().focus();
  await one.keyboard.press('Escape');
  await one.getByRole('button', { name: /^Reset zoom/ }).waitFor({ state: 'hidden' });
  await one.locator('#saved-back').focus();
  await one.keyboard.press('Escape');
  await links.nth(0).waitFor();
  await until('its place', async () => await isInSight(links.nth(0)) && await links.nth(0).evaluate((link) => link === document.activeElement));
  // By a click; rows sorted and searched; back by the browser.
  await links.nth(1).click();
  await one.locator('.vt-row').first().waitFor();
  const rows = async () => one.locator('.vt-row').evaluateAll((all) => all.map((row) => row.children[4].textContent).filter((text) => text !== '–'));
  await one.getByRole('grid', { name: 'Events' }).getByRole('button', { name: 'comm', exact: true }).click();
  await until('sorted rows', async () => {
    const found = await rows();
    return found.length > 3 && found.every((text, i) => i === 0 || text >= found[i - 1]);
  });
  const [first] = await rows();
  await one.getByLabel(/^Filter rows/).fill(first);
  await until('found rows', async () => (await rows()).length > 0);
  await one.goBack();
  await links.nth(1).waitFor();
  await until('its place', () => isInSight(links.nth(1)));
  await one.goForward();
  await one.locator('.vt-row').first().waitFor();
  await one.getByRole('link', { name: 'Back to the investigation' }).click();
  // A comparison, drawn by either side.
  await links.nth(2).click();
  await one.locator('svg.flame.is-difference g[data-i]').first().waitFor();
  await one.getByRole('button', { name: 'Draw the other' }).click();
  await one.locator('svg.flame.is-difference g[data-i]').first().waitFor();
  await one.getByRole('link', { name: 'Back to the investigation' }).click();
  // A timeline, closer; its other tabs are there too.
  await links.nth(3).click();
  const canvas = one.locator('.timeline-canvas').first();
  await canvas.focus();
  await one.keyboard.press('w');
  await until('a window', () => /[?&]from=\d+&to=\d+/.test(one.url()));
  await one.getByRole('tab', { name: 'Events' }).click();
  await one.locator('.vt-row').first().waitFor();
  await one.getByRole('link', { name: 'Back to the investigation' }).click();
  await links.nth(3).waitFor();
  await one.getByRole('link', { name: 'elsewhere' }).click();
  await one.getByText(`That is not in this file. It is at ${server.origin}/captures/`).first().waitFor();
  assert.deepEqual(await one.evaluate(() => window.unanswered), []);
  assert.equal(await one.evaluate(() => window.hacked), undefined);
  await closeFile(file);
  removeFolder(folder);
}
