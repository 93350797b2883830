// Axes of charts on a canvas: time from left to right, marks with labels at the left.

import { tickLabel, ticks } from "./format.js";

/** Room for the labels at the left and below. */
export const LEFT = 72;
export const BOTTOM = 22;

/**
 * The two lines, and times below.
 * @param {CanvasRenderingContext2D} context
 * @param {{start: number, end: number}} window what the width stands for
 * @param {{width: number, base: number, place: (time: number) => number, colors: Record<string, string>, font: string,
 *   left?: number}} chart
 */
export function timeAxis(context, { start, end }, { width, base, place, colors, font, left = LEFT }) {
  context.font = font;
  context.fillStyle = colors["--text-quiet"];
  context.strokeStyle = colors["--line"];
  context.beginPath();
  context.moveTo(left - 0.5, 0);
  context.lineTo(left - 0.5, base + 0.5);
  context.lineTo(width, base + 0.5);
  context.stroke();
  context.textBaseline = "top";
  context.textAlign = "left";
  const marks = ticks(start, end, Math.max(1, Math.floor((width - left) / 110)));
  for (const at of marks.at) {
    const x = place(at);
    const label = tickLabel(at, marks.step);
    const wide = context.measureText(label).width;
    context.fillRect(Math.round(x), base, 1, 4);
    context.fillText(label, Math.max(left, Math.min(width - wide, x - wide / 2)), base + 6);
  }
}

/**
 * A text that is as long as there is room for it, with a mark where it was cut.
 * @param {string} text
 * @param {number} room
 * @param {(text: string) => number} widthOf
 */
export function shortened(text, room, widthOf) {
  if (widthOf(text) <= room) return text;
  const letters = [...text];
  let [fits, over] = [0, letters.length];
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (widthOf(`${letters.slice(0, middle).join("")}…`) <= room) fits = middle;
    else over = middle;
  }
  return `${letters.slice(0, fits).join("")}…`;
}

/**
 * Labels at the left, no two over each other.
 * @param {CanvasRenderingContext2D} context
 * @param {{y: number, text: string}[]} marks from bottom to top
 * @param {string} color
 * @param {number} [left] the room for them
 */
export function sideLabels(context, marks, color, left = LEFT) {
  context.fillStyle = color;
  context.textAlign = "right";
  context.textBaseline = "middle";
  let last = Infinity;
  for (const { y, text } of marks) {
    if (last - y < 14) continue;
    last = y;
    // That of a low row on top is not cut.
    const middle = Math.max(6, y);
    const label = shortened(text, left - 8, (part) => context.measureText(part).width);
    context.fillText(label, left - 6, middle);
  }
}
