import { strict as assert } from "node:assert";
import test from "node:test";

import { NoSql, filterSql } from "../static/js/view/table/filter_sql.js";
import {
  barWidths,
  firstKeys,
  heatOf,
  measureName,
  pivotColumn,
  pivotSql,
  pivotText,
  readMeasures,
  waysOf,
  writeMeasures,
} from "../static/js/view/table/pivot_model.js";

const COLUMNS = [
  { name: "time", type: "u64", display: "time_ns" },
  { name: "pid", type: "u64", display: "decimal" },
  { name: "comm", type: "text", display: "text" },
  { name: "args.pid", type: "i64", display: "decimal" },
  { name: "stack", type: "stack", display: "text" },
  { name: "duration_ns", type: "u64", display: "duration_ns" },
  { name: "args.wait_us[0]", type: "u64", display: "decimal" },
  { name: "bytes_req", type: "u64", display: "decimal" },
];

test("filters are said in SQL, with what is missing as filters have it", () => {
  const cases = [
    ["", ""],
    ["pid == 0x10 && comm != 'it\\'s'", `("pid" = 16) and ("comm" <> 'it''s')`],
    ["pid >= -1 || args.pid < 5", `("pid" >= -1) or ("args.pid" < 5)`],
    ["args.comm == 'x'", `"comm" = 'x'`],
    ["!(pid == 1)", `not coalesce("pid" = 1, 0)`],
    ["pid in (1, 2) and comm not in ('a')", `("pid" in (1, 2)) and (not coalesce("comm" in ('a'), 0))`],
    ["pid between 1 and 5 and comm contains 'a%'", `("pid" between 1 and 5) and (instr("comm", 'a%') > 0)`],
    ["comm ~ 'a[*'", `"comm" glob 'a[[]*'`],
    ["comm !~ '*b'", `not coalesce("comm" glob '*b', 0)`],
    ["comm ~ 'c'", `"comm" = 'c'`],
    ["(pid & 0x10) == 0", `not coalesce(("pid" & 16) <> 0, 0)`],
    ["(pid & 0x10) != 0", `("pid" & 16) <> 0`],
    ["pid == 18446744073709551615", `"pid" = -1`],
    ["has stack frame 'tcp_*'", `coalesce(';' || stack("stack") || ';', '') glob '*;tcp_*'`],
    ["duration_ns > 100ms && time < 1.5s", `("duration_ns" > 100000000) and ("time" < 1500000000)`],
    [
      "args.wait_us[0] in (1ms, 2 s) or bytes_req >= 4KiB",
      `("args.wait_us[0]" in (1000, 2000000)) or ("bytes_req" >= 4096)`,
    ],
    ["duration_ns between -1us and 2 µs", `"duration_ns" between -1000 and 2000`],
    ["has stack frame 'read'", `coalesce(';' || stack("stack") || ';', '') glob '*;read;*'`],
  ];
  for (const [filter, sql] of cases) assert.equal(filterSql(filter, COLUMNS), sql, filter);
  for (const filter of [
    "nginx",
    "comm matches 'x'",
    "nope == 1",
    "pid == ",
    "pid == 1 pid == 2",
    "pid > 1ms",
    "bytes_req > 1s",
  ])
    assert.throws(() => filterSql(filter, COLUMNS), NoSql, filter);
});

test("values of groups are text and back", () => {
  const measures = [
    { way: "count", column: "" },
    { way: "p99.9", column: "a:b,c" },
    { way: "sum", column: "x" },
  ];
  assert.deepEqual(readMeasures(writeMeasures(measures)), measures);
  assert.equal(writeMeasures(measures.slice(0, 1)), "");
  assert.deepEqual(readMeasures(""), measures.slice(0, 1));
  assert.equal(measureName(measures[1]), "p99.9(a:b,c)");
  assert.ok(waysOf(COLUMNS[1]).includes("sum") && !waysOf(COLUMNS[2]).includes("sum"));
  assert.ok(waysOf(COLUMNS[0]).includes("min") && !waysOf(COLUMNS[0]).includes("sum"), "a sum of moments is none");
  assert.deepEqual(firstKeys(COLUMNS), ["comm"]);
});

