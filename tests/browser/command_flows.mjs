// Commands that people know from other tools: pasted into the box on top, and told of captures and forms.

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';

import { until } from '../lib/server.mjs';

const sameAs = (page) => page.locator('.same-as');
const listed = (page) => sameAs(page).locator('.same-command pre').allInnerTexts();

/** Of a stored capture commands are told that ask the same, each copied with a key. */
export async function readSameCommands(page, link) {
  await page.goto(`${link}?v=3&tab=info`);
  const summary = sameAs(page).locator('summary');
  await summary.waitFor();
  await summary.press('Enter');
  await until('an open list', async () => sameAs(page).evaluate(({ open }) => open));
  const commands = await until('commands', async () => { const all = await listed(page); return all.length > 1 && all; });
  assert.ok(commands.some((text) => text.startsWith('bathyscope run ')), `${commands}`);
  await sameAs(page).getByText('It asks for exactly the same.').first().waitFor();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await sameAs(page).getByRole('button', { name: /^Copy the command of/ }).first().press('Enter');
  await page.getByText('Copied the command.').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), commands[0]);
}

/** The commands of a form follow what is filled in, and say when it is not whole. */
export async function followSameCommands(page, origin) {
  await page.goto(`${origin}/new?command=${encodeURIComponent('perf record -F 99 -g -p 1201 -- sleep 2')}`);
  await until('the form', async () => await page.locator('#pid').inputValue() === '1201');
  await sameAs(page).locator('summary').press('Enter');
  await until('the same command', async () => (await listed(page))[0] === 'perf record -F 99 -g -p 1201 -- sleep 2');
  await page.locator('#pid').fill('1202');
  await until('the other process', async () => (await listed(page))[0] === 'perf record -F 99 -g -p 1202 -- sleep 2');
  await page.locator('#max-events').fill('100');
  await sameAs(page).getByText('It differs in limits that it does not have: max events.').first().waitFor();
  await page.locator('#pid').fill('');
  await sameAs(page).getByText('listed as soon as the form has everything').waitFor();
}

/** Commands that are understood: what is pasted, and the tab of the form that it fills. */
const UNDERSTOOD = [
  ['cd /sys/kernel/tracing\necho 1 > events/sched/sched_switch/enable\necho 1 > tracing_on\nsleep 1\ncat trace', 'ftrace'],
  ['perf record -F 99 -g -p 1201 -- sleep 1', 'Profile'],
  ['strace -f -e trace=openat -p 1201', 'System calls'],
  ["bpftrace -e 'tracepoint:sched:sched_switch { @[comm] = count(); }'", 'Script'],
  ['opensnoop -p 1201 -d 1', 'Script'],
  ["dtrace -n 'syscall::read:entry { @[execname] = quantize(arg2); }'", 'Script'],
  ["stap -e 'probe syscall.openat { printf(\"%s %s\\n\", execname(), argstr) }'", 'Script'],
  ['sysdig proc.name=java and evt.type=openat', 'System calls'],
];

async function paste(page, text) {
  await page.evaluate((words) => navigator.clipboard.writeText(words), text);
  await page.keyboard.press('/');
  await page.keyboard.press('Control+V');
}

const offers = (page) => page.locator('#omni-list [role=option]');
const offered = (page, text) => offers(page).filter({ hasText: text }).first();

/** One of each tool is pasted, by keyboard alone: Enter opens the filled form, Ctrl+Enter starts what is asked for; gives its id. */
export async function pasteCommands(page, origin) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
  for (const [text, tab] of UNDERSTOOD) {
    await page.goto(origin);
    await paste(page, text);
    await offered(page, 'Enter opens the form, Ctrl+Enter starts').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/new\?command=/);
    await page.getByRole('tab', { name: tab, selected: true }).waitFor();
    await page.locator('#recipe pre').getByText(text.split('\n')[0]).waitFor();
  }
  await page.goto(origin);
  await paste(page, UNDERSTOOD[0][0]);
  await offered(page, 'Ctrl+Enter starts').waitFor();
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/captures\/[0-9a-f]{16}/);
  return /[0-9a-f]{16}/.exec(page.url())[0];
}

/** What is refused is told at its place with what works, and a misspelled word with what was meant. */
export async function pasteWhatIsRefused(page, origin) {
  await page.goto(origin);
  for (const [text, words] of [
    ['perf c2c record ls', 'perf mem record'],
    ['perf recrod -g ls', 'Did you mean `perf record`?'],
    ['starce -f ls', 'Did you mean `strace`?'],
  ]) {
    await paste(page, text);
    await offered(page, words).waitFor();
    await page.keyboard.press('Enter');
    assert.equal(new URL(page.url()).pathname, '/', 'it leads nowhere');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
  }
}

