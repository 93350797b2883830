// Draws where rows were found: caps on the tracks, marks below the ruler and in the minimap, never narrower than can be seen.

import { longInSight, runsInSight } from "./find_marks.js";

/** @import { Found } from "./find_marks.js" */
/** @typedef {Record<string, string>} Colors */
/** @typedef {{keys: string[], top: number, byCpu: boolean}} MarkedRow a track in sight; `byCpu`: of all that was recorded on a CPU */

const CAP = 4;
const LEAST = 3;

/**
 * Caps on top of tracks.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Colors} colors
 * @param {Found} found
 * @param {MarkedRow[]} rows in sight, with the keys of the tracks in them
 * @param {(time: number) => number} place
 * @param {{left: number, right: number}} sight
 */
export function drawFoundOnTracks(ctx, colors, found, rows, place, sight) {
  for (const { keys, top, byCpu } of rows) {
    const marks = keys.flatMap((key) => (byCpu ? found.cpus : found.tracks).get(key) ?? []);
    if (marks.length === 0) continue;
    const isMarked = (/** @type {number} */ column) => marks.some((columns) => columns[column] === 1);
    drawCaps(ctx, colors, runsInSight(isMarked, found, place, sight, LEAST), top + 1);
  }
}

/**
 * Caps over what is long.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Colors} colors
 * @param {Found} found
 * @param {MarkedRow[]} rows
 * @param {(time: number) => number} place
 * @param {{left: number, right: number}} sight
 */
export function drawLong(ctx, colors, found, rows, place, sight) {
  if (found.long.size === 0) return;
  for (const { keys, top, byCpu } of rows) {
    const long = byCpu ? [] : keys.flatMap((key) => found.long.get(key) ?? []);
    if (long.length > 0) drawCaps(ctx, colors, longInSight(long, place, sight, LEAST), top + 1);
  }
}

/**
 * Marks of all that was found.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Colors} colors
 * @param {Found} found
 * @param {(time: number) => number} place
 * @param {{left: number, right: number}} sight
 * @param {number} top
 */
export function drawFound(ctx, colors, found, place, sight, top) {
  drawCaps(
    ctx,
    colors,
    runsInSight((column) => found.counts[column] > 0, found, place, sight, LEAST),
    top,
  );
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Colors} colors
 * @param {[number, number][]} runs
 * @param {number} top
 */
function drawCaps(ctx, colors, runs, top) {
  ctx.fillStyle = colors["--bg"];
  for (const [left, right] of runs) ctx.fillRect(left - 1, top - 1, right - left + 2, CAP + 2);
  ctx.fillStyle = colors["--accent"];
  for (const [left, right] of runs) ctx.fillRect(left, top, right - left, CAP);
}
