import assert from "node:assert/strict";
import test from "node:test";
import { predicateText, rowsOf } from "../static/js/new/predicate_rows.js";

const isText = (field) => field.includes("comm");

test("rows and text say the same", () => {
  for (const [join, rows, text] of [
    ["all", [], ""],
    ["all", [{ field: "pid", op: "==", value: "0x1f" }], "pid == 0x1f"],
    ["all", [{ field: "wait_ns", op: ">", value: "1.5ms" }], "wait_ns > 1.5ms"],
    ["all", [{ field: "bytes", op: ">=", value: "4KiB" }], "bytes >= 4KiB"],
    [
      "all",
      [
        { field: "pid", op: "!=", value: "0" },
        { field: "args[0]", op: "&", value: "4" },
      ],
      "pid != 0 && args[0] & 4",
    ],
    [
      "any",
      [
        { field: "comm", op: "begins", value: "d" },
        { field: "args.comm", op: "contains", value: 'a"b\\' },
      ],
      'comm ~ "d*" || args.comm ~ "*a\\"b\\\\*"',
    ],
    [
      "all",
      [
        { field: "comm", op: "==", value: "" },
        { field: "x", op: "<", value: "-5" },
      ],
      'comm == "" && x < -5',
    ],
  ]) {
    assert.equal(predicateText(rows, join, isText), text);
    assert.deepEqual(rowsOf(text), { join, rows }, text);
  }
});

test("words for the joins are understood", () => assert.equal(rowsOf("pid == 1 or tid == 2").join, "any"));

test("what rows cannot say stays text", () => {
  for (const text of [
    "!(pid == 1)",
    "(pid == 1)",
    "pid == 1 && tid == 2 || cpu == 3",
    'comm !~ "a*"',
    "pid",
    "pid ==",
    "pid == 1 &&",
    'comm ~ "a*b"',
    'comm ~ "*"',
    "not pid == 1",
    "pid ~ 3",
    "pid == 3k",
    "pid == 1.5",
    'comm == "\\u{202e}"',
  ]) {
    assert.equal(rowsOf(text), null, text);
  }
});

test("rows that are not complete are left out", () => {
  assert.equal(
    predicateText(
      [
        { field: "", op: "==", value: "1" },
        { field: "pid", op: "==", value: " " },
        { field: "tid", op: "==", value: " 7 " },
      ],
      "all",
      isText,
    ),
    "tid == 7",
  );
});
