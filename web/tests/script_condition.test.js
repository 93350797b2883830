import assert from "node:assert/strict";
import test from "node:test";
import { scriptCondition, scriptRows, scriptTest } from "../static/js/new/script_condition.js";

const isText = (field) => /comm|str\(/.test(field);

test("rows become an expression and the expression rows", () => {
  const cases = [
    [[], "all", ""],
    [[["pid", "==", "1"]], "all", "pid == 1"],
    [[["args.flags", "&", "0x40"]], "all", "args.flags & 0x40"],
    [[["comm", "!=", 'a"b\\c']], "all", 'comm != "a\\"b\\\\c"'],
    [[["str(args.filename)", "contains", "/etc"]], "all", 'strcontains(str(args.filename), "/etc")'],
    [[["str(args.filename)", "begins", "/é"]], "all", 'strncmp(str(args.filename), "/é", 3) == 0'],
    [
      [
        ["$duration_ns", ">", "1ms"],
        ["comm", "==", "a || b"],
      ],
      "all",
      '$duration_ns > 1ms && comm == "a || b"',
    ],
    [
      [
        ["args.reason", "==", "SKB_DROP_REASON_NO_SOCKET"],
        ["cpu", "<=", "3"],
      ],
      "any",
      "args.reason == SKB_DROP_REASON_NO_SOCKET || cpu <= 3",
    ],
    [[["args.a->b[3].c", "<", "-1"]], "all", "args.a->b[3].c < -1"],
  ];
  for (const [rows, join, text] of cases) {
    const made = rows.map(([field, op, value]) => ({ field, op, value }));
    assert.equal(scriptCondition(made, join, isText), text);
    assert.deepEqual(scriptRows(text), { join: rows.length > 1 ? join : "all", rows: made }, text);
  }
});

test("what rows cannot say stays text", () => {
  for (const text of [
    "a == 1 && b == 2 || c == 3",
    "(a == 1 || b == 2) && c == 3",
    "!a",
    "a",
    "a == b + 1",
    "a & 3 == 1",
    'comm == "open',
    "(a == 1",
    "a == 1)",
    'strncmp(comm, "ab", 3) == 0',
    "a ? b : c",
  ])
    assert.equal(scriptRows(text), null, text);
});

test("a row that is not complete is left out", () => {
  assert.equal(scriptTest({ field: "", op: "==", value: "1" }, false), "");
  assert.equal(scriptTest({ field: "pid", op: "==", value: " " }, false), "");
  assert.equal(scriptTest({ field: "comm", op: "contains", value: "" }, true), "");
  assert.equal(scriptTest({ field: "comm", op: "==", value: "" }, true), 'comm == ""');
});
