import { strict as assert } from "node:assert";
import test from "node:test";

import {
  chosenColumns,
  formatted,
  formattedHeading,
  formatsOf,
  readColumns,
  sortedBy,
  tableColumns,
  writeColumns,
  writeThen,
} from "../static/js/view/table/column_list.js";
import { readThen } from "../static/js/view/table/row_orders.js";
import { timeAt } from "../static/js/view/table/row_place.js";
import { LineSplitter, csvField, rowsWriter } from "../static/js/view/table/rows_file.js";
import { jsonRow, markdownRow, plainRow } from "../static/js/view/table/row_text.js";

const ALL = [
  { name: "time", type: "u64", display: "time_ns" },
  { name: "comm", type: "text", display: "text" },
  { name: "ret", type: "i64", display: "decimal" },
  { name: "took_ns", type: "u64", display: "duration_ns" },
  { name: "stack", type: "stack", display: "text" },
];

test("columns are text and back", () => {
  const columns = [
    { name: "time", pinned: true, width: 0, format: "wall" },
    { name: "@x[pid, comm]", pinned: false, width: 120, format: "" },
    { name: "a|b\\c", pinned: true, width: 41, format: "hex" },
  ];
  assert.deepEqual(readColumns(writeColumns(columns)), columns);
  assert.equal(writeColumns(columns.slice(0, 1)), "time|p.fwall");
  assert.deepEqual(readColumns("a|w9999999.fnope,b|w5"), [
    { name: "a", pinned: false, width: 0, format: "" },
    { name: "b", pinned: false, width: 40, format: "" },
  ]);
});

test("what the table has not is not shown, and pinned columns are the first", () => {
  const names = (text, own) => chosenColumns(ALL, text, own).map(({ name }) => name);
  assert.deepEqual(names("ret,nope,comm"), ["ret", "comm"]);
  assert.deepEqual(names(""), ["time", "comm", "ret", "took_ns", "stack"]);
  assert.deepEqual(names("nope"), ["time", "comm", "ret", "took_ns", "stack"]);
  assert.deepEqual(names("ret", 4), ["ret", "stack"], "what was asked for beside the stream's own");
  const made = tableColumns(ALL, chosenColumns(ALL, "ret|fhex.w90,comm|p,time"), 0);
  assert.deepEqual(
    made.map(({ name, at, pinned, width }) => [name, at, pinned, width]),
    [
      ["comm", 1, true, undefined],
      ["ret", 2, false, "90px"],
      ["time", 0, false, undefined],
    ],
  );
  assert.equal(made[1].show(-255), "-0xff");
});

test("cells are written as they are asked for, exactly", () => {
  const cases = [
    [1_234_567, "took_ns", "us", "1234.567"],
    [-1_500, "ret", "us", "-1.500"],
    ["18446744073709551615", "took_ns", "ms", "18446744073709.551615"],
    [1_234_567_890, "time", "ms", "1234.567890"],
    [42, "took_ns", "ns", "42"],
    [5, "took_ns", "s", "0.000000005"],
    [255, "ret", "hex", "0xff"],
    [1_500_000, "ret", "dur", "1.5 ms"],
    [255, "took_ns", "dec", "255"],
    [null, "took_ns", "us", ""],
  ];
  for (const [cell, name, format, expected] of cases)
    assert.equal(
      formatted(
        cell,
        ALL.find((column) => column.name === name),
        format,
        0,
      ),
      expected,
      `${cell} ${format}`,
    );
  assert.match(formatted(1, ALL[0], "wall", 1_700_000_000_000_000_000), /2023/);
  assert.equal(formattedHeading(ALL[3], "us"), "took, µs");
  assert.deepEqual(formatsOf(ALL[1]), []);
});

