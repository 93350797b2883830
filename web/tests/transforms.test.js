import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { differenceClass, packageOf } from "../static/js/view/flame/flame_colors.js";
import {
  firstTransforms,
  renameOf,
  transformOf,
  transformsOf,
  withTransform,
  withoutTransform,
} from "../static/js/view/flame/transforms.js";

test("transforms are written as the server reads them", () => {
  assert.equal(transformOf("m", "std::vec<T>::~vec"), "m.std::vec<T>::%7Evec");
  assert.equal(transformOf("k"), "k");
  assert.equal(renameOf("^std::(.*)$", "50%~$1"), "s.^std::(%2E*)$.50%25%7E$1");
});

test("steps are added, taken back and taken out", () => {
  let list = withTransform("", "k");
  list = withTransform(list, "f.main");
  list = withTransform(list, "f.main");
  assert.equal(list, "k~f.main");
  assert.equal(withTransform(list, "k"), "f.main", "hiding twice shows again");
  assert.equal(firstTransforms("a~b~c", 2), "a~b");
  assert.equal(withoutTransform("a~b~c", 1), "a~c");
});

test("a frame has the transforms that it can have", () => {
  const frame = { name: "read", node: "00000000000000ff", module: "/usr/lib/libc.so.6", isGroup: false, invert: false };
  const of = (about) => transformsOf({ ...frame, ...about }).map(({ key, transform }) => [key, transform]);
  assert.deepEqual(of({}), [
    ["f", "f.read"],
    ["F", "F.00000000000000ff"],
    ["m", "m.read"],
    ["M", "M.00000000000000ff"],
    ["c", "c.read"],
    ["C", "C./usr/lib/libc.so.6"],
    ["r", "r.read"],
    ["R", "R.read"],
    ["d", "d.read"],
  ]);
  assert.deepEqual(of({ isGroup: true }), [["F", "F.00000000000000ff"]]);
  assert.deepEqual(of({ invert: true, module: "" }).slice(0, 4), [
    ["f", "if.read"],
    ["F", "iF.00000000000000ff"],
    ["m", "m.read"],
    ["M", "iM.00000000000000ff"],
  ]);
});

test("functions belong to packages", () => {
  const cases = JSON.parse(readFileSync(new URL("packages.json", import.meta.url), "utf8"));
  for (const [name, owner] of cases) assert.equal(packageOf(name), owner, name);
});

test("differences have a side and a step", () => {
  const cases = [
    [[100, 100, 0], "df-same"],
    [[100, 0, 0], "df-more-3"],
    [[0, 100, 0], "df-less-3"],
    [[120, 100, 0], "df-more-0"],
    [[100, 160, 0], "df-less-1"],
    [[3, 1, 5], "df-same"],
    [[0, 0, 0], "df-same"],
  ];
  for (const [args, name] of cases) assert.equal(differenceClass(...args), name, args.join());
});
