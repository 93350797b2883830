// The rows of docs/commands.md by the mouse: the form that clicks and single words fill asks for what the pasted command asks
// for, the catalogue and the pages are where the command leads, and what is kept by name is what the command keeps. And by the
// API: what the command is understood as is taken by the route that the row names.

import { strict as assert } from 'node:assert';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { formOf, specOf } from '../../web/static/js/new/spec_form.js';
import { joinWords, splitWords } from '../../web/static/js/lib/words.js';
import { ROOT, until } from '../lib/server.mjs';

const IS_LONG = process.env.BATHYSCOPE_TESTS_LONG === '1';
/** What the simulated host does not have, and what stands for it there. */
const HERE = [['4221', '1533'], ['kmem:kmalloc', 'sched:sched_switch'], ['perf probe -x /bin/bash -', 'perf probe -x /usr/bin/webserver -']];
const here = (text) => HERE.reduce((done, [from, to]) => done.replaceAll(from, to), text);

/** The rows of the table: which case, the text that is pasted, and what it gives. */
export function rowsOfTable() {
  const lines = readFileSync(join(ROOT, 'docs/commands.md'), 'utf8').split('\n');
  const rows = lines.filter((line) => /^\| [A-Z]\d/.test(line));
  return rows.map((line) => {
    const cells = line.replaceAll('\\|', '\0').split('|').map((cell) => cell.trim().replaceAll('\0', '|'));
    const text = cells[2].split('<br>').map((code) => code.replace(/^`|`$/g, '').trim()).join('\n');
    return { id: cells[1], text, gives: cells[3] };
  });
}

// What a person does, one thing each.

const field = (page, label) => page.getByLabel(label, { exact: true }).and(page.locator(':visible')).first();

/** Clicks into a field, where what is typed then replaces what is there. */
async function enter(page, label) {
  await field(page, label).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
}

/** Types into a field, and leaves it. */
const type = (label, text) => async (page) => {
  await enter(page, label);
  await page.keyboard.insertText(here(text));
  // As a click beside it does; its suggestions are taken away.
  await field(page, label).blur();
};

/** Types a part of a name and clicks on a suggestion. */
const pick = (label, typed, option) => async (page) => {
  await enter(page, label);
  await page.keyboard.type(here(typed));
  await page.getByRole('option', { name: option }).first().click();
};

const tick = (name, is = true) => (page) => page.getByRole('checkbox', { name }).setChecked(is);
const choose = (name) => (page) => page.getByRole('radio', { name, exact: true }).check();
const select = (label, option) => (page) => page.getByLabel(label, { exact: true }).selectOption({ label: option });
const unfold = (name) => (page) => page.locator('details:visible > summary', { hasText: new RegExp(`^${name}$`) }).first().click();

const endless = type('After', '');
const seconds = (count) => type('After', String(count));
const system = choose('Whole system');
const during = (command) => [tick('for as long as a command runs'), type('Command with arguments', command), endless];
const command = (words, children) =>
  [choose('A command'), type('Command with arguments', words), tick('and the processes that it starts', children), endless];
const oneProcess = (children) => [choose('One process'), type('Process', '4221'), tick('and the processes that it starts', children)];

/** To a tab of the form. */
const form = (tab) => async (page) => {
  await page.getByRole('tab', { name: tab, exact: true }).click();
  await page.getByRole('tabpanel', { name: tab, exact: true }).waitFor();
};

/** A probe of one's own, put together by the fields below *Build a probe*. */
const probe = ({ file, func, at, offset, more }) => async (page) => {
  await unfold('Build a probe')(page);
  if (file) await type('In', file)(page);
  await type('Function', func)(page);
  if (at) await select('Where', at)(page);
  if (offset) await type('Bytes from its start', offset)(page);
  if (more) await type('More arguments', more)(page);
  await page.getByRole('button', { name: 'Add this probe' }).click();
};

/** A tool of the shelf: from the page of tools to its form. */
const tool = (name, ...fields) => [
  async (page) => {
    await page.getByRole('link', { name: 'Tools', exact: true }).first().click();
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('region', { name: 'Tool' }).getByRole('heading').filter({ hasText: name }).waitFor();
  },
  ...fields,
];
/** What strace shows: signals too, and numbers of descriptors. */
const strace = [unfold('More'), tick(/^signals and ends/), tick(/^show the file behind/, false)];
const graph = pick('Tracer', 'function_g', /^function_graph/);

