// Draws the timeline: bars of what was most frequent in each pixel, labels, axis, losses, selection, cursor.

import { cutText, drawSelection, hatch } from "../../lib/canvas.js";
import { CATEGORIES, category, pixel } from "../../lib/color.js";
import { count } from "../../lib/format.js";
import { AXIS, drawAxis, gutter } from "./timeline_axis.js";
import { counterWords, drawCounters } from "./timeline_counters.js";
import { project, rowsIn } from "./timeline_decode.js";

/** @import { Canvas } from "../../lib/canvas.js" */
/**
 * @typedef {object} Model what is drawn
 * @property {{start: number, end: number}} shown
 * @property {import("./timeline_decode.js").Timeline|null} data
 * @property {number} scroll
 * @property {number} track a track's height
 * @property {{start: number, end: number}[]} losses
 * @property {{start: number, end: number}|null} selection
 * @property {{track: number|null, time: number}|null} cursor
 */
/** @typedef {Model & {data: import("./timeline_decode.js").Timeline}} FullModel with something in it */

/** Pixels: a track at least and at most. */
export const TRACK = 28;
export const MOST_TRACK = 56;
const PAD = 4;

/** Custom properties that are needed. */
export const COLORS = [
  "--bg",
  "--bg-rail",
  "--line",
  "--text",
  "--text-quiet",
  "--accent",
  "--selection",
  "--loss-mark",
  "--loss",
  "--bg-selected",
  ...Array.from({ length: CATEGORIES }, (_one, i) => `--cat-${i}`),
];

/**
 * The height of a track: few of them share the room.
 * @param {number} tracks
 * @param {number} room pixels below the axis
 */
export function trackHeight(tracks, room) {
  return tracks === 0 ? TRACK : Math.max(TRACK, Math.min(MOST_TRACK, Math.floor(room / tracks)));
}

/**
 * Draws everything.
 * @param {Canvas} canvas
 * @param {Model} model
 */
export function drawTimeline(canvas, model) {
  const { context: ctx, colors, width, height, ratio, font } = canvas;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = font;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colors["--bg"];
  ctx.fillRect(0, 0, width, height);
  if (model.data) {
    const full = { ...model, data: model.data };
    if (model.data.has_values)
      drawCounters(canvas, full, {
        left: gutter.width,
        top: AXIS,
        pad: PAD,
        first: firstTrack(full),
        last: lastTrack(full, height),
      });
    else drawBars(canvas, full);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawLabels(ctx, colors, full, height);
  }
  drawOverlays(ctx, canvas, model);
  drawAxis(canvas, model.shown, 0.5);
}

/** @param {FullModel} model */
function firstTrack(model) {
  return Math.max(0, Math.floor(model.scroll / model.track));
}

/**
 * @param {FullModel} model
 * @param {number} height
 */
function lastTrack(model, height) {
  return Math.min(model.data.tracks.length, Math.ceil((model.scroll + height - AXIS) / model.track));
}

/**
 * The tracks' bars as one image: faster than a rectangle for each bin, and exact to the device's pixel.
 * @param {Canvas} canvas
 * @param {FullModel} model
 */
function drawBars({ context: ctx, colors, width, height, ratio }, model) {
  const columns = Math.round((width - gutter.width) * ratio);
  const rows = Math.round((height - AXIS) * ratio);
  if (columns < 1 || rows < 1) return;
  const image = ctx.createImageData(columns, rows);
  const out = new Uint32Array(image.data.buffer);
  out.fill(pixel(colors["--bg"]));
  const palette = model.data.names.map((name) => pixel(colors[`--cat-${category(name)}`]));
  const first = firstTrack(model);
  const last = lastTrack(model, height);
  const projected = model.data.tracks.slice(first, last).map((track) => {
    const bars = { counts: new Float32Array(columns), names: new Int32Array(columns) };
    project(track, model.data, model.shown, columns, bars.counts, bars.names);
    return bars;
  });
  const most = projected.reduce((max, { counts }) => counts.reduce((a, b) => Math.max(a, b), max), 1);
  for (const [i, bars] of projected.entries()) {
    const bottom = Math.round(((first + i + 1) * model.track - PAD - model.scroll) * ratio);
    const tall = Math.round((model.track - PAD * 2) * ratio);
    const least = Math.max(1, Math.round(ratio * 1.5));
    paintTrack(out, { columns, rows, most, palette, least }, bars, bottom, tall);
  }
  ctx.putImageData(image, Math.round(gutter.width * ratio), Math.round(AXIS * ratio));
}

