// Words and addresses of investigations. Pure.

import { duration, moment, wall } from "../lib/format.js";
import { viewOf } from "../view/notes/note_words.js";
import { emptyView, formatView, parseView } from "./url_state.js";

/** @import { InvestigationHead, NoteItem } from "../../../api.js" */

/** @type {Record<string, string>} */
const STATES = { open: "Open", found: "Found", closed: "Closed" };
/** All states, in order. */
export const INVESTIGATION_STATES = Object.keys(STATES);

/** @param {string} state */
export const stateWords = (state) => STATES[state] ?? state;

/**
 * Who began an investigation, and who changed it last.
 * @param {InvestigationHead} head
 */
export function headWords({ owner, created_unix_ns: created, changed_by: changer, changed_unix_ns: changed }) {
  return `Begun by ${owner}, ${wall(created)} · last changed by ${changer}, ${wall(changed)}`;
}

/** @param {string} id */
export const investigationAddress = (id) => `/investigations/${encodeURIComponent(id)}`;

/**
 * The page of a capture at a view.
 * @param {string} capture
 * @param {string} view the query of its address
 */
export const captureAddress = (capture, view) => `/captures/${encodeURIComponent(capture)}${view ? `?${view}` : ""}`;

/**
 * The page of a capture at a note.
 * @param {string} capture
 * @param {NoteItem} note
 */
export function noteAddress(capture, note) {
  const found = viewOf(note, (query) => parseView(query).view);
  const parts = /** @type {Partial<import("./url_state.js").ViewParts>} */ (found);
  const view = formatView({ ...emptyView(), ...parts, notes: parts.tab === "timeline" });
  return captureAddress(capture, view.slice(1));
}

/** @type {Record<string, string>} */
const TABS = { flame: "flame graph", sql: "SQL", systemcalls: "system calls" };

/**
 * What a view shows, in words.
 * @param {string} query
 */
export function viewWords(query) {
  const { view } = parseView(query);
  const { start, end } = view;
  const [from, to] = start !== null && end !== null ? [start, end] : [view.from, view.to];
  return [
    view.tab ? (TABS[view.tab] ?? view.tab) : "",
    from !== null && to !== null ? `from ${moment(from)} s for ${duration(to - from)}` : "",
    view.filter ? `rows with ${view.filter}` : "",
    view.search && view.tab === "flame" ? `find ${view.search}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

/**
 * Before which block one goes that is moved by one place; null for the end, undefined where it cannot go.
 * @param {string[]} ids in order
 * @param {string} id
 * @param {"up"|"down"} way
 * @returns {string|null|undefined}
 */
export function movedBefore(ids, id, way) {
  const at = ids.indexOf(id);
  if (at < 0) return undefined;
  if (way === "up") return at === 0 ? undefined : ids[at - 1];
  return at === ids.length - 1 ? undefined : (ids[at + 2] ?? null);
}
