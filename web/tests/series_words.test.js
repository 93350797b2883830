import assert from "node:assert/strict";
import test from "node:test";

import {
  baselineSign,
  baselineText,
  keyText,
  keyValue,
  pointsOf,
  runVerdict,
  tableLines,
} from "../static/js/lib/series_words.js";
import { MOST_CHARTS, readSeries, seriesAddress } from "../static/js/page/series_address.js";

/** @type {any} */
const P99 = {
  key: "p99:duration_ns@read",
  what: "p99",
  stream: "read",
  column: "duration_ns",
  name: "",
  display: "duration_ns",
  unit: "nanoseconds",
};
/** @type {any} */
const SHARE = {
  what: "hottest_function",
  stream: "cpu-clock",
  column: "",
  name: "",
  display: "decimal",
  unit: "samples",
};

/**
 * @param {string} id
 * @param {number|null} value
 * @param {string|null} [verdict]
 * @returns {any}
 */
const run = (id, value, verdict = null) => ({
  id,
  title: `=run ${id}`,
  started_unix_ns: Number(id),
  duration_ns: 5,
  rows: 7,
  lost: 0,
  again_of: null,
  numbers: [value === null ? null : { value, error: 2, least: value, most: value, name: "f", verdict }],
});

test("numbers are named and written as what they are", () => {
  assert.equal(keyText(P99), "p99 of duration_ns, read");
  assert.equal(keyValue(1500, P99), "1.5 µs");
  assert.equal(keyText(SHARE), "share of the hottest function, cpu-clock");
  assert.equal(keyValue(0.25, SHARE), "25 %");
  assert.equal(keyText({ what: "process_share", stream: "s", column: "", name: "<b>" }), "share of process <b>, s");
  assert.equal(keyValue(12_040, { what: "rate", column: "", display: "decimal", unit: "hits" }), "12k/s");
});

test("points go from the first run on, with gaps", () => {
  const points = pointsOf([run("3", 30), run("2", null), run("1", 10)], 0);
  assert.deepEqual(
    points.map(({ time, value, least, most }) => [time, value, least, most]),
    [
      [1, 10, 8, 12],
      [2, null, null, null],
      [3, 30, 28, 32],
    ],
  );
});

test("a table has a line for each run", () => {
  const lines = tableLines([run("2", 20, "worse"), run("1", null)], [P99], "1");
  assert.deepEqual(lines[0].slice(-4), [
    "p99:duration_ns@read",
    "p99:duration_ns@read error",
    "p99:duration_ns@read name",
    "p99:duration_ns@read verdict",
  ]);
  assert.deepEqual(lines[1].slice(-4), [20, 2, "f", "worse"]);
  assert.deepEqual(lines[2].slice(-4), ["", "", "", ""]);
  assert.deepEqual(
    lines.map((line) => line[7]),
    ["baseline", "", "yes"],
  );
  assert.ok(lines.every((line) => line.length === lines[0].length));
});

test("a run says in few words what it is worth", () => {
  const keys = [P99];
  for (const [verdict, text] of [
    ["worse", "1 worse"],
    ["better", "1 better"],
    ["no_difference", "no worse, no better"],
    ["higher", "no worse, no better"],
    [null, ""],
  ])
    assert.equal(runVerdict(run("1", 5, verdict), keys), text);
  assert.equal(baselineText("lost_rows"), "lost rows can explain it");
  assert.equal(baselineSign("worse"), "✗");
});

test("addresses name the numbers that are shown", () => {
  const id = "00000000000000aa";
  const keys = ["p99:a b@x&y", "rate@<b>"];
  const address = seriesAddress(id, keys);
  assert.deepEqual(readSeries(address.split("?")[1]), { keys, newer: false });
  assert.equal(seriesAddress(id), `/series/${id}`);
  assert.equal(readSeries("v=7").newer, true);
  const many = Array.from({ length: 30 }, (_, i) => `rate@${i}`);
  assert.equal(readSeries(seriesAddress(id, many).split("?")[1]).keys.length, MOST_CHARTS);
});
