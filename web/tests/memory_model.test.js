// Memory that nothing describes: addresses, what bytes may be, and what of a form a dump is.

import { test } from "node:test";
import { deepEqual, equal } from "node:assert/strict";

import { bareText } from "../static/js/new/argument_tree.js";
import { emptyProbe, printedValue, ticked, valuesAt } from "../static/js/new/builder_model.js";
import { addressAt, bytesOf, dumpLines, fieldsAt, letterOf, sameBytes } from "../static/js/new/memory_model.js";

test("addresses are sums of a base and an offset", () => {
  for (const [expr, offset, expected] of [
    ["arg0", 0, "arg0"],
    ["arg0", 8, "arg0 + 8"],
    ["arg0 + 8", 4, "arg0 + 12"],
    ["arg0 + 8", -8, "arg0"],
    ["arg0", -16, "arg0 - 16"],
    ["arg0 - 16", 4, "arg0 - 12"],
    ['reg("di")', 4, 'reg("di") + 4'],
    ["*(uint64 *)(arg0 + 8)", 16, "*(uint64 *)(arg0 + 8) + 16"],
    ["args.p->next", 2, "args.p->next + 2"],
    ["arg0 & 0xff", 2, "(arg0 & 0xff) + 2"],
    ["arg0 * 8 + 8", 2, "(arg0 * 8 + 8) + 2"],
  ])
    equal(addressAt(String(expr), Number(offset)), expected);
});

test("bytes are offered as numbers of each size and as a text", () => {
  const bytes = bytesOf("2a000000ffffffff68656c6c6f00");
  const offered = (/** @type {number} */ at) =>
    fieldsAt("arg0", bytes, at).map(({ label, value }) => [label, value.expr]);
  deepEqual(offered(0), [
    ["uint8 42 = 0x2a", "*(uint8 *)arg0"],
    ["uint16 42 = 0x2a", "*(uint16 *)arg0"],
    ["uint32 42 = 0x2a", "*(uint32 *)arg0"],
    ["uint64 18446744069414584362 = 0xffffffff0000002a", "*(uint64 *)arg0"],
    ["int64 -4294967254 = 0xffffffff0000002a", "*(int64 *)arg0"],
    ['text "*"', "arg0"],
  ]);
  deepEqual(offered(4).slice(4, 6), [
    ["uint32 4294967295 = 0xffffffff", "*(uint32 *)(arg0 + 4)"],
    ["int32 -1 = 0xffffffff", "*(int32 *)(arg0 + 4)"],
  ]);
  const [text] = fieldsAt("arg0 + 8", bytes, 8).slice(-1);
  deepEqual(
    [text?.label, text?.bytes, text?.value],
    ['text "hello"', 5, { expr: "arg0 + 16", format: "text", late: false }],
  );
  // At the end there is less.
  deepEqual(offered(13), [["uint8 0 = 0x0", "*(uint8 *)(arg0 + 13)"]]);
  equal(fieldsAt("arg0", bytes, 0)[3]?.value.format, "hex");
});

test("a dump has lines of 16 bytes, and tells which bytes differ", () => {
  const lines = dumpLines(bytesOf("41".repeat(20)));
  deepEqual(
    lines.map(({ at, bytes }) => [at, bytes.length]),
    [
      [0, 16],
      [16, 4],
    ],
  );
  deepEqual(sameBytes([bytesOf("0102"), bytesOf("0103")]), [true, false]);
  deepEqual([letterOf(0x41), letterOf(0), letterOf(0xff)], ["A", "·", "·"]);
  deepEqual(dumpLines(bytesOf("")), []);
});

test("a value of a printf is one of the form that wrote it", () => {
  const form = (/** @type {string[]} */ exprs, /** @type {object} */ more = {}) => ({
    comment: "",
    sites: ["kprobe:x"],
    condition: "",
    values: exprs.map((expr) => ({ expr, name: "", format: /** @type {const} */ ("plain"), late: false })),
    until: null,
    kernel_stack: false,
    user_stack: false,
    action: { kind: /** @type {const} */ ("record") },
    ...more,
  });
  const counting = form(["comm"], { action: { kind: "aggregate", map: "", function: "count", of: "" } });
  const until = {
    ...form([]),
    key: [],
    end_key: [],
    started: "began",
    duration: true,
    values: form(["retval"]).values,
  };
  const forms = /** @type {import("../api.js").ProbeForm[]} */ ([
    counting,
    form(["pid", "arg0"]),
    form(["arg1"], { until }),
  ]);
  const found = (/** @type {number} */ statement, /** @type {number} */ value) => {
    const printed = printedValue(forms, { statement, value });
    return printed && [printed.number, printed.place, printed.value.expr];
  };
  deepEqual(found(0, 1), [1, "begin", "arg0"]);
  deepEqual(found(1, 0), [2, "begin", "arg1"]);
  deepEqual(found(1, 1), [2, "end", "retval"]);
  equal(found(1, 2), null);
  equal(found(2, 0), null);
});

test("parentheses around the whole of an expression are left out", () => {
  equal(bareText("((struct file *)arg0)"), "(struct file *)arg0");
  equal(bareText("(a) + (b)"), "(a) + (b)");
  equal(bareText("((a))"), "a");
  equal(bareText("arg0"), "arg0");
});

test("an address and the bytes at it are two values", () => {
  const bytes = { expr: "arg0", format: { bytes: 64 }, late: false };
  const number = { expr: "arg0", format: /** @type {const} */ ("decimal"), late: false };
  let form = ticked(ticked(emptyProbe(), "begin", bytes, true), "begin", number, true);
  deepEqual(
    valuesAt(form, "begin").map(({ format }) => format),
    [{ bytes: 64 }, "decimal"],
  );
  form = ticked(form, "begin", number, false);
  deepEqual(
    valuesAt(form, "begin").map(({ format }) => format),
    [{ bytes: 64 }],
  );
});