/** A way that is another row's with other words: gone only in `tests/run long`. */
const again = (...steps) => Object.assign(steps, { isAgain: true });

/** By the text that is pasted: the steps that fill the form. */
const FORMS = new Map(Object.entries({
  'echo do_sys_open > set_graph_function': [
    form('ftrace'), graph, type('Graph begins at', 'do_sys_open'), unfold('More'), type('Options', 'funcgraph-proc'), system, ...during('ls'),
  ],
  'trace-cmd record -p function_graph -g do_sys_open -O funcgraph-proc ls': again(form('ftrace'), graph, type('Graph begins at', 'do_sys_open'), unfold('More'), type('Options', 'funcgraph-proc'), system, ...during('ls')),
  'trace-cmd record -p function -e sched_switch ls': [
    form('ftrace'), type('Tracer', 'function'), pick('Events', 'sched_sw', 'sched:sched_switch'), system, ...during('ls'),
  ],
  'trace-cmd record -p function_graph -e irq_handler_entry -l do_IRQ sleep 10': [
    form('ftrace'), graph, type('Functions', 'do_IRQ'), pick('Events', 'irq_handler_en', 'irq:irq_handler_entry'), system, seconds(10),
  ],
  'trace-cmd record -p function_graph ls /bin': again(form('ftrace'), graph, system, ...during('ls /bin')),
  "echo 'p:zfree_entry /bin/zsh:0x46420 %ip %ax' > /sys/kernel/tracing/uprobe_events": again(form('ftrace'),
    type('Own probes', 'p:zfree_entry /bin/zsh:0x46420 %ip %ax\nr:zfree_exit /bin/zsh:0x46420 %ip %ax'), system, endless),
  'cd /sys/kernel/tracing': [form('ftrace'), type('Own probes', 'p vfs_read+0x10 %di +0x3c(%di):u32'), system, endless],
  "perf probe --add 'vfs_read+1'": [
    form('ftrace'), probe({ func: 'vfs_read', at: 'within it', offset: '1' }), system, seconds(1),
  ],
  'perf record -F 99 -p 4221 -g -- sleep 60': [form('Profile'), ...oneProcess(true), seconds(60)],
  'perf record -F 99 -a -g -- sleep 1': again(form('Profile'), system, seconds(1)),
  'perf top': [form('Profile'), system, endless],
  'perf probe --add do_sys_open': again(form('ftrace'), probe({ func: 'do_sys_open' }), system, seconds(10)),
  "perf probe --add 'do_sys_open filename:string'": again(form('ftrace'), probe({ func: 'do_sys_open', more: 'filename:string' }), system, ...during('ls')),
  "perf probe -x /bin/bash 'readline%return +0($retval):string'": [
    form('ftrace'), probe({ file: '/bin/bash', func: 'readline', at: 'where it returns', more: '+0($retval):string' }), system, endless,
  ],
  'perf probe --exec=/lib/x86_64-linux-gnu/libc.so.6 --add malloc\nperf stat -a -e probe_libc:malloc -I 10000': [
    form('Counts'), type('Read every', '10'), unfold('More'),
    type('Own probes', "perf probe -x /lib/x86_64-linux-gnu/libc.so.6 'malloc'"), system, endless,
  ],
  'perf probe --exec=/lib/x86_64-linux-gnu/libc.so.6 --add malloc\nperf record -e probe_libc:malloc -a': again(form('ftrace'), probe({ file: '/lib/x86_64-linux-gnu/libc.so.6', func: 'malloc' }), system, endless),
  'perf stat -C 10 -- sleep 5': [form('Counts'), unfold('More'), type('CPUs', '10'), system, seconds(5)],
  'perf stat -ddd ./noploop': [form('Counts'), unfold('More'), select('Caches and TLBs', 'most events'), ...command('./noploop', true)],
  'perf stat -a -d': again(form('Counts'), unfold('More'), select('Caches and TLBs', 'a few events'), system, endless),
  'perf stat -a -e kmem:kmalloc -I 1000': [form('Counts'), type('Events', 'kmem:kmalloc'), system, endless],
  'perf stat -a -e probe:clear_huge_page -I 10000': again(form('Counts'), type('Read every', '10'), unfold('More'), type('Own probes', 'clear_huge_page'), system, endless),
  'perf trace ls': [
    form('System calls'), unfold('More'), tick(/^signals and ends/), ...command('ls', true),
  ],
  'perf trace -e kmem:kmalloc': again(form('ftrace'), pick('Events', 'kmem:kmalloc', here('kmem:kmalloc')), system, endless),
  'perf trace -e probe:tcp_sendmsg -a': again(form('ftrace'), probe({ func: 'tcp_sendmsg' }), system, endless),
  'perf record --no-buffering -e probe:do_sys_open -o - -a | perf script -i -': again(form('ftrace'), probe({ func: 'do_sys_open' }), system, endless),
  'strace ls': again(form('System calls'), ...strace, ...command('ls', false)),
  'strace -T -ttt -p 4221': [form('System calls'), ...strace, ...oneProcess(false), endless],
  'strace -e accept dd if=/dev/zero of=/dev/null bs=1 count=500k': again(form('System calls'), type('Calls', 'accept'), ...strace, ...command('dd if=/dev/zero of=/dev/null bs=1 count=500k', false)),
  'sysdig proc.name=redis-server and evt.type=open': [
    form('System calls'), type('Calls', 'open'), choose('Threads by name'), type('Thread name', 'redis-server'), endless,
  ],
  'opensnoop -p 4221 -T -n x -x': [...tool('opensnoop', tick(/--failed/), type(/--name/, 'x')), ...oneProcess(false), endless],
  'biolatency -D 5': [...tool('biolatency', tick(/--disks/)), system, endless],
  "funccount 'vfs_*'": again(...tool('kfunccount', type(/\$1/, 'vfs_*')), system, endless),
  'cachestat 1': again(...tool('cachestat'), system, endless),
  'ext4slower 1': [...tool('ext4slower', type(/--ms/, '1')), system, endless],
  biotop: again(...tool('biotop'), system, endless),
  filelife: again(...tool('filelife'), system, endless),
  dcstat: again(...tool('dcstat'), system, endless),
  vfsstat: again(...tool('vfsstat'), system, endless),
  klockstat: again(...tool('klockstat'), system, endless),
  offwaketime: again(...tool('offwaketime'), system, endless),
  'perf lock contention -a -b sleep 5': again(...tool('klockstat'), system, seconds(5)),
}));

