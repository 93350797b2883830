import assert from "node:assert/strict";
import test from "node:test";

import { notesWords, noteNear, packNotes } from "../static/js/view/timeline/notes/notes_place.js";
import { leftOutWords, placedArrows } from "../static/js/view/timeline/path/arrows.js";
import { pickedOf, pickedText } from "../static/js/view/timeline/picked_text.js";
import { mapQuery } from "../static/js/view/timeline/rows/map_query.js";
import { lastOf, rowWords } from "../static/js/view/timeline/rows/rows_words.js";
import { trackOf } from "../static/js/lib/sql_track.js";
import { placesOf } from "../static/js/view/timeline/track_arrange.js";
import { treeOf } from "../static/js/view/timeline/track_tree.js";

const note = (start, end = null, text = "") => ({ start, end, text, author: "ann" });

test("notes stand in the first line that has room for them and their text; what has none is counted", () => {
  const notes = [note(0, null, "long text"), note(10, 80, "b"), note(20, null, "c"), note(30, null, "d"), note(500)];
  const { lines, more } = packNotes(
    notes,
    (time) => time,
    { left: 0, right: 400 },
    3,
    (text) => text.length * 10,
  );
  assert.deepEqual(
    lines.map((line) => line.map(({ note: one }) => one.start)),
    [[0], [10], [20]],
  );
  assert.equal(more, 1, "one has no room, one is out of sight");
  for (const line of lines)
    for (const [i, { left }] of line.entries())
      if (i > 0) assert.ok(left >= line[i - 1].textLeft + line[i - 1].textWide);
});

test("notes at a moment are told, and the nearest one is found", () => {
  const notes = [note(0, 10, "a\nmore"), note(40, null, "")];
  assert.deepEqual(notesWords(notes, 5, 0), ["ann: a"]);
  assert.deepEqual(notesWords(notes, 41, 2), ["ann: a note without text"]);
  assert.equal(noteNear(notes, 5), notes[0]);
  assert.equal(noteNear(notes, 39), notes[1]);
  assert.equal(noteNear([], 1), null);
});

const own = {
  hasNotes: true,
  queries: [{ key: "sql:1", name: "Sleeps" }],
  maps: [{ key: "map:@n", name: "@n" }],
  outputs: [{ index: 4, name: "comm" }],
};
const binned = { tick_streams: [], ticks: [], counters: [], more: 0 };
const tree = treeOf({ start: 0, end: 9, streams: [], tracks: [], names: [], left_out: 0, binned }, own);

test("notes, results of SQL and outputs of scripts are rows of the tree, notes first", () => {
  assert.deepEqual(
    tree.map(({ key, parent }) => [key, parent]),
    [
      ["notes", ""],
      ["queries", ""],
      ["sql:1", "queries"],
      ["outputs", ""],
      ["stream:4", "outputs"],
      ["map:@n", "outputs"],
    ],
  );
  assert.equal(placesOf(tree[1], "usual", false).height, placesOf(tree[1], "usual", true).height, "nothing is summed");
  assert.ok(placesOf(tree[0], "high", true).height > placesOf(tree[0], "low", true).height);
});

test("what is picked is the same row of the tree in the link", () => {
  const row = {
    ...tree[2],
    key: "tid:7/odd",
    lanes: [
      { id: "1.0", number: 1 },
      { id: "2.0", number: 2 },
      { id: "2.1", number: 2 },
      { id: "ticks", number: -1 },
    ],
  };
  for (const lane of row.lanes) {
    const text = pickedText(row, lane, 55);
    assert.deepEqual(pickedOf(text, [...tree, row]), { row, lane, time: 55 }, text);
  }
  for (const text of ["", "1/tid:7/odd/9@5", "x/tid:7/0@5", "-/sql:2/0@5"])
    assert.equal(pickedOf(text, tree), null, text);
  assert.equal(pickedOf("-/sql:1/0@5", tree)?.row, tree[2]);
});

const map = (kind, key, value, snapshots, views = ["table", "series"]) => ({
  n: 1,
  name: "@m",
  kind,
  key,
  value,
  snapshots,
  views,
});

test("maps with few numbers are lines, others are told in words at each reading", () => {
  const streams = (rows) => [
    { name: "printf", rows: 1 },
    { name: "@m", rows },
  ];
  assert.deepEqual(mapQuery(streams(30), map("count", ["key"], ["count"], 5)), {
    sql: 'select time, cast("key" as text) as key, "count" as value from "@m"',
    kind: "counters",
  });
  assert.equal(mapQuery(streams(31), map("count", ["key"], ["count"], 5)).kind, "instants");
  assert.match(mapQuery(streams(2), map("stats", [], ["count", "average", "total"], 2)).sql, /"average" as value/);
  assert.match(
    mapQuery(streams(2), map("histogram", [], ["low", "high", "count"], 2, ["histogram"])).sql,
    /sum\("count"\)/,
  );
  assert.match(mapQuery(streams(2), map("value", ["a"], ["name"], 2, ["table"])).sql, /elements/);
});

test("a row of a query says what it is, and until when it lasts", () => {
  const columns = [
    { name: "time", type: "i64", display: "time_ns" },
    { name: "took", type: "i64", display: "duration_ns" },
    { name: "who", type: "text", display: "text" },
  ];
  const rows = [
    [40, 5, "b"],
    [10, 20, "a"],
  ];
  const slices = trackOf({ columns, rows }, "slices");
  assert.deepEqual(slices.rows, [rows[1], rows[0]], "rows in the order in which they are drawn");
  assert.deepEqual([rowWords(slices, 0, true), lastOf(slices, 0)], ["a, 20 ns", 30]);
  const instants = trackOf({ columns, rows }, "instants");
  assert.deepEqual([rowWords(instants, 0, true), lastOf(instants, 0), lastOf(instants, 1)], ["a", 40, 40]);
});

test("arrows too near to another are counted, as are those to what has no row", () => {
  const shown = { start: 0, end: 1000, left: 100, right: 200 };
  const middleOf = (key) => ({ a: 10, b: 50, c: 50 })[key] ?? null;
  const arrow = (time, from = "a", to = "b") => ({ time, from, to });
  const arrows = [
    arrow(140),
    arrow(100),
    arrow(120, "b", "a"),
    arrow(200, "a", "x"),
    arrow(210, "b", "c"),
    arrow(1001),
  ];
  const { drawn, near, absent } = placedArrows(
    arrows.toSorted((a, b) => a.time - b.time),
    shown,
    middleOf,
  );
  assert.deepEqual(drawn, [
    { x: 110, from: 10, to: 50 },
    { x: 112, from: 50, to: 10 },
  ]);
  assert.deepEqual([near, absent], [1, 2]);
  assert.match(leftOutWords({ near, absent }), /^Not drawn: 1 arrow nearer than 5 pixels.*; 2 arrows to or from/);
  assert.equal(leftOutWords({ near: 0, absent: 0 }), "");
});
