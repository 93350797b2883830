import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import {
  CATEGORIES,
  FAMILIES,
  SHADES,
  category,
  fnv1a,
  frameClass,
  pixel,
  rankColors,
} from "../static/js/lib/color.js";

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
  for (const family of FAMILIES.slice(2))
    for (let i = 0; i < SHADES; i += 1) assert.ok(tokens.includes(`--fl-${family}-${i}:`), `${family}-${i}`);
});

test("a pixel has its bytes in the order of a little-endian machine", () => {
  assert.deepEqual([...new Uint8Array(Uint32Array.of(pixel("rgb(1, 2, 3)")).buffer)], [1, 2, 3, 255]);
});

test("the most frequent names of a capture differ, and keep the usual colour where it is free", () => {
  const names = Array.from({ length: 40 }, (_, i) => `${String.fromCharCode(97 + (i % 26))}${i < 26 ? "x" : "y"}`);
  const usual = new Map(names.map((name) => [name, category(name)]));
  const alike = names.filter((name) => usual.get(name) === usual.get(names[0]));
  assert.ok(alike.length > 1, "some have the same by themselves");
  rankColors([...alike, ...names]);
  const first = [...new Set([...alike, ...names])].slice(0, CATEGORIES);
  assert.equal(new Set(first.map(category)).size, CATEGORIES);
  assert.equal(category(alike[0]), usual.get(alike[0]));
  const rare = [...new Set([...alike, ...names])].at(-1);
  assert.equal(category(rare), usual.get(rare));
  // Lists that are not shown together do not take colours from each other.
  rankColors([alike[0]], [alike[1]]);
  assert.deepEqual([category(alike[0]), category(alike[1])], [usual.get(alike[0]), usual.get(alike[1])]);
  rankColors([]);
});

test("a name has the colour that it has in an exported picture", () => {
  // server/views/src/colour.rs reads the same cases.
  for (const { lists, categories } of JSON.parse(readFileSync(new URL("./colors.json", import.meta.url), "utf8"))) {
    rankColors(...lists);
    for (const [name, expected] of Object.entries(categories)) assert.equal(category(name), expected, name);
  }
  rankColors([]);
});
