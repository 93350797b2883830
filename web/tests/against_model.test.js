import assert from "node:assert/strict";
import test from "node:test";
import {
  NO_COMPARISON,
  comparedText,
  differenceText,
  lineName,
  otherSide,
  otherWords,
  ratioText,
  readVersus,
  shortChange,
  tableWords,
  turnedVersus,
  valueTitle,
  wayOfValue,
} from "../static/js/view/against/against_model.js";
import { emptyView, formatView, parseView } from "../static/js/page/url_state.js";

const calls = { name: "calls", display: "decimal", unit: "hits", kind: "amount" };
const time = { name: "time", display: "duration_ns", unit: "nanoseconds", kind: "amount" };
const p99 = { name: "p99", display: "duration_ns", unit: "nanoseconds", kind: "level" };
const value = (by_there, by_here, more = {}) => ({
  there: by_there,
  here: by_here,
  by_there,
  by_here,
  difference: by_there === null || by_here === null ? null : by_here - by_there,
  error: null,
  verdict: "within_chance",
  ...more,
});

test("a comparison is in the address, and is what is asked for", () => {
  const view = { ...emptyView(), against: "00f1e2d3c4b5a697", againstsame: true, versus: "-2.ratio", inway: "a,b\\,c" };
  assert.deepEqual(parseView(formatView(view)).view, view);
  assert.deepEqual(otherSide(view, "time"), {
    with: "00f1e2d3c4b5a697",
    with_start: null,
    with_end: null,
    normalised: "time",
  });
  // Links of releases before this one have a filter of the other side, of flame graphs that are compared as shares.
  const { view: old } = parseView("?v=3&tab=flame&against=self&againststart=5&againstend=9&filter=x");
  assert.deepEqual(otherSide(old, "total"), {
    with: "",
    with_start: 5,
    with_end: 9,
    with_filter: " ",
    normalised: "total",
  });
  assert.equal(parseView("?v=3&per=total").view.per, "total");
  assert.deepEqual({ ...view, ...NO_COMPARISON }, emptyView());
});

test("lines are sorted by what is pressed, the greatest first, and turned round by the next press", () => {
  assert.deepEqual(readVersus("", 3), { measure: 0, by: null, descending: false });
  assert.deepEqual(readVersus("2", 3), { measure: 2, by: null, descending: false });
  assert.deepEqual(readVersus("-1.difference", 3), { measure: 1, by: "difference", descending: true });
  assert.deepEqual(readVersus("9.ratio", 3), { measure: 0, by: "ratio", descending: false });
  assert.equal(turnedVersus(readVersus("", 3), 1, "here"), "-1.here");
  assert.equal(turnedVersus(readVersus("-1.here", 3), 1, "here"), "1.here");
  assert.equal(turnedVersus(readVersus("1.here", 3), 1, "here"), "-1.here");
  assert.equal(turnedVersus(readVersus("-1.here", 3), 1, "ratio"), "-1.ratio");
});

test("numbers of both sides are written with what they count", () => {
  for (const [number, measure, normalised, text] of [
    [null, calls, "time", "–"],
    [700, calls, "time", "700"],
    [12_345, calls, "time", "12.3k"],
    [1_500_000, time, "time", "1.5 ms"],
    [-1_500_000, time, "none", "−1.5 ms"],
    [0.25, calls, "total", "25.0 %"],
    [0.0004, time, "total", "0.040 %"],
    [5000, p99, "total", "5 µs"],
  ])
    assert.equal(comparedText(number, measure, normalised), text);
  for (const [there, here, difference, ratio, change] of [
    [400, 700, "+300", "× 1.75", "+75 %"],
    [400, 100, "−300", "× 0.25", "−75 %"],
    [0, 9, "+9", "new", "new"],
    [9, 0, "−9", "gone", "gone"],
    [0, 0, "0", "", ""],
    [null, 9, "", "", ""],
    [5, 5, "0", "× 1.00", "0 %"],
  ]) {
    const of = value(there, here);
    assert.deepEqual(
      [differenceText(of, calls, "time"), ratioText(of), shortChange(of)],
      [difference, ratio, change],
      `${there} ${here}`,
    );
  }
});

test("only what is more than chance is marked, and lost rows are told", () => {
  for (const [verdict, difference, way] of [
    ["beyond_chance", 3, "more"],
    ["beyond_chance", -3, "less"],
    ["beyond_chance", 0, "same"],
    ["lost_rows", 3, "perhaps"],
    ["within_chance", 3, "same"],
    ["too_few", 3, "same"],
    ["untested", null, "same"],
  ])
    assert.equal(wayOfValue({ verdict, difference }), way, verdict);
  const table = { normalised: "time", here: { start: 0, end: 8e9 }, there: { start: 0, end: 4e9 } };
  const of = { ...value(400, 700, { error: 12, verdict: "beyond_chance" }), there: 1600, here: 5600 };
  assert.equal(
    valueTitle(of, calls, table),
    "calls: there 1,600 in 4 s; here 5,600 in 8 s; difference ± 12 by chance; more than chance",
  );
  assert.match(valueTitle(value(null, 5), p99, table), /there nothing; here 5 ns in 8 s; not tested$/);
});

test("what is compared is said in words", () => {
  const keys = [
    { name: "pid", display: "decimal" },
    { name: "addr", display: "hex" },
  ];
  assert.equal(lineName({ key: [7, 255] }, keys), "7 · 0xff");
  assert.equal(lineName({ key: [null] }, keys), "missing");
  assert.equal(lineName({ key: [] }, []), "all rows");
  const table = { changed: 2, compared: 9, only_here: 1, only_there: 0, lines: Array(4).fill(null) };
  assert.equal(
    tableWords(table, "line"),
    "2 of 9 lines changed by more than chance · 1 only here · the first 4 are shown",
  );
  assert.equal(
    tableWords({ ...table, changed: 0, compared: 1, only_here: 0, lines: [null] }, "key"),
    "none of 1 key changed by more than chance",
  );
  const view = { ...emptyView(), against: "00f1e2d3c4b5a697", againstsame: true, filter: "pid == 1" };
  assert.equal(otherWords(view), "");
  assert.equal(otherWords({ ...view, againstsame: false }), "all rows");
  assert.equal(
    otherWords({ ...view, against: "self", againststart: 0, againstend: 2e9, start: 2e9, end: 4e9 }),
    "0 ns to 2 s",
  );
});
