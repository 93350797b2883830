import assert from "node:assert/strict";
import test from "node:test";
import { treeOf, visibleRows } from "../static/js/view/timeline/track_tree.js";

const track = (id, stream, key, rest = {}) => ({
  id,
  stream,
  key,
  label: rest.label ?? key,
  lane: 0,
  rows: 1,
  busy: 5,
  longest: 5,
  top: [{ name: 0, time: 5 }],
  pid: null,
  tid: null,
  cpu: null,
  ...rest,
});
const LIST = {
  start: 0,
  end: 100,
  streams: [
    { stream: 3, name: "thread states", row: "state", of: "thread", column: "" },
    { stream: 4, name: "syscalls", row: "slice", of: "thread", column: "" },
    { stream: 5, name: "block requests", row: "slice", of: "value", column: "dev" },
    { stream: 6, name: "run-queue latency", row: "slice", of: "thread", column: "" },
  ],
  tracks: [
    track("4.0", 4, "tid:10", { label: "sh", pid: 10, tid: 10 }),
    track("3.0", 3, "tid:10", { label: "sh", pid: 10, tid: 10 }),
    track("6.0", 6, "tid:10", { label: "sh", pid: 10, tid: 10 }),
    track("3.1", 3, "tid:11", { label: "sh-worker", pid: 10, tid: 11 }),
    track("5.0", 5, "8:0", {}),
  ],
  names: [{ text: "running" }],
  left_out: 0,
  binned: { tick_streams: [], ticks: [], counters: [], more: 0 },
};
const BINNED = {
  tick_streams: [1],
  ticks: [
    { key: "tid:11", label: "sh-worker", sub: "pid 10 tid 11", rows: 3, pid: 10, tid: 11, cpu: null },
    { key: "tid:20", label: "dd", sub: "pid 20", rows: 3, pid: 20, tid: 20, cpu: null },
  ],
  counters: [{ key: "counter:1:2", label: "page-faults", sub: "all", rows: 2, pid: null, tid: null, cpu: null }],
  more: 0,
};
const VIEW = { turned: new Set(), pinned: [], hidden: new Set(), order: [], find: "" };
const keys = (rows) => rows.map(({ row }) => row.key);

test("threads have their states first, their ticks last; counters have a group", () => {
  const tree = treeOf({ ...LIST, binned: BINNED });
  const lanes = Object.fromEntries(tree.map(({ key, lanes: all }) => [key, all.map(({ id }) => id)]));
  assert.deepEqual(lanes["tid:10"], ["3.0", "4.0"]);
  assert.deepEqual(lanes["tid:11"], ["3.1", "ticks/tid:11"]);
  assert.deepEqual(lanes["tid:20"], ["ticks/tid:20"]);
  assert.deepEqual(lanes["counter:1:2"], ["counter:1:2"]);
  const all = [
    "counters",
    "counter:1:2",
    "block requests",
    "block requests:8:0",
    "pid:10",
    "tid:10",
    "tid:11",
    "tid:20",
  ];
  assert.deepEqual(keys(visibleRows(tree, VIEW).rows), all);
  assert.deepEqual(
    treeOf(LIST).map(({ key }) => key),
    all.filter((key) => !/counter|tid:20/.test(key)),
  );
});

test("what is hidden is counted, and shown where it is pinned", () => {
  const tree = treeOf({ ...LIST, binned: BINNED });
  const of = (view) => visibleRows(tree, { ...VIEW, ...view });
  const hidden = of({ hidden: new Set(["pid:10", "tid:20"]) });
  assert.equal(hidden.hidden, 3);
  assert.ok(!keys(hidden.rows).some((key) => /tid:|pid:/.test(key)));
  const pinned = of({ hidden: new Set(["pid:10"]), pinned: ["tid:11"] });
  assert.deepEqual([keys(pinned.rows)[0], pinned.hidden], ["tid:11", 1]);
  assert.deepEqual(keys(of({ order: ["pid:10", "tid:11"] }).rows).slice(0, 3), ["pid:10", "tid:11", "tid:10"]);
  assert.deepEqual(keys(of({ turned: new Set(["pid:10"]), find: "worker" }).rows), ["pid:10", "tid:11"]);
});
