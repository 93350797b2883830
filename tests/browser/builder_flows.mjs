// What a person does with the probe builder.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';

const builder = (page) => page.getByRole('tabpanel', { name: 'Probe builder' });
const site = (page) => page.getByRole('combobox', { name: 'Probe site' });
const scriptText = async (page) => (await page.locator('#build-editor .cm-line').allTextContents()).join('\n');
const verdict = (page) => page.locator('#build-verdict');

/** The script holds `words`. */
async function scriptHolds(page, words) {
  await until(`the script with ${words}`, async () => (await scriptText(page)).includes(words));
}

/** Replaces the script. */
async function writeBuilt(page, text) {
  await page.locator('#build-editor').getByRole('textbox', { name: 'Script' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
}

/**
 * From the start page to which process opens which file and how long that takes, without a word of syntax. Gives how many
 * actions that were: clicks, words typed, keys.
 */
export async function buildOpens(page, { origin }) {
  let actions = 0;
  const act = async (done) => {
    actions += 1;
    await done;
  };
  await page.goto(origin);
  await act(page.getByRole('link', { name: 'Build a probe' }).click());
  await builder(page).waitFor();
  await until('the field for a place', () => site(page).evaluate((element) => element.matches(':focus')));
  await act(page.keyboard.type('openat enter'));
  await page.getByRole('option', { name: /sys_enter_openat\b(?!2)/ }).first().waitFor();
  await act(page.getByRole('option', { name: /sys_enter_openat\b(?!2)/ }).first().click());
  await act(page.getByRole('checkbox', { name: 'Record filename' }).check());
  await act(page.getByRole('checkbox', { name: 'Duration' }).check());
  await scriptHolds(page, 'str(@filename[tid])');
  await scriptHolds(page, 'duration_ns');
  await verdict(page).getByText(/^Compiles/).waitFor();
  await act(page.getByRole('button', { name: /^Start capture/ }).click());
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  return { actions, id: /captures\/([0-9a-f]{16})/.exec(page.url())[1] };
}

/** The rows say who, what and how long. */
export async function readOpens(page) {
  for (const name of ['comm', 'filename', 'duration_ns'])
    await page.getByRole('columnheader', { name, exact: true }).first().waitFor();
}

/** The script is edited and the form follows; what it cannot hold is said, and the form can be had back. */
export async function editBothWays(page, { origin }) {
  await page.goto(`${origin}/new?method=build`);
  await builder(page).waitFor();
  await page.locator('#build-editor .cm-content').waitFor();
  await writeBuilt(page, '// Who runs\ntracepoint:sched:sched_switch /args.next_prio < 100/ { @runs[args.next_comm] = count(); }');
  await page.getByRole('list', { name: 'Probe sites' }).getByText('tracepoint:sched:sched_switch').waitFor();
  await until('the action', async () => await page.getByLabel('What is done with each hit').inputValue() === 'count');
  await page.getByRole('list', { name: 'Recorded values' }).getByText('args.next_comm').waitFor();
  assert.equal(await page.getByLabel('Value of condition 1').inputValue(), '100');
  await until('the tick', () => page.getByRole('checkbox', { name: 'Record next_comm' }).isChecked());
  // The form writes what it holds.
  await page.getByRole('checkbox', { name: 'Record prev_comm' }).check();
  await scriptHolds(page, '@runs[args.next_comm, args.prev_comm] = count();');
  await scriptHolds(page, '// Who runs');
  assert.match(new URL(page.url()).search, /method=build&script=/);
  // What no form holds.
  await writeBuilt(page, 'tracepoint:sched:sched_switch { $x = 1; @a[$x] = count(); }');
  await page.locator('#build-state').getByText(/cannot represent this script, line 1/).waitFor();
  await page.getByRole('button', { name: 'Back to the script of the form' }).click();
  await scriptHolds(page, '@runs[args.next_comm, args.prev_comm] = count();');
  // The link holds it all.
  await page.goto(page.url());
  await page.getByRole('list', { name: 'Recorded values' }).getByText('args.prev_comm').waitFor();
}

/** Members are unfolded by keys, and a trial shows rows and leaves nothing behind. */
export async function unfoldAndTry(page, { origin }) {
  const captures = async () => (await (await page.request.get(`${origin}/api/captures`)).json()).total;
  const before = await captures();
  await page.goto(`${origin}/new?site=tracepoint:sched:sched_switch`);
  const task = page.getByRole('button', { name: 'Members of curtask', exact: true });
  await task.focus();
  await page.keyboard.press('ArrowRight');
  const filter = page.getByRole('textbox', { name: 'Filter members' }).first();
  await filter.fill('real_parent');
  const parent = page.getByRole('button', { name: 'Members of curtask real_parent' });
  await parent.focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('checkbox', { name: 'Record curtask real_parent comm', exact: true }).check();
  await scriptHolds(page, 'curtask->real_parent->comm');
  await verdict(page).getByText(/^Compiles/).waitFor();
  await page.getByRole('button', { name: 'Try for 2 seconds' }).click();
  const trial = page.locator('#build-trial');
  await trial.getByText('The trial is deleted.').waitFor();
  await trial.getByText(/\d hits? in/).waitFor();
  await trial.getByText(/comm=/).first().waitFor();
  assert.equal(await captures(), before, 'nothing is kept');
}

/** A pattern says what it stands for, and how often a place fires is counted on demand. */
export async function countPattern(page, { origin }) {
  await page.goto(`${origin}/new?method=build`);
  await site(page).fill('sched:*');
  await page.keyboard.press('Enter');
  await page.getByRole('list', { name: 'Probe sites' }).getByText(/^\d+ probe sites/).waitFor();
  await page.getByRole('button', { name: /^Remove tracepoint:sched:/ }).click();
  await site(page).fill('sched_switch');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^How often\? Count hits of tracepoint:sched:sched_switch/ }).click();
  await page.getByText(/^[\d,]+ hits? in \d+ ms, [\d,]+ per second$/).waitFor();
}

