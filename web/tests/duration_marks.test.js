import { strict as assert } from "node:assert";
import { test } from "node:test";

import { durationMark, parseDuration } from "../static/js/lib/duration_marks.js";

test("marks are the kernel's", () => {
  const cases = [
    [0, ""],
    [10_000, ""],
    [10_001, "+"],
    [100_001, "!"],
    [1_000_001, "#"],
    [10_000_001, "*"],
    [100_000_001, "@"],
    [1_000_000_001, "$"],
  ];
  for (const [ns, mark] of cases) assert.equal(durationMark(ns), mark, String(ns));
});

test("lengths of time are read as people type them", () => {
  const cases = [
    ["", 0],
    ["10", 10_000],
    ["10us", 10_000],
    ["1.5 µs", 1500],
    ["1,5ms", 1_500_000],
    ["2 s", 2e9],
    ["800 ns", 800],
    ["x", null],
    ["1 h", null],
    ["-1", null],
  ];
  for (const [text, ns] of cases) assert.equal(parseDuration(text), ns, text);
});
