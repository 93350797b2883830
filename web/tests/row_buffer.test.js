import assert from "node:assert/strict";
import test from "node:test";
import { RowBuffer } from "../static/js/view/table/row_buffer.js";

test("the newest stay and the others are counted", () => {
  const buffer = new RowBuffer(3);
  buffer.push([[1], [2]], 5);
  buffer.push([[3], [4]], 0);
  assert.deepEqual(
    [0, 1, 2].map((i) => buffer.row(i)[0]),
    [2, 3, 4],
  );
  assert.equal(buffer.missing, 6);
});

test("what is frozen does not move", () => {
  const buffer = new RowBuffer(3);
  buffer.push([[1], [2]], 0);
  buffer.freeze();
  buffer.push([[3], [4], [5]], 0);
  assert.deepEqual([buffer.count, buffer.row(0), buffer.waiting], [2, [1], 3]);
  buffer.thaw();
  assert.deepEqual([buffer.count, buffer.row(0), buffer.waiting], [3, [3], 0]);
});
