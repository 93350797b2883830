// Draws one track of a query: instants as marks, slices as bars with their names, a counter as steps.

import { hatch, drawSelection } from "../../lib/canvas.js";
import { CATEGORIES, category } from "../../lib/color.js";
import { count, duration } from "../../lib/format.js";
import { firstAfter, laneCount } from "../../lib/sql_track.js";

/** @import { trackOf } from "../../lib/sql_track.js" */
/** @typedef {{start: number, end: number}} Span */
/**
 * @typedef {object} Drawing
 * @property {CanvasRenderingContext2D|OffscreenCanvasRenderingContext2D} ctx
 * @property {Record<string, string>} colors
 * @property {string[]} palette a colour for each name
 * @property {ReturnType<typeof trackOf>} track
 * @property {Span} shown
 * @property {(time: number) => number} place
 * @property {number} width
 * @property {number} height
 * @property {number} from where what is in sight begins, pixels
 * @property {boolean} inTime whether a counter's value is a duration
 */

/** Custom properties that are needed. */
export const COLORS = [
  "--bg",
  "--line",
  "--text",
  "--text-quiet",
  "--accent",
  "--selection",
  "--loss-mark",
  "--on-cat",
  ...Array.from({ length: CATEGORIES }, (_one, i) => `--cat-${i}`),
];
const PAD = 4;
const MARK = 1.5;
const WORDS = 11;
/** Pixels of a slice that hold a name. */
const NAMED = 28;

/**
 * Draws everything.
 * @param {import("../../lib/canvas.js").Canvas} canvas
 * @param {{track: ReturnType<typeof trackOf>|null, shown: Span, losses: Span[],
 *   selection: Span|null, current: number, inTime: boolean}} model `current` is the row that the keyboard is at; `inTime`
 *   that the counter's value is a duration
 */
export function drawSqlTrack(canvas, { track, shown, losses, selection, current, inTime }) {
  const { context: ctx, colors, width, height, ratio, font } = canvas;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = font;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colors["--bg"];
  ctx.fillRect(0, 0, width, height);
  /** @param {number} time */
  const place = (time) => ((time - shown.start) / (shown.end - shown.start)) * width;
  drawRows({ ctx, colors, track, shown, width, height, current, inTime });
  for (const loss of losses) {
    if (loss.end < shown.start || loss.start > shown.end) continue;
    hatch(ctx, colors["--loss-mark"], place(loss.start), 0, Math.max(3, place(loss.end) - place(loss.start)), height);
  }
  if (selection) drawSelection(ctx, colors, place(selection.start), place(selection.end), height);
}

/**
 * Draws rows, from where the context's origin is.
 * @param {object} model
 * @param {CanvasRenderingContext2D|OffscreenCanvasRenderingContext2D} model.ctx
 * @param {Record<string, string>} model.colors
 * @param {ReturnType<typeof trackOf>|null} model.track
 * @param {Span} model.shown
 * @param {number} model.width
 * @param {number} model.height
 * @param {number} [model.from] where what is in sight begins, pixels
 * @param {number} model.current the row that is marked; -1 for none
 * @param {boolean} model.inTime whether a counter's value is a duration
 */
export function drawRows({ ctx, colors, track, shown, width, height, from = 0, current, inTime }) {
  if (!track || track.n === 0) return;
  /** @param {number} time */
  const place = (time) => ((time - shown.start) / (shown.end - shown.start)) * width;
  const palette = track.names.map((name) => colors[`--cat-${category(name)}`]);
  const parts = { ctx, colors, palette, track, shown, place, width, height, from, inTime };
  ({ instants: drawInstants, slices: drawSlices, counters: drawCounters })[track.kind](parts);
  if (current >= 0) mark(parts, current);
}

/**
 * Marks a row of those that are drawn.
 * @param {Pick<Drawing, "ctx"|"colors"|"track"|"shown"|"width"|"height">} drawing
 * @param {number} row
 */
export function markRow({ ctx, colors, track, shown, width, height }, row) {
  const place = (/** @type {number} */ time) => ((time - shown.start) / (shown.end - shown.start)) * width;
  mark({ ctx, colors, track, place, height }, row);
}

