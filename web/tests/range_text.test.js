import assert from "node:assert/strict";
import test from "node:test";

import { sqlInside, sqlName, sqlRange, sqlTable, sqlText } from "../static/js/lib/sql_words.js";
import { commaed, ranking, sorted, sqlFunctions, tabbed, turned } from "../static/js/view/timeline/range/range_text.js";

const columns = [
  { key: "name", title: "name", value: ({ name }) => name },
  { key: "time", title: "time", num: true, unit: "ns", value: ({ time }) => time },
];
const rows = [
  { name: "cpu 10", time: 5 },
  { name: "cpu 9", time: 700 },
  { name: '=1+"x",\t', time: 5 },
];
const times = (list) => list.map(({ time }) => time);

test("rows are sorted by any column, equal ones as they came", () => {
  assert.deepEqual(times(sorted(rows, columns, "-time")), [700, 5, 5]);
  assert.equal(sorted(rows, columns, "-time")[1], rows[0]);
  assert.deepEqual(
    sorted(rows, columns, "name").map(({ name }) => name.slice(0, 6)),
    ['=1+"x"', "cpu 9", "cpu 10"],
  );
  assert.equal(sorted(rows, columns, "-nothing"), rows);
  assert.equal(ranking(columns, "time")?.down, false);
});

test("a click on a heading sorts numbers from the greatest and texts from the least, the next one the other way", () => {
  assert.equal(turned(columns[1], ""), "-time");
  assert.equal(turned(columns[1], "-time"), "time");
  assert.equal(turned(columns[0], "-time"), "name");
  assert.equal(turned(columns[0], "name"), "-name");
});

test("copied and exported rows keep their cells apart, and no cell becomes a formula", () => {
  assert.equal(tabbed(columns, rows.slice(0, 1)), "name\ttime (ns)\ncpu 10\t5");
  assert.equal(tabbed(columns, rows.slice(2)).split("\t").length, 3);
  assert.equal(commaed(columns, rows), `name,time (ns)\r\ncpu 10,5\r\ncpu 9,700\r\n"'=1+""x"",\t",5\r\n`);
  assert.equal(commaed([columns[1]], [{ time: -5 }]), "time (ns)\r\n-5\r\n", "a number stays one");
});

test("queries quote names and texts, and tell streams of one name apart", () => {
  assert.equal(sqlName('a"b'), '"a""b"');
  assert.equal(sqlText("it's"), "'it''s'");
  const streams = ["a", "A", "b", "a"].map((name) => ({ name }));
  assert.deepEqual(
    [0, 1, 2, 3].map((stream) => sqlTable(streams, stream)),
    ['"a"', '"A#2"', '"b"', '"a#3"'],
  );
});

test("a row is in the range of a query if any part of it is", () => {
  const range = { start: 10, end: 20 };
  assert.equal(sqlRange(range), "time >= 10 and time < 20");
  assert.equal(sqlRange(range, { duration: "d" }), 'time < 20 and time + "d" > 10');
  assert.equal(sqlRange(range, { duration: "d", isEnd: true }), 'time - "d" < 20 and time > 10');
  assert.equal(sqlInside(range, { duration: "d" }), 'overlap(time, time + "d", 10, 20)');
  assert.equal(sqlInside(range, { duration: "d", isEnd: true }), 'overlap(time - "d", time, 10, 20)');
});

test("functions of samples are a query over the range, one unit and marked tracks", () => {
  const sql = sqlFunctions({ start: 5, end: 9 }, { unit: "samples", marked: " and (tid = 7)", by: "total" });
  assert.match(sql, /where time >= 5 and time < 9 and unit = 'samples' and \(tid = 7\)/);
  assert.match(sql, /order by total desc/);
});
