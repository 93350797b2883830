import assert from "node:assert/strict";
import test from "node:test";
import { lastWord } from "../static/js/lib/form_values.js";
import { targetText } from "../static/js/lib/spec.js";
import { joinWords, splitWords } from "../static/js/lib/words.js";
import { emptyForm, formOf, specOf } from "../static/js/new/spec_form.js";

const limits = { duration_ms: 10000, max_events: null, max_bytes: 1 << 30, budget_cpu_permille: 50 };

test("a spec survives the form", () => {
  for (const spec of [
    {
      name: "x",
      sources: [{ id: "profile", method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: false } } }],
      target: "system",
      limits,
    },
    {
      name: "",
      sources: [
        {
          id: "events",
          method: {
            events: {
              probes: [
                { tracepoint: "a:b", fields: ["c"], predicate: "c == 1" },
                { tracepoint: "a:c", fields: [] },
              ],
            },
          },
        },
      ],
      target: { command: { argv: ["dd", "a b"], user: "nobody", children: false } },
      limits: { duration_ms: null, max_events: 5, max_bytes: null, budget_cpu_permille: 3 },
    },
    {
      name: "",
      sources: [{ id: "events", method: { events: { probes: [{ tracepoint: "a:b", fields: [] }] } } }],
      target: { process: { pid: 7, children: true } },
      limits: { ...limits, duration_ms: 7200000, max_bytes: 100 << 20 },
    },
    {
      name: "",
      sources: [{ id: "script", method: { script: { text: "begin { exit(); }" } } }],
      target: "system",
      limits: { ...limits, duration_ms: null },
    },
    {
      name: "",
      sources: [{ id: "script", method: { script: { text: "x" } } }],
      target: "system",
      limits: { ...limits, over_budget: "warn" },
    },
    {
      name: "",
      sources: [{ id: "script", method: { script: { text: "x" } } }],
      target: "system",
      limits: {
        ...limits,
        budgets: { rows_per_s: 500, bytes_per_s: 10 << 20, agent_cpu_permille: 25, agent_bytes: 2 ** 31 },
      },
    },
    {
      name: "",
      sources: [{ id: "script", method: { script: { text: "x" } } }],
      target: "system",
      limits: { ...limits, budgets: { bytes_per_s: 65536 } },
    },
    ...[
      { during: { argv: ["make"], of: "system" } },
      { during: { argv: ["a", "b c"], user: "nobody", of: { unit: { name: "a.service" } } } },
      { during: { argv: ["make"], of: { processes: { pids: [7, 8], children: false } } } },
      { processes: { pids: [7, 8], children: true } },
    ].map((target) => ({
      name: "",
      sources: [{ id: "profile", method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: false } } }],
      target,
      limits: { ...limits, duration_ms: target.during ? null : limits.duration_ms },
    })),
    ...[
      { cgroup: { path: "/a/b" } },
      { unit: { name: "a.service" } },
      { container: { name: "db" } },
      { user: { user: "www" } },
      { comm: { pattern: "a*" } },
    ].map((target) => ({
      name: "",
      sources: [{ id: "profile", method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: false } } }],
      target,
      limits,
    })),
    {
      name: "",
      sources: [
        {
          id: "script",
          method: { script: { text: "begin { exit(); }", file: "x.bt", params: ["1", "--a=b"], allow_unsafe: true } },
        },
      ],
      target: "system",
      limits,
    },
  ])
    assert.deepEqual(specOf(formOf(spec, joinWords), splitWords), { spec, problems: [] });
});

test("a spec of before there were sources is read, and a source keeps its own name", () => {
  const method = { script: { text: "x" } };
  const old = { name: "", method, target: "system", limits };
  const read = specOf(formOf(old, joinWords), splitWords).spec;
  assert.deepEqual(read, { name: "", sources: [{ id: "script", method }], target: "system", limits });
  const named = { ...read, sources: [{ id: "mine", method }] };
  assert.deepEqual(specOf(formOf(named, joinWords), splitWords).spec, named);
});

test("what is missing is said", () => {
  const events = { probes: [{ tracepoint: "a:b", fields: [], predicate: "" }] };
  const problems = ({ profile, ...patch }) => {
    const form = { ...emptyForm(), events, ...patch };
    Object.assign(form.profile, profile);
    return specOf(form, splitWords).problems.length;
  };
  assert.equal(problems({}), 0);
  for (const patch of [
    { events: { probes: [] } },
    { method: "profile", profile: { kernel: false, user: false } },
    { method: "profile", profile: { frequency: "0" } },
    { target: "process", pid: "x" },
    { target: "group", group: "" },
    { method: "syscalls", target: "thread", tids: "3" },
    { method: "count", target: "thread", tids: "3,3" },
    { method: "profile", target: "thread", tids: "x" },
    { target: "user", ofUser: " " },
    { target: "comm", comm: "" },
    { target: "command", argv: "" },
    { target: "command", argv: "'a" },
    { duration: "-1" },
    { budget: "0" },
    { maxEvents: "1.5" },
  ])
    assert.equal(problems(patch), 1, JSON.stringify(patch));
});

