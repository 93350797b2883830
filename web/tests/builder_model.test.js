import assert from "node:assert/strict";
import test from "node:test";
import {
  DURATION,
  actionWord,
  distinct,
  doing,
  emptyProbe,
  formatKey,
  formatName,
  formatOf,
  lastWord,
  movedTo,
  paired,
  ticked,
  valuesAt,
} from "../static/js/new/builder_model.js";
import { inFile, typedSite } from "../static/js/new/site_find.js";
import { countWords, rateWords } from "../static/js/new/site_list.js";
import { trialWords } from "../static/js/new/trial_view.js";
import { typeWords } from "../static/js/new/argument_tree.js";

const open = "tracepoint:syscalls:sys_enter_openat";
const exit = { site: "tracepoint:syscalls:sys_exit_openat", key: ["tid"], end_key: ["tid"], meaning: "" };
const value = { expr: "args.filename", format: "text", late: true };

test("ticks add values and take them out, in their order", () => {
  let form = ticked({ ...emptyProbe(), sites: [open] }, "begin", value, true);
  form = ticked(form, "begin", { expr: "args.flags", format: "hex", late: false }, true);
  assert.deepEqual(
    form.values.map(({ expr, format }) => [expr, format]),
    [
      ["args.filename", "text"],
      ["args.flags", "hex"],
    ],
  );
  assert.equal(ticked(form, "begin", value, false).values.length, 1);
  assert.deepEqual(ticked(form, "end", value, true), form, "without a second place nothing is recorded there");
});

test("a second place records the duration, and what asks for that goes with it", () => {
  const form = paired({ ...emptyProbe(), sites: [open] }, exit);
  assert.equal(form.until.duration, true);
  assert.deepEqual(form.until.sites, [exit.site]);
  const histogram = doing(form, "histogram", DURATION);
  assert.deepEqual(histogram.action, { kind: "aggregate", map: "duration_ns", function: "histogram", of: DURATION });
  assert.equal(histogram.until.duration, false, "it is the number, and no key");
  assert.equal(actionWord(histogram), "histogram");
  assert.deepEqual(paired(histogram, null).action, { kind: "record" });
  assert.equal(doing(histogram, "record", "").until.duration, true);
});

test("a number of the first place becomes the duration when there is a second one", () => {
  const sum = doing({ ...emptyProbe(), sites: [open] }, "sum", "args.count");
  const form = paired(sum, exit);
  assert.deepEqual(form.action, { kind: "aggregate", map: "duration_ns", function: "sum", of: DURATION });
  assert.equal(form.until.duration, false);
  assert.equal(paired(doing({ ...emptyProbe(), sites: [open] }, "count", ""), exit).until.duration, false);
});

test("another place begins anew, another of several does not", () => {
  const form = ticked({ ...emptyProbe(), sites: [open], condition: "pid == 1" }, "begin", value, true);
  assert.equal(movedTo(form, [open, "tracepoint:syscalls:sys_enter_open"]).values.length, 1);
  const moved = movedTo(paired(form, exit), ["tracepoint:sched:sched_switch"]);
  assert.deepEqual([moved.values, moved.until, moved.condition], [[], null, ""]);
  assert.deepEqual(valuesAt(moved, "end"), []);
});

test("actions are told by their words", () => {
  const form = { ...emptyProbe(), sites: [open] };
  const stacks = doing(form, "stacks", "");
  assert.deepEqual([stacks.kernel_stack, actionWord(stacks)], [true, "stacks"]);
  assert.equal(actionWord(doing(form, "linear", "args.ret")), "linear");
  const print = doing(ticked(form, "begin", value, true), "print", "");
  assert.deepEqual(print.action, { kind: "print", format: "filename %s\n" });
  const clash = ticked(paired(form, exit), "begin", { expr: "args.count", format: "plain", late: false }, true);
  assert.equal(doing(clash, "count", "").action.map, "count_count", "no two maps have one name");
});

test("formats and names", () => {
  assert.equal(formatName("kernel_symbol"), "kernel function");
  assert.equal(formatName({ bytes: 64 }), "64 bytes");
  assert.deepEqual(formatOf(formatKey({ bytes: 64 })), { bytes: 64 });
  assert.equal(formatOf("hex"), "hex");
  assert.deepEqual(formatOf(formatKey({ names: "open" })), { names: "open" });
  assert.equal(formatName({ names: "open" }), "by name");
  assert.equal(lastWord("args.file->f_path.dentry->d_name.name"), "name");
  assert.equal(lastWord("args.addr[3]"), "addr");
});

test("what is typed is a place, a pattern or words to look for", () => {
  assert.equal(typedSite("interval:s:2", ""), "interval:s:2");
  assert.equal(typedSite("vfs_*", ""), "kprobe:vfs_*");
  assert.equal(typedSite("sched:*", ""), "tracepoint:sched:*");
  assert.equal(typedSite("read*", "/bin/bash"), "uprobe:/bin/bash:read*");
  for (const words of ["open file", "openat", "", "sched:sched_switch"]) assert.equal(typedSite(words, ""), "", words);
  assert.deepEqual(inFile("/bin/bash:read"), { file: "/bin/bash", query: "read" });
  assert.equal(inFile("bash:read"), null);
});

test("what is known is told in words", () => {
  assert.equal(rateWords(0, 2e8), "no hits in 200 ms");
  assert.equal(rateWords(1500, 2e8), "1,500 hits in 200 ms, 7,500 per second");
  assert.equal(countWords({ count: null, left_out_count: 0 }), "");
  assert.equal(countWords({ count: 1, left_out_count: 0 }), "1 probe site");
  assert.equal(countWords({ count: 71, left_out_count: 3 }), "71 probe sites; 3 left out");
  const probe = { hits: 1000, filtered: 10, map_full: 0, ns_per_hit: 500 };
  assert.deepEqual(trialWords({ probes: [probe], duration_ns: 2e9, lost: 2, reason: "" }), [
    "1,000 hits in 2 s, 500 per second; 10 did not match the condition or the target.",
    "Cost: 500 ns per hit, 0.025 % of one CPU.",
    "2 records lost.",
  ]);
  assert.deepEqual(
    trialWords({ probes: [{ ...probe, ns_per_hit: null, filtered: 0 }], duration_ns: 2e9, lost: 0, reason: "x" }),
    ["1,000 hits in 2 s, 500 per second.", "Cost: not measured; the trial was too short.", "It ended early: x."],
  );
  assert.equal(
    typeWords({ type: "unsigned int", bytes: 4, bits: 3, bit_offset: 129, note: "in a union" }),
    "unsigned int · 3 bits · bit 129 · in a union",
  );
  assert.equal(typeWords({ type: "u64", bytes: 8, bits: null, bit_offset: 64, note: "" }), "u64 · 8 B · at 8");
});

test("maps of several probes of a script have names of their own", () => {
  const first = paired({ ...emptyProbe(), sites: [open] }, exit);
  const second = distinct(paired({ ...emptyProbe(), sites: ["tracepoint:a:b"] }, exit), [first]);
  assert.equal(second.until.started, "began_2");
  assert.equal(distinct(second, [first]).until.started, "began_2", "what differs stays");
  const counts = doing({ ...emptyProbe(), sites: [open] }, "count", "");
  assert.equal(distinct(counts, [first, counts]).action.map, "count_2");
  assert.deepEqual(distinct(counts, [first]), counts);
});
