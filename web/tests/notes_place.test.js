import assert from "node:assert/strict";
import test from "node:test";
import {
  FLAG,
  anchorOf,
  measured,
  noteAt,
  placeNotes,
  spanOf,
  spanText,
  windowOf,
} from "../static/js/view/timeline/notes/notes_place.js";
import { whenOf } from "../static/js/view/notes/note_words.js";

const note = (id, start, end = null, text = id) => ({ id, start, end, text });
const sight = { left: 100, right: 500 };
const place = (time) => 100 + time;

test("notes have room for their text until the next one, and what is out of sight is left out", () => {
  const placed = placeNotes(
    [note("a", -80), note("b", 10), note("c", 60, 200), note("d", 66), note("e", 900)],
    place,
    sight,
  );
  assert.deepEqual(
    placed.map(({ note: { id }, left, right, textWide }) => [id, left, right, textWide]),
    [
      ["b", 110, 110, 160 - 6 - 110 - FLAG - 3],
      ["c", 160, 300, 0],
      ["d", 166, 166, 500 - 6 - 166 - FLAG - 3],
    ],
  );
  // A range that began before is still told.
  const [long] = placeNotes([note("long", -300, 900)], place, sight);
  assert.equal(long.textLeft, 100 + FLAG + 3);
});

test("a note is found at its flag, its range and its text", () => {
  const placed = placeNotes([note("a", 10), note("c", 60, 200)], place, sight);
  const at = (x) => noteAt(placed, x, () => 20)?.id ?? null;
  assert.deepEqual([106, 108, 118, 140, 157, 250, 303].map(at), [null, "a", "a", "a", "c", "c", null]);
});

test("what is measured is picked, else selected, else from the cursor to the pointer", () => {
  const [picked, selection] = [
    { start: 1, end: 2 },
    { start: 3, end: 9 },
  ];
  assert.equal(measured({ picked, selection, cursor: 1, pointer: 2 }), picked);
  assert.equal(measured({ picked: null, selection, cursor: 1, pointer: 2 }), selection);
  assert.deepEqual(measured({ picked: null, selection: null, cursor: 7, pointer: 4 }), { start: 4, end: 7 });
  for (const [cursor, pointer] of [
    [null, 4],
    [4, null],
    [4, 4.2],
  ])
    assert.equal(measured({ picked: null, selection: null, cursor, pointer }), null);
});

test("a note is tied to a range if there is one, else to a moment", () => {
  const shown = { start: 0, end: 100 };
  const nothing = { span: null, picked: null, selection: null, cursor: null, pointer: null };
  assert.deepEqual(anchorOf(nothing, shown), { start: 50, end: null });
  assert.deepEqual(anchorOf({ ...nothing, cursor: 7, pointer: 8.4 }, shown), { start: 8, end: null });
  assert.deepEqual(anchorOf({ ...nothing, span: { start: 1.2, end: 5 } }, shown), { start: 1, end: 5 });
  // An instant is a moment.
  assert.deepEqual(anchorOf({ ...nothing, picked: { start: 4, end: 4 } }, shown), { start: 4, end: null });
});

test("a span and a note come back from an address and go into words", () => {
  for (const span of [
    { start: 0, end: 5 },
    { start: -4, end: 12_000_000_000 },
  ])
    assert.deepEqual(spanOf(spanText(span)), span);
  for (const bad of ["", "5~4", "a~b", "1"]) assert.equal(spanOf(bad), null, bad);
  assert.equal(whenOf(note("a", 1_500_000)), "0.001500000 s");
  assert.equal(whenOf(note("a", 0, 1_500_000)), "0.000000000 to 0.001500000 s, 1.5 ms");
  const shown = { start: 0, end: 100 };
  assert.equal(windowOf(note("a", 50), shown), shown);
  assert.deepEqual(windowOf(note("a", 500), shown), { start: 450, end: 550 });
  assert.deepEqual(windowOf(note("a", 500, 600), shown), { start: 450, end: 650 });
});
