// The picture of the rows of a query in a pane, kept from frame to frame: thousands of marks cost more than a frame has time for. While
// time moves it is drawn where its time is, scaled if need be; it is painted anew when time stands still, or has left it.

import { drawRows } from "../sql_track_draw.js";

/** @import { Canvas } from "../../../lib/canvas.js" */
/** @import { Pane } from "../../../lib/time_fold.js" */
/** @import { RowsTrack } from "./rows_words.js" */

/** What of a pane's width is painted to its left and right as well, so that it is there when time moves. */
const BESIDE = 0.25;

/** As many pictures of the same rows are kept. */
const MOST_PANES = 8;

/**
 * @typedef {object} RowsPicture
 * @property {OffscreenCanvasRenderingContext2D} context
 * @property {string} form what it was painted as, besides its rows and its time
 * @property {Record<string, string>} colors
 * @property {{start: number, end: number}} shown the time of the pane for which it was painted
 * @property {{start: number, end: number}} painted its own time
 * @property {{start: number, end: number}} last the time of the pane in the last frame
 */

/**
 * By rows and by where the pane begins.
 * @type {WeakMap<RowsTrack, Map<number, RowsPicture>>}
 */
const pictures = new WeakMap();

/**
 * Draws rows from where the context's origin is. Says whether they are to be painted anew in the next frame.
 * @param {Canvas} canvas
 * @param {{track: RowsTrack, inTime: boolean, shown: Pane, height: number}} model
 */
export function drawRowsPicture({ context: ctx, colors, ratio, font }, { track, inTime, shown, height }) {
  const width = shown.right - shown.left;
  const form = `${Math.round(width)} ${height} ${ratio} ${inTime}`;
  const known = pictures.get(track) ?? new Map();
  pictures.set(track, known);
  const before = known.get(shown.left);
  const fits = before && before.form === form && before.colors === colors;
  const isMoving = !before || before.last.start !== shown.start || before.last.end !== shown.end;
  const isExact = fits && before.shown.start === shown.start && before.shown.end === shown.end;
  const isInside = fits && before.painted.start <= shown.start && before.painted.end >= shown.end;
  const picture =
    isExact || (isInside && isMoving)
      ? before
      : paintRows(before?.context ?? context2d(), { track, inTime, shown, height, width, ratio, colors, font, form });
  picture.last = { start: shown.start, end: shown.end };
  // Where time is folded, panes begin elsewhere in each frame.
  if (!before && known.size >= MOST_PANES) known.clear();
  known.set(shown.left, picture);
  const perNs = width / (shown.end - shown.start);
  const { start, end } = picture.painted;
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(picture.context.canvas, (start - shown.start) * perNs, 0, (end - start) * perNs, height);
  return picture.shown.start !== shown.start || picture.shown.end !== shown.end;
}

/**
 * @param {OffscreenCanvasRenderingContext2D} context
 * @param {{track: RowsTrack, inTime: boolean, shown: Pane, height: number, width: number, ratio: number,
 *   colors: Record<string, string>, font: string, form: string}} model
 * @returns {RowsPicture}
 */
function paintRows(context, { track, inTime, shown, height, width, ratio, colors, font, form }) {
  // As many pixels of the device on both sides, so that marks lie as they would without these.
  const beside = Math.ceil(width * BESIDE);
  const perPixel = (shown.end - shown.start) / width;
  const painted = { start: shown.start - beside * perPixel, end: shown.end + beside * perPixel };
  const wide = width + 2 * beside;
  const [columns, tall] = [Math.max(1, Math.round(wide * ratio)), Math.max(1, Math.round(height * ratio))];
  if (context.canvas.width !== columns || context.canvas.height !== tall)
    Object.assign(context.canvas, { width: columns, height: tall });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, wide, height);
  context.font = font;
  context.textBaseline = "middle";
  drawRows({ ctx: context, colors, track, shown: painted, width: wide, height, from: beside, current: -1, inTime });
  const { start, end } = shown;
  return { context, form, colors, shown: { start, end }, painted, last: { start, end } };
}

function context2d() {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  if (!context) throw new Error("the browser has no more canvases");
  return context;
}
