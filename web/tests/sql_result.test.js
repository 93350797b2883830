import assert from "node:assert/strict";
import test from "node:test";
import { barsOf, chartOf, shownCell, sized, written } from "../static/js/view/sql/sql_result.js";

const column = (name, type = "i64", display = type === "text" ? "text" : "decimal") => ({ name, type, display });

test("moments and numbers become lines", () => {
  const answer = {
    columns: [column("n"), column("time", "i64", "time_ns"), column("sum", "f64")],
    rows: [
      [1, 20, 2.5],
      [3, 10, null],
    ],
  };
  assert.deepEqual(chartOf(answer), {
    at: [{ time: 10 }, { time: 20 }],
    plain: false,
    leftOut: 0,
    lines: [
      { key: ["n"], values: [3, 1] },
      { key: ["sum"], values: [null, 2.5] },
    ],
  });
});

test("where moments repeat each text has a line, the largest first", () => {
  const rows = [];
  for (let who = 0; who < 14; who += 1) for (const at of [0, 5]) rows.push([at, `t${who}`, String(who)]);
  const found = chartOf({ columns: [column("start_ns"), column("comm", "text"), column("n")], rows });
  assert.equal(found.lines.length, 12);
  assert.equal(found.leftOut, 2);
  assert.deepEqual(found.lines[0], { key: ["t13"], values: [13, 13] });
});

test("plain numbers are an axis too, but not one alone", () => {
  const found = chartOf({
    columns: [column("bucket"), column("rows")],
    rows: [
      [1, 5],
      [2, 6],
    ],
  });
  assert.ok(found.plain);
  for (const [columns, rows] of [
    [[column("a")], [[1], [2]]],
    [[column("a", "text"), column("b")], [["x", 1]]],
    [[column("a"), column("b")], [[1, 2]]],
    [[], []],
  ]) {
    assert.equal(chartOf({ columns, rows }), null);
  }
});

test("a number for each text is a bar, in the order of the result", () => {
  const answer = {
    columns: [column("cpu"), column("comm", "text"), column("switches")],
    rows: [
      [0, "a", 5],
      [1, null, "-7"],
      [1, "c", null],
    ],
  };
  assert.equal(chartOf(answer), null);
  assert.deepEqual(barsOf(answer), {
    heading: "cpu · comm",
    value: "switches",
    most: 7,
    inTime: false,
    leftOut: 0,
    bars: [
      { label: "0 · a", amount: 5 },
      { label: "1 · –", amount: -7 },
      { label: "1 · c", amount: null },
    ],
  });
  const many = {
    columns: [column("comm", "text"), column("took", "i64", "duration_ns")],
    rows: Array.from({ length: 120 }, (_, i) => [`t${i}`, i]),
  };
  assert.deepEqual([barsOf(many).bars.length, barsOf(many).leftOut, barsOf(many).inTime], [100, 20, true]);
  for (const nothing of [
    { columns: [column("n")], rows: [[1]] },
    { columns: [column("comm", "text")], rows: [["a"]] },
    { ...answer, rows: [] },
  ])
    assert.equal(barsOf(nothing), null);
});

test("names are quoted where they must be", () => {
  assert.deepEqual(["time", "args.pid", "order", "1st", 'a"b', "sched:sched_switch"].map(written), [
    "time",
    '"args.pid"',
    '"order"',
    '"1st"',
    '"a""b"',
    '"sched:sched_switch"',
  ]);
});

test("addresses have no sign, and columns are as wide as what is in them", () => {
  const hex = column("address", "i64", "hex");
  assert.equal(shownCell(-1, hex), "18446744073709551615");
  assert.deepEqual([shownCell(7, hex), shownCell(null, hex), shownCell(-1, column("n"))], [7, null, -1]);
  const widths = sized([column("n"), column("text", "text")], [["1", "x".repeat(500)]]).map(({ width }) => width);
  assert.deepEqual(widths, ["7ch", "63ch"]);
});
