// Accounts: an admin adds a person, who chooses a password by the link, logs in and makes a token; the admin disables them, and the
// page that they have open says so.

import assert from 'node:assert/strict';
import { openPage } from './lib.mjs';

const PASSWORD = 'a horse <b>with</b> batteries';

/** Adds a person by keys; gives the link by which they choose a password. */
async function add(page, server, name) {
  await page.goto(`${server.origin}/people`);
  await page.getByText('There is no account').waitFor();
  await page.getByRole('button', { name: 'Add a person' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Add a person' });
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('What they may do').selectOption('operator');
  await dialog.getByLabel('Name').press('Enter');
  const link = page.getByLabel('Link', { exact: true }).and(page.locator('input'));
  await link.waitFor();
  const url = await link.inputValue();
  await page.getByRole('dialog').getByText('Only this machine opens it').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText(/no password yet, the link ends in/).waitFor();
  return url;
}

/** Chooses a password by the link, and logs in with it. */
async function begin(page, server, url, name) {
  await page.goto(url);
  assert.equal(await page.getByLabel('Name').inputValue(), name);
  assert.equal(new URL(page.url()).hash, '', 'the token is nowhere in the address');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('The same again').fill(`${PASSWORD}!`);
  await page.keyboard.press('Enter');
  await page.getByText('The password is not the same twice.').waitFor();
  await page.getByLabel('The same again').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText(`The password of ${name} is chosen.`).waitFor();
  await page.getByRole('link', { name: 'Log in' }).press('Enter');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill('something quite else');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The name or the password is wrong').waitFor();
  await page.getByLabel('Name').fill(name.toUpperCase());
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForURL((at) => at.pathname === '/');
}

/** Makes a token on the page of the own account; gives its text. */
async function makeToken(page, name) {
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.waitForURL(/\/account$/);
  await page.getByText(`${name}, operator.`).waitFor();
  await page.getByRole('button', { name: 'New token' }).click();
  const dialog = page.getByRole('dialog', { name: 'New token' });
  await dialog.getByLabel('Name').fill('nightly <i>');
  await dialog.getByLabel('What it may do').selectOption('viewer');
  await dialog.getByRole('button', { name: 'Make token' }).click();
  const field = page.getByLabel('Token', { exact: true }).and(page.locator('input'));
  await field.waitFor();
  const token = await field.inputValue();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Revoke nightly <i>' }).waitFor();
  return token;
}

/** What a program is answered that asks by a token. */
const asked = async (server, token) =>
  (await fetch(`${server.origin}/api/captures`, { headers: { authorization: `Bearer ${token}` } })).status;

/** From the account to its end. */
export async function addPerson(browser, page, server) {
  const name = 'alice.example';
  const url = await add(page, server, name);
  const { page: hers, context, complaints } = await openPage(browser);
  await begin(hers, server, url, name);
  const token = await makeToken(hers, name);
  assert.equal(await asked(server, token), 200);
  await page.reload();
  await page.getByRole('row', { name: new RegExp(name) }).first().getByText('enabled').waitFor();
  await page.getByRole('button', { name: `Disable ${name}` }).click();
  const dialog = page.getByRole('dialog', { name: `Disable ${name}` });
  await dialog.getByText('They have 1 session and 1 token.').waitFor();
  await dialog.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('button', { name: `Enable ${name}` }).waitFor();
  await hers.getByText('Your account was disabled.').waitFor();
  assert.equal(new URL(hers.url()).searchParams.get('next'), '/account', 'after another login she is where she was');
  assert.equal(await asked(server, token), 401);
  await page.getByRole('button', { name: `Enable ${name}` }).click();
  await page.getByLabel(`Role of ${name}`).selectOption('viewer');
  await page.getByRole('dialog').getByRole('button', { name: 'Make viewer' }).click();
  await page.getByText(`${name} is viewer now.`).waitFor();
  await page.getByRole('button', { name: `Remove ${name}` }).click();
  await page.getByRole('dialog').getByText('Captures, notes and all else of the name stay').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('There is no account').waitFor();
  await context.close();
  // The browser tells of what was refused: the wrong password, and what the page asked when the session had ended.
  assert.deepEqual(complaints.filter((text) => !/status of 401/.test(text)), []);
}
