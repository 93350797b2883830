// Which tracks the panel of a range is over: all, those that are marked, or those of one row of the tree. Pure.

import { titleOf } from "../track_tree.js";

/** @import { TreeRow } from "../track_tree.js" */

/** As many tracks as one request takes. */
export const MOST_TRACKS = 512;

/**
 * @typedef {object} RangeOver which range of which tracks
 * @property {number} start
 * @property {number} end
 * @property {TreeRow[]|null} rows the tracks; null for all
 * @property {string} tracks one track of each of the rows, as requests take them; empty for all
 * @property {string} words which tracks these are
 * @property {string|null} filter the filter of rows that finds those of the tracks; empty for all; null where none does
 * @property {string} sql the same as a condition of a query, with ` and ` before it; empty where there is none
 */

/**
 * Whether a range can be over a row: it has states or slices.
 * @param {TreeRow} row
 */
const canBeOver = ({ kind, tracks }) => kind !== "path" && tracks.length > 0;

/**
 * The tracks that are marked: those that the text finds by name, and pinned ones; of a group all that are in it.
 * @param {TreeRow[]} tree
 * @param {{pinned: string[], find: string}} view
 * @returns {TreeRow[]}
 */
export function markedRows(tree, { pinned, find }) {
  const text = find.trim().toLowerCase();
  const isMarked = (/** @type {TreeRow} */ row) =>
    pinned.includes(row.key) || (text !== "" && `${titleOf(row)} ${row.key}`.toLowerCase().includes(text));
  const groups = new Set(tree.filter((row) => row.kind === "group" && isMarked(row)).map(({ key }) => key));
  const isIn = (/** @type {TreeRow} */ row) => isMarked(row) || groups.has(row.parent);
  return tree.filter((row) => row.kind === "tracks" && canBeOver(row) && isIn(row));
}

/** In the address: the range is over one row of the tree, whose key follows. */
const ONE_ROW = "row:";

/**
 * How the address says that a range is over one row; empty for a row without states and slices.
 * @param {TreeRow|null|undefined} row
 */
export function overRow(row) {
  return row && canBeOver(row) ? ONE_ROW + row.key : "";
}

/**
 * The row that a range is over; undefined where it is over all or marked tracks, or the row is not there.
 * @param {TreeRow[]} tree
 * @param {string} over as the address has it
 */
export function rowOver(tree, over) {
  const key = over.startsWith(ONE_ROW) ? over.slice(ONE_ROW.length) : null;
  return tree.find((row) => row.key === key && canBeOver(row));
}

/** The most threads and CPUs that a filter names; it is in the address. */
const MOST_TERMS = 40;

/**
 * The columns that find the rows of tracks; null where they cannot, or there are too many.
 * @param {TreeRow[]} rows
 * @returns {{column: string, number: number}[]|null}
 */
function termsOf(rows) {
  const terms = rows.map(({ key }) => {
    const [, kind, number] = /^(tid|cpu):(\d+)$/.exec(key) ?? [];
    return kind ? { column: kind, number: Number(number) } : null;
  });
  const known = terms.filter((term) => term !== null);
  return known.length === terms.length && known.length <= MOST_TERMS ? known : null;
}

/**
 * What the panel is over.
 * @param {{start: number, end: number}} range
 * @param {TreeRow[]} tree
 * @param {{over: string, pinned: string[], find: string}} view
 * @returns {RangeOver}
 */
export function rangeOver({ start, end }, tree, view) {
  const one = rowOver(tree, view.over);
  const marked =
    view.over === "marked" ? markedRows(tree, view) : one ? markedRows(tree, { pinned: [one.key], find: "" }) : [];
  if (marked.length === 0) {
    const why = view.over === "marked" ? "none is found by name or pinned" : "the one of the link is not there";
    const words = view.over === "" ? "all tracks" : `all tracks: ${why}`;
    return { start, end, rows: null, tracks: "", words, filter: "", sql: "" };
  }
  const rows = marked.slice(0, MOST_TRACKS);
  const left = marked.length - rows.length;
  const found = view.find.trim() === "" ? "" : `found by “${view.find.trim()}”`;
  const how = [found, view.pinned.length > 0 ? "pinned" : ""].filter(Boolean).join(" or ");
  const words = one ? titleOf(one) : `${rows.length} ${rows.length === 1 ? "track" : "tracks"} ${how}`;
  const terms = termsOf(rows);
  const all = (/** @type {string} */ sign) => terms?.map(({ column, number }) => `${column} ${sign} ${number}`);
  return {
    start,
    end,
    filter: all("==")?.join(" || ") ?? null,
    sql: terms ? ` and (${all("=")?.join(" or ")})` : "",
    rows,
    tracks: rows.map(({ lanes }) => lanes[0].id).join(","),
    words: left > 0 ? `${words}; ${left} more are not counted, as a range is over ${MOST_TRACKS} at most` : words,
  };
}
