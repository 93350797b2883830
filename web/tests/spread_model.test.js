import assert from "node:assert/strict";
import test from "node:test";
import {
  conditionOf,
  curveOf,
  firstSpread,
  joinHeat,
  leftOut,
  limitsText,
  numbersOf,
  shares,
  spreadLines,
  typedLimit,
  valueText,
} from "../static/js/view/distribution/spread_model.js";
import { withCondition } from "../static/js/lib/filter_text.js";

const number = (name, type = "u64") => ({ name, type, display: "decimal" });
const common = ["time", "cpu", "pid", "tid"].map((name) => number(name)).concat({ name: "comm", type: "text" });
const stream = (name, row, own, rows = 5) => ({ name, row, rows, columns: [...common, ...own] });
const NS = { display: "duration_ns", unit: "nanoseconds" };

test("what took time is shown first, and a column of its own before those that all have", () => {
  const streams = [
    stream("sched", "instant", [number("prio")]),
    stream("empty", "slice", [number("duration_ns")], 0),
    stream("calls", "slice", [number("duration_ns"), { name: "call", type: "text" }]),
  ];
  assert.equal(firstSpread(streams).name, "calls");
  assert.equal(firstSpread(streams.slice(0, 2)).name, "sched");
  assert.equal(firstSpread([{ ...streams[0], columns: [] }]), undefined);
  assert.deepEqual(
    numbersOf(streams[2].columns).map(({ name }) => name),
    ["duration_ns", "time", "cpu", "pid", "tid"],
  );
});

test("values are told in their unit", () => {
  for (const [value, of, text] of [
    [1500, NS, "1.5 µs"],
    [3, { display: "decimal", unit: "milliseconds" }, "3 ms"],
    [2048, { display: "decimal", unit: "bytes" }, "2 KiB"],
    [255, { display: "hex", unit: "values" }, "0xff"],
    [1.5e9, { display: "time_ns", unit: "nanoseconds" }, "1.500000000 s"],
    ["18446744073709551615", { display: "decimal", unit: "values" }, "18,446,744,073,709,551,615"],
  ])
    assert.equal(valueText(value, of), text);
  assert.equal(limitsText({ low: "5", high: "6" }, { display: "decimal", unit: "values" }), "5");
  assert.equal(limitsText({ low: "1000", high: "2000" }, NS), "1 µs to below 2 µs");
});

test("what is selected becomes a condition, and one of the same column takes its place", () => {
  assert.equal(conditionOf("x", { low: "5", high: "6" }), "x == 5");
  const wide = conditionOf("x", { low: "-8", high: "64" });
  assert.equal(wide, "x between -8 and 63");
  const narrow = conditionOf("x", { low: "8", high: "16" });
  for (const [filter, both] of [
    ["", narrow],
    [wide, narrow],
    ['comm == "dd"', `comm == "dd" && ${narrow}`],
    ["pid == 4", `pid == 4 && ${narrow}`],
    [`pid == 4 && ${wide}`, `pid == 4 && ${narrow}`],
    ["x == 3 && y >= 5", `y >= 5 && ${narrow}`],
    ["a == 1 || b == 2", `(a == 1 || b == 2) && ${narrow}`],
    [narrow, narrow],
  ])
    assert.equal(withCondition(filter, narrow, "x"), both, filter);
  assert.equal(withCondition("dd", narrow, "x"), null, "a text takes no condition");
  assert.equal(withCondition('"a == b"', narrow, "x"), null);
  const one = '(comm == "dd") && x == 1';
  assert.equal(withCondition(one, "x == 1", "x"), one);
  assert.equal(withCondition("cpu == 1", "(cpu == 0 || cpu == 1)"), "cpu == 1 && (cpu == 0 || cpu == 1)");
});

test("limits are typed with a unit or without", () => {
  const plain = { unit: "values" };
  for (const [typed, of, value] of [
    ["", NS, ""],
    ["4096", plain, "4096"],
    ["4,096", plain, "4096"],
    ["-5", plain, "-5"],
    ["64K", plain, "65536"],
    ["10MiB", { unit: "bytes" }, "10485760"],
    ["1.5 ms", NS, "1500000"],
    ["2s", { unit: "milliseconds" }, "2000"],
    ["18446744073709551615", plain, "18446744073709551615"],
    ["1ms", plain, null],
    ["many", plain, null],
    ["1e5", plain, null],
  ])
    assert.equal(typedLimit(typed, of), value, typed);
});

const part = (more) => ({
  ...{ columns: 3, begin: 0, step: 10, without: 0, below: 0, above: 0, rows: 0, looked_at: 0 },
  ...{ buckets: [], cells: { column: [], row: [], count: [] } },
  ...more,
});

test("parts of a heat map are added up, whatever buckets each has", () => {
  const whole = joinHeat([
    part({ buckets: [[4, 8]], cells: { column: [0], row: [0], count: [2] }, rows: 2, below: 1 }),
    part({
      buckets: [
        [2, 4],
        [4, 8],
        ["18446744073709551614", "18446744073709551616"],
      ],
      cells: { column: [0, 0, 2], row: [0, 1, 2], count: [5, 3, 1] },
      rows: 9,
    }),
  ]);
  assert.deepEqual(
    whole.buckets.map(([low]) => low),
    ["2", "4", "18446744073709551614"],
  );
  assert.deepEqual([...whole.values], [5, 5, 0, 0, 0, 0, 0, 0, 1]);
  assert.deepEqual(whole.sums, { rows: 11, without: 0, below: 1, above: 0, lookedAt: 0 });
});

test("what is not shown is told", () => {
  assert.equal(leftOut({ without: 0, below: 0, above: 0 }), "");
  assert.equal(
    leftOut({ without: 2, below: 0, above: 1200 }),
    "not shown: 2 without a value, 1,200 above the upper limit",
  );
});

test("busy, idle and unknown are three things", () => {
  const answer = {
    ...{ start: 0, end: 25, step: 10, columns: 3, tells_idle: true, keys: [{}] },
    known: { column: [0, 2], row: [0, 0], count: [10, 5] },
    busy: { column: [2], row: [0], count: [5] },
  };
  assert.deepEqual([...shares(answer)], [0, NaN, 1]);
  assert.deepEqual([...shares({ ...answer, tells_idle: false })], [0, 0, 1]);
});

test("curves are of counts, shares, or what is not greater", () => {
  assert.deepEqual(curveOf([1, 3], "rows"), [1, 3]);
  assert.deepEqual(curveOf([1, 3], "share"), [0.25, 0.75]);
  assert.deepEqual(curveOf([1, 3], "cumulative"), [0.25, 1]);
  assert.deepEqual(curveOf([0, 9], "log"), [0, 1]);
  assert.deepEqual(curveOf([0, 0], "cumulative"), [0, 0]);
});

test("a histogram is saved with the counts of each group", () => {
  const answer = {
    column: "x",
    buckets: [
      [0, 1],
      [1, 2],
    ],
    all: { counts: [3, 4] },
    groups: [{ counts: [1, 4] }],
  };
  assert.deepEqual(spreadLines(answer, ["dd"]), [
    ["x from", "x to below", "rows", "dd"],
    ["0", "1", 3, 1],
    ["1", "2", 4, 4],
  ]);
});
