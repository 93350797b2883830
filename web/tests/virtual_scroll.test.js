import assert from "node:assert/strict";
import test from "node:test";
import { MAX_HEIGHT, VirtualScroll } from "../static/js/lib/virtual_scroll.js";

const made = (rows) => Object.assign(new VirtualScroll(24), { rows, viewport: 480 });

test("few rows scroll as any element does", () => {
  const scroll = made(100);
  scroll.scrolled(50);
  assert.deepEqual(scroll.visible(), { first: 2, last: 23 });
  scroll.scrolled(1e9);
  assert.equal(scroll.visible().last, 100);
});

test("ten million rows are all within reach, one at a time", () => {
  const scroll = made(1e7);
  assert.equal(scroll.height, MAX_HEIGHT);
  scroll.scrolled(24);
  assert.equal(scroll.visible().first, 1);
  scroll.scrolled(MAX_HEIGHT / 2);
  assert.ok(Math.abs(scroll.visible().first - 5e6) < 1000);
  const before = scroll.visible().first;
  const rest = scroll.settle();
  scroll.scrolled(rest + 24);
  assert.equal(scroll.visible().first, before + 1);
  scroll.scrolled(MAX_HEIGHT);
  assert.equal(scroll.visible().last, 1e7);
  scroll.scrolled(0);
  assert.equal(scroll.visible().first, 0);
});

test("a row is brought into sight by the shortest way", () => {
  const scroll = made(1000);
  scroll.show(500);
  assert.equal(scroll.visible().last, 501);
  scroll.show(490);
  assert.equal(scroll.visible().last, 501);
  scroll.show(10, "top");
  assert.equal(scroll.visible().first, 10);
});