const wanted = ({ sources, target, limits }) => ({ sources: sources.map(({ method }) => method), target, limits });

/** What the form asks for now, as it is sent for its commands. */
async function asked(page, what) {
  const list = page.locator('.same-as');
  const sent = page.waitForRequest((request) => request.url().endsWith('/api/commands/same'));
  const refused = list.getByText('listed as soon as').waitFor().then(async () => {
    throw new Error(`${what}: ${await list.innerText()}`);
  });
  refused.catch(() => {});
  await list.locator('summary').click();
  return wanted((await Promise.race([sent, refused])).postDataJSON());
}

const explained = async (page, origin, text) => {
  const answer = await page.request.post(`${origin}/api/commands/explain`, { data: { text: here(text) }, headers: { origin } });
  assert.equal(answer.status(), 200, `${text}: ${await answer.text()}`);
  return answer.json();
};

async function openStart(page, origin) {
  await page.goto(origin);
  await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
}

/** Each form that is filled by the mouse asks for what the form does that the pasted command fills. */
export async function fillForms(page, origin) {
  const stepsOf = (text) => FORMS.get(text) ?? FORMS.get(text.split('\n')[0]);
  const rows = rowsOfTable().filter(({ text }) => stepsOf(text));
  assert.equal(rows.length, FORMS.size, 'each way is one of a row');
  for (const { id, text } of rows.filter((row) => IS_LONG || !stepsOf(row.text).isAgain)) {
    const { capture } = await explained(page, origin, text);
    const pasted = specOf(formOf(capture.spec, joinWords), splitWords);
    assert.deepEqual(pasted.problems, [], text);
    await page.goto(`${origin}/new`);
    for (const step of stepsOf(text)) await step(page);
    assert.deepEqual(await asked(page, `${id} ${text}`), wanted(pasted.spec), `${id} ${text}`);
  }
}

