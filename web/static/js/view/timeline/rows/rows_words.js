// What rows that are drawn as a track say: results of SQL, readings of a script's maps. Pure.

import { duration, exact } from "../../../lib/format.js";

/** @import { trackOf } from "../../../lib/sql_track.js" */
/** @typedef {ReturnType<typeof trackOf>} RowsTrack what is drawn of rows */

/**
 * A row in words.
 * @param {RowsTrack} track
 * @param {number} row
 * @param {boolean} inTime whether values are durations
 */
export function rowWords({ kind, names, labels, values, starts, ends }, row, inTime) {
  const amount = {
    instants: "",
    slices: duration(ends[row] - starts[row]),
    counters: inTime ? duration(values[row]) : exact(values[row]),
  }[kind];
  return [names[labels[row]], amount].filter(Boolean).join(", ") || "here";
}

/**
 * Until when a row lasts: a slice until its end, others until the next row.
 * @param {RowsTrack} track
 * @param {number} row
 */
export function lastOf({ kind, starts, ends, n }, row) {
  if (kind === "slices") return ends[row];
  return row + 1 < n ? starts[row + 1] : starts[row];
}
