import assert from "node:assert/strict";
import test from "node:test";
import {
  addFound,
  foundWords,
  longInSight,
  nothingFound,
  numberOf,
  runsInSight,
  streamWords,
} from "../static/js/view/timeline/find/find_marks.js";

const answer = (parts) => ({
  start: 0,
  end: 100,
  columns: 10,
  streams: [],
  marked: [],
  counts: [],
  tracks: [],
  cpus: [],
  left_out: 0,
  long_left_out: 0,
  looked_at: 50,
  rows: 100,
  next: null,
  ...parts,
});
const nameOf = (stream) => `stream ${stream}`;

test("parts of a search add up", () => {
  const first = answer({
    streams: [{ stream: 0, name: "calls", rows: 3 }],
    marked: [2, 5],
    counts: [1, 2],
    tracks: [{ key: "tid:7", of_stream: null, runs: [2, 1, 5, 1], long: [20, 45] }],
    cpus: [{ cpu: 1, runs: [2, 1] }],
    next: 4,
  });
  const found = nothingFound(first);
  addFound(found, first, nameOf);
  assert.equal(foundWords(found, null), "3 so far, 50 % of the rows looked at");
  const second = answer({
    streams: [
      { stream: 0, name: "calls", rows: 1 },
      { stream: 1, name: "disk", rows: 4 },
    ],
    marked: [5, 9],
    counts: [1, 4],
    tracks: [
      { key: "tid:7", of_stream: null, runs: [5, 1], long: [50, 70] },
      { key: "8:0", of_stream: 1, runs: [8, 2], long: [] },
    ],
    cpus: [{ cpu: 1, runs: [5, 1] }],
    left_out: 2,
    long_left_out: 3,
  });
  addFound(found, second, nameOf);
  assert.deepEqual([...found.counts], [0, 0, 1, 0, 0, 3, 0, 0, 0, 4]);
  assert.deepEqual([...found.tracks.keys()], ["tid:7", "stream 1:8:0"]);
  assert.deepEqual([...found.tracks.get("tid:7")], [0, 0, 1, 0, 0, 1, 0, 0, 0, 0]);
  assert.deepEqual([...found.cpus.get("cpu:1")], [0, 0, 1, 0, 0, 1, 0, 0, 0, 0]);
  assert.deepEqual([...found.long], [["tid:7", [20, 45, 50, 70]]]);
  assert.equal(streamWords(found), "calls 4, disk 4, 3 of them marked where they begin only");
  assert.equal(foundWords(found, null), "8 found");
  const row = { column: 5, before: 1 };
  assert.equal(numberOf(found, row), 3);
  assert.equal(foundWords(found, row), "3 of 8");
  assert.equal(foundWords(found, { column: 5, before: null }), "8 found");
});

test("what is not found is said", () => {
  const nothing = nothingFound(answer({}));
  addFound(nothing, answer({}), nameOf);
  assert.equal(foundWords(nothing, null), "Nothing found");
  assert.equal(foundWords(null, null), "");
  assert.equal(streamWords(nothing), "");
});

test("marks are never narrower than can be seen, and out of sight nothing is drawn", () => {
  const found = { start: 0, end: 1000, columns: 1000 };
  const marked = new Set([0, 1, 2, 500, 999]);
  const isMarked = (column) => marked.has(column);
  const sight = { left: 100, right: 200 };
  // A tenth of a pixel for each column.
  const all = runsInSight(isMarked, found, (time) => 100 + time / 10, sight, 2);
  assert.deepEqual(
    all.map(([left]) => Math.round(left)),
    [100, 150, 200],
  );
  assert.ok(all.every(([left, right]) => right - left >= 2));
  // 10 pixels for each: one of them is in sight.
  const near = runsInSight(isMarked, found, (time) => 100 + (time - 495) * 10, sight, 2);
  assert.deepEqual(near, [[150, 152]]);
  assert.deepEqual(
    runsInSight(isMarked, { ...found, end: 0 }, (time) => time, sight, 2),
    [],
  );
});

test("what is in adjacent columns is one mark; what is long is marked to its end", () => {
  const found = { start: 0, end: 100, columns: 10 };
  const marked = new Set([2, 3, 4, 8]);
  const place = (time) => time * 3;
  const sight = { left: 0, right: 300 };
  assert.deepEqual(
    runsInSight((column) => marked.has(column), found, place, sight, 3),
    [
      [60, 123],
      [240, 243],
    ],
  );
  assert.deepEqual(longInSight([10, 20, 30, 30, 400, 500, -50, 2], place, sight, 3), [
    [30, 60],
    [90, 93],
    [-3, 6],
  ]);
});
