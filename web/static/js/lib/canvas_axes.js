// Axes of charts on a canvas: time from left to right, marks with labels at the left.

import { tickLabel, ticks } from "./format.js";

/** Room for the labels at the left and below. */
export const LEFT = 72;
export const BOTTOM = 22;

/**
 * The two lines, and times below.
 * @param {CanvasRenderingContext2D} context
 * @param {{start: number, end: number}} window what the width stands for
 * @param {{width: number, base: number, place: (time: number) => number, colors: Record<string, string>, font: string}} chart
 */
export function timeAxis(context, { start, end }, { width, base, place, colors, font }) {
  context.font = font;
  context.fillStyle = colors["--text-quiet"];
  context.strokeStyle = colors["--line"];
  context.beginPath();
  context.moveTo(LEFT - 0.5, 0);
  context.lineTo(LEFT - 0.5, base + 0.5);
  context.lineTo(width, base + 0.5);
  context.stroke();
  context.textBaseline = "top";
  context.textAlign = "left";
  const marks = ticks(start, end, Math.max(1, Math.floor((width - LEFT) / 110)));
  for (const at of marks.at) {
    const x = place(at);
    const label = tickLabel(at, marks.step);
    const wide = context.measureText(label).width;
    context.fillRect(Math.round(x), base, 1, 4);
    context.fillText(label, Math.max(LEFT, Math.min(width - wide, x - wide / 2)), base + 6);
  }
}

/**
 * Labels at the left, no two over each other.
 * @param {CanvasRenderingContext2D} context
 * @param {{y: number, text: string}[]} marks from bottom to top
 * @param {string} color
 */
export function sideLabels(context, marks, color) {
  context.fillStyle = color;
  context.textAlign = "right";
  context.textBaseline = "middle";
  let last = Infinity;
  for (const { y, text } of marks) {
    if (last - y < 14) continue;
    last = y;
    context.fillText(text, LEFT - 6, y, LEFT - 8);
  }
}
