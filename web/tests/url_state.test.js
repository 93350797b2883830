import assert from "node:assert/strict";
import test from "node:test";
import { VERSION, emptyView, formatView, parseView } from "../static/js/page/url_state.js";

test("what is usual is not written", () => assert.equal(formatView(emptyView()), `?v=${VERSION}`));

test("a view survives its address", () => {
  const view = {
    ...emptyView(),
    tab: "timeline",
    start: 5,
    end: 1e12,
    stream: 2,
    filter: 'comm == "a&b=c#d" || x ~ "%41*"',
    sort: "args.pid",
    order: "desc",
    row: 77,
    group: "thread",
    from: 1,
    to: 2e9,
    focus: "00ff00ff00ff00ff",
    search: "ünï\u202e",
    invert: true,
    by: "none",
  };
  assert.deepEqual(parseView(formatView(view)), { view, newer: false });
});

test("nonsense gives the usual values", () => {
  const usual = emptyView();
  for (const search of [
    "",
    "?",
    "?v=0",
    "?v=x&tab=<script>&stream=-1&start=1e9&end=&order=up",
    "?start=5&end=5",
    "?start=9&end=3",
    "?start=4",
    "?focus=xyz",
    "?invert=yes",
    "?__proto__=1&constructor=2&hasOwnProperty=3",
    "?stream=99999999999999999999",
    "?tab=__proto__",
  ])
    assert.deepEqual(parseView(search).view, usual, search);
  assert.equal(parseView(`?filter=${"x".repeat(2000)}`).view.filter, "");
});

test("links of version 1 name no first stream and no first map", () => {
  assert.deepEqual([parseView("?v=1&tab=maps").view.map, parseView("?v=1&tab=maps").view.stream], [0, 0]);
  assert.deepEqual(
    [parseView("?v=1&tab=flame").view.map, parseView("?v=1&tab=maps&map=3&stream=2").view.map],
    [null, 3],
  );
  assert.deepEqual(
    [parseView("?tab=maps").view.map, parseView(formatView({ ...emptyView(), stream: 0, map: 0 })).view.map],
    [null, 0],
  );
});

test("a later version is read as far as it is known", () => {
  const { view, newer } = parseView(`?v=${VERSION + 1}&tab=flame&shiny=1`);
  assert.equal(view.tab, "flame");
  assert.ok(newer);
});
