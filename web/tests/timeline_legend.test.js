import assert from "node:assert/strict";
import test from "node:test";
import { namesByRows } from "../static/js/view/timeline/timeline_legend.js";

test("names by rows", () => {
  const track = (bins, counts, name) => ({
    bins: Uint32Array.from(bins),
    counts: Uint32Array.from(counts),
    name: Uint32Array.from(name),
  });
  const data = {
    start: 0,
    end: 100,
    width: 10,
    names: ["a", "b", "never", "c"],
    tracks: [track([0, 4], [1, 5], [0, 1]), track([5, 9], [2, 9], [0, 3]), track([], [], [])],
  };
  assert.deepEqual(namesByRows(data), [
    ["c", 9],
    ["b", 5],
    ["a", 3],
  ]);
  // Of a window: the bins that it touches.
  assert.deepEqual(namesByRows(data, { start: 40, end: 60 }), [
    ["b", 5],
    ["a", 2],
  ]);
  assert.deepEqual(namesByRows(data, { start: 50, end: 90 }), [["a", 2]]);
  assert.deepEqual(namesByRows(data, { start: 60, end: 80 }), []);
});
