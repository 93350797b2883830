import assert from "node:assert/strict";
import test from "node:test";
import * as format from "../static/js/lib/format.js";

const table = (write, cases) => {
  for (const [input, expected] of cases) assert.equal(write(...[input].flat()), expected, JSON.stringify(input));
};

test("counts have three significant digits", () => {
  table(format.count, [
    [0, "0"],
    [7, "7"],
    [999, "999"],
    [1000, "1k"],
    [1234, "1.23k"],
    [12345, "12.3k"],
    [999499, "999k"],
    [999500, "1M"],
    [4.5e9, "4.5G"],
    ["18446744073709551615", "18.4E"],
    [-1500, "-1.5k"],
    [0.25, "0.25"],
    [[null], "–"],
  ]);
});

test("exact numbers keep every digit", () => {
  table(format.exact, [
    [12040, "12,040"],
    ["18446744073709551615", "18,446,744,073,709,551,615"],
    [-5, "-5"],
    [[null], "–"],
  ]);
});

test("sizes are binary", () => {
  table(format.bytes, [
    [0, "0 B"],
    [1023, "1 KiB"],
    [1536, "1.5 KiB"],
    [1 << 30, "1 GiB"],
    [123456789, "118 MiB"],
  ]);
});

test("durations scale", () => {
  table(format.duration, [
    [0, "0 ns"],
    [15, "15 ns"],
    [1200, "1.2 µs"],
    [3450000, "3.45 ms"],
    [12.34e9, "12.3 s"],
    [59.9e9, "59.9 s"],
    [60e9, "1 min"],
    [125e9, "2 min 5 s"],
    [3600e9, "1 h"],
    [12000e9, "3 h 20 min"],
    [187200e9, "2 d 4 h"],
    [-1500, "-1.5 µs"],
  ]);
});

test("moments align", () => {
  table(format.moment, [
    [0, "0.000000000"],
    [12345678901, "12.345678901"],
    [-5, "-0.000000005"],
    ["9007199254740993", "9007199.254740993"],
  ]);
});

test("axis marks are round and labelled in one unit", () => {
  assert.deepEqual(format.ticks(0, 10, 5), { step: 2, at: [0, 2, 4, 6, 8, 10] });
  assert.equal(format.ticks(3, 3, 5).at.length, 0);
  for (const most of [1, 3, 8, 20]) assert.ok(format.ticks(17, 12345, most).at.length <= most + 1);
  table(format.tickLabel, [
    [[0, 1e9], "0 s"],
    [[1.5e9, 5e8], "1.5 s"],
    [[35e4, 5e4], "350 µs"],
    [[120, 20], "120 ns"],
    [[2e6, 1e6], "2 ms"],
  ]);
});

test("shares", () => {
  table(format.percent, [
    [[1, 4], "25 %"],
    [[1, 1e6], "< 0.01 %"],
    [[0, 5], "0 %"],
    [[1, 0], "–"],
  ]);
  table(format.permille, [
    [4, "0.4 %"],
    [[null], "–"],
    [1000, "100 %"],
  ]);
  table(format.rate, [
    [0, "0/s"],
    [1234.5, "1.24k/s"],
    [0.5, "0.5/s"],
  ]);
});

test("how long ago", () => {
  const now = Date.UTC(2026, 10, 20, 12);
  const before = (seconds) => (now - seconds * 1000) * 1e6;
  table(
    (seconds) => format.ago(before(seconds), now),
    [
      [10, "just now"],
      [300, "5 min ago"],
      [7200, "2 h ago"],
    ],
  );
});

test("cells by display", () => {
  table(
    (cell, display) => format.cell(cell, { display }),
    [
      [[null, "decimal"], ""],
      [[18, "hex"], "0x12"],
      [["18446744073709551615", "hex"], "0xffffffffffffffff"],
      [["not a number", "hex"], "not a number"],
      [[1500, "time_ns"], "0.000001500"],
      [["<img>", "text"], "<img>"],
    ],
  );
  assert.equal(format.cell({ id: 3, top: "vfs_read", depth: 9 }, { display: "text" }), "vfs_read");
});

test("plurals", () =>
  table(format.plural, [
    [[1, "row"], "1 row"],
    [[2, "row"], "2 rows"],
    [[12040, "entry", "entries"], "12,040 entries"],
  ]));

test("nothing is said to be lost only where that is known", () => {
  const text = (lost, atLeast) => [
    format.lostNumber({ lost, lost_at_least: atLeast }),
    format.lostText({ lost, lost_at_least: atLeast }),
  ];
  assert.deepEqual(text(0, false), ["0", "No losses"]);
  assert.deepEqual(text(1200, false), ["1.2k", "1.2k lost"]);
  assert.deepEqual(text(0, true), ["?", "Losses unknown"]);
  assert.deepEqual(text(7, true), ["≥ 7", "≥ 7 lost"]);
});

test("headings say the unit that all cells have, and no other", () => {
  for (const [name, display, heading] of [
    ["time", "time_ns", "time, s"],
    ["duration_ns", "duration_ns", "duration"],
    ["value_ns", "decimal", "value_ns"],
    ["comm", "text", "comm"],
  ])
    assert.equal(format.columnHeading({ name, display }), heading);
});
