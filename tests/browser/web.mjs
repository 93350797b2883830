// What pages have in common, with the simulated agent: the way in, the way back, import, what a page weighs, narrow windows.

import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { Server, binary, dataFolder, removeFolder, until } from '../lib/server.mjs';
import { findSeriousAnywhere, findSeriousInCaptures } from './access_flows.mjs';
import { linkBehindProxy, linkByOwnTls, linkFromElsewhere, linkOnLoopback, linkWithPublicUrl } from './link_flows.mjs';
import { loseConsole } from './reach_flows.mjs';
import { keepTyped } from './typed_flows.mjs';
import { openBrowser, openPage, logIn } from './lib.mjs';
import { saveCompared, saveEveryTab, saveProfile, saveStates, saveWithViews } from './saved_flows.mjs';
import { openHostileFiles, walkWideGraph, withMade } from './made_flows.mjs';

/** What a capture's page may take, cold. */
const MOST_REQUESTS = 25;
const MOST_BYTES = 200_000;
/** From the click on Start to a sign that something is being done. */
const SIGN_MS = 200;
const TABS = ['events', 'timeline', 'flame', 'info', 'sql'];
const WIDTHS = [390, 320];
let browser;
let server;
let page;
let complaints;
let samples;
const data = dataFolder(true);
const files = dataFolder();
const run = promisify(execFile);

before(async () => {
  server = await Server.start({ data, simulate: true, unprivileged: true });
  browser = await openBrowser();
  ({ page, complaints } = await openPage(browser));
  await logIn(page, server);
  samples = {};
  const own = { origin: server.origin, 'sec-fetch-site': 'same-origin' };
  for (const { name } of (await (await page.request.get(`${server.origin}/api/samples`)).json()).items) {
    samples[name] = (await (await page.request.post(`${server.origin}/api/samples/${name}`, { headers: own })).json()).id;
  }
});

after(async () => {
  await browser?.close();
  await server?.stop();
  removeFolder(data);
  removeFolder(files);
});

/** A login link, as it is printed at a terminal. */
const link = async (role) => (await run(binary(), ['login-link', '--role', role, '--user', 'eva', '--data', data])).stdout.trim();

test('a link that is opened without a login leads there after it', async () => {
  const asked = `${server.origin}/captures/${samples.profile}?v=1&tab=flame&filter=pid%20%3E%201`;
  for (const way of ['form', 'same tab', 'other tab']) {
    const guest = await openPage(browser);
    await guest.page.goto(asked);
    await guest.page.waitForURL(/\/login\?next=/);
    const one = await link('viewer');
    if (way === 'form') {
      await guest.page.getByLabel('Login token').fill(one);
      await guest.page.getByRole('button', { name: 'Log in' }).click();
    } else if (way === 'same tab') {
      await guest.page.goto(one);
    } else {
      guest.page = await guest.context.newPage();
      await guest.page.goto(one);
    }
    await guest.page.waitForURL((url) => url.pathname.startsWith('/captures/'));
    const { searchParams } = new URL(guest.page.url());
    assert.deepEqual([searchParams.get('tab'), searchParams.get('filter')], ['flame', 'pid > 1'], way);
    assert.deepEqual(guest.complaints, []);
    await guest.context.close();
  }
});

test('a link on another site opens the page of whoever is logged in', async () => {
  // The same console by another name is another site for the browser.
  const elsewhere = server.origin.replace('127.0.0.1', 'localhost');
  const other = await page.context().newPage();
  await other.goto(`${elsewhere}/login`);
  await other.evaluate((to) => { location.assign(to); }, `${server.origin}/captures?q=profile`);
  await other.waitForURL((url) => url.pathname === '/captures' && url.hostname === '127.0.0.1');
  await other.close();
});

test('a guest who follows a link on another site comes to the page over the login', async () => {
  await linkFromElsewhere(browser, server, samples.profile, await link('viewer'));
});

test('a copied link on loopback says that only this machine opens it', () => linkOnLoopback(page, server, samples.profile));

test('links begin with the public address', () => linkWithPublicUrl(browser));

test('with TLS of its own people log in, follow streams and copy links', () => linkByOwnTls(browser));
test('behind a proxy that speaks TLS people log in, follow streams and copy links', () => linkBehindProxy(browser));

for (const signal of ['SIGTERM', 'SIGKILL'])
  test(`pages say that a console does not answer which ended by ${signal}, and go on when it is back`, () => loseConsole(browser, signal));

test('long titles leave actions in sight; what was typed stays after a key, a reload, and a refusal', () => keepTyped(browser));

test('a viewer is told that they may read only', async () => {
  const guest = await openPage(browser);
  await guest.page.goto(await link('viewer'));
  await guest.page.waitForURL((url) => url.pathname === '/');
  await guest.page.goto(`${server.origin}/new`);
  await guest.page.getByRole('heading', { name: 'You may read only' }).waitFor();
  await guest.context.close();
});

