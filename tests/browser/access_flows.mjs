// What axe-core finds on a page for whoever uses a keyboard or a screen reader.

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';

import { until } from '../lib/server.mjs';

/** Of axe's four grades, those that nothing of ours may have. */
const GRADES = ['serious', 'critical'];
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const SOURCE = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** One line for each element that axe grades as serious or critical. */
async function graded(page) {
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(SOURCE);
  const { violations, passes } = await page.evaluate((values) => window.axe.run(document, {
    resultTypes: ['violations'], runOnly: { type: 'tag', values },
  }), RULES);
  assert.ok(passes.length > 10, 'axe looked at the page');
  return violations.filter(({ impact }) => GRADES.includes(impact)).flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target, failureSummary, html }) =>
      `${impact} ${id}: ${target.join(' ')} ${html.slice(0, 160)}\n    ${failureSummary.replaceAll('\n', ' ').slice(0, 300)}`));
}

/** What is serious in what the page shows now, in both themes: a line each. */
export async function findSerious(page, what) {
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    found.push(...(await graded(page)).map((line) => `${what}, ${colorScheme}: ${line}`));
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  return found;
}

const builder = (page) => page.getByRole('tabpanel', { name: 'Probe builder' });
const offers = (page) => page.locator('#omni-list [role=option]');

/** The box on top with something typed, once it offers what has `words`. */
const typed = (text, words) => async (page, origin) => {
  await page.goto(origin);
  await page.keyboard.press('/');
  await page.keyboard.type(text);
  await offers(page).filter({ hasText: words }).first().waitFor();
};

/** A page once an element is there. */
const opened = (path, selector) => async (page, origin) => {
  await page.goto(`${origin}${path}`);
  await page.locator(selector).first().waitFor();
};

/** What each page shows before and after somebody has used it: a name, and how to get there. */
const STATES = [
  ['the guided start', opened('/', '#guide-title')],
  ['what the guided start offers', opened('/?ask=who.open', '.guide-ways a')],
  ['the box with a command', typed('perf record -F 99 -g --pi', '--pid')],
  ['the box with a refusal', typed('perf c2c record ls', 'perf mem record')],
  ['the box with what is found', typed('sched', 'sched_switch')],
  ['the empty builder', opened('/new?method=build', '#build-editor .cm-content')],
  ['the list of probe sites', async (page, origin) => {
    await page.goto(`${origin}/new?method=build`);
    await page.getByRole('combobox', { name: 'Probe site' }).fill('sched');
    await page.getByRole('option').first().waitFor();
  }],
  ['the filled builder', async (page, origin) => {
    await page.goto(`${origin}/new?site=tracepoint:sched:sched_switch`);
    await page.getByRole('checkbox', { name: 'Record next_comm' }).check();
    await builder(page).getByText(/^Compiles/).waitFor();
  }],
  ['the library', opened('/library', '#library-list :is(table, p)')],
  ['the form of the library', opened('/library?id=new', '#library-thing form')],
  ['two probes in the builder', async (page, origin) => {
    await page.goto(`${origin}/new?site=tracepoint:sched:sched_switch`);
    await page.getByRole('checkbox', { name: 'Record next_comm' }).check();
    await page.getByRole('button', { name: 'Add another probe' }).click();
    await page.getByRole('button', { name: /^Probe 2/ }).waitFor();
  }],
  ['a tool of the builder', opened('/new?method=build&as=argdist', '#build-tool h2')],
  ['the catalogue', opened('/catalog?kind=tracepoint&q=sched', '#catalog-list .vt-row')],
  ['an entry of the catalogue', opened('/catalog?of=tracepoint&name=sched:sched_switch', '#catalog-entry h2')],
  ['the list of captures', opened('/captures', '#main')],
  ['people', opened('/people', '#access table')],
  ['the audit log', opened('/audit', '#audit table')],
  ['the own account', opened('/account', '#own-sessions table')],
  ['the tools', opened('/tools', 'a[href*=opensnoop]')],
  ['the form of a tool', async (page, origin) => {
    await page.goto(`${origin}/new?tool=opensnoop`);
    await page.getByRole('region', { name: 'Tool' }).getByText('An example of what it prints').click();
  }],
  ...['events', 'profile', 'syscalls', 'states', 'trace', 'count', 'script'].map((method) =>
    [`the form of ${method}`, opened(`/new?method=${method}`, `#panel-${method}`)]),
];