/** A probe of the builder: from the start page to a place that is typed. */
const built = (...sites) => [
  async (page) => {
    await page.getByRole('link', { name: 'Build a probe' }).click();
    for (const one of sites) {
      await page.getByRole('combobox', { name: 'Probe site', exact: true }).fill(one);
      await page.keyboard.press('Enter');
      await page.getByRole('list', { name: 'Probe sites' }).getByText(one).waitFor();
    }
  },
];
const builtAs = (name, site) => [
  async (page) => {
    await page.getByRole('link', { name: 'Tools', exact: true }).first().click();
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('combobox', { name: 'Probe site', exact: true }).fill(site);
    await page.keyboard.press('Enter');
    await page.getByRole('list', { name: 'Probe sites' }).getByText(site).waitFor();
  },
];
const record = (expr) => async (page) => {
  await page.getByLabel('Another expression').fill(expr);
  await page.getByRole('button', { name: 'Add expression' }).click();
};
const condition = (expr, value) => async (page) => {
  const rows = page.locator('#build-condition');
  await rows.getByRole('button', { name: /^Add a condition/ }).click();
  await rows.getByLabel('Value that condition 1 compares').selectOption(expr);
  await rows.getByLabel('Value of condition 1').fill(value);
};
const action = (name) => (page) => page.getByLabel('What is done with each hit').selectOption({ label: name });

/** By the text that is pasted: the steps in the builder, and what its script has then as that of the command. */
const BUILT = new Map(Object.entries({
  "bpftrace -e 'kprobe:do_sys_open { printf(\"%-6d %-16s %s\\n\", pid, comm, str(arg1)); }'": {
    steps: [...built('kprobe:do_sys_open'), record('str(arg1)')], has: [/^kprobe:do_sys_open/m, /str\(arg1\)/],
  },
  "trace 'do_sys_open \"%s\", arg2'": {
    isAgain: true,
    steps: [...builtAs('trace', 'kprobe:do_sys_open'), record('str(arg1)')], has: [/^kprobe:do_sys_open/m, /str\(arg1\)/],
  },
  "argdist -H 'r::vfs_read()'": {
    steps: [...builtAs('argdist', 'kretprobe:vfs_read'), type('The number that is aggregated', 'retval')],
    has: [/^kretprobe:vfs_read/m, /= hist\(retval\)/],
  },
  'stackcount -p 4221 vfs_fsync': {
    isAgain: true,
    steps: [...builtAs('stackcount', 'kprobe:vfs_fsync'), ...oneProcess(false)], has: [/^kprobe:vfs_fsync/m, /\[kstack\] = count\(\)/],
  },
  "dtrace -n 'syscall::read:entry /execname == \"csh\"/ { @[execname] = quantize(arg2); }'": {
    steps: [
      ...built('tracepoint:syscalls:sys_enter_read'), record('comm'), action('histogram of'),
      type('The number that is aggregated', 'args.count'), condition('comm', 'csh'),
    ],
    has: [/^tracepoint:syscalls:sys_enter_read/m, /comm == "csh"/, /\[comm\] = hist\(args\.count\)/],
  },
  "dtrace -n 'fbt::malloc:entry { trace(execname); trace(arg0); }'": {
    isAgain: true,
    steps: [...built('kprobe:malloc'), record('comm'), record('arg0'), action('print with a format')], has: [/^kprobe:malloc/m, /comm, arg0/],
  },
  "stap -e 'probe syscall.open { printf(\"%s(%d) open %s\\n\", execname(), pid(), argstr) }'": {
    steps: [
      ...built('tracepoint:syscalls:sys_enter_open', 'tracepoint:syscalls:sys_enter_openat'),
      record('comm'), record('pid'), record('str(args.filename)'), action('print with a format'),
      type('Format', '%s(%d) open %s\\n'),
    ],
    has: [/^tracepoint:syscalls:sys_enter_open,/m, /printf\("%s\(%d\) open %s\\n", comm, pid, str\(args\.filename\)\)/],
  },
  "bpftrace -e 'usdt:/usr/lib/postgresql/15/bin/postgres:query__start { printf(\"%s\\n\", str(arg0)); }'": {
    isAgain: true,
    steps: [
      ...built('usdt:/usr/lib/postgresql/15/bin/postgres:query__start'), record('str(arg0)'), action('print with a format'),
      type('Format', '%s\\n'),
    ],
    has: [/^usdt:\/usr\/lib\/postgresql\/15\/bin\/postgres:query__start/m, /printf\("%s\\n", str\(arg0\)\)/],
  },
}));