test("headings sort by one column or by several", () => {
  const none = { sort: "", order: "asc", then: "" };
  assert.deepEqual(sortedBy(none, "ret", "time", false), { sort: "ret", order: "asc", then: "" });
  assert.deepEqual(sortedBy({ ...none, sort: "ret" }, "ret", "time", false), { sort: "ret", order: "desc", then: "" });
  assert.deepEqual(sortedBy(none, "time", "time", false), { sort: "time", order: "desc", then: "" });
  const two = sortedBy({ ...none, sort: "ret" }, "a,b", "time", true);
  assert.deepEqual(readThen(two.then), [{ name: "a,b", descending: false }]);
  assert.deepEqual(readThen(sortedBy(two, "a,b", "time", true).then), [{ name: "a,b", descending: true }]);
  assert.equal(sortedBy(two, "ret", "time", true).order, "desc");
  assert.equal(sortedBy(two, "ret", "time", false).then, "");
  assert.deepEqual(readThen(writeThen([{ name: "-x\\", descending: true }])), [{ name: "-x\\", descending: true }]);
  const many = ["a", "b", "c", "d", "e"].reduce((orders, name) => sortedBy(orders, name, "time", true), {
    ...none,
    sort: "ret",
  });
  assert.equal(readThen(many.then).length, 3);
});

test("a row is copied as text, JSON and Markdown", () => {
  const row = [1_500, "a|b\n`x`", null, "18446744073709551615", { id: 3, top: "read", depth: 2 }];
  const stack = {
    frames: [
      { name: "read", module: "libc" },
      { name: "main", module: "app" },
    ],
  };
  assert.equal(
    plainRow(row, ALL, stack),
    [
      "time     0.000001500",
      "comm     a|b\n`x`",
      "ret      (missing)",
      "took_ns  213504 d",
      "stack    read",
      "    read (libc)",
      "    main (app)",
      "",
    ].join("\n"),
  );
  assert.deepEqual(JSON.parse(jsonRow(row, ALL, stack)), {
    time: 1500,
    comm: "a|b\n`x`",
    ret: null,
    took_ns: "18446744073709551615",
    stack: ["read", "main"],
  });
  const markdown = markdownRow(row, ALL, stack);
  assert.ok(markdown.includes("| comm | a\\|b \\`x\\` |") && markdown.endsWith("```\nread\nmain\n```\n"), markdown);
});

test("a file has what the table shows", () => {
  const columns = tableColumns(ALL, chosenColumns(ALL, "ret|fhex,comm,time"), 0);
  const rows = [
    [1_500, 'a "b", c', 255, 5, { id: 1, top: "read" }],
    [2_000_000_000, "=cmd()", null, 7, null],
  ];
  const written = (format) => {
    const { head, line } = rowsWriter(format, columns);
    return head + rows.map(line).join("");
  };
  assert.equal(written("csv"), 'ret,comm,"time, s"\r\n0xff,"a ""b"", c",0.000001500\r\n,\'=cmd(),2.000000000\r\n');
  assert.equal(
    written("ndjson"),
    '{"ret":"0xff","comm":"a \\"b\\", c","time":1500}\n{"ret":null,"comm":"=cmd()","time":2000000000}\n',
  );
  assert.equal(
    written("md"),
    '| ret | comm | time, s |\n| --- | --- | --- |\n| 0xff | a "b", c | 0.000001500 |\n|  | =cmd() | 2.000000000 |\n',
  );
  assert.equal(rowsWriter("ndjson", [{ ...ALL[4], at: 4 }]).line(rows[0]), '{"stack":"read"}\n');
  assert.deepEqual([csvField("-1", true), csvField("-1x", false), csvField("", false)], ["-1", "'-1x", '""']);
});

test("lines come whole, however they are cut", () => {
  const lines = new LineSplitter();
  assert.deepEqual([lines.push("a\nb"), lines.isWhole, lines.push("c\n"), lines.isWhole], [["a"], false, ["bc"], true]);
});

test("a place between rows whose times are known has a time between", () => {
  assert.equal(timeAt([0, 100, 400], 5, 0), 0);
  assert.equal(timeAt([0, 100, 400], 5, 1), 50);
  assert.equal(timeAt([0, 100, 400], 5, 2), 100);
  assert.equal(timeAt([0, 100, 400], 5, 4), 400);
  assert.equal(timeAt([0, 100, 400], 5, 9), 400);
  assert.equal(timeAt([7, 7], 1, 0), 7);
  assert.equal(timeAt([], 5, 1), null);
});
