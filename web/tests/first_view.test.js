import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { arrangeMaps, askedView, firstShow, firstStream, firstTab, isScratch } from "../static/js/view/first_view.js";

const TOOLS = new URL("../../bpf/tools/", import.meta.url);
const tool = (name) => readFileSync(new URL(`${name}.bt`, TOOLS), "utf8");
const columns = (...names) =>
  ["time", "cpu", "pid", "tid", "comm", ...names].map((name) => ({
    name,
    type: /^key.*stack/.test(name) ? "stack" : "u64",
  }));
const map = (name, ...own) => ({ name, kind: "map", columns: columns("snapshot", ...own) });
const stack = (name, ...own) => ({
  ...map(name, ...own),
  columns: map(name, ...own).columns.map((one) => (one.name === "key1" ? { ...one, type: "stack" } : one)),
});
const rows = (name, ...own) => ({ name, kind: "events", columns: columns(...own) });
const script = (text, ...streams) => ({ spec: { sources: [{ id: "script", method: { script: { text } } }] }, streams });

test("what a script's header asks for", () => {
  for (const [text, asked] of [
    ["#!/usr/bin/env trace\n// a: b\n// view: flame\nbegin {}", "flame"],
    ["// view: histogram", "histogram"],
    ["//view: table \n", "table"],
    ["begin { } // view: flame", ""],
    ["begin {}\n// view: flame", ""],
    ["// view: fancy\n", ""],
    ["", ""],
    ["/* view: flame */", ""],
  ])
    assert.equal(askedView(text), asked, text);
});

test("every tool of the shelf says what it is for", () => {
  for (const name of readdirSync(TOOLS).filter((one) => one.endsWith(".bt")))
    assert.notEqual(askedView(tool(name.replace(/\.bt$/, ""))), "", name);
});

test("scratch space is taken out again and never printed", () => {
  const offcpu = tool("offcputime");
  for (const name of ["@left", "@user", "@kernel"])
    assert.equal(isScratch(map(name, "key", "value"), offcpu), true, name);
  assert.equal(isScratch(map("@us", "key0", "sum"), offcpu), false);
  assert.equal(isScratch(map("@read", "key", "sum"), tool("filetop")), false);
  assert.equal(
    isScratch(map("@last", "key", "value"), "begin { @last[1] = 2; } interval:s:1 { print(@last); clear(@last); }"),
    false,
  );
  assert.equal(isScratch(map("@", "key", "value"), "begin { @[1] = 2; delete(@, 1); }"), true);
  assert.equal(
    isScratch(map("@a", "key", "value"), "begin { @a[1] = 2; @ab[1] = 1; delete(@ab, 1); // delete(@a, 1)\n }"),
    false,
  );
});

test("the first tab is what a capture is for", () => {
  const offcpu = [map("@left", "key", "value"), map("@user", "key", "value"), stack("@us", "key0", "key1", "sum")];
  const open = [
    rows("heading:12", "arg0"),
    rows("opensnoop", "pid", "comm"),
    map("@file", "key", "value"),
    map("@begun", "key", "value"),
  ];
  for (const [info, tab] of [
    [{ spec: { sources: [{ id: "profile", method: { profile: {} } }] }, streams: [] }, "flame"],
    [{ spec: { sources: [{ id: "count", method: { count: {} } }] }, streams: [] }, "counts"],
    [
      { spec: { sources: [{ id: "events", method: { events: {} } }] }, streams: [rows("sched:sched_switch")] },
      "events",
    ],
    [{ spec: { sources: [{ id: "trace", method: { trace: {} } }] }, streams: [rows("function_graph")] }, "calls"],
    [script(tool("offcputime"), ...offcpu), "flame"],
    [script(tool("opensnoop"), ...open), "events"],
    [script(tool("syslatency"), map("@begun", "key", "value"), map("@us", "key", "count", "average", "total")), "maps"],
    [script(tool("bioheat"), map("@issued", "key", "value"), map("@us", "key", "low", "high", "count")), "maps"],
    [script('begin { printf("x"); }', rows("printf:1")), "output"],
    [script("begin { @ = 1; }", map("@", "value")), "maps"],
    [script("profile:hz:9 { @[1, kstack] = count(); }", stack("@", "key0", "key1", "count")), "flame"],
    [script("// view: timeline\nprofile:hz:9 { }"), "timeline"],
  ])
    assert.equal(firstTab(info), tab, JSON.stringify(info).slice(0, 120));
});

test("the first map holds results, fits the view, and is not empty", () => {
  const streams = [
    map("@begun", "key", "value"),
    map("@n", "key", "count"),
    map("@us", "key", "low", "high", "count"),
    map("@none", "key", "low", "high", "count"),
  ];
  const maps = (...snapshots) => snapshots.map((number, n) => ({ n, name: streams[n].name, snapshots: number }));
  const text = (view) => `// view: ${view}\nbegin { delete(@begun, 1); }`;
  const names = (list) => list.map(({ name }) => name);
  const asked = arrangeMaps(maps(3, 3, 3, 0), streams, text("histogram"));
  assert.deepEqual(
    [asked.first.name, names(asked.shown), names(asked.empty)],
    ["@us", ["@us", "@n", "@begun"], ["@none"]],
  );
  assert.equal(arrangeMaps(maps(3, 3, 3, 0), streams, text("table")).first.name, "@n");
  // Nothing yet: what will hold the result, not the scratch space that has something already.
  assert.equal(arrangeMaps(maps(3, 0, 0, 0), streams, text("histogram")).first.name, "@us");
  assert.equal(arrangeMaps([], streams, "").first, undefined);
  assert.equal(firstShow(["histogram", "heatmap", "table"], text("heatmap")), "heatmap");
  assert.equal(firstShow(["table", "series"], text("heatmap")), "table");
});

test("the first stream has rows, not headings nor what was kept", () => {
  assert.equal(firstStream([rows("heading:2"), rows("opensnoop"), map("@a", "value")]), 1);
  assert.equal(firstStream([rows("heading:2"), map("@a", "value")]), 1);
  assert.equal(firstStream([rows("heading:2")]), 0);
  assert.equal(firstStream([]), 0);
});