/** The builder writes the script that the command asks for. */
export async function buildScripts(page, origin) {
  for (const [text, { steps, has, isAgain = false }] of BUILT) {
    if (isAgain && !IS_LONG) continue;
    await openStart(page, origin);
    for (const step of steps) await step(page);
    const script = async () => (await page.locator('#build-editor .cm-line').allTextContents()).join('\n');
    for (const words of has) {
      await until(`${text}: ${words}`, async () => words.test(await script())).catch(async (error) => {
        throw new Error(`${error.message} in\n${await script()}`);
      });
    }
  }
}

/** Clicks on a link of the rail. */
const rail = (name) => (page) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click();
const kind = (name) => (page) => page.getByRole('navigation', { name: 'Kinds' }).getByRole('button', { name }).click();
const search = (text) => async (page) => {
  await page.locator('#catalog-search').click();
  await page.keyboard.type(text);
};
const functionsOf = (file) => async (page) => {
  await kind(/^Programs and libraries/)(page);
  await page.locator('#catalog-list').getByText(file, { exact: true }).click();
  await page.getByRole('link', { name: 'List its functions' }).click();
};

/** By the text that is pasted: the clicks to the page where it leads, and what is asked for there by the API. */
const PAGES = new Map(Object.entries({
  'cat available_tracers': { steps: [rail('Catalogue'), kind(/^Tracers/)], api: '/api/catalog?kind=tracer' },
  'cat available_filter_functions': { steps: [rail('Catalogue'), kind(/^Kernel functions/)], api: '/api/catalog?kind=function' },
  'cat available_events': { steps: [rail('Catalogue'), kind(/^Tracepoints/)], api: '/api/catalog?kind=tracepoint' },
  'trace-cmd list': { steps: [rail('Catalogue')], api: '/api/catalog' },
  'perf list': { steps: [rail('Catalogue')], api: '/api/catalog' },
  'perf list sdt': { steps: [rail('Catalogue'), kind(/^USDT probes/)], api: '/api/catalog?kind=marker' },
  'cat kprobe_profile': { steps: [rail('Host')], shows: 'Dynamic probes', api: '/api/dynamic' },
  'sysctl debug.kprobes-optimization=0': { steps: [rail('Host')], shows: 'Dynamic probes', api: '/api/dynamic' },
  'echo 0 > /proc/sys/kernel/kptr_restrict': { steps: [rail('Host')], shows: 'What works here (tested)', api: '/api/host' },
  'perf probe -V do_sys_open': {
    steps: [rail('Catalogue'), kind(/^Kernel functions/), search('do_sys_open')], api: '/api/catalog?kind=function&q=do_sys_open',
  },
  'perf probe -V tcp_sendmsg': {
    steps: [rail('Catalogue'), kind(/^Kernel functions/), search('tcp_sendmsg')], api: '/api/catalog?kind=function&q=tcp_sendmsg',
  },
  'perf probe -x /bin/bash --funcs': {
    steps: [rail('Catalogue'), functionsOf('/usr/bin/webserver')], api: '/api/catalog?kind=user',
  },
  'perf probe -x /bin/bash -V readline': {
    steps: [rail('Catalogue'), functionsOf('/usr/bin/webserver'), search('readline')], api: '/api/catalog?kind=user&q=readline',
  },
  'perf probe --list': {
    steps: [rail('Library'), (page) => page.getByLabel('Kind').selectOption('probe')], api: '/api/library?kind=probe',
  },
}));