/** @param {Drawing} drawing */
function drawInstants({ ctx, palette, track, shown, place, height }) {
  let before = [-1, -1];
  for (let i = firstAfter(track.starts, shown.start) - 1; i < track.n && !(track.starts[i] > shown.end); i += 1) {
    if (i < 0) continue;
    const x = Math.round(place(track.starts[i]) * 2) / 2;
    // What lies on the same place in the same colour is the same picture.
    if (x === before[0] && track.labels[i] === before[1]) continue;
    before = [x, track.labels[i]];
    ctx.fillStyle = palette[track.labels[i]];
    ctx.fillRect(x, PAD + 4, MARK, height - PAD * 2 - 4);
  }
}

/** @param {Drawing} drawing */
function drawSlices({ ctx, colors, palette, track, shown, place, width, height, from }) {
  const lanes = laneCount(track);
  const tall = (height - PAD * 2) / lanes;
  const filled = new Float64Array(lanes).fill(-1);
  for (let i = 0; i < track.n && track.starts[i] <= shown.end; i += 1) {
    if (track.ends[i] < shown.start) continue;
    const left = Math.max(-2, place(track.starts[i]));
    const right = Math.min(width + 2, Math.max(left + 1, place(track.ends[i])));
    const lane = track.lanes[i];
    // Hundreds of slices in one pixel are one mark.
    if (right <= filled[lane]) continue;
    filled[lane] = Math.ceil(left + 0.5);
    const y = PAD + lane * tall;
    ctx.fillStyle = palette[track.labels[i]];
    ctx.fillRect(left, y, right - left - (right - left > 3 ? 0.5 : 0), tall - 1);
    if (right - left < NAMED || tall < 11 || track.names[track.labels[i]] === "") continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, y, right - left - 3, tall);
    ctx.clip();
    ctx.fillStyle = colors["--on-cat"];
    ctx.fillText(track.names[track.labels[i]], Math.max(left, from) + 3, y + tall / 2);
    ctx.restore();
  }
}

/** @param {Drawing} drawing */
function drawCounters(drawing) {
  const { ctx, colors, palette, track, width, height, from, inTime } = drawing;
  const span = track.most - track.least || 1;
  // The highest value is written above the lines.
  /** @param {number} value */
  const y = (value) => height - PAD - ((value - track.least) / span) * (height - PAD * 2 - WORDS);
  ctx.strokeStyle = colors["--line"];
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(0, Math.round(y(0)) + 0.5);
  ctx.lineTo(width, Math.round(y(0)) + 0.5);
  ctx.stroke();
  ctx.lineWidth = 1.5;
  for (let line = 0; line < track.names.length; line += 1) {
    ctx.strokeStyle = palette[line];
    ctx.beginPath();
    steps(drawing, line, y);
    ctx.stroke();
  }
  ctx.fillStyle = colors["--text-quiet"];
  const value = inTime ? duration : count;
  ctx.fillText(value(track.most), from + 3, PAD + 5);
  if (track.least < 0) ctx.fillText(value(track.least), from + 3, height - PAD - 5);
}

/**
 * A value lasts until the next one of its line; the last of all until its own moment.
 * @param {Drawing} drawing
 * @param {number} line
 * @param {(value: number) => number} y
 */
function steps({ ctx, track, shown, place }, line, y) {
  /** @type {number|null} */
  let open = null;
  for (let i = 0; i < track.n; i += 1) {
    if (track.labels[i] !== line) continue;
    const x = place(track.starts[i]);
    const high = y(track.values[i]);
    if (open === null) ctx.moveTo(x, high);
    else if (track.starts[i] >= shown.start) {
      ctx.lineTo(x, open);
      ctx.lineTo(x, high);
    } else ctx.moveTo(x, high);
    open = high;
    if (track.starts[i] > shown.end) return;
  }
  if (open !== null) ctx.lineTo(place(track.starts[track.n - 1]) + 2, open);
}

/**
 * @param {Pick<Drawing, "ctx"|"colors"|"track"|"place"|"height">} drawing
 * @param {number} i a row
 */
function mark({ ctx, colors, track, place, height }, i) {
  ctx.strokeStyle = colors["--accent"];
  ctx.lineWidth = 2;
  const left = place(track.starts[i]);
  const tall = (height - PAD * 2) / laneCount(track);
  // Of slices only the row that it is in.
  const [top, high] = track.kind === "slices" ? [PAD + track.lanes[i] * tall, tall] : [2, height - 4];
  ctx.strokeRect(left - 2, top, Math.max(4, place(track.ends[i]) - left + 4), high);
}
