import assert from "node:assert/strict";
import test from "node:test";
import { fits, paddedWindow } from "../static/js/view/timeline/timeline_data.js";

test("a screen on each side, within the capture", () => {
  assert.deepEqual(paddedWindow({ start: 400, end: 500 }, 10, 10000), { start: 300, end: 600, width: 30 });
  assert.deepEqual(paddedWindow({ start: 0, end: 10000 }, 1000, 10000), { start: 0, end: 10000, width: 1000 });
  assert.deepEqual(paddedWindow({ start: 9990, end: 10000 }, 5000, 10000), { start: 9980, end: 10000, width: 20 });
  assert.equal(paddedWindow({ start: 4e9, end: 5e9 }, 5000, 1e10).width, 8192);
});

test("what was got fits until it is too coarse, too fine or too short", () => {
  // As the server answers: bins of 1024 ns for pixels of 1000.
  const asked = { start: 3e6, end: 6e6 };
  const data = { start: 2999296, end: 6000640, width: 2931, asked };
  assert.ok(fits(data, { start: 4e6, end: 5e6 }, 1000, 1e8));
  assert.ok(fits(data, { start: 4.9e6, end: 5.9e6 }, 1000, 1e8));
  assert.ok(!fits(data, { start: 5.5e6, end: 6.5e6 }, 1000, 1e8));
  // Pixels of 600 ns get bins of 1024 too, those of 500 and of 2000 get others.
  assert.ok(fits(data, { start: 4.2e6, end: 4.8e6 }, 1000, 1e8));
  assert.ok(!fits(data, { start: 4.2e6, end: 4.7e6 }, 1000, 1e8));
  assert.ok(!fits(data, { start: 3.5e6, end: 5.5e6 }, 1000, 1e8));
  // Where the server gives no finer bins, what is there fits.
  const clamped = { start: 2999808, end: 6000128, width: 5860, asked };
  assert.ok(fits(clamped, { start: 4e6, end: 5e6 }, 5000, 1e8));
  // The last bin reaches behind what was asked for, but has no rows from there.
  assert.ok(!fits(data, { start: 5.0003e6, end: 6.0003e6 }, 1000, 1e8));
});
