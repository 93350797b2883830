import { strict as assert } from "node:assert";
import { test } from "node:test";

import { LEVEL, LanesModel, PAD } from "../static/js/view/lanes/lanes_model.js";
import { panned, within, zoomed } from "../static/js/lib/time_window.js";

// Two calls beside each other, the first with one in it that has another one in it.
const boxes = {
  id: [7, 5, 4, 9],
  start: [0, 10, 20, 60],
  duration: [50, 30, 10, 20],
  level: [0, 1, 2, 0],
  name: [0, 1, 1, 0],
  state: [0, 0, 0, 1],
  more: [0, 0, 3, 0],
};
const answer = {
  start: 0,
  end: 100,
  names: ["outer", "inner"],
  hidden: 3,
  more_lanes: 0,
  left_out: 0,
  lanes: [
    { levels: 1, boxes: { ...boxes, id: [1, 2, 3, 6], level: [0, 0, 0, 0] } },
    { levels: 3, boxes },
  ],
};
const model = new LanesModel(answer);
const y = (level) => model.lanes[1].top + PAD + level * LEVEL + 4;

test("boxes are found under the pointer", () => {
  assert.deepEqual(model.hit(25, y(1), 0), { lane: 1, box: 1 });
  assert.deepEqual(model.hit(25, y(2), 0), { lane: 1, box: 2 });
  assert.equal(model.hit(55, y(0), 0), null);
  assert.deepEqual(model.hit(57, y(0), 4), { lane: 1, box: 3 });
  assert.equal(model.hit(25, model.height + 1, 9), null);
  assert.equal(model.laneAt(0), 0);
});

test("a box is found again in another answer of the same lanes", () => {
  const keyed = (lanes, names) => new LanesModel({ ...answer, names, lanes });
  const before = keyed([{ key: "tid:1", levels: 3, boxes }], answer.names);
  const later = { ...boxes, start: [5, 20, 60, 70], duration: [5, 10, 20, 1], level: [0, 2, 0, 0], name: [1, 0, 1, 1] };
  const other = { key: "tid:2", levels: 1, boxes };
  const after = keyed([other, { key: "tid:1", levels: 3, boxes: later }], ["inner", "outer"]);
  assert.deepEqual(after.same(before, { lane: 0, box: 2 }), { lane: 1, box: 1 }, "moved");
  assert.deepEqual(after.same(before, { lane: 0, box: 0 }), null, "not drawn");
  assert.deepEqual(after.same(before, null), null);
  assert.deepEqual(after.same(null, { lane: 0, box: 0 }), null);
});

test("steps go beside, out and in", () => {
  const at = (box) => ({ lane: 1, box });
  assert.deepEqual(model.step(at(0), "right"), at(3));
  assert.deepEqual(model.step(at(3), "left"), at(0));
  assert.deepEqual(model.step(at(0), "in"), at(1));
  assert.deepEqual(model.step(at(2), "out"), at(1));
  assert.equal(model.step(at(0), "out"), null);
  assert.equal(model.step(at(3), "in"), null);
});

test("a window stays within the capture", () => {
  assert.deepEqual(within(-50, 950, 10_000), { start: 0, end: 1000 });
  assert.deepEqual(within(9500, 10_500, 10_000), { start: 9000, end: 10_000 });
  assert.deepEqual(within(5, 6, 10_000), { start: 5, end: 205 });
  assert.deepEqual(zoomed({ start: 0, end: 1000 }, 0.5, 500, 10_000), { start: 250, end: 750 });
  assert.deepEqual(zoomed({ start: 0, end: 1000 }, 100, 500, 10_000), { start: 0, end: 10_000 });
  assert.deepEqual(panned({ start: 0, end: 1000 }, 0.5, 10_000), { start: 500, end: 1500 });
});
