// Draws samples and instants of threads as ticks, and counters as lines, within the tree of tracks.

import { category } from "../../lib/color.js";
import { exact } from "../../lib/format.js";
import { counterAt, counterWords, drawCounter, projectCounter } from "./timeline_counters.js";
import { project } from "./timeline_decode.js";

/** @import { BinnedTrack } from "./binned_tracks.js" */

/** Pixels that a tick is wide at least. */
const LEAST_TICK = 1.5;

/**
 * A tick for each column that has rows, in the colour of the stream that has most of them there.
 * @param {import("./track_paint.js").Paint} paint
 * @param {BinnedTrack} binned
 * @param {number} bottom
 * @param {number} tall
 */
export function paintTicks(paint, { data, track }, bottom, tall) {
  const wide = Math.max(1, Math.round(LEAST_TICK * paint.ratio));
  // Ticks that begin before the first column may reach into it.
  const first = 1 - wide;
  const columns = paint.columns - first;
  const counts = new Float32Array(columns);
  const names = new Int32Array(columns);
  const start = (paint.first + first) * paint.perColumn;
  project(track, data, { start, end: start + columns * paint.perColumn }, columns, counts, names);
  const looks = data.names.map((name) => ({
    color: paint.palette[category(name)],
    tall: 1,
    pattern: "solid",
    stacks: 0,
  }));
  for (let i = 0; i < columns; i += 1)
    if (names[i] >= 0) paint.fill(first + i, first + i + wide, bottom, tall, looks[names[i]]);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {{start: number, end: number}} shown
 * @param {BinnedTrack} binned
 * @param {{left: number, width: number, least: number, bottom: number, tall: number, color: string}} place `least`: above that
 *   nothing is drawn
 */
export function drawCounterLane(ctx, shown, { data, track, most }, { left, width, least, bottom, tall, color }) {
  if (!track.values) return;
  const columns = Math.max(1, Math.round(width - left));
  const values = projectCounter({ bins: track.bins, values: track.values }, data, shown, columns);
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, least, width - left, Math.max(0, bottom + 1 - least));
  ctx.clip();
  drawCounter(ctx, { values, columns, left, y: (value) => bottom - (value / (most || 1)) * (tall - 1), color });
  ctx.restore();
}

/**
 * The greatest value of a counter in all of the capture.
 * @param {BinnedTrack} binned
 */
export const mostWords = ({ most, track }) => counterWords(most, track);

/**
 * What is at a moment, in words; nothing where nothing is.
 * @param {BinnedTrack} binned
 * @param {number} time
 * @param {number} near nanoseconds
 * @returns {string[]}
 */
export function binnedWords({ data, track }, time, near) {
  const around = { start: time - near, end: time + near };
  if (track.values) return [counterAt({ ...track, label: "" }, data, around).replace(/^: /, "")];
  const counts = new Float32Array(1);
  const names = new Int32Array(1);
  project(track, data, around, 1, counts, names);
  return names[0] < 0 ? [] : [`${exact(counts[0])} × ${data.names[names[0]]}`];
}
