// Links that are sent to others: what they begin with, who opens them, and the way in from another site.

import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';

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

/** Makes a key and a certificate that nobody else has signed, in files. */
function makeCertificate(folder) {
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name));
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  execFileSync('openssl', [...words, '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { key, cert };
}

/** A proxy that speaks TLS and does what docs/proxy.md asks of one. */
async function startProxy(folder, port, to) {
  const { key, cert } = makeCertificate(folder);
  const proxy = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (asked, answer) => {
    const { method, url: path, headers } = asked;
    const own = { ...headers, 'x-forwarded-for': asked.socket.remoteAddress };
    const passed = request({ host: '127.0.0.1', port: to, method, path, headers: own }, (given) => {
      answer.writeHead(given.statusCode, given.headers);
      answer.flushHeaders();
      given.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise((resolve) => { proxy.listen(port, '127.0.0.1', resolve); });
  return proxy;
}

/** The login, its cookie, streams of events, what changes something, and links of a console whose address is `https`. */
async function usedByTls(browser, server, url) {
  assert.equal(server.origin, url, 'the login link begins with it');
  const { page, complaints, context } = await openPage(browser, { ignoreHTTPSErrors: true });
  const live = page.waitForResponse((response) => new URL(response.url()).pathname === '/api/live');
  await logIn(page, server);
  assert.equal((await live).status(), 200, 'the stream of running captures is there');
  const cookie = (await context.cookies()).find(({ name }) => name === 'bathyscope_session');
  assert.deepEqual([cookie?.secure, cookie?.httpOnly, cookie?.sameSite], [true, true, 'Strict']);
  const { id } = await page.evaluate(async () => (await fetch('/api/samples/profile', { method: 'POST' })).json());
  await page.goto(`${url}/captures/${id}?v=3&tab=events`);
  const { link } = await copied(page);
  assert.ok(link.startsWith(`${url}/captures/${id}?`), link);
  assert.deepEqual(complaints, []);
  await context.close();
}

/** With TLS of its own, where root starts it and only root may read the key; and who comes without TLS. */
export async function linkByOwnTls(browser) {
  const port = await freePort();
  const [data, keys] = [dataFolder(), dataFolder()];
  const url = `https://localhost:${port}`;
  const { key, cert } = makeCertificate(keys);
  const options = ['--tls-cert', cert, '--tls-key', key, '--public-url', url];
  const server = await Server.start({ data, simulate: true, listen: `127.0.0.1:${port}`, options });
  try {
    await usedByTls(browser, server, url);
    const plain = await fetch(`http://127.0.0.1:${port}/`);
    assert.equal(plain.status, 400);
    assert.match(await plain.text(), /its address begins with https:/);
  } finally {
    await server.stop();
    [data, keys].forEach(removeFolder);
  }
}

/** Behind a proxy that speaks TLS. */
export async function linkBehindProxy(browser) {
  const [port, tls] = [await freePort(), await freePort()];
  const [data, keys] = [dataFolder(true), dataFolder()];
  const url = `https://localhost:${tls}`;
  const options = ['--behind-proxy', '--public-url', url];
  const server = await Server.start({ data, simulate: true, unprivileged: true, listen: `127.0.0.1:${port}`, options });
  const proxy = await startProxy(keys, tls, port);
  try {
    await usedByTls(browser, server, url);
  } finally {
    proxy.closeAllConnections();
    proxy.close();
    await server.stop();
    [data, keys].forEach(removeFolder);
  }
}
