// What notes, spans and times of notes are in words and numbers, and where notes are on a ruler. Pure.

import { firstLine } from "../../notes/note_words.js";

/** @import { TimedNote } from "../../notes/note_words.js" */
/** @typedef {{start: number, end: number}} Span */

/** Pixels of a flag. */
export const FLAG = 9;
const GAP = 6;
/** A text of less is not written. */
const LEAST_TEXT = 16;

/**
 * A note on the ruler.
 * @typedef {object} PlacedNote
 * @property {TimedNote} note
 * @property {number} left pixels
 * @property {number} right where the range ends; for a moment the same
 * @property {number} textLeft
 * @property {number} textWide how much of the text can be written, pixels; 0 for none
 */

/**
 * Where notes are: each has room for its text until the next one begins.
 * @param {TimedNote[]} notes in order of time
 * @param {(time: number) => number} place
 * @param {{left: number, right: number}} sight pixels
 * @returns {PlacedNote[]}
 */
export function placeNotes(notes, place, sight) {
  const inSight = notes
    .map((note) => ({ note, left: place(note.start), right: place(note.end ?? note.start) }))
    .filter(({ left, right }) => right >= sight.left - FLAG && left <= sight.right);
  return inSight.map(({ note, left, right }, i) => {
    const textLeft = Math.max(left, sight.left) + FLAG + 3;
    const next = inSight[i + 1]?.left ?? sight.right;
    const wide = Math.min(next, sight.right) - GAP - textLeft;
    return { note, left, right, textLeft, textWide: wide < LEAST_TEXT ? 0 : wide };
  });
}

/** Pixels of a note's text at most, where notes stand in lines below each other. */
const MOST_TEXT = 260;

/**
 * Where notes are in lines below each other: each in the first line that has room for it and its text.
 * @param {TimedNote[]} notes in order of time
 * @param {(time: number) => number} place
 * @param {{left: number, right: number}} sight pixels
 * @param {number} most lines
 * @param {(text: string) => number} measure
 * @returns {{lines: PlacedNote[][], more: number}} `more`: notes in sight that no line has room for
 */
export function packNotes(notes, place, sight, most, measure) {
  /** @type {PlacedNote[][]} */
  const lines = Array.from({ length: most }, () => []);
  const free = lines.map(() => -Infinity);
  let more = 0;
  for (const note of notes) {
    const [left, right] = [place(note.start), place(note.end ?? note.start)];
    if (right < sight.left - FLAG || left > sight.right) continue;
    const line = free.findIndex((until) => until <= left);
    if (line < 0) {
      more += 1;
      continue;
    }
    const textLeft = Math.max(left, sight.left) + FLAG + 3;
    const textWide = Math.max(0, Math.min(MOST_TEXT, measure(firstLine(note)) + 1, sight.right - GAP - textLeft));
    free[line] = Math.max(right, textLeft + textWide) + GAP;
    lines[line].push({ note, left, right, textLeft, textWide });
  }
  return { lines, more };
}

/**
 * The notes at a moment, in words.
 * @param {TimedNote[]} notes
 * @param {number} time
 * @param {number} near nanoseconds
 * @returns {string[]}
 */
export function notesWords(notes, time, near) {
  return notes
    .filter(({ start, end }) => time >= start - near && time <= (end ?? start) + near)
    .map((note) => `${note.author}: ${firstLine(note) || "a note without text"}`);
}

/**
 * The note at a moment, else the one that begins nearest to it; null where there are none.
 * @param {TimedNote[]} notes
 * @param {number} time
 * @returns {TimedNote|null}
 */
export function noteNear(notes, time) {
  const inside = notes.findLast(({ start, end }) => time >= start && time <= (end ?? start));
  const far = (/** @type {TimedNote} */ { start }) => Math.abs(start - time);
  return (
    inside ??
    notes.reduce((/** @type {TimedNote|null} */ best, one) => (best && far(best) <= far(one) ? best : one), null)
  );
}

/**
 * The note at a place on the ruler; the last one that is drawn over others.
 * @param {PlacedNote[]} placed
 * @param {number} x
 * @param {(text: string) => number} measure
 */
export function noteAt(placed, x, measure) {
  const reach = (/** @type {PlacedNote} */ { note, left, right, textLeft, textWide }) =>
    x >= left - 3 && x <= Math.max(right, left + FLAG, textLeft + Math.min(textWide, measure(firstLine(note)))) + 2;
  return placed.findLast(reach)?.note ?? null;
}

/**
 * The window that shows a note: around a range, and about a moment as wide as the one that is shown.
 * @param {{start: number, end: number|null}} note
 * @param {Span} shown
 * @returns {Span}
 */
export function windowOf({ start, end }, shown) {
  if (end !== null) {
    const margin = (end - start) * 0.5;
    return { start: start - margin, end: end + margin };
  }
  if (start >= shown.start && start <= shown.end) return shown;
  const half = (shown.end - shown.start) / 2;
  return { start: start - half, end: start + half };
}

/**
 * What is measured: the picked row, else the selected range, else from the cursor to the pointer. Null where there is nothing.
 * @param {{picked: Span|null, selection: Span|null, cursor: number|null, pointer: number|null}} what
 * @returns {Span|null}
 */
export function measured({ picked, selection, cursor, pointer }) {
  if (picked) return picked;
  if (selection) return selection;
  if (cursor === null || pointer === null || Math.round(cursor) === Math.round(pointer)) return null;
  return { start: Math.min(cursor, pointer), end: Math.max(cursor, pointer) };
}

/**
 * What a new note is tied to: a range that is measured, picked or selected, else the moment under the pointer or at the cursor.
 * @param {{span: Span|null, picked: Span|null, selection: Span|null, cursor: number|null, pointer: number|null}} what
 * @param {Span} shown
 * @returns {{start: number, end: number|null}}
 */
export function anchorOf({ span, picked, selection, cursor, pointer }, shown) {
  const range = span ?? picked ?? selection;
  if (range && Math.round(range.end) > Math.round(range.start))
    return { start: Math.round(range.start), end: Math.round(range.end) };
  return { start: Math.round(range?.start ?? pointer ?? cursor ?? (shown.start + shown.end) / 2), end: null };
}

/**
 * A span as the address has it.
 * @param {Span} span
 */
export function spanText({ start, end }) {
  return `${Math.round(start)}~${Math.round(end)}`;
}

/**
 * The span of an address; null for none.
 * @param {string} text
 * @returns {Span|null}
 */
export function spanOf(text) {
  const [start, end] = text.split("~").map(Number);
  return text !== "" && Number.isSafeInteger(start) && Number.isSafeInteger(end) && end >= start
    ? { start, end }
    : null;
}
