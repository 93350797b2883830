import assert from "node:assert/strict";
import test from "node:test";
import {
  captureAddress,
  investigationAddress,
  movedBefore,
  noteAddress,
  stateWords,
  viewWords,
} from "../static/js/page/investigation_words.js";

test("a block goes one place up or down, and not beyond the ends", () => {
  const ids = ["a", "b", "c"];
  assert.deepEqual(
    ["a", "b", "c", "d"].map((id) => movedBefore(ids, id, "up")),
    [undefined, "a", "b", undefined],
  );
  assert.deepEqual(
    ["a", "b", "c", "d"].map((id) => movedBefore(ids, id, "down")),
    ["c", null, undefined, undefined],
  );
});

test("views are told in words", () => {
  assert.equal(viewWords("v=3&tab=flame&search=main"), "flame graph, find main");
  assert.match(
    viewWords("v=3&tab=events&start=1000000000&end=2000000000&filter=cpu+%3D%3D+1"),
    /^events, from 1\.0+ s for 1.* s, rows with cpu == 1$/,
  );
  assert.match(viewWords("v=3&tab=timeline&from=0&to=5000"), /^timeline, from 0\.0+ s for 5.* µs$/);
  assert.equal(viewWords(""), "");
});

test("addresses lead to pages, captures and notes", () => {
  assert.equal(investigationAddress("0f"), "/investigations/0f");
  assert.equal(captureAddress("aa", ""), "/captures/aa");
  assert.equal(captureAddress("aa", "v=3&tab=info"), "/captures/aa?v=3&tab=info");
  const id = "00000000000000ff";
  const row = noteAddress("aa", { id, on: { kind: "row", stream: 1, row: 7 }, view: "" });
  assert.deepEqual(
    ["tab", "stream", "row", "note", "notes"].map((part) => new URL(row, "http://x").searchParams.get(part)),
    ["events", "1", "7", id, null],
  );
  const moment = new URL(noteAddress("aa", { id, on: { kind: "moment" }, view: "" }), "http://x").searchParams;
  assert.deepEqual([moment.get("tab"), moment.get("note"), moment.get("notes")], ["timeline", id, "1"]);
  assert.equal(stateWords("found"), "Found");
});