/** Options, events, fields and processes are completed with Tab, as a listbox that screen readers know. */
export async function completeCommands(page, origin) {
  await page.goto(origin);
  await page.keyboard.press('/');
  const box = page.getByRole('combobox', { name: /Search everything/ });
  const value = () => box.inputValue();
  const complete = async (typed, word, whole) => {
    await page.keyboard.type(typed);
    await offers(page).filter({ hasText: word }).first().waitFor();
    assert.equal(await box.getAttribute('aria-expanded'), 'true');
    await page.keyboard.press('Tab');
    await until(whole, async () => await value() === whole);
  };
  await complete('perf record --call', '--call-graph', 'perf record --call-graph ');
  await complete('fp -e sched:sched_swi', 'sched:sched_switch', 'perf record --call-graph fp -e sched:sched_switch ');
  await complete("--filter 'next_p", 'next_pid', "perf record --call-graph fp -e sched:sched_switch --filter 'next_pid");
  await complete(" > 1' --pi", '--pid', "perf record --call-graph fp -e sched:sched_switch --filter 'next_pid > 1' --pid ");
  // The second one, by arrows.
  await page.keyboard.type('java');
  await offers(page).filter({ hasText: '1533 java' }).first().waitFor();
  await page.keyboard.press('ArrowUp');
  const active = await box.getAttribute('aria-activedescendant');
  assert.ok(active && await page.locator(`#${active}[aria-selected=true]`).count() === 1);
  await page.keyboard.press('Tab');
  await until('a process', async () => /--pid \d+ $/.test(await value()));
  await page.keyboard.press('Escape');
  assert.equal(await value(), '');
  await page.keyboard.press('Escape');
}

/** A probe is kept by paste, named in a command, changed, deleted and restored, on the page of the library. */
export async function keepProbes(page, origin) {
  await page.goto(origin);
  await paste(page, "perf probe --add 'do_sys_openat2 filename:string'");
  await offered(page, 'Enter does it').waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('Kept probe:do_sys_openat2. Nothing is in the kernel until a capture names it.').waitFor();
  await paste(page, "perf record -e 'probe:do_sys_*' -a");
  await offered(page, 'is kept in the library').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: 'ftrace', selected: true }).waitFor();
  await page.goto(`${origin}/library?q=openat2`);
  await page.getByRole('button', { name: 'probe:do_sys_openat2', exact: true }).press('Enter');
  const form = page.getByRole('form', { name: 'probe:do_sys_openat2' });
  await form.getByLabel('Text').fill('do_sys_openat2 dfd');
  await form.getByLabel('Description').fill('Which <b>files</b>?');
  await form.getByRole('button', { name: 'Save', exact: true }).press('Enter');
  await page.getByText('Saved probe:do_sys_openat2.').waitFor();
  await page.getByRole('button', { name: 'Restore version 1' }).press('Enter');
  await page.getByText('Restored version 1 as version 3.').waitFor();
  assert.equal(await form.getByLabel('Text').inputValue(), 'do_sys_openat2 filename:string');
  assert.match(page.url(), /\/library\?q=openat2&id=\d+/, 'it is in the link');
  const [download] = await Promise.all([page.waitForEvent('download'), form.getByRole('link', { name: 'Export' }).click()]);
  assert.equal(download.suggestedFilename(), 'probe.do_sys_openat2.probe');
  const [archive] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export the list' }).press('Enter')]);
  assert.equal(archive.suggestedFilename(), 'bathyscope-library.tar');
  const tar = await archive.path();
  await form.getByRole('button', { name: 'Delete' }).press('Enter');
  await page.getByText('Deleted probe:do_sys_openat2.').waitFor();
  await page.getByLabel('Files to import').setInputFiles({ name: 'library.tar', mimeType: 'application/x-tar', buffer: readFileSync(tar) });
  await page.getByText('Imported probe:do_sys_openat2.').waitFor();
  await page.getByRole('form', { name: 'probe:do_sys_openat2' }).getByRole('button', { name: 'Delete' }).press('Enter');
  // The line of the first deletion may still be there, with an *Undo* of its own.
  await page.getByRole('form', { name: 'probe:do_sys_openat2' }).waitFor({ state: 'hidden' });
  await page.getByText('Deleted probe:do_sys_openat2.').last().waitFor();
  await page.getByRole('button', { name: 'Undo' }).last().press('Enter');
  await page.getByText('Restored probe:do_sys_openat2.').waitFor();
  await paste(page, "perf probe --del 'do_sys_*'");
  await offered(page, 'Enter does it').waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('Deleted probe:do_sys_openat2.').last().waitFor();
}
