import assert from "node:assert/strict";
import test from "node:test";
import { byteOffset, unitOffset } from "../static/js/lib/byte_offsets.js";

test("bytes and units are each other's inverse at characters", () => {
  const text = "aé€😀\nz";
  for (const [unit, byte] of [
    [0, 0],
    [1, 1],
    [2, 3],
    [3, 6],
    [5, 10],
    [6, 11],
    [7, 12],
  ]) {
    assert.equal(byteOffset(text, unit), byte);
    assert.equal(unitOffset(text, byte), unit);
  }
});

test("what is beyond the text is its end", () => {
  assert.equal(unitOffset("ab", 99), 2);
});
