// Where a timeline's labels and axis are, and how the axis is drawn.

import { tickLabel, ticks } from "../../lib/format.js";

/** @import { Canvas } from "../../lib/canvas.js" */

/** Pixels: times on top, and below these a strip of notes: both are the axis. */
export const RULER = 22;
export const AXIS = 38;
/** Pixels of the labels, and from which width of a timeline on they are wide. */
const LABELS = { wide: 188, narrow: 112, from: 560 };

/** The place of labels on the left, pixels. A page has one timeline. */
export const gutter = { width: LABELS.wide };

/**
 * Gives the labels their part of a timeline's width.
 * @param {number} width in pixels
 */
export function fitLabels(width) {
  gutter.width = width < LABELS.from ? LABELS.narrow : LABELS.wide;
}

/**
 * The axis over what is below it, and a line down from each tick.
 * @param {Canvas} canvas
 * @param {{start: number, end: number}} shown
 * @param {number} alpha how much of a line down is seen, 0 to 1
 * @param {{left: number, right: number}} [pane] the pixels that show it, where it is not all that is right of the labels
 * @param {boolean} [isRelative] whether times count from its start
 */
export function drawAxis(
  { context: ctx, colors, width, height },
  shown,
  alpha,
  { left, right } = { left: gutter.width, right: width },
  isRelative = false,
) {
  const wide = right - left;
  const from = isRelative ? shown.start : 0;
  ctx.fillStyle = colors["--bg"];
  ctx.fillRect(left === gutter.width ? 0 : left, 0, right, AXIS - 3);
  const { step, at } = ticks(shown.start - from, shown.end - from, Math.max(2, Math.floor(wide / 120)));
  for (const time of at) {
    const x = Math.round(left + ((time + from - shown.start) / (shown.end - shown.start)) * wide);
    ctx.fillStyle = colors["--line"];
    ctx.fillRect(x, RULER - 6, 1, 6);
    ctx.globalAlpha = alpha;
    ctx.fillRect(x, AXIS, 1, height - AXIS);
    ctx.globalAlpha = 1;
    const label = `${isRelative ? "+" : ""}${tickLabel(time, step)}`;
    const size = ctx.measureText(label).width;
    ctx.fillStyle = colors["--text-quiet"];
    ctx.fillText(label, Math.max(left, Math.min(right - size - 6, x - size / 2)), 8);
  }
  ctx.fillStyle = colors["--line"];
  ctx.fillRect(left, RULER - 1, wide, 1);
  ctx.fillRect(left === gutter.width ? 0 : left, AXIS - 1, right, 1);
}

/**
 * Lets only a lane of a pane be drawn on, until the context is restored.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{left: number, right: number}} pane
 * @param {number} top
 * @param {number} height
 */
export function clipLane(ctx, { left, right }, top, height) {
  ctx.save();
  ctx.beginPath();
  const from = Math.max(AXIS, top);
  ctx.rect(left, from, right - left, Math.max(0, top + height - from));
  ctx.clip();
}