/** Two probes in one script: each is filled by itself, both are written, and a script with both opens as both. */
export async function buildTwo(page, { origin }) {
  await page.goto(`${origin}/new?site=tracepoint:syscalls:sys_enter_openat`);
  await page.getByRole('checkbox', { name: 'Record filename' }).check();
  await page.getByRole('checkbox', { name: 'Duration' }).check();
  await scriptHolds(page, '@began[tid] = nsecs;');
  const probes = page.getByRole('group', { name: 'Probes of the script' });
  await probes.getByRole('button', { name: 'Add another probe' }).click();
  await page.locator('#build-state').getByText('Probe 2: Choose a probe site.').waitFor();
  await until('the field for a place', () => site(page).evaluate((element) => element.matches(':focus')));
  await site(page).fill('sched_wakeup');
  await page.getByRole('option', { name: /^sched:sched_wakeup\b/ }).first().click();
  await page.getByRole('checkbox', { name: 'Record prio' }).check();
  await page.getByRole('checkbox', { name: 'Duration' }).check();
  await scriptHolds(page, '@began_2[args.pid] = nsecs;');
  await scriptHolds(page, '@filename[tid] = args.filename;');
  await verdict(page).getByText(/^Compiles: \d+ programs at \d+ probe sites/).waitFor();
  await probes.getByRole('button', { name: /^Probe 1 tracepoint:syscalls:sys_enter_openat/ }).click();
  await page.getByRole('list', { name: 'Recorded values' }).getByText('args.filename').waitFor();
  assert.equal(await page.getByRole('list', { name: 'Recorded values' }).getByText('args.prio').count(), 0);
  // The link holds both.
  await page.goto(page.url());
  await probes.getByRole('button', { name: /^Probe 2 tracepoint:sched:sched_wakeup/ }).click();
  await page.getByRole('list', { name: 'Recorded values' }).getByText('args.prio').waitFor();
  await probes.getByRole('button', { name: 'Remove probe 2' }).click();
  await until('the script without it', async () => !(await scriptText(page)).includes('sched_wakeup'));
  await scriptHolds(page, 'args.filename');
}
