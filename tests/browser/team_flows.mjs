// A team's whole way, an operator and a viewer in two browsers and a visitor without a login, on the running kernel and among ten
// thousand captures: capture, note, share, revoke, answer, save as a file, find, compare, and a flight recorder that a slow call fires.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Server, binary, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { logIn, openPage } from './lib.mjs';
import { closeFile, openFile, saveView } from './saved_flows.mjs';

/** The program that makes captures, beside the binary. */
const MAKER = join(dirname(binary()), 'make_captures');
const MANY = 10_000;
/** XSS that a note, a title and a file have to show as text. */
const HOSTILE = '<img src=x onerror="window.hacked=9"> exhausted';
/** A slow call, nanoseconds: that of `sleep 0.3`. */
const SLOW = 'duration_ns > 250000000';

/** A console on the running kernel that has ten thousand captures. */
export async function crowdedServer() {
  assert.ok(existsSync(MAKER), `${MAKER} is built with all targets`);
  const data = dataFolder();
  const made = spawnSync(MAKER, [data, String(MANY), 'library'], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  return Server.start({ data, options: ['--commands', 'as-root', '--allow-shares'] });
}

/** Records system calls of a command that sleeps; gives the capture once it has ended. */
async function record(page, server, again = '') {
  const data = {
    name: 'sleepers',
    sources: [{ id: 'calls', method: { syscalls: {} } }],
    target: { command: { argv: ['sh', '-c', 'sleep 0.05; sleep 0.02; true'], children: true } },
    limits: { duration_ms: 20_000 },
  };
  const headers = { origin: server.origin };
  const started = await page.request.post(`${server.origin}/api/captures${again && `?again=${again}`}`, { data, headers });
  assert.equal(started.status(), 201, await started.text());
  const { id } = await started.json();
  await until('the end of the capture', async () => {
    const { running, state } = await (await page.request.get(`${server.origin}/api/captures/${id}`)).json();
    return !running && state === 'finished';
  });
  return id;
}

/** A note at a range of the timeline, by keys; gives the address of the view that was noted. */
async function noteRange(page, server, id) {
  const { end_ns: end, start_ns: start } = await (await page.request.get(`${server.origin}/api/captures/${id}`)).json();
  const [from, to] = [0.2, 0.6].map((part) => Math.round((end - start) * part));
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=timeline&start=${from}&end=${to}`);
  const timeline = page.getByRole('tabpanel', { name: 'Timeline', exact: true });
  await timeline.locator('canvas').first().focus();
  await page.keyboard.press('Shift+M');
  const field = page.getByRole('textbox', { name: 'Text of the new note' });
  await field.fill(HOSTILE);
  await field.press('Enter');
  await page.waitForURL((at) => at.searchParams.get('note') !== null);
  return new URL(page.url()).search;
}

/** A link to this view, made by keys. */
async function shareView(page) {
  await page.getByRole('button', { name: 'Share', exact: true }).press('Enter');
  await page.getByRole('dialog', { name: 'Share' }).getByRole('button', { name: 'Make link' }).click();
  const link = page.getByLabel('The link', { exact: true }).and(page.locator('input'));
  await link.waitFor();
  const url = await link.inputValue();
  await page.getByRole('button', { name: 'Close', exact: true }).and(page.locator('.share-dialog button')).click();
  return url;
}

/** The link is opened without a login at the same view, and is revoked while it is open. */
async function openAndRevoke(browser, page, server, search) {
  const url = await shareView(page);
  const { page: visitor, context, complaints } = await openPage(browser);
  await visitor.goto(url);
  await visitor.waitForURL((at) => at.pathname.startsWith('/s/') && at.pathname.includes('/captures/'));
  const there = new URL(visitor.url()).searchParams;
  for (const name of ['tab', 'start', 'end']) assert.equal(there.get(name), new URLSearchParams(search).get(name), name);
  await visitor.getByText(/shared by admin until .* · read only/).waitFor();
  await visitor.locator('#panel-timeline canvas').first().waitFor();
  assert.equal(await visitor.evaluate(() => window.hacked), undefined);
  assert.deepEqual(complaints, []);
  await page.goto(`${server.origin}/shares`);
  await page.getByRole('button', { name: /^Revoke / }).click();
  await page.getByText('There is no share.').waitFor();
  await visitor.getByText('This link has expired or was revoked.').waitFor();
  await context.close();
}

/** An answer of the one is seen by the other without a reload. */
async function answerLive(operator, viewer, address) {
  const lists = [];
  for (const page of [operator, viewer]) {
    await page.goto(address);
    await page.locator('#panel-timeline canvas').first().focus();
    await page.keyboard.press('l');
    const list = page.getByRole('region', { name: 'Notes' });
    await list.getByText(/exhausted/).first().waitFor();
    lists.push(list);
  }
  const [own, seen] = lists;
  await own.getByRole('button', { name: 'Answer' }).first().click();
  await own.getByRole('textbox', { name: 'Text of the answer' }).fill('the pool has 10 connections');
  await operator.keyboard.press('Control+Enter');
  await seen.getByText('the pool has 10 connections').waitFor();
  assert.equal(await viewer.evaluate(() => window.hacked), undefined);
}

/** The view as one file, which is read with the network off. */
async function readOffline(browser, page, address) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-team-'));
  await page.goto(address);
  await page.locator('#panel-timeline canvas').first().waitFor();
  const file = await openFile(browser, await saveView(page, folder, ['Events']));
  await file.page.locator('#panel-timeline canvas').first().waitFor();
  await file.page.getByRole('tab', { name: 'Events' }).click();
  await until('rows', async () => (await file.page.locator('#panel-events [role=row], #panel-events tr').count()) > 2);
  assert.equal(await file.page.evaluate(() => window.hacked), undefined);
  await closeFile(file);
  removeFolder(folder);
}

/** The viewer finds the capture among all by a word of the note, and compares it with the run before. */
async function findAndCompare(viewer, server, [before, id]) {
  await viewer.goto(`${server.origin}/captures`);
  await viewer.getByText(/10,00\d captures/).first().waitFor();
  await viewer.getByRole('searchbox', { name: 'Search captures' }).fill('exhausted');
  await viewer.getByText('1 capture found').waitFor();
  assert.ok((await viewer.locator('.found-line').textContent()).includes('<img src=x'));
  await viewer.locator('#history tbody a').first().click();
  await viewer.waitForURL(new RegExp(`/captures/${id}`));
  await viewer.getByRole('button', { name: 'Compare with…' }).click();
  const dialog = viewer.getByRole('dialog', { name: 'Compare with' });
  await dialog.getByRole('radio').first().check();
  await dialog.getByRole('button', { name: 'Compare' }).click();
  await viewer.waitForURL(/\/compare\?/);
  const { searchParams } = new URL(viewer.url());
  assert.deepEqual([searchParams.get('a'), searchParams.get('b')], [before, id]);
  await viewer.getByRole('heading', { name: 'What was asked for' }).waitFor();
}

/** A flight recorder is fired by a slow call of a program, which stands in what it stored. */
async function fireBySlowCall(operator, server) {
  await operator.goto(`${server.origin}/new?method=syscalls`);
  await operator.getByRole('checkbox', { name: /Keep only what is around an event/ }).check();
  await operator.getByLabel('After it').fill('1');
  await operator.getByLabel('Fires when').fill(`${SLOW} && comm == "sleep"`);
  await operator.getByLabel('Fires when').press('Control+Enter');
  await operator.waitForURL(/\/captures\/[0-9a-f]{16}/);
  await operator.locator('#running').getByText(/^holds /).first().waitFor();
  const sleeper = spawn('sleep', ['0.3']);
  await operator.getByRole('link', { name: 'Open the last one' }).click();
  await operator.getByText('Kept by a flight recorder.').waitFor();
  const id = new URL(operator.url()).pathname.split('/').pop();
  await until('what was stored', async () =>
    (await (await operator.request.get(`${server.origin}/api/captures/${id}`)).json()).state === 'finished');
  const filter = encodeURIComponent(`${SLOW} && pid == ${sleeper.pid}`);
  const rows = await (await operator.request.get(`${server.origin}/api/captures/${id}/rows?filter=${filter}`)).json();
  assert.ok(rows.total >= 1, 'the call of the program that slept is there');
  await operator.goto(`${server.origin}/captures/${id}?v=3&tab=events&filter=${filter}`);
  await operator.locator('#panel-events').getByText(/clock_nanosleep|nanosleep/).first().waitFor();
}

/** What the audit log has of it. */
async function readAudit(page, server) {
  const { items } = await (await page.request.get(`${server.origin}/api/audit?limit=100`)).json();
  const actions = new Set(items.map((item) => item.action));
  for (const action of ['login', 'capture.start', 'note.write', 'share.create', 'share.revoke'])
    assert.ok([...actions].some((one) => one.startsWith(action)), `${action} in ${[...actions].join(' ')}`);
}

/** All of it, one after the other. */
export async function workTogether(browser) {
  const server = await crowdedServer();
  try {
    const { page: operator, complaints } = await openPage(browser);
    await logIn(operator, server);
    const { stdout } = spawnSync(binary(), ['login-link', '--role', 'viewer', '--user', 'vera', '--data', server.data], { encoding: 'utf8' });
    const { page: viewer, context, complaints: others } = await openPage(browser);
    await viewer.goto(stdout.trim());
    await viewer.waitForURL((url) => url.pathname === '/');
    const before = await record(operator, server);
    const id = await record(operator, server, before);
    const search = await noteRange(operator, server, id);
    const address = `${server.origin}/captures/${id}${search}`;
    await openAndRevoke(browser, operator, server, search);
    await answerLive(operator, viewer, address);
    await readOffline(browser, operator, address);
    await findAndCompare(viewer, server, [before, id]);
    await fireBySlowCall(operator, server);
    await readAudit(operator, server);
    await context.close();
    await operator.context().close();
    assert.deepEqual([complaints, others], [[], []]);
  } finally {
    await server.stop();
    removeFolder(server.data);
  }
}
