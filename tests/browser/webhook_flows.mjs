// Webhooks: an admin adds one and tries it; a flight recorder that names it fires, and the message leads to what was stored.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';

import { Server, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { logIn, openPage } from './lib.mjs';

/** Somebody who takes messages. */
async function startReceiver() {
  const messages = [];
  const listener = createServer(async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    messages.push({ body: JSON.parse(body), signature: request.headers['bathyscope-signature'] });
    response.writeHead(204).end();
  });
  await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
  return { host: `127.0.0.1:${listener.address().port}`, messages, stop: () => listener.close() };
}

/** Adds a webhook by keys, and tries it. */
async function addWebhook(page, server, host) {
  await page.goto(`${server.origin}/people`);
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await page.getByText('There is no webhook').waitFor();
  await page.getByRole('button', { name: 'Add a webhook' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Add a webhook' });
  await dialog.getByLabel('Name').fill('On call');
  await dialog.getByLabel('Address').fill(`http://${host}/hook?key=1`);
  await page.keyboard.press('Enter');
  const secret = page.getByLabel('Secret', { exact: true }).and(page.locator('input'));
  await secret.waitFor();
  assert.match(await secret.inputValue(), /^[0-9a-f]{64}$/);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Send a test to On call' }).click();
  await page.locator('#deliveries').getByText('arrived, answered with 204, 1 attempt').waitFor();
}

/** Starts a flight recorder that announces, and fires it. */
async function announce(page, server) {
  await page.goto(`${server.origin}/new?method=syscalls`);
  await page.getByLabel('Keep only what is around an event').check();
  await page.locator('#flight-webhooks').getByText('There are: On call.').waitFor();
  await page.locator('#flight-after').fill('0');
  await page.getByLabel('Announce to').fill('nobody');
  await page.getByRole('button', { name: 'Start capture' }).click();
  await page.getByText('there is no webhook nobody').waitFor();
  await page.getByLabel('Announce to').fill('on call');
  await page.getByRole('button', { name: 'Start capture' }).click();
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  await page.getByRole('button', { name: 'Keep what just happened' }).first().click();
}

/** All of it, with a console of its own. */
export async function tellOthers(browser) {
  const receiver = await startReceiver();
  const data = dataFolder();
  const server = await Server.start({ data, simulate: true, options: ['--outbound-private', receiver.host] });
  try {
    const { page, context, complaints } = await openPage(browser);
    await logIn(page, server);
    await addWebhook(page, server, receiver.host);
    await announce(page, server);
    await until('the message', () => receiver.messages.length === 2);
    const [test, told] = receiver.messages;
    assert.equal(test.body.event, 'test');
    assert.match(told.signature, /^v1=[0-9a-f]{64}$/);
    assert.match(told.body.trigger, /^by hand of /);
    await page.goto(`${server.origin}/captures/${told.body.capture.id}`);
    await page.getByRole('tabpanel').first().waitFor();
    await page.goto(`${server.origin}/webhooks`);
    await page.locator('#webhooks').getByText('2 messages arrived').waitFor();
    await page.getByText('this console has no address that others can open').waitFor();
    await page.getByRole('button', { name: 'Remove On call' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('There is no webhook').waitFor();
    await context.close();
    // The browser tells of the start that was refused.
    assert.deepEqual(complaints.filter((one) => !/status of 400 .*\/api\/captures/.test(one)), []);
  } finally {
    await server.stop();
    receiver.stop();
    removeFolder(data);
  }
}
