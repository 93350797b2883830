// What the browser flows share: Chromium, a logged-in page that fails the test on any complaint of the browser.

import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';

import { chromium } from 'playwright-core';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path));
// No sandbox, because these tests may run as root in a container; nothing but our own pages is opened. The others keep
// Chromium from calling its maker.
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--force-color-profile=srgb',
];
export const PATIENCE_MS = 60_000;

export async function openBrowser() {
  assert.ok(CHROMIUM, 'chromium is installed (tests/setup)');
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/**
 * A page in a session of its own. `complaints` collects what must not happen: errors of scripts, blocked scripts and
 * styles, failed requests, dialogs, and hostile text that ran as a script (it would set `window.hacked`).
 */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()} ${message.location().url ?? ''}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 500) complaints.push(`${response.status()}: ${response.url()}`);
  });
  page.on('dialog', (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.exposeFunction('bathyscopeHacked', (what) => { complaints.push(`hostile text ran: ${what}`); });
  await page.addInitScript(() => {
    Object.defineProperty(window, 'hacked', { set: (what) => { window.bathyscopeHacked(String(what)); } });
  });
  return { page, context, complaints };
}

/** Opens the link that the server printed, as a person would, and waits for the start page. */
export async function logIn(page, server) {
  await page.goto(server.link);
  await page.waitForURL((url) => url.pathname === '/');
}

/** What the page asks the server for next that matches, as JSON; start waiting before causing it. */
export async function nextJson(page, pattern, cause) {
  let answer;
  // A page that is left takes the bodies of its answers with it: then that of the next page is meant.
  const isRead = async (response) => {
    if (!pattern.test(response.url())) return false;
    answer = await response.json().catch(() => undefined);
    return answer !== undefined;
  };
  await Promise.all([page.waitForResponse(isRead), cause()]);
  return answer;
}