test('Back shows the search that was left', async () => {
  for (const [path, field, some] of [['/captures', 'Search captures', 'counting words'], ['/tools', 'Find a tool', 'latency']]) {
    await page.goto(server.origin + path);
    const rows = () => page.locator('main table.list tbody tr').allTextContents();
    const all = await until('the whole list', async () => { const now = await rows(); return now.length > 1 && now; });
    await page.getByRole('searchbox', { name: field }).fill(some);
    await until('the search in the address', () => new URL(page.url()).searchParams.get('q') === some);
    const found = await until('what is found', async () => { const now = await rows(); return now.length > 0 && now.length < all.length && now; });
    await page.locator('main table.list tbody a').first().click();
    await page.waitForURL((url) => url.pathname !== path);
    await page.goBack();
    assert.equal(await page.getByRole('searchbox', { name: field }).inputValue(), some);
    await until('the same list', async () => (await rows()).length === found.length);
    assert.equal(new URL(page.url()).searchParams.get('q'), some);
  }
});

/** What a page asks for, cold: a browser without anything kept. */
async function weigh(path, done) {
  const guest = await openPage(browser);
  const cookies = await page.context().cookies();
  await guest.context.addCookies(cookies);
  const network = await guest.context.newCDPSession(guest.page);
  await network.send('Network.enable');
  const found = { requests: [], bytes: 0 };
  network.on('Network.requestWillBeSent', ({ request }) => found.requests.push(request.url.replace(server.origin, '')));
  network.on('Network.dataReceived', ({ encodedDataLength }) => { found.bytes += encodedDataLength; });
  await guest.page.goto(server.origin + path);
  await done(guest.page);
  // Nothing more comes for a while: all that the page needs is there.
  await until('the last answer', (() => { let before = -1; let since = 0; return () => {
    const now = Date.now();
    if (found.bytes !== before) [before, since] = [found.bytes, now];
    return now - since > 400;
  }; })());
  assert.deepEqual(guest.complaints, []);
  await guest.context.close();
  return found;
}

test('a capture’s page takes at most 25 requests and 200 kB', async () => {
  const shown = {
    events: (one) => one.locator('.vt-row').first().waitFor(),
    timeline: (one) => one.locator('.timeline-canvas').first().waitFor(),
    flame: (one) => one.locator('svg.flame g[data-i]').first().waitFor(),
    info: (one) => one.getByText('What was asked for').waitFor(),
    sql: (one) => one.getByRole('complementary', { name: 'Tables and columns' }).waitFor(),
  };
  for (const tab of TABS) {
    const found = await weigh(`/captures/${samples.profile}?v=1&tab=${tab}`, shown[tab]);
    console.log(`# ${tab}: ${found.requests.length} requests, ${Math.round(found.bytes / 1000)} kB`);
    assert.ok(found.requests.length <= MOST_REQUESTS, `${tab}: ${found.requests.join('\n')}`);
    assert.ok(found.bytes <= MOST_BYTES, `${tab}: ${found.bytes} bytes`);
  }
});

test('the script editor comes when it is needed', async () => {
  const found = await weigh('/new?method=script', (one) => one.locator('.cm-content').waitFor());
  assert.ok(found.requests.some((path) => path.endsWith('/js/vendor/codemirror.js')));
  assert.ok(found.requests.length <= MOST_REQUESTS, found.requests.join('\n'));
});

test('the start of a capture shows at once that it is being done', async () => {
  await page.goto(`${server.origin}/new?method=profile`);
  await page.getByRole('radio', { name: 'Whole system' }).check();
  await page.getByLabel('After', { exact: true }).fill('1');
  let answer;
  await page.route('**/api/captures', (route) => { answer = () => route.continue(); });
  const clicked = Date.now();
  await page.getByRole('button', { name: /^Start capture/ }).click();
  await page.getByRole('button', { name: 'Starting', disabled: true }).waitFor();
  await page.getByText('Attaching the probes.', { exact: false }).first().waitFor();
  assert.ok(Date.now() - clicked < SIGN_MS * 10, 'long before the answer, on a busy machine too');
  await until('the request', () => answer);
  await answer();
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  await page.unroute('**/api/captures');
  await page.getByRole('link', { name: /^Run again/ }).waitFor();
});