/** Clicks lead to the page that is where the command leads, and the API tells what it lists. */
export async function openPages(page, origin) {
  for (const [text, { steps, shows, api }] of PAGES) {
    const { path, parameters } = (await explained(page, origin, text)).page;
    await openStart(page, origin);
    for (const step of steps) await step(page);
    await until(`${text}: ${path} ${JSON.stringify(parameters)}`, () => {
      const url = new URL(page.url());
      return url.pathname === path
        && Object.entries(parameters).every(([name, value]) => path === '/host' || url.searchParams.get(name) === value);
    });
    if (shows) await page.getByRole('heading', { name: shows }).waitFor();
    const answer = await page.request.get(`${origin}${api}`);
    assert.equal(answer.status(), 200, `${api}: ${await answer.text()}`);
  }
}

/** What the commands of `perf probe` keep is kept, and deleted again, on the page of the library. */
export async function keepByMouse(page, origin) {
  const kept = async (definition) => {
    const { items } = await (await page.request.get(`${origin}/api/library?kind=probe`)).json();
    const all = items.map(async ({ id }) => (await page.request.get(`${origin}/api/library/${id}`)).json());
    return (await Promise.all(all)).find(({ text }) => text === definition);
  };
  let count = 0;
  for (const { text } of rowsOfTable().filter(({ gives }) => gives === 'probes')) {
    const { add, dry_run: isDry } = (await explained(page, origin, text)).probes;
    if (add.length === 0 || isDry) continue;
    const [definition] = add.map((one) => (typeof one === 'string' ? one : `-x ${one.file} ${one.typed}`));
    await openStart(page, origin);
    await rail('Library')(page);
    await page.getByRole('button', { name: 'New entry' }).click();
    const made = page.getByRole('form', { name: 'New entry' });
    await made.getByLabel('Kind').selectOption('probe');
    await made.getByLabel('Text').fill(definition);
    await made.getByRole('button', { name: 'Save', exact: true }).click();
    const { name } = await until(definition, () => kept(definition));
    await page.getByRole('form', { name, exact: true }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText(`Deleted ${name}.`).last().waitFor();
    assert.equal(await kept(definition), undefined);
    count += 1;
  }
  assert.ok(count >= 5, `${count} are kept`);
}

/** Rows of which the mouse does nothing, and those of views of stored captures: the function of another flow that goes the way. */
const ELSEWHERE = new Map(Object.entries({
  'mount -t debugfs nodev /sys/kernel/debug': null,
  'perf script -i other.data': null,
  "trace-cmd report -F 'kmalloc: bytes_req > 1000'": 'sortAndFilter',
  'perf annotate --stdio': 'walkInstructions',
  'perf report -n': 'listFunctions',
  'perf diff': 'compareStacks',
}));

/** Every row that asks for something has a way by the mouse. */
export function everyRowHasAWay() {
  const flows = readdirSync(join(ROOT, 'tests/browser')).filter((name) => name.endsWith('_flows.mjs') || name === 'flows.mjs');
  const all = flows.map((name) => readFileSync(join(ROOT, 'tests/browser', name), 'utf8')).join('\n');
  for (const flow of ELSEWHERE.values()) if (flow) assert.ok(all.includes(`export async function ${flow}(`), flow);
  const without = rowsOfTable().filter(({ text, gives }) => {
    const has = (map) => map.has(text) || map.has(text.split('\n')[0]);
    return !['refused', 'probes'].includes(gives) && ![FORMS, BUILT, PAGES, ELSEWHERE].some(has);
  });
  assert.deepEqual(without, []);
}

/** What a command is understood as is what the API takes: it is recorded, or refused in words where this host lacks something. */
export async function startByApi(page, origin) {
  const post = (path, data) => page.request.post(`${origin}${path}`, { data, headers: { origin } });
  let started = 0;
  for (const { text, gives } of rowsOfTable()) {
    if (gives !== 'capture') continue;
    const { spec } = (await explained(page, origin, text)).capture;
    const answer = await post('/api/captures', { ...spec, limits: { ...spec.limits, duration_ms: 50 } });
    const body = await answer.json();
    if (answer.status() !== 201) {
      assert.ok([400, 404, 422].includes(answer.status()) && body.error.why.length > 10, `${text}: ${JSON.stringify(body)}`);
      continue;
    }
    started += 1;
    const path = `${origin}/api/captures/${body.id}`;
    await until(`the end of ${text}`, async () => !(await (await page.request.get(path)).json()).running);
    await page.request.delete(path, { headers: { origin } });
  }
  assert.ok(started >= 12, `${started} are recorded by the simulated agent`);
}
