import assert from "node:assert/strict";
import test from "node:test";

import { matrixOf } from "../static/js/view/timeline/range/wake_matrix.js";

const answer = {
  wakers: [
    { tid: 5, pid: 5, name: "make", count: 9 },
    { tid: 0, pid: 0, name: "swapper/1", count: 7 },
  ],
  wakees: [{ tid: 8, pid: 8, name: "", count: 12 }],
  more_wakers: 2,
  more_wakees: 1,
  counts: [
    [0, 0, 2],
    [0, 1, 7],
    [1, 0, 7],
    [2, 0, 3],
    [2, 1, 40],
  ],
};

test("the matrix has what is left out as its last row and column", () => {
  const { columns, rows, most } = matrixOf(answer, "");
  assert.deepEqual(
    columns.map(({ title }) => title),
    ["thread 8", "1 other"],
  );
  assert.deepEqual(
    rows.map(({ title, all, counts }) => [title, all, counts]),
    [
      ["2 others", 43, [3, 40]],
      ["make 5", 9, [2, 7]],
      ["idle CPU, in an interrupt", 7, [7, 0]],
    ],
  );
  assert.equal(most, 7, "the rest is no measure of the heat");
});

test("rows are sorted by a column", () => {
  const first = (ranked) => matrixOf(answer, ranked).rows[0].title;
  assert.equal(first("-0"), "idle CPU, in an interrupt");
  assert.equal(first("-rest"), "2 others");
  assert.equal(first("-99"), "2 others", "a column that is not there is none");
});
