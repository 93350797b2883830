import assert from "node:assert/strict";
import test from "node:test";
import { SHADES, opacityOf, shadeLimits, shadeOf, shadeWords } from "../static/js/lib/heat_shades.js";

const SCALES = ["log", "linear", "rank"];

test("little is not nothing, and the greatest value has the darkest shade", () => {
  for (const scale of SCALES)
    for (const values of [[1], [0, 1, 1e9], [3, 3, 3], Array.from({ length: 500 }, (_one, i) => i)]) {
      const limits = shadeLimits(values, scale);
      assert.equal(shadeOf(0, limits), 0, scale);
      assert.ok(
        values.filter((value) => value > 0).every((value) => shadeOf(value, limits) >= 1),
        scale,
      );
      assert.equal(shadeOf(Math.max(...values), limits), limits.length, scale);
      assert.ok(opacityOf(1, limits.length) > 0.2 && opacityOf(limits.length, limits.length) === 1);
      assert.ok(limits.length <= SHADES && limits.every((limit, i) => i === 0 || limit > limits[i - 1]));
    }
  for (const scale of SCALES) assert.deepEqual(shadeLimits([0, 0], scale), []);
});

test("shades are in proportion, by powers or by rank", () => {
  const thousand = Array.from({ length: 1000 }, (_one, i) => i + 1);
  assert.deepEqual(shadeLimits(thousand, "linear").slice(0, 2), [100, 200]);
  assert.deepEqual(shadeLimits([1, 1024], "log"), [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
  // One value far from the others takes one shade, not all of them.
  const few = [...Array.from({ length: 99 }, (_one, i) => i + 1), 1e9];
  assert.deepEqual(shadeLimits(few, "rank").slice(0, 3), [10, 20, 30]);
});

test("shares have a fixed greatest value, and no whole numbers", () => {
  const limits = shadeLimits([0.05, 0.5], "linear", { whole: false, most: 1 });
  assert.equal(limits.length, SHADES);
  assert.equal(shadeOf(0.05, limits), 1);
  assert.equal(shadeOf(0.5, limits), 5);
  const percent = (value) => `${Math.round(value * 100)} %`;
  assert.deepEqual(shadeWords(limits, percent, false).slice(0, 2), ["to 10 %", "10 % to 20 %"]);
});

test("words of shades say which values have them", () => {
  assert.deepEqual(shadeWords([1, 4, 9], String), ["1", "2 to 4", "5 to 9"]);
});
