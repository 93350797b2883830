import assert from "node:assert/strict";
import test from "node:test";

import { LIBRARY_KINDS, fileNames, searchOf, selectionOf, tagsOf, useOf } from "../static/js/page/library_model.js";

test("what is kept leads where it is used", () => {
  const at = (kind, records = true) => useOf({ id: 7, kind, name: "probe:x" }, records)?.path;
  assert.equal(at("probe"), "/new?command=perf+record+-e+probe%3Ax+-a");
  assert.equal(at("script"), "/new?method=script&kept=7");
  assert.equal(at("recipe"), "/new?recipe=probe%3Ax");
  assert.equal(at("filter"), undefined);
  assert.equal(at("probe", false), undefined);
  assert.equal(at("search", false), "/captures?saved=7");
});

test("tags are words", () => {
  assert.deepEqual(tagsOf(" disk,latency  x "), ["disk", "latency", "x"]);
  assert.deepEqual(tagsOf(""), []);
});

test("a selection is the address of a view, a line for each parameter", () => {
  const search = "?v=3&tab=timeline&filter=comm+%3D%3D+%22a%26b%22";
  assert.equal(selectionOf(search), 'v=3\ntab=timeline\nfilter=comm == "a&b"');
  assert.equal(`?${searchOf(selectionOf(search))}`, search);
  assert.equal(searchOf("nothing\n=x"), "");
});

test("every kind has words", () => {
  assert.deepEqual(
    LIBRARY_KINDS.map(({ kind }) => kind),
    ["probe", "script", "recipe", "filter", "query", "selection", "search"],
  );
  for (const { about, example } of LIBRARY_KINDS) assert.ok(about.endsWith(".") && example);
});

test("exported files have a name each", () => {
  const items = [
    { kind: "probe", name: "probe:vfs_read", owner: "eva" },
    { kind: "probe", name: "probe:vfs_read", owner: "../max" },
    { kind: "script", name: "opens", owner: "eva" },
  ];
  assert.deepEqual(fileNames(items), ["probe.vfs_read.probe", "probe.vfs_read....max.probe", "opens.bt"]);
});
