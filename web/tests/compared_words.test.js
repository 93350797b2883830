import assert from "node:assert/strict";
import test from "node:test";

import { changeText, exactNumber, valueText, verdictText, wayOf, whatText } from "../static/js/lib/compared_words.js";
import { compareAddress, inOrder, readCompare } from "../static/js/page/compare_address.js";

test("changes are told in percent of what it was", () => {
  for (const [a, b, text] of [
    [100, 112, "+12 %"],
    [100, 96.9, "−3.1 %"],
    [100, 100, "0 %"],
    [0, 5, "new"],
    [5, 0, "gone"],
    [0, 0, "0 %"],
    [1, 101, "+10k %"],
    [-10, -5, "+50 %"],
  ])
    assert.equal(changeText(a, b), text, `${a} ${b}`);
});

test("values are written as their column is", () => {
  assert.equal(valueText(1_250_000, { display: "duration_ns", unit: "nanoseconds" }), "1.25 ms");
  assert.equal(valueText(4096, { display: "decimal", unit: "bytes" }), "4 KiB");
  assert.equal(valueText(12_345, { display: "decimal", unit: "values" }), "12.3k");
  assert.equal(valueText(0.456, null), "0.46");
});

test("a number tells its error and what lost rows can make of it", () => {
  assert.equal(exactNumber({ value: 1200, error: 3.4, least: 1200, most: 1200 }), "1,200, ± 3.4");
  assert.equal(
    exactNumber({ value: 50, error: null, least: 45, most: null }),
    "50, with the lost rows from 45 to any value",
  );
});

test("only what is more than chance has a way", () => {
  assert.equal(wayOf({ difference: 5, verdict: "beyond_chance" }), "more");
  assert.equal(wayOf({ difference: -5, verdict: "beyond_chance" }), "less");
  for (const verdict of /** @type {const} */ (["within_chance", "too_few", "lost_rows", "untested"]))
    assert.equal(wayOf({ difference: 5, verdict }), "same");
  assert.equal(verdictText("lost_rows"), "lost rows can explain it");
  assert.equal(whatText("p99"), "p99");
});

test("addresses have two captures and a version", () => {
  const [a, b] = ["00000000000000aa", "00000000000000bb"];
  const address = compareAddress(a, b);
  assert.equal(address, `/compare?v=1&a=${a}&b=${b}`);
  assert.deepEqual(readCompare(address.split("?")[1]), { a, b, newer: false });
  assert.deepEqual(readCompare(`v=2&a=${a}&b=${b}`), { a, b, newer: true });
  for (const search of ["", `a=${a}`, `a=${a}&b=<b>`, `a=${a}&b=../x`]) assert.equal(readCompare(search), null, search);
  const [first, second] = inOrder({ id: "x", started_unix_ns: 2 }, { id: "y", started_unix_ns: 1 });
  assert.deepEqual([first.id, second.id], ["y", "x"]);
});
