import assert from "node:assert/strict";
import test from "node:test";
import { TimeNavigator } from "../static/js/lib/time_navigator.js";

/** A navigator of 1000 pixels, of which 200 are labels, over a capture of 8000 ns, without a page. */
function navigator(view = { from: null, to: null }, range = { start: null, end: null }) {
  const listeners = {};
  const element = {
    addEventListener: (name, run) => {
      (listeners[name] ??= []).push(run);
    },
    focus() {},
    setPointerCapture() {},
    classList: { toggle() {} },
    getBoundingClientRect: () => ({ left: 0 }),
  };
  globalThis.document = {
    addEventListener: (name, run) => {
      (listeners[name] ??= []).push(run);
    },
    querySelector: () => null,
  };
  globalThis.window = { addEventListener() {} };
  globalThis.HTMLElement = class {};
  globalThis.requestAnimationFrame = () => 0;
  const selected = [];
  const context = { view, range, duration: 8000, state: { set() {} }, select: (one) => selected.push(one) };
  const seen = { moved: 0, pointed: 0 };
  const nav = new TimeNavigator(context, {
    element,
    left: 200,
    width: () => 1000,
    visible: () => true,
    moved: () => {
      seen.moved += 1;
    },
    pointed: () => {
      seen.pointed += 1;
    },
  });
  const send = (name, event) => {
    for (const run of listeners[name] ?? [])
      run({
        preventDefault() {},
        composedPath: () => [null],
        button: 0,
        pointerId: 1,
        offsetY: 5,
        type: name,
        ...event,
        offsetX: event.clientX ?? event.offsetX,
      });
  };
  return { nav, send, seen, selected, context };
}
const rounded = ({ start, end }) => [Math.round(start), Math.round(end)];

test("times and pixels are the same in both directions", () => {
  const { nav } = navigator();
  assert.deepEqual([nav.time(200), nav.time(1000), nav.place(4000), nav.pixel], [0, 8000, 600, 10]);
});

test("the wheel zooms around the pointer with Ctrl, pans with Shift, and else scrolls the page", () => {
  const { nav, send, seen } = navigator();
  send("wheel", { offsetX: 600, deltaX: 0, deltaY: 100, deltaMode: 0 });
  assert.deepEqual([seen.moved, rounded(nav.shown)], [0, [0, 8000]]);
  send("wheel", { offsetX: 600, deltaX: 0, deltaY: -400, deltaMode: 0, ctrlKey: true });
  assert.equal(Math.round(nav.time(600)), 4000);
  assert.ok(nav.shown.end - nav.shown.start < 4000 && !nav.follows);
  const { start } = nav.shown;
  send("wheel", { offsetX: 600, deltaX: 0, deltaY: 80, deltaMode: 0, shiftKey: true });
  assert.ok(nav.shown.start > start);
  send("wheel", { offsetX: 600, deltaX: 0, deltaY: 4000, deltaMode: 0, ctrlKey: true });
  assert.deepEqual([rounded(nav.shown), nav.follows], [[0, 8000], true]);
});

test("keys zoom and pan, where nothing else takes them", () => {
  const { nav, send } = navigator();
  send("keydown", { code: "KeyW" });
  const span = nav.shown.end - nav.shown.start;
  assert.ok(span < 8000);
  send("keyup", { code: "KeyW" });
  send("keydown", { code: "KeyD", ctrlKey: true });
  assert.equal(nav.shown.end - nav.shown.start, span);
  const { start } = nav.shown;
  send("keydown", { code: "KeyD" });
  assert.ok(nav.shown.start > start);
});

test("a drag selects, one with Shift pans", () => {
  const { nav, send, selected } = navigator({ from: 2000, to: 4000 });
  send("pointerdown", { clientX: 600 });
  send("pointermove", { clientX: 800 });
  assert.deepEqual(rounded(nav.marked), [3000, 3500]);
  send("pointerup", { clientX: 800 });
  assert.deepEqual([selected.map(rounded), nav.marked], [[[3000, 3500]], null]);
  send("pointerdown", { clientX: 600, shiftKey: true });
  send("pointermove", { clientX: 680, shiftKey: true });
  assert.deepEqual(rounded(nav.shown), [1800, 3800]);
});

test("what is fitted has a margin and stays within the capture", () => {
  const { nav, context } = navigator();
  Object.assign(context.range, { start: 1000, end: 2000 });
  nav.fit();
  assert.deepEqual(rounded(nav.shown), [960, 2040]);
  nav.around(7900, 8000);
  assert.equal(nav.shown.end, 8000);
  nav.reveal(100);
  assert.ok(nav.shown.start < 7900);
  nav.all();
  assert.ok(nav.follows);
});
