import assert from "node:assert/strict";
import test from "node:test";

import { MOST_TRACKS, markedRows, overRow, rangeOver, rowOver } from "../static/js/view/timeline/range/range_over.js";

const row = (key, kind, label, parent = "", id = "") => ({
  key,
  kind,
  label,
  sub: "",
  parent,
  lanes: id ? [{ id }] : [],
  tracks: id || key === "cpus" ? [{ id }] : [],
});
const tree = [
  row("cpus", "group", "CPUs"),
  row("cpu:0", "tracks", "CPU 0", "cpus", "1.0"),
  row("cpu:1", "tracks", "CPU 1", "cpus", "1.1"),
  row("tid:7", "tracks", "gzip", "", "0.4"),
  { ...row("sql:1", "tracks", "who ran on CPU 0", "queries"), lanes: [{ id: "sql:1" }] },
];
const keys = (rows) => rows.map(({ key }) => key);

test("a range is over all tracks, or over those that are found by name or pinned", () => {
  assert.deepEqual(keys(markedRows(tree, { pinned: [], find: "" })), []);
  assert.deepEqual(keys(markedRows(tree, { pinned: ["tid:7"], find: "cpu 1" })), ["cpu:1", "tid:7"]);
  assert.deepEqual(
    keys(markedRows(tree, { pinned: ["cpus"], find: "" })),
    ["cpu:0", "cpu:1"],
    "a group is what is in it",
  );
  const range = { start: 3, end: 9 };
  const all = rangeOver(range, tree, { over: "", pinned: ["tid:7"], find: "" });
  assert.deepEqual(all, { ...range, rows: null, tracks: "", words: "all tracks", filter: "", sql: "" });
  const some = rangeOver(range, tree, { over: "marked", pinned: ["tid:7"], find: " CPU 0 " });
  assert.equal(some.tracks, "1.0,0.4");
  assert.equal(some.words, "2 tracks found by “CPU 0” or pinned");
  assert.deepEqual([some.filter, some.sql], ["cpu == 0 || tid == 7", " and (cpu = 0 or tid = 7)"]);
  const none = rangeOver(range, tree, { over: "marked", pinned: [], find: "" });
  assert.deepEqual([none.rows, none.words], [null, "all tracks: none is found by name or pinned"]);
});

test("a range over more tracks than a request takes says so", () => {
  const many = Array.from({ length: MOST_TRACKS + 3 }, (_, i) => row(`tid:${i}`, "tracks", "worker", "", `0.${i}`));
  const over = rangeOver({ start: 0, end: 1 }, many, { over: "marked", pinned: [], find: "worker" });
  assert.equal(over.tracks.split(",").length, MOST_TRACKS);
  assert.deepEqual([over.filter, over.sql], [null, ""], "so many are in no filter");
  assert.match(over.words, /^512 tracks found by “worker”; 3 more are not counted/);
});

test("a range is over one row, or all that is in a group", () => {
  const range = { start: 3, end: 9 };
  assert.equal(overRow(tree[1]), "row:cpu:0");
  assert.equal(overRow({ ...tree[1], kind: "path" }), "");
  assert.equal(rowOver(tree, "row:tid:7"), tree[3]);
  assert.equal(rowOver(tree, "marked"), undefined);
  const one = rangeOver(range, tree, { over: "row:cpu:1", pinned: ["tid:7"], find: "gzip" });
  assert.deepEqual([one.tracks, one.words, one.filter], ["1.1", "CPU 1", "cpu == 1"]);
  assert.equal(rangeOver(range, tree, { over: "row:cpus", pinned: [], find: "" }).tracks, "1.0,1.1");
  const gone = rangeOver(range, tree, { over: "row:tid:8", pinned: [], find: "" });
  assert.deepEqual([gone.rows, gone.words], [null, "all tracks: the one of the link is not there"]);
});
