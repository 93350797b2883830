// Sign-in with OpenID Connect, at a provider of this host: an account is made at the first login, the page that was wanted opens, and
// an account of before waits for an admin.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { createServer as createPort } from 'node:net';

import Provider from 'oidc-provider';

import { Server, dataFolder, removeFolder } from '../lib/server.mjs';
import { logIn, openPage } from './lib.mjs';

const GROUPS = { ada: ['ops'], grace: ['ops'], eve: ['visitors'] };

/** A port that nobody listens at now. */
function freePort() {
  return new Promise((resolve) => {
    const listener = createPort().listen(0, '127.0.0.1', () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}

/** A provider whose people only say who they are. Its claims come from the userinfo endpoint, as the standard has it. */
async function startProvider(origin) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'bathyscope', client_secret: 'a secret of the client', redirect_uris: [`${origin}/oidc/callback`],
      response_types: ['code'], grant_types: ['authorization_code'],
    }],
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups'], email: ['email'] },
    cookies: { keys: ['only for tests'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub: `subject of ${sub}`, preferred_username: sub, groups: GROUPS[sub] ?? [] }),
    }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    loadExistingGrant: async (context) => {
      const { client, session, provider: own } = context.oidc;
      const grant = new own.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  const listener = createServer(async (request, response) => {
    if (!request.url.startsWith('/interaction/')) return answer(request, response);
    if (request.method === 'GET') {
      response.setHeader('content-type', 'text/html');
      return response.end(`<!doctype html><html lang="en"><title>Provider</title><link rel="icon" href="data:,">
        <form method="post"><label>Who are you? <input name="who"></label><button>Go</button></form>`);
    }
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const accountId = new URLSearchParams(body).get('who');
    return provider.interactionFinished(request, response, { login: { accountId } }, { mergeWithLastSubmission: false });
  });
  await new Promise((resolve) => { listener.listen(port, '127.0.0.1', resolve); });
  return { issuer, stop: () => new Promise((resolve) => { listener.closeAllConnections(); listener.close(resolve); }) };
}

/** Says at the provider who somebody is; gives the page afterwards. */
async function sayWho(page, who) {
  await page.getByRole('link', { name: 'Log in with Example ID' }).click();
  await page.getByLabel('Who are you?').fill(who);
  await page.keyboard.press('Enter');
}

/** All of it, with a console of its own. */
export async function signInElsewhere(browser) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startProvider(origin);
  const [data, secrets] = [dataFolder(), dataFolder()];
  const secret = `${secrets}/oidc.secret`;
  writeFileSync(secret, 'a secret of the client\n');
  const options = [
    '--public-url', origin, '--outbound-private', new URL(provider.issuer).host, '--oidc-issuer', provider.issuer,
    '--oidc-client-id', 'bathyscope', '--oidc-client-secret', secret, '--oidc-name', 'Example ID',
    '--oidc-group-role', 'ops=operator',
  ];
  const server = await Server.start({ data, simulate: true, listen: `127.0.0.1:${port}`, options });
  try {
    const { page, context, complaints } = await openPage(browser);
    // The page that was wanted opens after the login, with strict cookies.
    await page.goto(`${server.origin}/captures?q=nginx`);
    await page.waitForURL(/\/login\?next=/);
    await sayWho(page, 'ada');
    await page.waitForURL((at) => at.pathname === '/captures' && at.search === '?q=nginx');
    assert.ok((await page.locator('.rail-user').textContent()).includes('operator'));
    await page.reload();
    assert.equal(new URL(page.url()).pathname, '/captures');
    await context.close();
    // Who is in no group that may do something is told so.
    const second = await openPage(browser);
    await second.page.goto(`${server.origin}/login`);
    await sayWho(second.page, 'eve');
    await second.page.getByRole('alert').getByText('none of your groups').waitFor();
    assert.equal(new URL(second.page.url()).search, '', 'the code stays nowhere');
    await second.context.close();
    // An account of before is opened when an admin has allowed it.
    const admin = await openPage(browser);
    await logIn(admin.page, server);
    await admin.page.evaluate(() => fetch('/api/people', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"grace","role":"viewer"}',
    }));
    const third = await openPage(browser);
    await third.page.goto(`${server.origin}/login`);
    await sayWho(third.page, 'grace');
    await third.page.getByRole('alert').getByText('not known to be yours').waitFor();
    await admin.page.goto(`${server.origin}/people`);
    await admin.page.getByText(`logs in at ${provider.issuer}`).waitFor();
    await admin.page.getByRole('button', { name: 'Let grace log in with Example ID' }).click();
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Allow' }).click();
    await admin.page.getByText(`waits for a login at ${provider.issuer}`).waitFor();
    // The provider knows her still, so she is asked nothing there.
    await third.page.getByRole('link', { name: 'Log in with Example ID' }).click();
    await third.page.waitForURL((at) => at.pathname === '/');
    assert.ok((await third.page.locator('.rail-user').textContent()).includes('viewer'), 'the role of the account');
    await third.context.close();
    // Other ways work when it is gone.
    await provider.stop();
    await admin.context.close();
    assert.deepEqual([...complaints, ...admin.complaints], []);
  } finally {
    await server.stop();
    await provider.stop();
    removeFolder(data);
    removeFolder(secrets);
  }
}
