import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { CATEGORIES, FAMILIES, SHADES, category, fnv1a, frameClass, pixel } from "../static/js/color.js";

test("FNV-1a gives the published values", () => {
  assert.equal(fnv1a(""), 0x811c9dc5);
  assert.equal(fnv1a("a"), 0xe40c292c);
  assert.equal(fnv1a("foobar"), 0xbf9cf968);
});

test("workers of one kind look alike", () => assert.equal(category("kworker/0:1"), category("kworker/3:2")));

test("a frame has its family", () => {
  assert.match(frameClass(2, "vfs_read"), /^fl-kernel-\d$/);
  assert.equal(frameClass(1, "dd"), `cat-${category("dd")}`);
  assert.equal(frameClass(0, "all"), "fl-root");
  assert.match(frameClass(99, "x"), /^fl-unresolved-\d$/);
});

test("every colour that is used is defined", () => {
  const tokens = readFileSync(new URL("../static/tokens.css", import.meta.url), "utf8");
  for (let i = 0; i < CATEGORIES; i += 1) assert.ok(tokens.includes(`--cat-${i}:`), `--cat-${i}`);
  for (const family of FAMILIES.slice(2)) for (let i = 0; i < SHADES; i += 1) assert.ok(tokens.includes(`--fl-${family}-${i}:`), `${family}-${i}`);
});

test("a pixel has its bytes in the order of a little-endian machine", () => {
  assert.deepEqual([...new Uint8Array(Uint32Array.of(pixel("rgb(1, 2, 3)")).buffer)], [1, 2, 3, 255]);
});