test("the query says the same", () => {
  const streams = [{ name: "a:b", columns: COLUMNS }];
  const measures = readMeasures("count,mean:pid,p99:pid,distinct:comm,first:comm");
  const grouping = {
    by: ["comm"],
    measures,
    sort: 1,
    descending: true,
    limit: 10,
    filter: "pid > 1",
    range: { start: 5, end: 9 },
  };
  assert.equal(
    pivotSql(streams, 0, grouping).sql,
    [
      `select "comm", count(*) as "rows", avg("pid") as "mean(pid)", percentile("pid", 99) as "p99(pid)", ` +
        `count(distinct "comm") as "distinct(comm)", max("first of comm") as "first(comm)"`,
      `from (select *, first_value("comm") over (partition by "comm" order by time asc) as "first of comm"`,
      `  from "a:b"`,
      `  where (time >= 5 and time < 9) and ("pid" > 1))`,
      `group by "comm"`,
      "order by 2 desc",
      "limit 10",
    ].join("\n"),
  );
  const plain = pivotSql(streams, 0, { ...grouping, by: [], measures: readMeasures(""), filter: "text", range: null });
  assert.equal(plain.sql, `select count(*) as "rows"\nfrom "a:b"\norder by 2 desc\nlimit 10`);
  assert.match(plain.problem, /text in all columns/);
});

test("what is cut, left out or rough is told", () => {
  const columns = [{ name: "comm", without: 0 }];
  const pivot = { rows: 1000, groups: 3, lines: [1, 2, 3], left_out: 0, columns };
  assert.equal(pivotText(pivot), "3 groups of 1,000 rows");
  assert.equal(
    pivotText({ ...pivot, groups: 5000, left_out: 7 }),
    "3 of 5,000 groups of 1,000 rows; 7 rows in further groups are not told apart",
  );
  assert.equal(pivotText({ ...pivot, groups: 1 }), "1 group of 1,000 rows");
  for (const way of ["sum", "p99"]) columns.push({ name: `${way}(a(b))`, without: 1234 });
  assert.equal(pivotText(pivot), "3 groups of 1,000 rows; 1,234 have no a(b)");
  assert.deepEqual(barWidths([50, "100", null, -3]), [50, 100, 0, 0]);
  const mean = pivotColumn({ name: "mean(x)", type: "f64", display: "decimal", is_rough: true });
  assert.deepEqual([mean.heading, mean.show(12.3456789)], ["mean(x) ≈", "12.3457"]);
});

test("groups over time are cells of a heat map, the first on top", () => {
  const series = {
    start: 10,
    end: 30,
    lines: [
      [1, null],
      [3, 4],
      [null, 6],
    ],
  };
  const { window, columns, rows, values } = heatOf(series, ["a", "b", "c"]);
  assert.deepEqual(window, { start: 10, end: 30 });
  assert.deepEqual(columns, [
    { from: 10, to: 20 },
    { from: 20, to: 30 },
  ]);
  assert.deepEqual(
    rows.map(({ label }) => label),
    ["c", "b", "a"],
  );
  assert.deepEqual(values, [0, 3, 1, 6, 4, 0]);
  // What is 0 or below differs from what has no rows.
  const of = (...line) => heatOf({ start: 0, end: line.length, lines: [line] }, ["a"]);
  assert.deepEqual([of(0, null, 5).values, of(0, null, 5).shift, of(0, null, 5).scale], [[1, 0, 6], 1, "log"]);
  assert.deepEqual([of(-4, null, 5).values, of(-4, null, 5).scale], [[1, 0, 10], "rank"]);
  assert.deepEqual([of(0.5, 1.5).values, of(0.5, 1.5).shift, of(0.5).whole], [[0.5, 1.5], 0, false]);
  const half = of(-0.5, 0.5, null);
  assert.ok(half.values.slice(0, 2).every((value) => value > 0) && half.values[2] === 0);
  assert.deepEqual(of(0).values, [1]);
  assert.deepEqual(heatOf({ start: 0, end: 0, lines: [] }, []).values, []);
});