/** Walks through the pages on which something is asked for, and gives what is serious on any. */
export async function findSeriousAnywhere(page, origin) {
  const found = [];
  for (const [what, open] of STATES) {
    await open(page, origin);
    found.push(...await findSerious(page, what));
  }
  return found;
}

/** Sources whose capture has all kinds of views. */
const SOURCES = [
  { id: 'events', method: { events: { probes: [{ tracepoint: 'sched:sched_switch', fields: ['next_pid', 'next_comm'] }] } } },
  { id: 'calls', method: { syscalls: {} } },
  { id: 'states', method: { states: {} } },
  { id: 'samples', method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: true } } },
  { id: 'counts', method: { count: { groups: [['cs']], interval_ms: 100 } } },
];
const SCRIPT = 'tracepoint:sched:sched_switch { printf("%s\\n", args.next_comm); @runs[args.next_comm] = count(); @prio = hist(args.next_prio); }';

/** The requests of a page that wait for their answer; a stream that stays open is none of them. */
function waitingRequests(page) {
  const waiting = new Set();
  page.on('request', (request) => {
    if (request.resourceType() !== 'eventsource') waiting.add(request);
  });
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => waiting.delete(request));
  return waiting;
}

/** Every tab of a capture, and gives what is serious on any. */
async function findSeriousIn(page, origin, spec) {
  const send = { data: { ...spec, target: 'system', limits: { duration_ms: 1000 } }, headers: { origin } };
  const answer = await page.request.post(`${origin}/api/captures`, send);
  assert.equal(answer.status(), 201, await answer.text());
  const { id } = await answer.json();
  const found = [];
  const waiting = waitingRequests(page);
  await page.goto(`${origin}/captures/${id}`);
  await page.getByRole('button', { name: /^Run again/ }).or(page.getByRole('link', { name: /^Run again/ })).waitFor();
  const names = await page.getByRole('tablist').first().getByRole('tab').allTextContents();
  assert.ok(names.length > 3, names.join());
  for (const name of names) {
    await page.getByRole('tab', { name, exact: true }).first().click();
    await page.getByRole('tabpanel', { name, exact: true }).waitFor();
    await until(`the answers for the tab ${name}`, () => waiting.size === 0);
    found.push(...await findSerious(page, `the tab ${name}`));
  }
  await page.request.delete(`${origin}/api/captures/${id}`, { headers: { origin } });
  return found;
}

/** Walks through the views of captures, and gives what is serious on any. */
export async function findSeriousInCaptures(page, origin) {
  const several = await findSeriousIn(page, origin, { sources: SOURCES });
  return [...several, ...await findSeriousIn(page, origin, { method: { script: { text: SCRIPT } } })];
}

/** Moves the focus with Tab, or with `Shift+Tab`, until it is on what is called so. */
export async function tabTo(page, name, { key = 'Tab', most = 120 } = {}) {
  const label = () => page.evaluate(() => {
    const element = document.activeElement;
    return [element?.getAttribute('aria-label'), ...[...element?.labels ?? []].map((one) => one.textContent), element?.textContent]
      .filter(Boolean).join(' | ').replace(/\s+/g, ' ');
  });
  const passed = [];
  for (let i = 0; i < most; i += 1) {
    await page.keyboard.press(key);
    passed.push(await label());
    if (name.test(passed.at(-1))) return;
  }
  assert.fail(`${name} is not reached with ${key}: ${passed.join('; ').slice(0, 2000)}`);
}

