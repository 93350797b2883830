import assert from "node:assert/strict";
import test from "node:test";
import { bucket, keyText, limit } from "../static/js/lib/map_words.js";

test("limits of buckets", () => {
  for (const [value, text] of [
    [0, "0"],
    [512, "512"],
    [1024, "1K"],
    [1536, "1,536"],
    [1048576, "1M"],
    [-4096, "-4K"],
    ["9223372036854775807", "∞"],
    ["-9223372036854775808", "−∞"],
  ])
    assert.equal(limit(value), text);
});

test("buckets are half open, as in the terminal", () => {
  assert.equal(bucket(4, 8), "[4, 8)");
  assert.equal(bucket(0, 1), "0");
  assert.equal(bucket(1024, 2048), "[1K, 2K)");
  assert.equal(bucket("-9223372036854775808", 0), "(−∞, 0)");
  assert.equal(bucket(100, "9223372036854775807"), "[100, ∞)");
});

test("keys are told by their parts", () => {
  assert.equal(keyText([]), "all");
  assert.equal(keyText(["dd", 7, { id: 1, top: "vfs_read", depth: 3 }, null]), "dd, 7, vfs_read, –");
});
