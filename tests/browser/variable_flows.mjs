// Variables of a program in the probe builder: what its debug information tells is unfolded, ticked, tried and recorded.

import { strict as assert } from 'node:assert';
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT, until } from '../lib/server.mjs';
import { tabTo } from './access_flows.mjs';
import { openTab, rowsInSight } from './flows.mjs';

/** Compiles the program whose list is known into a folder; null without a compiler. */
export function describedList(folder) {
  const program = join(folder, 'list');
  try {
    execFileSync('cc', ['-g', '-O0', '-o', program, join(ROOT, 'tests/programs/list.c')]);
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
  chmodSync(folder, 0o755);
  return program;
}

/** Presses a key until what has the focus is called so. */
async function press(page, key, name, most = 60) {
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');
  for (let count = 0; count < most && await focused() !== name; count += 1) await page.keyboard.press(key);
  assert.equal(await focused(), name);
}

/**
 * With keys alone: a function of a program is found, pointers among its parameters are unfolded, members ticked, tried for 2
 * seconds, and recorded. Gives the id of the capture.
 */
export async function buildVariables(page, { origin, program }) {
  await page.goto(`${origin}/new?method=build`);
  await until('the field for a place', () => page.evaluate(() => document.activeElement?.id === 'build-site'));
  await page.keyboard.type(`${program}:walk`);
  await page.getByRole('option', { name: /^walk\b/ }).first().waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('list', { name: 'Probe sites' }).getByText(`uprobe:${program}:walk`).waitFor();
  await page.getByRole('checkbox', { name: 'Record step', exact: true }).waitFor();
  await tabTo(page, /^Members of first/);
  await page.keyboard.press('ArrowRight');
  await page.getByRole('checkbox', { name: 'Record first len', exact: true }).waitFor();
  await press(page, 'ArrowDown', 'Record first len');
  await page.keyboard.press('Space');
  await press(page, 'ArrowUp', 'Record first next');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('checkbox', { name: 'Record first next name', exact: true }).waitFor();
  await press(page, 'ArrowDown', 'Record first next name');
  await page.keyboard.press('Space');
  await press(page, 'ArrowDown', 'Record step');
  await page.keyboard.press('Space');
  const trial = page.locator('#build-trial');
  const script = async () => (await page.locator('#build-editor .cm-line').allTextContents()).join('\n');
  await until('the script', async () => /args\.first->len.*args\.first->next->name.*args\.step/s.test(await script()))
    .catch(async (error) => { throw new Error(`${error.message} in\n${await script()}`); });
  await page.locator('#build-verdict').getByText(/^Compiles/).waitFor();
  // What is tried starts no command: it runs beside.
  const running = setInterval(() => execFile(program, () => {}), 100);
  try {
    await tabTo(page, /^Try for 2 seconds/);
    await page.keyboard.press('Enter');
    await trial.getByText('The trial is deleted.').waitFor();
  } finally {
    clearInterval(running);
  }
  await trial.getByText(/len=1\b.*name=middle\b.*step=-3\b/).first().waitFor();
  await tabTo(page, /^ ?Whole system/);
  for (let down = 0; down < 2; down += 1) await page.keyboard.press('ArrowDown');
  assert.ok(await page.getByRole('radio', { name: 'A command' }).isChecked());
  await tabTo(page, /^Command with arguments/);
  await page.keyboard.type(program);
  await tabTo(page, /^Try for 2 seconds/, { key: 'Shift+Tab' });
  await page.keyboard.press('Enter');
  await trial.getByText('A trial does not start the command. It recorded the whole system.').waitFor();
  await trial.getByText('The trial is deleted.').waitFor();
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  return /captures\/([0-9a-f]{16})/.exec(page.url())[1];
}

/** The rows have the values that the program has. */
export async function readVariables(page) {
  await openTab(page, 'Events');
  await until('the values', async () =>
    (await rowsInSight(page)).some((row) => ['1', 'middle', '-3'].every((value) => row.includes(value))));
}

/**
 * A function of a program without debug information: memory that its first argument points to is tried, and what its bytes are
 * is recorded by a click.
 */
export async function readMemory(page, { origin, program }) {
  await page.goto(`${origin}/new?method=build&site=${encodeURIComponent(`uprobe:${program}:walk`)}`);
  await page.getByRole('button', { name: 'Members of arg0', exact: true }).click();
  await page.getByRole('textbox', { name: 'Count of bytes at arg0' }).fill('40');
  await page.getByRole('button', { name: 'Record bytes at arg0', exact: true }).click();
  const script = async () => (await page.locator('#build-editor .cm-line').allTextContents()).join('\n');
  await until('the script', async () => (await script()).includes('buf(arg0, 40)'));
  await page.locator('#build-verdict').getByText(/^Compiles/).waitFor();
  const trial = page.locator('#build-trial');
  const running = setInterval(() => execFile(program, () => {}), 100);
  try {
    await page.getByRole('button', { name: 'Try for 2 seconds' }).click();
    await trial.getByText('The trial is deleted.').waitFor();
    // The first node has the length 1 and the text `first`.
    await trial.getByRole('button', { name: /^Byte 8: 01/ }).click();
    await trial.getByRole('button', { name: 'uint32 1 = 0x1', exact: true }).click();
    await until('the number', async () => (await script()).includes('*(uint32 *)(arg0 + 8)'));
    await trial.getByRole('button', { name: /^Byte 32: 66/ }).click();
    await trial.getByRole('button', { name: 'text "first"', exact: true }).click();
    await until('the text', async () => (await script()).includes('str(arg0 + 32)'));
    await page.getByRole('button', { name: 'Try for 2 seconds' }).click();
    await trial.getByText(/arg0_8=1 arg0_32=first/).first().waitFor();
  } finally {
    clearInterval(running);
  }
  // The form follows the script, and knows what of the tree is recorded.
  await page.goto(page.url());
  await page.getByRole('list', { name: 'Recorded values' }).getByText('arg0 + 32').waitFor();
}

/** The program of {@link describedList} without debug information, beside it. */
export function undescribedList(program) {
  const plain = `${program}-plain`;
  execFileSync('objcopy', ['--strip-debug', program, plain]);
  return plain;
}
