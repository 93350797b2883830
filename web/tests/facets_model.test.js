import { strict as assert } from "node:assert";
import test from "node:test";

import { readNames, writeNames } from "../static/js/lib/name_list.js";
import {
  countedText,
  coveredShare,
  draggedRange,
  facetColumns,
  firstOpen,
  hasBars,
  nextRows,
  restText,
  typedNumber,
} from "../static/js/view/table/facets_model.js";

const column = (name, display = "decimal", type = "u64") => ({ name, type, display });
const COMMON = [
  column("time", "time_ns"),
  ...["cpu", "pid", "tid"].map((name) => column(name)),
  column("comm", "text", "text"),
];

test("the event's own columns are open first", () => {
  const columns = [
    ...COMMON,
    ...["a", "b", "c", "d", "e"].map((name) => column(name)),
    column("addr", "hex"),
    column("at", "time_ns"),
  ];
  assert.deepEqual(
    facetColumns(columns).map(({ name }) => name),
    ["cpu", "pid", "tid", "comm", "a", "b", "c", "d", "e", "addr"],
  );
  assert.deepEqual(firstOpen(facetColumns(columns)), ["a", "b", "c", "d", "cpu", "comm"]);
  assert.deepEqual(firstOpen(facetColumns(COMMON)), ["cpu", "comm"]);
});

test("answers look at more rows each time, and at all in the end", () => {
  assert.equal(nextRows(null), 2_000_000);
  assert.equal(nextRows({ looked_at: 2_000_000, total: 100_000_000 }), 16_000_000);
  assert.equal(nextRows({ looked_at: 16_000_000, total: 100_000_000 }), null);
  assert.equal(nextRows({ looked_at: 2_000_000, total: 20_000_000 }), null);
  assert.equal(countedText({ rows: 5, looked_at: 10, total: 10 }), "5 rows");
  assert.match(countedText({ rows: 5, looked_at: 10, total: 20 }), /^So far 5 rows: 10 of 20/);
});

test("what is not shown is told", () => {
  const facet = { distinct: 12, found: 12, left_out: 0, column: column("a") };
  assert.equal(restText(facet, 12), "");
  assert.equal(restText(facet, 5), "7 more of 12 values");
  assert.match(restText({ ...facet, left_out: 3 }, 12), /^3 rows with values beyond the first 12/);
  assert.match(restText({ ...facet, column: column("s", "text", "stack") }, 5), /functions$/);
  assert.ok(
    hasBars({ bars: [1, 2], distinct: 13, left_out: 0 }) && !hasBars({ bars: [1, 2], distinct: 12, left_out: 0 }),
  );
  assert.ok(!hasBars({ bars: [1], distinct: 99, left_out: 0 }));
});

test("a drag takes bars whole, either way round", () => {
  const bars = [0, 10, 20, 30].map((low) => ({ low, high: low + 9 }));
  assert.deepEqual(draggedRange(bars, 0.3, 0.7), { low: "10", high: "29" });
  assert.deepEqual(draggedRange(bars, 0.7, 0.3), { low: "10", high: "29" });
  assert.deepEqual(draggedRange(bars, 0, 0.9999), { low: "0", high: "39" });
  assert.deepEqual(coveredShare(bars, { low: "12", high: "20" }), { from: 0.25, to: 0.75 });
  assert.equal(coveredShare(bars, { low: "40", high: "50" }), null);
  const large = [{ low: "9007199254740993", high: "18446744073709551615" }];
  assert.deepEqual(draggedRange(large, 0, 0), { low: "9007199254740993", high: "18446744073709551615" });
});

test("bounds are typed as people write numbers", () => {
  const cases = [
    ["12", "12"],
    ["1,000", "1000"],
    ["-0x10", "-16"],
    [" 7 ", "7"],
    ["1.5", null],
    ["", null],
    ["x", null],
  ];
  for (const [text, expected] of cases) assert.equal(typedNumber(text), expected, text);
});

test("names have commas", () => {
  for (const names of [[], ["a"], ["a", "b,c", "d\\e", "@x[pid, comm]"]])
    assert.deepEqual(readNames(writeNames(names)), names);
});
