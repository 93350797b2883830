// Links that are sent to others: what they begin with, who opens them, and the way in from another site.

import { strict as assert } from 'node:assert';
import { createServer } from 'node:net';

import { Server, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { logIn, openPage } from './lib.mjs';

/** A port that nobody listens on now. */
async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => { probe.listen(0, '127.0.0.1', resolve); });
  const { port } = probe.address();
  await new Promise((resolve) => { probe.close(resolve); });
  return port;
}

/** Copies the link of the capture that is open; gives it with what the page says. */
async function copied(page) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(page.url()).origin });
  await page.getByRole('button', { name: 'Copy link' }).click();
  const said = page.getByText(/^Link copied/);
  await said.waitFor();
  return { link: await page.evaluate(() => navigator.clipboard.readText()), words: await said.textContent() };
}

/** On loopback a link says that only this machine opens it. */
export async function linkOnLoopback(page, server, id) {
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=events`);
  const { link, words } = await copied(page);
  assert.ok(link.startsWith(`${server.origin}/captures/${id}?`), link);
  assert.match(words, /Only this machine opens it.*Export saves a file/);
}

/** With a public address links begin with it, wherever they are copied, and it leads in. */
export async function linkWithPublicUrl(browser) {
  const port = await freePort();
  const data = dataFolder(true);
  const url = `http://console.localhost:${port}`;
  const options = ['--public-url', url];
  const server = await Server.start({ data, simulate: true, unprivileged: true, listen: `127.0.0.1:${port}`, options });
  try {
    assert.equal(server.origin, url, 'the login link begins with it');
    const { page, complaints, context } = await openPage(browser);
    await logIn(page, server);
    // From the page: only the browser knows where that name leads.
    const { id } = await page.evaluate(async () => (await fetch('/api/samples/profile', { method: 'POST' })).json());
    await page.goto(`${url}/captures/${id}?v=3&tab=events`);
    const { link } = await copied(page);
    assert.ok(link.startsWith(`${url}/captures/${id}?`), link);
    assert.deepEqual(complaints, []);
    await context.close();
  } finally {
    await server.stop();
    removeFolder(data);
  }
}

/** Whoever is not logged in and follows a link on another site comes to the login, and from there to the page. */
export async function linkFromElsewhere(browser, server, id, login) {
  const { page, context, complaints } = await openPage(browser);
  const asked = `${server.origin}/captures/${id}?v=3&tab=info`;
  // The same console by another name is another site for the browser.
  await page.goto(`${server.origin.replace('127.0.0.1', 'localhost')}/login`);
  await page.evaluate((to) => { location.assign(to); }, asked);
  await page.waitForURL((url) => url.pathname === '/login' && url.hostname === '127.0.0.1');
  await page.getByLabel('Login token').fill(login);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL((url) => url.pathname === `/captures/${id}`);
  await until('the tab', async () => new URL(page.url()).searchParams.get('tab') === 'info');
  // What is not there and what nobody may see are answered alike, also to who has followed a link.
  for (const missing of ['0000000000000000', 'ffffffffffffffff']) {
    assert.equal((await page.request.get(`${server.origin}/captures/${missing}`)).status(), 404, missing);
  }
  assert.deepEqual(complaints, []);
  await context.close();
}