/** A probe is built and recorded with keys alone, from the start page; gives the id of the capture. */
export async function buildByKeys(page, origin) {
  await page.goto(origin);
  await page.getByRole('button', { name: /^Who does it/ }).waitFor();
  await page.locator('#main').focus();
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  await page.waitForURL(/method=build/);
  await until('the field for a place', () => page.evaluate(() => document.activeElement?.id === 'build-site'));
  await page.keyboard.type('sched switch');
  await page.getByRole('option', { name: /^sched:sched_switch/ }).first().waitFor();
  const active = () => page.evaluate(() =>
    document.getElementById(document.activeElement?.getAttribute('aria-activedescendant') ?? '')?.textContent ?? '');
  for (let i = 0; i < 40 && !/^sched:sched_switch/.test(await active()); i += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('list', { name: 'Probe sites' }).getByText('tracepoint:sched:sched_switch').waitFor();
  await page.getByRole('checkbox', { name: 'Record next_comm' }).waitFor();
  await tabTo(page, /^Record next_comm/);
  await page.keyboard.press('Space');
  await tabTo(page, /^What is done with each hit/);
  await page.keyboard.press('c');
  await until('the action', async () => await page.getByLabel('What is done with each hit').inputValue() === 'count');
  await builder(page).getByText(/^Compiles/).waitFor();
  await tabTo(page, /^Try for 2 seconds/);
  await page.keyboard.press('Enter');
  await page.locator('#build-trial').getByText(/\d hits? in/).waitFor();
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  return /captures\/([0-9a-f]{16})/.exec(page.url())[1];
}

/** A capture that the builder has made opens in it again; one of another script in the editor. */
export async function runBuiltAgain(page, origin, { built, written }) {
  await page.goto(`${origin}/new?from=${built}`);
  await page.getByRole('tab', { name: 'Probe builder', selected: true }).waitFor();
  await page.getByRole('list', { name: 'Recorded values' }).getByText('args.next_comm').waitFor();
  await page.goto(`${origin}/new?from=${written}`);
  await page.getByRole('tab', { name: 'Script', selected: true }).waitFor();
}

/** The parameters of a tool as fields: what is wrong is said at its place, and what is filled in is what runs. */
export async function fillTool(page, origin) {
  await page.goto(`${origin}/new?tool=fileslower`);
  const form = page.getByRole('region', { name: 'Tool' });
  await form.getByText('This host has what it needs.').waitFor();
  const least = form.getByLabel(/only those that took so many milliseconds/);
  await least.fill('ten');
  await form.getByText('Write a whole number.').waitFor();
  await page.getByRole('button', { name: /^Start capture/ }).click();
  await page.locator('#problems').getByText('--ms: Write a whole number.').waitFor();
  await least.fill('25');
  assert.equal(await page.getByLabel('Parameters').inputValue(), '--ms=25');
  await page.getByLabel('Parameters').fill('--ms=30');
  await until('the field follows', async () => await least.inputValue() === '30');
  await form.getByText('An example of what it prints').click();
  await form.locator('pre').getByText(/TIME/).waitFor();
}

/** Fields of a tool suggest names of this host, each of what stands before it. */
export async function suggestForTool(page, origin) {
  await page.goto(`${origin}/new?tool=eventcount`);
  const form = page.getByRole('region', { name: 'Tool' });
  await form.getByLabel(/the subsystem/).fill('sch');
  await page.getByRole('option', { name: 'sched', exact: true }).click();
  await form.getByLabel(/the event/).fill('switch');
  await page.getByRole('option', { name: 'sched_switch', exact: true }).click();
  assert.equal(await page.getByLabel('Parameters').inputValue(), 'sched sched_switch');
}

/** A tool that takes any probe begins as a form of the builder with what it is for chosen. */
export async function beginAsTool(page, origin) {
  await page.goto(`${origin}/tools`);
  await page.getByRole('link', { name: 'argdist', exact: true }).click();
  await builder(page).getByRole('heading', { name: /^argdist/ }).waitFor();
  await page.getByRole('combobox', { name: 'Probe site' }).fill('sched_switch');
  await page.keyboard.press('Enter');
  await page.getByRole('list', { name: 'Probe sites' }).getByText('tracepoint:sched:sched_switch').waitFor();
  await builder(page).getByText(/^Compiles/).waitFor();
  assert.match((await page.locator('#build-editor .cm-line').allTextContents()).join('\n'), /hist\(args\.\w+\)/);
  await page.goto(`${origin}/new?method=build&as=stackcount`);
  assert.ok(await page.getByRole('checkbox', { name: 'Kernel stack' }).isChecked());
  await page.goto(`${origin}/new?method=build&as=trace`);
  assert.equal(await page.getByLabel('What is done with each hit').inputValue(), 'record');
}
