// A view is saved as one file, and read from the disk with the network off.

import { strict as assert } from 'node:assert';
import { mkdtempSync, readFileSync, statSync } from 'node:fs';
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
  await dialog.getByRole('button', { name: 'Prepare' }).click();
  await dialog.getByText(/^The file has [\d.]+ [kM]i?B\./).waitFor();
  const coming = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  const path = join(folder, 'view.html');
  await (await coming).saveAs(path);
  assert.ok(statSync(path).size < MOST_BYTES);
  assert.equal(await page.locator('#save-page').count(), 0);
  return path;
}

/** Opens a file where there is no network. */
export async function openFile(browser, path) {
  const opened = await openPage(browser);
  const asked = [];
  opened.page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) asked.push(request.url()); });
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
