import assert from "node:assert/strict";
import test from "node:test";
import {
  LANES,
  kindsOf,
  readTracks,
  rolesOf,
  rowAt,
  trackOf,
  windowed,
  withTrack,
  writeTracks,
} from "../static/js/lib/sql_track.js";

const column = (name, type = "i64", display = type === "text" ? "text" : "decimal") => ({ name, type, display });
const time = column("time", "i64", "time_ns");

test("what a result can be shown as, the most telling first", () => {
  for (const [columns, kinds] of [
    [[time, column("cpu"), column("pid"), column("comm", "text")], ["instants"]],
    [
      [time, column("cpu"), column("prev_prio"), column("bytes"), column("count")],
      ["instants", "counters"],
    ],
    [
      [column("start_ns"), column("rows")],
      ["counters", "instants"],
    ],
    [
      [column("ts"), column("comm", "text"), column("load", "f64")],
      ["counters", "instants"],
    ],
    [
      [time, column("call", "text"), column("duration_ns", "i64", "duration_ns")],
      ["slices", "counters", "instants"],
    ],
    [
      [column("start"), column("end")],
      ["slices", "instants"],
    ],
    [
      [column("first", "i64", "time_ns"), column("last", "i64", "time_ns"), column("name", "text")],
      ["slices", "instants"],
    ],
    [[column("comm", "text"), column("rows")], []],
    [[column("duration_ns", "i64", "duration_ns"), column("rows")], []],
    [[column("time", "text")], []],
    [[], []],
  ])
    assert.deepEqual(kindsOf(columns), kinds, columns.map(({ name }) => name).join());
});

test("rows are ordered, and those without a time are counted", () => {
  const track = trackOf(
    {
      columns: [time, column("comm", "text")],
      rows: [
        [30, "b"],
        [null, "x"],
        ["9007199254740993", "a"],
        [10, null],
      ],
    },
    "instants",
  );
  assert.deepEqual([...track.starts], [10, 30, 9007199254740992]);
  assert.deepEqual([track.n, track.skipped, [...track.labels].map((i) => track.names[i])], [3, 1, ["–", "b", "a"]]);
});

test("slices have an end, and lie below each other where they overlap", () => {
  const columns = [time, column("took_ns", "i64", "duration_ns")];
  const track = trackOf(
    {
      columns,
      rows: [
        [0, 100],
        [10, 5],
        [20, null],
        [12, 200],
        [300, -5],
      ],
    },
    "slices",
  );
  assert.deepEqual([...track.ends], [100, 15, 212, 20, 300]);
  assert.deepEqual([...track.lanes], [0, 1, 2, 1, 0]);
  const many = trackOf({ columns, rows: Array.from({ length: 20 }, (_, i) => [i, 100]) }, "slices");
  assert.equal(Math.max(...many.lanes), LANES - 1);
  assert.deepEqual([...trackOf({ columns: [column("start"), column("end")], rows: [[5, 9]] }, "slices").ends], [9]);
});

test("a counter has a line for each text, the largest first", () => {
  const rows = [];
  for (let who = 0; who < 8; who += 1) rows.push([who, `t${who}`, String(who)]);
  const track = trackOf(
    { columns: [time, column("comm", "text"), column("n")], rows: [...rows, [9, "t1", null]] },
    "counters",
  );
  assert.deepEqual([track.names[0], track.names.length, track.more, track.n, track.skipped], ["t7", 6, 2, 6, 1]);
  assert.deepEqual([track.least, track.most], [0, 7]);
  const plain = trackOf(
    {
      columns: [time, column("n")],
      rows: [
        [1, -4],
        [2, 3],
      ],
    },
    "counters",
  );
  assert.deepEqual([plain.names, plain.least, plain.most], [["n"], -4, 3]);
});

test("what is at a moment", () => {
  const slices = trackOf(
    {
      columns: [time, column("dur")],
      rows: [
        [0, 100],
        [10, 5],
        [500, 0],
      ],
    },
    "slices",
  );
  assert.deepEqual(
    [rowAt(slices, 12, 1), rowAt(slices, 50, 1), rowAt(slices, 300, 1), rowAt(slices, 499, 2), rowAt(slices, 101, 5)],
    [1, 0, -1, 2, -1],
  );
  const counter = trackOf(
    {
      columns: [time, column("n")],
      rows: [
        [10, 1],
        [20, 2],
      ],
    },
    "counters",
  );
  assert.deepEqual(
    [rowAt(counter, 5, 100), rowAt(counter, 10, 0), rowAt(counter, 15, 0), rowAt(counter, 99, 0)],
    [-1, 0, 0, 1],
  );
  assert.equal(rowAt(trackOf({ columns: [time], rows: [] }, "instants"), 5, 100), -1);
});

test("a window is asked of the result, whatever the query is", () => {
  assert.equal(
    windowed("select time from x -- all;\n;", [time], "instants", { start: 1.5, end: 9.2 }),
    'select * from (\nselect time from x -- all\n) where "time" <= 10 and "time" >= 1',
  );
  const columns = [column('a"_start'), column("end")];
  assert.match(windowed("select 1", columns, "slices", { start: 1, end: 2 }), /where "a""_start" <= 2 and "end" >= 1$/);
  assert.match(
    windowed("select 1", [time, column("dur")], "slices", { start: 1, end: 2 }),
    /"time" <= 2 and "time" \+ "dur" >= 1$/,
  );
  assert.equal(rolesOf(columns).end, 1);
});

test("the address holds tracks, and what is wrong in it is left out", () => {
  const tracks = [
    { name: "Gaps, <b>", sql: "select 1 as time", kind: "" },
    { name: "", sql: "select 2 as ts", kind: "slices" },
  ];
  assert.deepEqual(readTracks(writeTracks(tracks)), tracks);
  assert.equal(writeTracks([]), "");
  for (const wrong of ["", "{", "{}", "1", "null", "[1]", '[["a"]]', '[["a",""]]', '[[1,"x"]]'])
    assert.deepEqual(readTracks(wrong), [], wrong);
  assert.equal(readTracks('[1,["a","select 1"],null]').length, 1);
  assert.equal(readTracks('[["a","select 1","toString"]]')[0].kind, "");
  let text = "";
  for (let i = 0; i < 4; i += 1) ({ text } = withTrack(text, { name: `n${i}`, sql: "select 1", kind: "" }));
  assert.equal(readTracks(text).length, 4);
  assert.match(withTrack(text, tracks[0]).problem, /4 tracks/);
  assert.match(withTrack("", { name: "x", sql: "s".repeat(13_000), kind: "" }).problem, /too long/);
});