test("targets in words", () => {
  assert.equal(targetText("system", joinWords), "whole system");
  assert.equal(targetText({ process: { pid: 3, children: true } }, joinWords), "pid 3 and its children");
  assert.equal(targetText({ threads: { tids: [3, 4], children: false } }, joinWords), "threads 3, 4");
  const one = targetText({ threads: { tids: [3], children: true } }, joinWords, "sh");
  assert.equal(one, "sh (thread 3) and what they start");
  assert.equal(
    targetText({ during: { argv: ["make", "-j8"], of: { processes: { pids: [3, 4], children: false } } } }, joinWords),
    "pids 3, 4 while make -j8 runs",
  );
  assert.equal(targetText({ command: { argv: ["a b"], user: "u", children: true } }, joinWords), "'a b' as u");
});

const process = { process: { pid: 7, children: true } };

test("every method survives the form", () => {
  const count = (more) => ({ count: { groups: [], interval_ms: 1000, per: "total", ...more } });
  const syscalls = (more) => ({
    syscalls: {
      calls: [],
      outcome: "any",
      min_duration_ns: 0,
      string_bytes: 32,
      fd_paths: true,
      signals: true,
      ...more,
    },
  });
  for (const method of [
    syscalls({}),
    syscalls({
      calls: ["!%file", "read", "?statx"],
      outcome: "failed",
      min_duration_ns: 1500,
      path: "/etc/a b, c ",
      string_bytes: 0,
      fd_paths: false,
      signals: false,
    }),
    syscalls({ outcome: "succeeded", min_duration_ns: 2_000_000_000, string_bytes: 16384 }),
    syscalls({ min_duration_ns: 1_500_000 }),
    syscalls({
      filter: "fd.port=80 or not evt.type in (read, write)",
      below: { pid: 7, direct: true },
      look: { hex: "all", verbose: true, sockets: true, raw: ["%file"] },
      cpu_time: true,
      addresses: true,
      stacks: true,
      numbers: true,
      data: { read: { of: [3, 5] }, write: "all" },
    }),
    syscalls({ stacks: true }),
    syscalls({ below: { pid: 4194304, direct: false } }),
    { trace: { tracer: "function" } },
    {
      trace: {
        tracer: "function_graph",
        functions: ["vfs_*", "*:mod:ext4"],
        not_functions: ["vfs_fsync"],
        graph_roots: ["do_sys_open"],
        graph_not: ["schedule", "x"],
        max_depth: 3,
        events: [{ event: "a:b", filter: 'x == 1 && y ~ "*,"' }, { event: "a:c" }],
        dynamic: ["p:mine vfs_read a=%di", "r4:x /bin/a:0x10 $retval"],
        options: [
          ["funcgraph-proc", true],
          ["sleep-time", false],
          ["no", true],
        ],
        clock: "boot",
        buffer_kib: 4096,
        overwrite: true,
      },
    },
    { trace: { events: [{ event: "sched:sched_switch" }], clock: "mono" } },
    { trace: { dynamic: ["e:mine a.b c=$d"] } },
    count({}),
    count({
      groups: [
        ["cycles:u", "instructions"],
        ["cs"],
        ["cpu/event=0x3c,umask=0/k"],
        ["mem:0x1000/8:rw", "r1a8"],
        ["sched:sched_switch"],
      ],
      interval_ms: 100,
      per: "thread",
    }),
    count({
      groups: [["mem:0x1000/8:rw"], ["cs"]],
      interval_ms: 60000,
      per: "cpu",
      cpus: [0, 1, 2, 3, 8, 5],
      everywhere: true,
      cgroup: "/a b",
      detail: 3,
    }),
    {
      profile: {
        frequency_hz: 99,
        kernel_stacks: true,
        user_stacks: true,
        event: "page-faults:u",
        period: 1,
        call_graph: "dwarf",
        stack_bytes: 4096,
      },
    },
    {
      profile: {
        frequency_hz: 49,
        kernel_stacks: false,
        user_stacks: true,
        event: "sched:sched_switch",
        call_graph: "lbr",
      },
    },
    {
      profile: {
        frequency_hz: 99,
        kernel_stacks: true,
        user_stacks: true,
        event: "cpu/mem-loads,ldlat=30/P",
        memory: true,
      },
    },
    {
      profile: {
        frequency_hz: 99,
        kernel_stacks: true,
        user_stacks: true,
        call_graph: "dwarf",
        memory: true,
        branches: ["any_call", "u", "save_type"],
      },
    },
  ]) {
    const spec = { name: "", sources: [{ id: Object.keys(method)[0], method }], target: process, limits };
    assert.deepEqual(specOf(formOf(spec, joinWords), splitWords), { spec, problems: [] });
  }
});

