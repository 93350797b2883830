import assert from "node:assert/strict";
import test from "node:test";
import { namesByRows } from "../static/js/timeline_legend.js";

test("names by rows", () => {
  const track = (counts, name) => ({ counts: Uint32Array.from(counts), name: Uint32Array.from(name) });
  const data = { names: ["a", "b", "never", "c"], tracks: [track([1, 5], [0, 1]), track([2, 9], [0, 3]), track([], [])] };
  assert.deepEqual(namesByRows(data), [["c", 9], ["b", 5], ["a", 3]]);
});