test('an exported flame graph has the colours of the page', async () => {
  await page.goto(`${server.origin}/captures/${samples.profile}?v=1&tab=flame`);
  await page.locator('svg.flame g[data-i]').first().waitFor();
  const exported = await (await page.request.get(`${server.origin}/api/captures/${samples.profile}/export?format=svg_plain&by=process`)).text();
  const zooms = await (await page.request.get(`${server.origin}/api/captures/${samples.profile}/export?format=svg&by=process`)).text();
  const rects = (text) => [...text.matchAll(/<rect [^>]*>/g)].map(([rect]) => rect);
  assert.deepEqual(rects(zooms), rects(exported), 'the file that zooms is the same picture');
  assert.ok(!exported.includes('<script'));
  // A function can be inlined in one place and called in another.
  const drawn = new Set([...exported.matchAll(/<g><title>([^<]*?) \((?:all|process|kernel|user|inlined|JIT|unresolved), [^<]*<\/title><rect class="([^" ]+)/g)].map(([, name, kind]) => `${name} ${kind}`));
  const names = new Set([...drawn].map((one) => one.replace(/ \S+$/, '')));
  const shown = await until('the ranked colours', async () => {
    const found = await page.locator('svg.flame g[data-i]').evaluateAll((all) => all.filter((one) => one.querySelector('text')).map((one) => [one.querySelector('text').textContent, one.classList[0], getComputedStyle(one.querySelector('rect')).fill]));
    return found.length > 20 && found;
  });
  const same = shown.filter(([name]) => names.has(name));
  assert.ok(same.some(([, kind]) => kind.startsWith('cat-')) && same.length > 5, `${same.length} of ${shown.length}`);
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    const picture = await page.context().newPage();
    await picture.emulateMedia({ colorScheme: scheme });
    await picture.setContent(exported);
    const fills = await picture.evaluate(() => Object.fromEntries([...document.querySelectorAll('g > rect')].map((rect) => [rect.classList[0], getComputedStyle(rect).fill])));
    const now = await page.locator('svg.flame g[data-i]').evaluateAll((all) => Object.fromEntries(all.map((one) => [one.classList[0], getComputedStyle(one.querySelector('rect')).fill])));
    for (const [name, kind] of same) {
      assert.ok(drawn.has(`${name} ${kind}`), `${name}: ${kind}`);
      assert.equal(fills[kind], now[kind], `${name} in the ${scheme} theme`);
    }
    await picture.close();
  }
  await page.emulateMedia({ colorScheme: null });
});

test('a view is saved as a file, which is read with the network off', () => saveProfile(browser, page, server, samples.profile));
test('states of threads are saved as a file and as a picture', () => saveStates(browser, page, server));
test('each tab of a file has what it asks for', () => saveEveryTab(browser, page, server, Object.values(samples)));
test('a view against another capture is sorted in its file as at the console', () => saveCompared(browser, page, server));
test('an investigation is saved as a file whose views open in their places', () => saveWithViews(browser, page, server, samples));

test('files of hostile names run nothing from the disk; as many frames as there can be are walked on a canvas', async () => {
  await withMade(browser, { hostile: 500, wide: 6000 }, async (made) => {
    await openHostileFiles(made, browser);
    await walkWideGraph(made);
  });
});

/** Drops files on the page, as from the desktop. */
async function drop(on, ...all) {
  const parts = all.map((path) => ({ name: path.split('/').at(-1), base64: readFileSync(path).toString('base64') }));
  await on.evaluate((list) => {
    const transfer = new DataTransfer();
    for (const { name, base64 } of list) transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
    for (const kind of ['dragenter', 'dragover', 'drop']) document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, parts);
}

test('a file is imported by a button, and by dropping it on any page', async () => {
  const other = dataFolder(true);
  const elsewhere = await Server.start({ data: other, simulate: true, unprivileged: true });
  try {
    const { page: there, context, complaints: said } = await openPage(browser);
    await logIn(there, elsewhere);
    const file = join(files, 'taken along.bathy');
    writeFileSync(file, await (await page.request.get(`${server.origin}/api/captures/${samples.files}/export?format=bathy`)).body());
    const broken = join(files, 'broken.bathy');
    writeFileSync(broken, readFileSync(file).subarray(0, 20_000));
    await there.goto(`${elsewhere.origin}/tools`);
    await drop(there, broken);
    await there.getByRole('heading', { name: 'broken.bathy was not imported' }).waitFor();
    await there.getByText('Nothing was stored.', { exact: false }).first().waitFor();
    await there.getByRole('button', { name: 'Close' }).click();
    await there.goto(`${elsewhere.origin}/captures`);
    await there.getByText('0 captures').waitFor();
    const [chooser] = await Promise.all([there.waitForEvent('filechooser'), there.getByRole('button', { name: 'Import a file' }).click()]);
    await chooser.setFiles(file);
    await there.waitForURL(/\/captures\/[0-9a-f]{16}/);
    assert.ok(there.url().includes(samples.files));
    await there.locator('.vt-row').first().waitFor();
    await there.goto(elsewhere.origin);
    const second = join(files, 'second.bathy');
    writeFileSync(second, await (await page.request.get(`${server.origin}/api/captures/${samples.profile}/export?format=bathy`)).body());
    await drop(there, second);
    await there.waitForURL((url) => url.pathname.includes(samples.profile));
    assert.deepEqual(said.filter((text) => !/status of 400.*\/import/.test(text)), []);
    await context.close();
  } finally {
    await elsewhere.stop();
    removeFolder(other);
  }
});

test('an import is given up with Cancel', async () => {
  await page.goto(`${server.origin}/captures`);
  let held;
  await page.route('**/api/captures/import*', (route) => { held = route; });
  const file = join(files, 'held.bathy');
  writeFileSync(file, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(50_000)]));
  await drop(page, file);
  await until('the request', () => held);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('was cancelled; nothing of it was stored', { exact: false }).waitFor();
  await page.unroute('**/api/captures/import*');
});

