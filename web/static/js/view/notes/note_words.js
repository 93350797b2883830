// What notes are tied to, in words, and the view that shows it. Pure.

import { duration, exact, moment } from "../../lib/format.js";
import { firstWords } from "../../lib/markdown.js";

/** @import { NoteItem } from "../../../../api.js" */
/** @typedef {NoteItem & {start: number}} TimedNote one that has a time */
/** @typedef {import("../../../../api.js").NoteItem["on"]} NotePlace */

/**
 * Whether a note has a place in time.
 * @param {NoteItem} note
 * @returns {note is TimedNote}
 */
export const isTimed = (note) => note.start !== null;

/**
 * What a note says on one line.
 * @param {{text: string, body?: NoteItem["body"]}} note
 */
export function firstLine({ text, body = [] }) {
  return firstWords(body) || text.split("\n")[0];
}

/**
 * When a note is, in words.
 * @param {{start: number, end: number|null}} note
 */
export function whenOf({ start, end }) {
  return end === null ? `${moment(start)} s` : `${moment(start)} to ${moment(end)} s, ${duration(end - start)}`;
}

/**
 * What a note is tied to, in words.
 * @param {Pick<NoteItem, "on"|"start"|"end"|"track">} note
 * @param {{name: string}[]} streams of the capture
 */
export function placeWords({ on, start, end, track }, streams) {
  if (on.kind === "row") return `Row ${exact(on.row + 1)} of ${streams[on.stream]?.name ?? `stream ${on.stream}`}`;
  if (on.kind === "track") return `Track ${track}`;
  if (on.kind === "frame") return `Frame ${on.name}`;
  if (on.kind === "function") return `Function ${on.name}`;
  if (on.kind === "answer") return "Answer";
  if (on.kind === "capture" || start === null) return "The capture";
  return whenOf({ start, end });
}

/** What a view shows of the table where nothing is chosen. */
const PLAIN_TABLE = { filter: "", start: null, end: null, sort: "", then: "", order: "asc", groupby: "" };

/**
 * The parts of a view that show what a note is tied to; what the note was written in is read by `parse`.
 * @param {NoteItem} note
 * @param {(query: string) => Record<string, unknown>} parse the view of an address
 * @returns {Record<string, unknown>}
 */
export function viewOf({ id, on, view }, parse) {
  const note = { note: id };
  if (on.kind === "row") return { ...PLAIN_TABLE, ...note, tab: "events", stream: on.stream, row: on.row };
  if (on.kind === "capture") return { ...note, tab: "info" };
  if (on.kind === "frame") return { ...parse(view), ...note, tab: "flame", flame: "graph", focus: on.node };
  if (on.kind === "function") {
    const seen = view ? parse(view) : {};
    return { ...seen, ...note, tab: "flame", flame: "graph", search: on.name, focus: "" };
  }
  return { ...note, tab: "timeline" };
}

/**
 * Whose a note is, and what became of it, in words.
 * @param {Pick<NoteItem, "author"|"imported_by"|"changed_by">} note
 */
export function authorWords({ author, imported_by: importer, changed_by: changer }) {
  const by = importer === null ? author : `${author}, says the file that ${importer} imported`;
  return changer === null ? by : `${by}, changed by ${changer}`;
}