test("what is missing or wrong with a method is said", () => {
  const problems = (method, patch, target = {}) => {
    const form = { ...emptyForm(), method, ...target };
    return specOf({ ...form, [method]: { ...form[method], ...patch } }, splitWords).problems;
  };
  assert.deepEqual(
    [problems("syscalls", {}), problems("count", {}), problems("trace", { tracer: "function" })],
    [[], [], []],
  );
  for (const [method, patch, expected] of [
    ["syscalls", { calls: "read, !write" }, /only before the first/],
    ["syscalls", { calls: "! " }, /leave out/],
    ["syscalls", { path: "/".repeat(129) }, /128 bytes/],
    ["syscalls", { minDuration: "-1" }, /least duration/],
    ["syscalls", { below: "0" }, /descend from/],
    ["syscalls", { stringBytes: "" }, /whole number from 0 to 16384/],
    ["trace", {}, /tracer, add an event/],
    ["trace", { functions: "vfs_*", dynamic: "p:a b" }, /Functions need a tracer/],
    ["trace", { tracer: "function_graph", maxDepth: "0" }, /depth/],
    ["trace", { tracer: "function", bufferKib: "1" }, /buffer/],
    ["count", { interval: "0.001" }, /from 0.01 to 3600/],
    ["count", { per: "thread" }, /process or a command/],
    ["count", { cpus: "0-" }, /0-3,8/],
    ["count", { cpus: "3-1" }, /3-1/],
    ["count", { cpus: "0-999999" }, /0-999999/],
    ["count", { events: "{a,b" }, /group/],
    ["count", { events: "{a}:u" }, /modifiers/],
    ["count", { events: "a,{}" }, /empty/],
  ]) {
    const found = problems(method, patch);
    assert.equal(found.length, 1, JSON.stringify(patch));
    assert.match(found[0], expected);
  }
  const some = { target: "process", pid: "7" };
  assert.match(problems("count", { cgroup: "/a" }, some).join(), /whole CPUs/);
  assert.deepEqual(problems("count", { cgroup: "/a", everywhere: true }, some), []);
  for (const patch of [
    { period: "5" },
    { callGraph: "dwarf", user: false },
    { event: "cs", period: "0" },
    { branches: "any, some" },
    { branches: "any", callGraph: "lbr" },
  ]) {
    assert.equal(problems("profile", patch).length, 1, JSON.stringify(patch));
  }
});

test("what only the graph tracer has is left out for others", () => {
  const form = emptyForm();
  const trace = { ...form.trace, tracer: "function", graphRoots: "a", maxDepth: "x" };
  assert.deepEqual(specOf({ ...form, method: "trace", trace }, splitWords), {
    spec: {
      name: "",
      sources: [{ id: "trace", method: { trace: { tracer: "function" } } }],
      target: "system",
      limits: { ...limits },
    },
    problems: [],
  });
});

test("the last word of a list is what is being written", () => {
  for (const [text, before, word] of [
    ["", "", ""],
    ["op", "", "op"],
    ["!op", "!", "op"],
    ["read, %f", "read, ", "%f"],
    ["{cyc", "{", "cyc"],
    ["a, ", "a, ", ""],
    ["a && pre", "a && ", "pre"],
  ]) {
    assert.deepEqual(lastWord(text), { before, word }, text);
  }
});

test("what the form does not show of a profile stays", () => {
  const profile = {
    frequency_hz: 99,
    kernel_stacks: true,
    user_stacks: true,
    event: "page-faults",
    period: 1,
    call_graph: "dwarf",
  };
  const form = formOf(
    { name: "", sources: [{ id: "profile", method: { profile } }], target: "system", limits: { duration_ms: 1000 } },
    (words) => words.join(" "),
  );
  assert.deepEqual(specOf(form, (text) => ({ words: text.split(" "), problem: "" })).spec.sources, [
    { id: "profile", method: { profile } },
  ]);
});
