import { strict as assert } from "node:assert";
import test from "node:test";

import { filledFilter, filterPlace, offers, wantsValues } from "../static/js/lib/filter_complete.js";
import { canName } from "../static/js/lib/filter_text.js";

const place = (text) => {
  const caret = text.indexOf("|") < 0 ? text.length : text.indexOf("¦");
  const { wants, prefix, column, operator } = filterPlace(text.replace("¦", ""), caret < 0 ? text.length : caret);
  return [wants, prefix, column, operator];
};

test("a place of a filter wants a column, an operator, a value, or a word between", () => {
  const cases = [
    ["", ["column", "", "", ""]],
    ["pi", ["column", "pi", "", ""]],
    ["pid ", ["operator", "", "pid", ""]],
    ["pid =", ["operator", "", "pid", ""]],
    ["comm con", ["operator", "con", "comm", ""]],
    ["pid ==", ["value", "", "pid", "=="]],
    ["pid == 4", ["value", "4", "pid", "=="]],
    ["pid == 4 ", ["join", "", "pid", "=="]],
    ['comm == "ss', ["value", "ss", "comm", "=="]],
    ['comm == "ssh"', ["join", "", "comm", "=="]],
    [String.raw`comm == "s\"`, ["value", String.raw`s\"`, "comm", "=="]],
    ["pid == 4 && (!co", ["column", "co", "", ""]],
    ["pid in", ["operator", "in", "pid", ""]],
    ["pid in ", ["open", "", "pid", "in"]],
    ["pid not in (", ["value", "", "pid", "in"]],
    ["pid in (1, ", ["value", "", "pid", "in"]],
    ["pid in (1 ", ["next", "", "pid", "in"]],
    ["pid in (1) ", ["join", "", "pid", "in"]],
    ["a between ", ["value", "", "a", "between"]],
    ["a between 1 ", ["and", "", "a", "between"]],
    ["a between 1 and ", ["value", "", "a", "to"]],
    ["a between 1 and 2 ", ["join", "", "a", "to"]],
    ["has ", ["frame", "", "", ""]],
    ["has stack frame ", ["value", "", "", "has stack frame"]],
    ['!has stack frame "tcp', ["value", "tcp", "", "has stack frame"]],
  ];
  for (const [text, expected] of cases) assert.deepEqual(place(text), expected, text);
});

const COLUMNS = [
  { name: "time", type: "u64", display: "time_ns" },
  { name: "pid", type: "u64", display: "decimal" },
  { name: "comm", type: "text", display: "text" },
  { name: "next_pid", type: "u64", display: "decimal" },
  { name: "@x y", type: "u64", display: "decimal" },
  { name: "stack", type: "stack", display: "text" },
];

test("what fits is offered, and filled in", () => {
  const labels = (text) => offers(filterPlace(text, text.length), COLUMNS, canName).map(({ label }) => label);
  assert.deepEqual(labels(""), ["time", "pid", "comm", "next_pid", "has stack frame"]);
  assert.deepEqual(labels("pi"), ["pid", "next_pid"]);
  assert.deepEqual(labels("comm c"), ["contains"]);
  assert.ok(labels("pid ").includes("between") && !labels("pid ").includes("contains"));
  assert.deepEqual(labels("pid == 4 "), ["&&", "||"]);
  assert.deepEqual(labels("pid in (4 "), [",", ")"]);
  const filled = (text, insert) => filledFilter(text, text.length, filterPlace(text, text.length), insert).text;
  assert.equal(filled("pi", "pid "), "pid ");
  assert.equal(filled('comm == "s', '"ssh"'), 'comm == "ssh"');
  assert.equal(filled("comm ==", '"ssh"'), 'comm == "ssh"');
  assert.equal(filled("pid in (4", "41"), "pid in (41");
  assert.equal(filled("pid in (4 ", ") "), "pid in (4) ");
});

test("values are offered where a value is asked for", () => {
  const wants = (text) => wantsValues(filterPlace(text, text.length));
  for (const text of ["a == ", "a in (", "a in (1, ", 'a ~ "', "has stack frame ", "a between "])
    assert.ok(wants(text), text);
  for (const text of ["a contains ", "a matches ", "a & ", "a ", "a == 1 "]) assert.ok(!wants(text), text);
});