/** What sticks out of the window at the right, and what can be pressed and is smaller than 24 px. */
const look = (one) => one.evaluate(() => {
  const width = document.documentElement.clientWidth;
  const seen = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility());
  const clips = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== 'visible' && at.getBoundingClientRect().right <= width + 1) return true;
    }
    return false;
  };
  const name = (element) => `${element.tagName.toLowerCase()}#${element.id}.${[...element.classList].join('.')} “${element.textContent.slice(0, 20)}”`;
  const out = seen.filter((element) => { const box = element.getBoundingClientRect(); return box.width > 0 && box.right > width + 1 && box.left > -500 && !clips(element); });
  const title = document.querySelector('h1');
  const pres = seen.filter((element) => element.tagName === 'PRE' && (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1) && element.tabIndex < 0 && !element.closest('.cm-editor'));
  const landmarks = seen.filter((element) => element.getAttribute('role') === 'search').map((element) => element.getAttribute('aria-label'));
  return {
    wider: document.documentElement.scrollWidth > width,
    out: out.map(name),
    sideways: seen.filter((element) => element.matches('.maps-body, .counts, .info-columns, .new') && element.scrollWidth > element.clientWidth + 1).map(name),
    title: !title || (title.getBoundingClientRect().width > 60 && title.scrollWidth <= title.clientWidth + 1),
    pres: pres.map(name),
    landmarks: landmarks.length === new Set(landmarks).size && landmarks.every(Boolean),
    small: seen.filter((element) => element.matches('button, .language-contents a, .sql-tables button') && !element.closest('.cm-editor')).filter((element) => { const box = element.getBoundingClientRect(); return box.height > 0 && box.height < 23.5; }).map(name),
  };
});

test('no page is wider than its window: narrow, at 200 %, usual and large', async () => {
  const paths = ['/', '/new', '/new?method=profile', '/new?method=syscalls', '/new?method=trace', '/new?method=count', '/new?method=script', '/new?tool=fileslower', '/library', '/captures', '/catalog?kind=tracepoint&q=sched', '/tools', '/language', '/host', '/people', '/audit', '/account', '/nothing'];
  for (const id of Object.values(samples)) for (const tab of [...TABS, 'maps', 'output']) paths.push(`/captures/${id}?v=1&tab=${tab}`);
  // 1440 x 900 at 200 % is 720 x 450 for the page.
  for (const [width, height] of [...WIDTHS.map((width) => [width, 800]), [720, 450], [1280, 800], [2560, 1300]]) {
    await page.setViewportSize({ width, height });
    for (const path of paths) {
      await page.goto(server.origin + path);
      let found;
      const right = () => !found.wider && found.out.length === 0 && found.sideways.length === 0 && found.title && found.pres.length === 0 && found.landmarks && found.small.length === 0;
      // Twice in a row, as the page comes in parts.
      let times = 0;
      await until(`${path} at ${width} px`, async () => { found = await look(page); times = right() ? times + 1 : 0; return times >= 3; }, 60).catch((error) => { throw new Error(`${error.message}: ${JSON.stringify(found)}`); });
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('a keyboard and a screen reader reach everything: axe-core finds nothing serious, in both themes', async () => {
  // The pages' policy would refuse the styles that axe-core tries.
  const looked = await openPage(browser, { bypassCSP: true });
  await looked.page.goto(await link('admin'));
  await looked.page.waitForURL((url) => url.pathname === '/');
  assert.deepEqual(await findSeriousAnywhere(looked.page, server.origin), []);
  assert.deepEqual(await findSeriousInCaptures(looked.page, server.origin), []);
  assert.deepEqual(looked.complaints, []);
  await looked.context.close();
});

test('the browser never complained', () => {
  assert.deepEqual(complaints.filter((text) => !/status of (404.*\/nothing|400.*\/import)/.test(text)), []);
});
