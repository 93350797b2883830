import assert from "node:assert/strict";
import test from "node:test";
import { PANE_GAP, TimeFold, emptyParts, paneAt, panesOf, placeOf, timeAt } from "../static/js/lib/time_fold.js";

const GAPS = [
  { start: 100, end: 200 },
  { start: 300, end: 700 },
];

test("time without its empty parts goes forward and back", () => {
  const fold = new TimeFold(GAPS);
  for (const [time, folded] of [
    [0, 0],
    [100, 100],
    [150, 100],
    [200, 100],
    [250, 150],
    [300, 200],
    [500, 200],
    [700, 200],
    [900, 400],
  ])
    assert.equal(fold.fold(time), folded, `${time}`);
  for (const [folded, early, late] of [
    [0, 0, 0],
    [100, 100, 200],
    [150, 250, 250],
    [200, 300, 700],
    [400, 900, 900],
  ])
    assert.deepEqual([fold.unfold(folded), fold.unfold(folded, true)], [early, late], `${folded}`);
  assert.deepEqual(fold.parts({ start: 50, end: 250 }), [
    { start: 50, end: 100 },
    { start: 200, end: 250 },
  ]);
  assert.deepEqual(fold.parts({ start: 350, end: 600 }), []);
  assert.deepEqual(fold.parts({ start: 150, end: 320 }), [{ start: 200, end: 300 }]);
});

test("long runs of empty bins are empty parts, with a bin left on each side", () => {
  const counts = Array.from({ length: 100 }, (_one, i) => (i < 10 || (i > 40 && i < 43) || i > 90 ? 1 : 0));
  assert.deepEqual(emptyParts(counts, { start: 0, end: 1000 }), [
    { start: 110, end: 400 },
    { start: 440, end: 900 },
  ]);
  assert.deepEqual(emptyParts([1, 0, 0, 1], { start: 0, end: 4 }), []);
  const many = Array.from({ length: 1000 }, (_one, i) => (i % 50 === 0 ? 1 : 0));
  assert.equal(emptyParts(many, { start: 0, end: 1000 }).length, 7);
});

test("what is in sight of folded time fills the screen at one scale", () => {
  const window = { start: 50, end: 750 };
  const panes = panesOf(window, { left: 20, width: 236, fold: new TimeFold(GAPS), beside: null });
  assert.deepEqual(
    panes.map(({ start, end }) => [start, end]),
    [
      [50, 100],
      [200, 300],
      [700, 750],
    ],
  );
  assert.equal(panes[0].left, 20);
  assert.equal(panes.at(-1).right, 236);
  assert.ok(panes.every(({ start, end, left, right }) => Math.abs((right - left) / (end - start) - 1) < 1e-9));
  for (let time = 50; time <= 100; time += 5) assert.ok(Math.abs(timeAt(panes, placeOf(panes, time)) - time) < 1e-6);
  assert.equal(placeOf(panes, 150), panes[0].right + PANE_GAP / 2);
  assert.equal(timeAt(panes, panes[0].right + 1), 100);
  assert.equal(paneAt(panes, 0), panes[0]);
  // All of it is folded: nothing is hidden then.
  assert.equal(
    panesOf({ start: 350, end: 600 }, { left: 0, width: 10, fold: new TimeFold(GAPS), beside: null }).length,
    1,
  );
});

test("two times beside each other have one scale and begin together", () => {
  const [first, second] = panesOf({ start: 100, end: 200 }, { left: 10, width: 218, fold: null, beside: 5000 });
  assert.deepEqual([second.start, second.end], [5100, 5200]);
  assert.equal(first.right - first.left, second.right - second.left);
  assert.equal(second.left - first.right, PANE_GAP);
  const panes = [first, second];
  assert.equal(timeAt(panes, second.left + 50), 5150);
  assert.equal(placeOf(panes, 5150), second.left + 50);
  assert.equal(placeOf(panes, 150), first.left + 50);
});
