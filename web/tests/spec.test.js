import assert from "node:assert/strict";
import test from "node:test";
import { emptyForm, formOf, specOf, targetText } from "../static/js/spec.js";
import { joinWords, splitWords } from "../static/js/words.js";

const limits = { duration_ms: 10000, max_events: null, max_bytes: 1 << 30, budget_cpu_permille: 50 };

test("a spec survives the form", () => {
  for (const spec of [
    { name: "x", method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: false } }, target: "system", limits },
    {
      name: "", method: { events: { probes: [{ tracepoint: "a:b", fields: ["c"], predicate: "c == 1" }, { tracepoint: "a:c", fields: [] }] } },
      target: { command: { argv: ["dd", "a b"], user: "nobody", children: false } },
      limits: { duration_ms: null, max_events: 5, max_bytes: null, budget_cpu_permille: 3 },
    },
    { name: "", method: { events: { probes: [{ tracepoint: "a:b", fields: [] }] } }, target: { process: { pid: 7, children: true } }, limits: { ...limits, duration_ms: 7200000, max_bytes: 100 << 20 } },
    { name: "", method: { script: { text: "begin { exit(); }" } }, target: "system", limits: { ...limits, duration_ms: null } },
    { name: "", method: { script: { text: "x" } }, target: "system", limits: { ...limits, over_budget: "warn" } },
    ...[{ cgroup: { path: "/a/b" } }, { unit: { name: "a.service" } }, { container: { name: "db" } }, { user: { user: "www" } }, { comm: { pattern: "a*" } }]
      .map((target) => ({ name: "", method: { profile: { frequency_hz: 99, kernel_stacks: true, user_stacks: false } }, target, limits })),
    { name: "", method: { script: { text: "begin { exit(); }", file: "x.bt", params: ["1", "--a=b"], allow_unsafe: true } }, target: "system", limits },
  ]) assert.deepEqual(specOf(formOf(spec, joinWords), splitWords), { spec, problems: [] });
});

test("what is missing is said", () => {
  const problems = (patch) => specOf({ ...emptyForm(), probes: [{ tracepoint: "a:b", fields: [], predicate: "" }], ...patch }, splitWords).problems.length;
  assert.equal(problems({}), 0);
  for (const patch of [
    { probes: [] }, { method: "profile", kernel: false, user: false }, { method: "profile", frequency: "0" }, { target: "process", pid: "x" },
    { target: "group", group: "" }, { target: "user", ofUser: " " }, { target: "comm", comm: "" },
    { target: "command", argv: "" }, { target: "command", argv: "'a" }, { duration: "" }, { duration: "-1" }, { budget: "0" }, { maxEvents: "1.5" },
  ]) assert.equal(problems(patch), 1, JSON.stringify(patch));
});

test("targets in words", () => {
  assert.equal(targetText("system", joinWords), "whole system");
  assert.equal(targetText({ process: { pid: 3, children: true } }, joinWords), "pid 3 and its children");
  assert.equal(targetText({ command: { argv: ["a b"], user: "u", children: true } }, joinWords), "'a b' as u");
});

test("what the form does not show of a profile stays", () => {
  const profile = { frequency_hz: 99, kernel_stacks: true, user_stacks: true, event: "page-faults", period: 1, call_graph: "dwarf" };
  const form = formOf({ name: "", method: { profile }, target: "system", limits: { duration_ms: 1000 } }, (words) => words.join(" "));
  assert.deepEqual(specOf(form, (text) => ({ words: text.split(" "), problem: "" })).spec.method, { profile });
});
