import assert from "node:assert/strict";
import test from "node:test";
import { counterAt, counterWords, projectCounter } from "../static/js/view/timeline/timeline_counters.js";

const list = (...values) => Float64Array.from(values);
/** Bins of 10 ns from 0 to 100; values at the bins 1, 2 and 7. */
const data = { start: 0, end: 100, width: 10 };
const track = {
  label: "cs",
  is_clock: false,
  bins: Uint32Array.of(1, 2, 7),
  values: { least: list(1000, 0, 5000), most: list(1000, 9000, 5000), last: list(1000, 2000, 5000) },
};

test("a value is of the time since the one before it", () => {
  const { least, most, last } = projectCounter(track, data, { start: 0, end: 100 }, 10);
  assert.deepEqual([...last], [NaN, 1000, 2000, 5000, 5000, 5000, 5000, 5000, NaN, NaN]);
  assert.deepEqual([least[2], most[2]], [0, 9000]);
});

test("a window within an interval shows the value that ends later", () => {
  assert.deepEqual([...projectCounter(track, data, { start: 40, end: 60 }, 4).last], [5000, 5000, 5000, 5000]);
  assert.deepEqual([...projectCounter(track, data, { start: 85, end: 95 }, 2).last], [NaN, NaN]);
});

test("several bins of a column are joined", () => {
  const { least, most, last } = projectCounter(track, data, { start: 0, end: 100 }, 1);
  assert.deepEqual([least[0], most[0], last[0]], [0, 9000, 5000]);
});

test("values have their words", () => {
  assert.equal(counterWords(12_340, {}), "12/s");
  assert.equal(counterWords(1_500, { is_clock: false }), "1.5/s");
  assert.equal(counterWords(500_000_000_000, { is_clock: true }), "0.5 CPUs");
  assert.equal(counterWords(35_400_000_000, { unit: "ns" }), "3.5 %");
  assert.equal(counterWords(3 * 1024 * 1024 * 1000, { unit: "bytes", is_gauge: true }), "3 MiB");
  assert.equal(counterWords(3 * 1024 * 1024 * 1000, { unit: "bytes" }), "3 MiB/s");
  assert.equal(counterWords(7_000, { is_gauge: true }), "7");
  assert.equal(counterAt(track, data, { start: 20, end: 30 }), "cs: 2/s, from 0/s to 9/s");
  assert.equal(counterAt(track, data, { start: 90, end: 100 }), "cs: no value");
});
