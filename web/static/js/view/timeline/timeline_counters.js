// Counters in the timeline: a band from the least to the greatest value of each pixel, and a line of the last ones.

import { bytes, count, rate } from "../../lib/format.js";
import { lowerBound } from "./timeline_decode.js";

/** @import { Track } from "./timeline_decode.js" */

/**
 * Values are thousandths a second, those of gauges thousandths. Those of clocks are nanoseconds, so that a whole second is one
 * CPU, as are those of what threads waited, of which it is the whole time.
 */
const THOUSAND = 1000;
const NS = 1e9;

/**
 * A value as people read it.
 * @param {number} value
 * @param {Pick<Track, "is_clock"|"is_gauge"|"unit">} track
 */
export function counterWords(value, { is_clock: isClock, is_gauge: isGauge, unit }) {
  if (isClock) return `${count(Math.round((value / THOUSAND / NS) * 1000) / 1000)} CPUs`;
  if (unit === "ns") return `${Math.round((value / THOUSAND / NS) * 1000) / 10} %`;
  const words = unit === "bytes" ? bytes(value / THOUSAND) : count(value / THOUSAND);
  if (isGauge) return words;
  return unit === "bytes" ? `${words}/s` : rate(value / THOUSAND);
}

/**
 * What is known of each column of the screen; a value is of the time before its moment, back to the one before it. Pure.
 * @param {{bins: Uint32Array, values: {least: Float64Array, most: Float64Array, last: Float64Array}}} track
 * @param {{start: number, end: number, width: number}} data the window that the bins divide
 * @param {{start: number, end: number}} shown the window on the screen
 * @param {number} columns
 * @returns {{least: Float64Array, most: Float64Array, last: Float64Array}} NaN where nothing is known
 */
export function projectCounter(track, data, shown, columns) {
  const out = {
    least: new Float64Array(columns).fill(NaN),
    most: new Float64Array(columns).fill(NaN),
    last: new Float64Array(columns).fill(NaN),
  };
  const binNs = (data.end - data.start) / data.width;
  const perNs = columns / (shown.end - shown.start);
  const first = lowerBound(track.bins, Math.floor((shown.start - data.start) / binNs));
  let until =
    first > 0 ? Math.max(0, Math.floor((data.start + (track.bins[first - 1] + 1) * binNs - shown.start) * perNs)) : 0;
  for (let i = first; i < track.bins.length && until < columns; i += 1) {
    const right = (data.start + (track.bins[i] + 1) * binNs - shown.start) * perNs;
    // The first value of all has no beginning: it gets its own bin.
    const from = i === 0 ? Math.max(0, Math.floor(right - binNs * perNs)) : until;
    const reach = Math.floor(right + 1e-6);
    const to = Math.min(columns, Math.max(from + 1, reach));
    for (let x = Math.min(from, to - 1); x < to; x += 1) {
      out.least[x] = Math.min(Number.isNaN(out.least[x]) ? Infinity : out.least[x], track.values.least[i]);
      out.most[x] = Math.max(Number.isNaN(out.most[x]) ? 0 : out.most[x], track.values.most[i]);
      out.last[x] = track.values.last[i];
    }
    until = Math.max(0, reach);
  }
  return out;
}

/**
 * Draws the tracks that are in sight.
 * @param {import("../../lib/canvas.js").Canvas} canvas
 * @param {import("./timeline_draw.js").FullModel} model
 * @param {{left: number, top: number, pad: number, first: number, last: number}} place
 */
export function drawCounters({ context: ctx, colors, width, height }, model, { left, top, pad, first, last }) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width - left, height - top);
  ctx.clip();
  const columns = Math.max(1, Math.round(width - left));
  for (let index = first; index < last; index += 1) {
    const track = model.data.tracks[index];
    if (!track.values) continue;
    const values = projectCounter({ bins: track.bins, values: track.values }, model.data, model.shown, columns);
    const most = track.values.most.reduce((a, b) => Math.max(a, b), 0) || 1;
    const bottom = top + (index + 1) * model.track - pad - model.scroll;
    /** @param {number} value */
    const y = (value) => bottom - (value / most) * (model.track - pad * 2);
    drawCounter(ctx, { values, columns, left, y, color: colors["--cat-0"] });
  }
  ctx.restore();
}

/**
 * A counter's line and the band of its values.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{values: ReturnType<typeof projectCounter>, columns: number, left: number, y: (value: number) => number,
 *   color: string}} line
 */
export function drawCounter(ctx, { values, columns, left, y, color }) {
  ctx.fillStyle = color;
  ctx.globalAlpha = 0.35;
  for (let x = 0; x < columns; x += 1) {
    if (values.most[x] > values.least[x])
      ctx.fillRect(left + x, y(values.most[x]), 1, Math.max(1, y(values.least[x]) - y(values.most[x])));
  }
  ctx.globalAlpha = 1;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  let open = false;
  for (let x = 0; x < columns; x += 1) {
    const value = values.last[x];
    if (Number.isNaN(value)) {
      open = false;
      continue;
    }
    if (!open) ctx.moveTo(left + x, y(value));
    ctx.lineTo(left + x + 1, y(value));
    open = true;
  }
  ctx.stroke();
}

/**
 * What a track tells of a moment.
 * @param {Track} track of a counter
 * @param {import("./timeline_decode.js").Timeline} data
 * @param {{start: number, end: number}} around a pixel
 */
export function counterAt(track, data, around) {
  if (!track.values) return track.label;
  const { least, most, last } = projectCounter({ bins: track.bins, values: track.values }, data, around, 1);
  if (Number.isNaN(last[0])) return `${track.label}: no value`;
  /** @param {number} value */
  const words = (value) => counterWords(value, track);
  const band = most[0] > least[0] ? `, from ${words(least[0])} to ${words(most[0])}` : "";
  return `${track.label}: ${words(last[0])}${band}`;
}
