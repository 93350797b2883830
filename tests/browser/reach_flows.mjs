// A console that stops while pages are open: they say so, offer nothing that needs it, and go on when it is back.

import { strict as assert } from 'node:assert';

import { Server, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { logIn, openPage } from './lib.mjs';

const SPEC = {
  method: { count: { groups: [['cs']], interval_ms: 100 } }, target: 'system', limits: { duration_ms: 600_000, budget_cpu_permille: 1000 },
};

/** Ends the server by `signal`, and waits until pages have said so. */
async function goAway(server, pages, signal) {
  server.child.kill(signal);
  await server.ended;
  for (const page of pages) await page.getByText(/^The console does not answer since \d\d:\d\d:\d\d; trying again\./).waitFor();
}

/** A running capture and the history are open in a browser while the console is ended by `signal` and started again. */
export async function loseConsole(browser, signal) {
  const data = dataFolder(true);
  let server = await Server.start({ data, simulate: true, unprivileged: true });
  try {
    const { page, context } = await openPage(browser);
    await logIn(page, server);
    const { origin, port } = server;
    const { url } = await (await page.request.post(`${origin}/api/captures`, { data: SPEC, headers: { origin } })).json();
    await page.goto(origin + url);
    const stop = page.getByRole('button', { name: /^Stop/ });
    await stop.waitFor();
    await page.locator('.cap-live .reading').first().waitFor();
    const history = await context.newPage();
    await history.goto(`${origin}/captures`);
    await history.locator('#running li').waitFor();
    await goAway(server, [page], signal);
    assert.equal(page.url().split('?')[0], (origin + url).split('?')[0], 'the page stays');
    await page.locator('#cap-meta').getByText('Not known whether it still records').waitFor();
    assert.equal(await stop.getAttribute('aria-disabled'), 'true');
    assert.match(await stop.getAttribute('title'), /^The console does not answer since/);
    assert.equal(await page.locator('#running .rail-facts').textContent(), 'not known');
    await stop.click({ force: true });
    await page.locator('#notes').getByText('The console does not answer since').waitFor();
    await history.getByText(/^The console does not answer since/).waitFor();
    assert.equal(await history.locator('#running .rail-facts').textContent(), 'not known');
    server = await Server.start({ data, simulate: true, unprivileged: true, listen: `127.0.0.1:${port}` });
    for (const one of [page, history]) await until('no word of it', async () => await one.locator('.reach-line p').count() === 0);
    await until('what became of the capture', async () => !/Recording|Not known/.test(await page.locator('#cap-meta').textContent()));
    assert.equal(await stop.count(), 0);
    await page.locator('#running').waitFor({ state: 'hidden' });
    await context.close();
  } finally {
    await server.stop();
    removeFolder(data);
  }
}
