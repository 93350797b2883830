// Every spec → form → spec is the same spec, so that *Run again* asks for what was asked before.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { joinWords, splitWords } from "../static/js/lib/words.js";
import { formOf, specOf } from "../static/js/new/spec_form.js";

/** What the server makes of one of each kind with every field set; see console/src/wire/every_spec.rs. */
const SPECS = JSON.parse(readFileSync(new URL("specs.json", import.meta.url)));

/** Without the lines that the kernel was told: they are made anew for each recording. */
function asked(spec) {
  const wanted = structuredClone(spec);
  for (const method of wanted.sources.flatMap((source) => Object.values(source.method))) {
    method.dynamic = method.dynamic?.map((probe) => {
      if (typeof probe === "string") return probe;
      const { line, ...written } = probe;
      return written.file ? written : written.typed;
    });
    if (!method.dynamic) delete method.dynamic;
  }
  return wanted;
}

function survives(spec) {
  const { spec: found, problems } = specOf(formOf(spec, joinWords), splitWords);
  assert.deepEqual(found, asked(spec));
  assert.deepEqual(problems, []);
}

test("a spec of every kind with every field set survives the form", () => {
  assert.ok(SPECS.length > 10);
  for (const spec of SPECS) survives(spec);
});

/** The same numbers in each run. */
function random(seed) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const below = (n) => Math.floor(next() * n);
  return {
    below,
    one: (list) => list[below(list.length)],
    some: (list, most = 4) => Array.from({ length: below(most + 1) }, () => list[below(list.length)]),
  };
}

const WORDS = ["a", "it's", "", " ", '"', "\\", "a\\", "$x", "new\nline", "{a,b}", "'", "'a'", "ä ’", "-x", "\t"];
const COUNTED = [
  "cycles",
  "cpu/event=0x3c,umask=0/k",
  "mem:0x1000/8:rw",
  "r1a8",
  "sched:sched_switch",
  "probe_libc:malloc",
];
const PROBES = [
  "p:x vfs_read a=%di",
  "r4:x /bin/a:0x10 $retval",
  "do_sys_openat2 filename:string",
  'e:x a.b c=$d if e == "f"',
  { typed: "malloc", file: "libc" },
  { typed: "x=main%return $retval", file: "/opt/a b/c" },
  { typed: "readline b='c'", file: "bash", line: "p:a /b:0x1" },
  { typed: "f", line: "p:f f" },
];
const NUMBERS = [1, 99, 100, 1000, 1001, 4096, 1 << 20, (1 << 30) + 1, 2 ** 40 - 1];

/** A value for each field of one of the server's specs, of the same sort as what it has there. */
function varied({ below, one, some }, { name, sources: [{ id, method }], target }) {
  const kind = Object.keys(method)[0];
  const values = {
    events: () => ({
      probes: ["a:b", "c:d-e.f"].slice(below(2)).map((tracepoint) => ({
        tracepoint,
        fields: some(["x", "y"], 1),
        ...(below(2) ? { predicate: "pid == 1" } : {}),
      })),
    }),
    profile: () => ({
      ...method.profile,
      frequency_hz: 1 + below(10000),
      period: one(NUMBERS),
      kernel_stacks: true,
      user_stacks: true,
      event: one(COUNTED),
    }),
    count: () => {
      const dynamic = some(PROBES);
      const groups = some([["cs"], COUNTED.slice(0, 2), [one(COUNTED)], COUNTED]);
      return {
        groups,
        interval_ms: 10 + below(3600000 - 10),
        per: one(["total", "cpu"]),
        ...(dynamic.length ? { dynamic } : {}),
        ...(below(2) ? { delay_ms: 1 + below(3600000) } : {}),
      };
    },
    script: () => ({ text: one(WORDS.slice(2)) || "x", params: ["x", ...some(WORDS)] }),
    trace: () => ({
      ...method.trace,
      dynamic: [PROBES[0], ...some(PROBES)],
      options: [
        ["x", true],
        ...some([
          ["a", false],
          ["no", true],
          ["no", false],
        ]),
      ],
    }),
    syscalls: () => ({
      ...method.syscalls,
      calls: some(["read", "%file", "?statx"]),
      min_duration_ns: one([0, ...NUMBERS]),
      path: one(WORDS.filter(Boolean)),
      string_bytes: below(1025),
    }),
    states: () => ({ ...(below(2) ? { sleep_stacks: true } : {}), ...(below(2) ? { wake_stacks: true } : {}) }),
  };
  const targets = [
    "system",
    target,
    { process: { pid: 1 + below(4194304), children: below(2) === 0 } },
    { command: { argv: ["c", ...some(WORDS, 6)], ...(below(2) ? { user: "u" } : {}), children: below(2) === 0 } },
    { comm: { pattern: one(["a*", " b", "c d "]) } },
    ...(kind === "profile" || kind === "count"
      ? [{ threads: { tids: [1 + below(1000), 1001 + below(1000)], children: below(2) === 0 } }]
      : []),
  ];
  const limits = {
    duration_ms: one([null, 1, 999, 60000, 61001, 3600000, 7 * 24 * 3600000]),
    max_events: one([null, ...NUMBERS]),
    max_bytes: one([null, ...NUMBERS]),
    budget_cpu_permille: 1 + below(1000),
    ...(below(2) ? { over_budget: one(["warn", "detach"]) } : {}),
    ...(below(2)
      ? {
          budgets: {
            rows_per_s: 100 + below(1e6),
            agent_bytes: (64 << 20) + below(2 ** 40 - (64 << 20)),
            agent_cpu_permille: 1 + below(4000),
            bytes_per_s: 65536 + below(2 ** 39),
          },
        }
      : {}),
  };
  return { name, sources: [{ id, method: { [kind]: values[kind]() } }], target: one(targets), limits };
}

test("specs with all sorts of values survive the form", () => {
  const chance = random(16);
  const kinds = SPECS.filter(({ name, sources: [{ method }] }) => name in method);
  assert.equal(kinds.length, 7);
  for (let round = 0; round < 2000; round += 1) survives(varied(chance, chance.one(kinds)));
});
