// What a share shows and how long, in words.

import { duration, wall } from "../lib/format.js";

/** @import { SharedPart } from "../../../api.js" */

/**
 * The part of a capture that a share shows.
 * @param {SharedPart|null} part null for all of it
 */
export function partWords(part) {
  if (!part) return "all of the capture";
  const { start, end, filter } = part;
  const from = start === null ? "" : `from ${duration(start)}`;
  const to = end === null ? "" : `to ${duration(end)}`;
  const rows = filter ? `rows with ${filter}` : "";
  return `only ${[rows, [from, to].filter(Boolean).join(" ")].filter(Boolean).join(", ")}`;
}

/**
 * When it ends.
 * @param {number} unixNs
 */
export function untilWords(unixNs) {
  return `until ${wall(unixNs)}`;
}
