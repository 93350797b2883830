import { strict as assert } from "node:assert";
import test from "node:test";

import { isCondition } from "../static/js/lib/filter_kind.js";
import {
  canName,
  parts,
  ranged,
  saidOf,
  termOf,
  toggled,
  withCondition,
  without,
} from "../static/js/lib/filter_text.js";
import { quoted, unquoted } from "../static/js/lib/quoted_text.js";

test("conditions are told from text as the server does", () => {
  const conditions = [
    "pid == 4",
    "pid in (4)",
    "pid not in(4)",
    "a between -1 and 2",
    "(comm matches 'x')",
    'has stack frame "x"',
  ];
  for (const text of conditions) assert.ok(isCondition(text), text);
  for (const text of ["", "nginx", "waits in line", "it contains water", '"a == b"', "join (x)", "has stack frames"])
    assert.ok(!isCondition(text), text);
});

test("a condition is divided where all must hold", () => {
  const cases = [
    ["a == 1 && b == 2", ["a == 1", "b == 2"]],
    ["a between 1 and 2 and b == 2", ["a between 1 and 2", "b == 2"]],
    ['t == "a && b" and (c == 1 || d == 2)', ['t == "a && b"', "(c == 1 || d == 2)"]],
    ["(a == 1 && b == 1) && c == 1", ["(a == 1 && b == 1)", "c == 1"]],
    ["a == 1 || b == 2", null],
    ["a == 1 && b == 2 or c == 3", null],
    ["(a == 1", null],
    [String.raw`t == "a\" && b" && c == 1`, [String.raw`t == "a\" && b"`, "c == 1"]],
  ];
  for (const [text, expected] of cases) assert.deepEqual(parts(text), expected, text);
});

test("parts say what values a column has, however they are written", () => {
  const cases = [
    ["pid == 0x10", { column: "pid", kind: "is", values: ["16"] }],
    ["pid!=-4", { column: "pid", kind: "not", values: ["-4"] }],
    ["comm in ('a', \"b\")", { column: "comm", kind: "is", values: ['"a', '"b'] }],
    ["!(comm in ('a'))", { column: "comm", kind: "not", values: ['"a'] }],
    ["comm not in ('a, \"b\"')", { column: "comm", kind: "not", values: ['"a, "b"'] }],
    ["((a between 1 and 0xf))", { column: "a", kind: "between", values: ["1", "15"] }],
    ['text ~ "*"', { column: "text", kind: "known", values: [] }],
    ['!(text ~ "*")', { column: "text", kind: "missing", values: [] }],
    ['!has stack frame "x"', { column: "", kind: "noframe", values: ['"x'] }],
    ["a > 1", null],
    ["a == 1 || a == 2", null],
    ["!(a between 1 and 2)", null],
  ];
  for (const [text, expected] of cases) assert.deepEqual(termOf(text), expected, text);
});

test("values are included, excluded, and neither again", () => {
  let text = toggled("", "comm", '"sh"', "only");
  assert.equal(text, 'comm == "sh"');
  text = toggled(text, "pid", "4", "never");
  text = toggled(text, "comm", '"b\\"c"', "only");
  assert.equal(text, 'comm in ("sh", "b\\"c") && pid != 4');
  text = toggled(text, "comm", '"sh"', "never");
  assert.equal(text, 'comm == "b\\"c" && comm != "sh" && pid != 4');
  text = toggled(text, "pid", "4", "never");
  text = toggled(text, "comm", "'sh'", "never");
  assert.equal(text, 'comm == "b\\"c"');
  assert.equal(toggled(text, "comm", '"b\\"c"', "only"), "");
});

test("what else a filter says stays", () => {
  assert.equal(toggled("a == 1 || b == 2", "c", "3", "only"), "(a == 1 || b == 2) && c == 3");
  assert.equal(toggled("(a == 1 || b == 2) && c == 3", "c", "3", "only"), "(a == 1 || b == 2)");
  assert.equal(toggled("c > 1 && c == 3", "c", "4", "only"), "c > 1 && c in (3, 4)");
  assert.equal(without("x == 1 && c between 1 and 2 && c in (1)", "c"), "x == 1");
});

test("rows without a value, functions and ranges", () => {
  let text = toggled('t == "a"', "t", "", "only");
  assert.equal(text, 't !~ "*"');
  text = toggled(text, "t", '"b"', "only");
  assert.equal(text, 't == "b"');
  assert.equal(toggled(text, "t", "", "never"), 't == "b" && t ~ "*"');
  text = toggled(toggled("", "", '"f"', "only"), "", '"g"', "never");
  assert.equal(text, 'has stack frame "f" && !(has stack frame "g")');
  assert.deepEqual([...saidOf(text, "").never], ['"g']);
  text = ranged("d between 1 and 2 && e == 1", "d", { low: "-5", high: "7" });
  assert.equal(text, "d between -5 and 7 && e == 1");
  assert.deepEqual(saidOf(text, "d").range, { low: "-5", high: "7" });
  assert.equal(ranged(text, "d", null), "e == 1");
});

test("texts in quotes say themselves", () => {
  for (const text of ["", 'a"b', "a\\b", "tab\tnew\nline\r", "\u202e\u200b", "größe 🙂", "'"])
    assert.equal(unquoted(quoted(text)), text);
  assert.equal(unquoted('"\\x"'), null);
});

test("columns have names that a filter can say, or not", () => {
  for (const name of ["pid", "args.pid", "args[3]", "_x9"]) assert.ok(canName(name), name);
  for (const name of ["@x", "a b", "", "and", "x.y"]) assert.ok(!canName(name), name);
});

test("conditions are added to a filter once", () => {
  for (const [one, other, both] of [
    ["", 'call == "read"', 'call == "read"'],
    ["pid == 7", "", "pid == 7"],
    ["pid == 7 || pid == 8", "tid == 9", "(pid == 7 || pid == 8) && tid == 9"],
    ["tid == 9", "tid == 9", "tid == 9"],
    ['call == "a" && pid == 7 && x > 1', 'call == "a" && pid == 7', 'call == "a" && pid == 7 && x > 1'],
    ["dd", "tid == 9", null],
  ])
    assert.equal(withCondition(one, other), both, one);
});
