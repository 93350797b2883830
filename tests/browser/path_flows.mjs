// Why a thread was late: its state is selected, its wake-up followed, and its critical path read.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';
import { openTab } from './flows.mjs';

const TIMELINE = '#panel-timeline .timeline-canvas';
const MOST_STATES = 60;
const query = (page) => new URL(page.url()).searchParams;

/**
 * On a capture with states of threads: finds a thread that waited for a CPU, who woke it, and what its time went into. `thread` is
 * its name, any by default; `ask` asks the capture in SQL, which tells the same.
 */
export async function findWhyLate(page, { thread, ask }) {
  await openTab(page, 'Timeline');
  const search = page.getByRole('searchbox', { name: /Find tracks/ });
  await search.fill(thread ?? 'tid ');
  // A process with one thread is one row.
  const told = thread ? new RegExp(`^${thread} [pt]id \\d+:`) : /tid \d+:/;
  const canvas = page.locator(TIMELINE);
  const readout = page.locator('#panel-timeline .readout');
  const panel = page.getByRole('region', { name: 'What is picked' });
  const heading = panel.getByRole('heading').first();
  await canvas.focus();
  await page.keyboard.press('Escape');
  await until('a thread at the cursor', async () => {
    await page.keyboard.press('ArrowDown');
    return told.test(await readout.textContent());
  });
  await page.keyboard.press('Enter');
  await until('a picked state', () => query(page).has('picked'));
  // On to a state in which it could run and had no CPU.
  for (let press = 0; press < MOST_STATES && await heading.textContent() !== 'runnable'; press += 1) {
    const before = query(page).get('picked');
    await page.keyboard.press('.');
    await until('the next state', () => query(page).get('picked') !== before);
  }
  await until('a thread that was late', async () => await heading.textContent() === 'runnable');
  const late = query(page).get('picked');
  await sameWaker(ask, late, panel.getByText(/^woken (by|from) .* ran after/).first());
  if (await panel.getByRole('button', { name: 'Go to what led here' }).count() > 0) {
    await page.keyboard.press('[');
    await until('who woke it', () => query(page).get('picked') !== late);
    await panel.getByText(/^wakes /).first().waitFor();
    await page.keyboard.press(']');
    await until('back at who was woken', () => query(page).get('picked') === late);
  }
  const response = page.waitForResponse(/\/tracks\/critical-path\?/);
  await page.keyboard.press('c');
  await samePath(ask, await (await response).json());
  await until('a path in the address', () => /^tid:\d+$/.test(query(page).get('path') ?? ''));
  const tab = panel.getByRole('tab', { name: 'Critical path' });
  await until('the tab of the path', async () => await tab.getAttribute('aria-selected') === 'true');
  await panel.getByText('What its time went into').waitFor();
  const words = panel.locator('.path-tab p').first();
  assert.match(await words.textContent(), / over .*(running|waiting for)/);
  // The link has all of it.
  await page.reload();
  await panel.getByText('What its time went into').waitFor();
  // The longest part of the path is a state of some thread.
  await panel.getByRole('row').getByRole('button', { name: / at .* s$/ }).first().click();
  await until('a state in the path', () => query(page).has('picked'));
  await canvas.focus();
  await page.keyboard.press('Escape');
  await search.fill('');
}

/** Who woke the picked thread, and how long it waited then, is what the table of run-queue latencies says. */
async function sameWaker(ask, picked, words) {
  const [, tid, start] = /\/tid:(\d+)\/\d+@(-?\d+)$/.exec(picked);
  const told = await words.textContent();
  const [wakeup] = await ask(`select waker_comm, waker_tid, duration_ns from run_queue_latency where tid = ${tid} and time = ${start}`);
  assert.ok(wakeup, `${told}: a wake-up of ${tid} at ${start}`);
  const { waker_comm: name, waker_tid: waker } = wakeup;
  // In an interrupt the waker is whom it interrupted, who has nothing to do with it.
  if (!told.startsWith('woken by an interrupt') && !told.startsWith('woken from an interrupt')) assert.ok(told.startsWith(`woken by ${name || 'thread'} ${waker} `), `${told}, and not ${name} ${waker}`);
}

/** The shares of a path are all of its time, and what the thread ran itself is what its states say. */
async function samePath(ask, path) {
  const start = path.stopped?.time ?? path.start;
  assert.equal(path.shares.reduce((sum, { time }) => sum + time, 0), path.end - start);
  const [{ tid }] = path.threads;
  const [{ ns }] = await ask(`select coalesce(sum(overlap(time, time + duration_ns, ${start}, ${path.end})), 0) as ns from thread_states where tid = ${tid} and state = 'running'`);
  const own = path.sums.find(({ thread, kind }) => thread === 0 && kind === 'running')?.time ?? 0;
  assert.equal(own, ns, `what ${tid} ran itself from ${start} to ${path.end}`);
}
