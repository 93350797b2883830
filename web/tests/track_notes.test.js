// Notes on tracks as a whole.

import assert from "node:assert/strict";
import test from "node:test";
import { nextNote, notesOfTracks } from "../static/js/view/timeline/notes/track_notes.js";

const note = (id, kind, track) => ({ id, on: { kind }, track });

test("a track has the notes on it as a whole, and none of those at moments of it", () => {
  const notes = [
    note("a", "track", "tid:7"),
    note("b", "range", "tid:7"),
    note("c", "track", "cpu:0"),
    note("d", "track", "tid:7"),
    note("e", "capture", null),
  ];
  const found = notesOfTracks(notes);
  assert.deepEqual(
    [...found].map(([key, of]) => [key, of.map(({ id }) => id)]),
    [
      ["tid:7", ["a", "d"]],
      ["cpu:0", ["c"]],
    ],
  );
});

test("one after the other is selected", () => {
  const notes = [note("a", "track", "x"), note("b", "track", "x")];
  assert.deepEqual(
    ["", "a", "b"].map((id) => nextNote(notes, id).id),
    ["a", "b", "a"],
  );
});