/**
 * @param {Uint32Array} out pixels
 * @param {{columns: number, rows: number, most: number, palette: number[], least: number}} image `least`: how wide one event is
 * @param {{counts: Float32Array, names: Int32Array}} bars
 * @param {number} bottom
 * @param {number} tall
 */
function paintTrack(out, { columns, rows, most, palette, least }, { counts, names }, bottom, tall) {
  // A logarithm, so that one burst does not make everything else look the same.
  const scale = 0.7 / Math.log1p(most);
  let lastX = -least;
  for (let x = 0; x < columns; x += 1) {
    // One event of a nanosecond is still wide enough to be seen.
    const from = names[x] >= 0 ? x : x - lastX < least ? lastX : -1;
    if (names[x] >= 0) lastX = x;
    if (from < 0) continue;
    const color = palette[names[from]] ?? palette[0];
    const height = Math.round(tall * (0.3 + Math.log1p(counts[from]) * scale));
    const top = Math.max(0, bottom - height);
    for (let y = Math.min(rows, bottom) - 1; y >= top; y -= 1) out[y * columns + x] = color;
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {FullModel} model
 * @param {number} height
 */
function drawLabels(ctx, colors, model, height) {
  const first = firstTrack(model);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, AXIS, gutter.width - 8, height - AXIS);
  ctx.clip();
  for (let i = first; i < model.data.tracks.length; i += 1) {
    const y = AXIS + i * model.track - model.scroll;
    if (y > height) break;
    const track = model.data.tracks[i];
    if (model.cursor?.track === i) {
      ctx.fillStyle = colors["--bg-selected"];
      ctx.fillRect(0, y, gutter.width, model.track);
    }
    ctx.fillStyle = colors["--text"];
    const name = cutText(ctx, track.label, gutter.width - (track.values ? 84 : 56));
    const middle = y + model.track / 2;
    ctx.fillText(name, PAD, track.sub ? middle - 6 : middle);
    ctx.fillStyle = colors["--text-quiet"];
    if (track.sub) ctx.fillText(cutText(ctx, track.sub, gutter.width - 56), PAD, middle + 6);
    const rows = track.values
      ? counterWords(
          track.values.most.reduce((a, b) => Math.max(a, b), 0),
          track,
        )
      : count(rowsIn(track, model.data, model.shown));
    ctx.fillText(rows, gutter.width - 14 - ctx.measureText(rows).width, track.sub ? middle - 6 : middle);
  }
  ctx.restore();
  ctx.fillStyle = colors["--line"];
  for (let i = first; i <= model.data.tracks.length; i += 1) {
    const y = AXIS + i * model.track - model.scroll;
    if (y > height) break;
    if (y >= AXIS) ctx.fillRect(0, Math.round(y), ctx.canvas.width, 1);
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Canvas} canvas
 * @param {Model} model
 */
function drawOverlays(ctx, { colors, width, height }, model) {
  const wide = width - gutter.width;
  /** @param {number} time */
  const place = (time) => gutter.width + ((time - model.shown.start) / (model.shown.end - model.shown.start)) * wide;
  ctx.save();
  ctx.beginPath();
  ctx.rect(gutter.width, 0, wide, height);
  ctx.clip();
  // As far down as there are tracks; below them nothing is missing.
  const low = model.data?.tracks.length
    ? Math.min(height, AXIS + model.data.tracks.length * model.track - model.scroll)
    : height;
  for (const loss of model.losses) {
    if (loss.end < model.shown.start || loss.start > model.shown.end) continue;
    const left = place(loss.start);
    const across = Math.max(3, place(loss.end) - left);
    hatch(ctx, colors["--loss-mark"], left, AXIS, across, low - AXIS);
    ctx.fillStyle = colors["--loss-mark"];
    ctx.fillRect(left, AXIS - 3, across, 3);
  }
  if (model.selection)
    drawSelection(ctx, colors, place(model.selection.start), place(model.selection.end), height - AXIS, AXIS);
  if (model.cursor) {
    ctx.fillStyle = colors["--accent"];
    const x = Math.round(place(model.cursor.time));
    ctx.fillRect(x, AXIS, 1, height - AXIS);
    ctx.fillRect(x - 3, AXIS + ((model.cursor.track ?? 0) + 1) * model.track - model.scroll - 3, 7, 3);
  }
  ctx.restore();
}
