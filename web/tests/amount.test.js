import assert from "node:assert/strict";
import test from "node:test";
import { amount, headed, shortAmount, sign } from "../static/js/lib/amount.js";

test("numbers say what they count", () => {
  for (const [value, unit, text, short] of [
    [1, "samples", "1 sample", "1"],
    [12040, "samples", "12,040 samples", "12k"],
    [2, "hits", "2 hits", "2"],
    [7_706_387, "microseconds", "7.71 s", "7.71 s"],
    [1500, "nanoseconds", "1.5 µs", "1.5 µs"],
    [90, "seconds", "1 min 30 s", "1 min 30 s"],
    [2048, "bytes", "2 KiB", "2 KiB"],
    [5000, "values", "5,000", "5k"],
    ["9007199254740993", "values", "9,007,199,254,740,993", "9.01P"],
  ])
    assert.deepEqual([amount(value, unit), shortAmount(value, unit)], [text, short], `${value} ${unit}`);
});

test("headings have units where numbers are not only counted", () => {
  assert.deepEqual(
    [
      headed("total", "microseconds"),
      headed("count", "hits"),
      headed("Bucket", "bytes"),
      headed("x (µs)", "microseconds"),
    ],
    ["total (µs)", "count", "Bucket (bytes)", "x (µs)"],
  );
  assert.deepEqual([sign("milliseconds"), sign("values")], ["ms", ""]);
});
