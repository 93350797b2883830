// The moment at which a flight recorder fired: a line over all tracks with a word at the axis.

import { AXIS, RULER, gutter } from "./timeline_axis.js";

/** @import { Canvas } from "../../lib/canvas.js" */
/** @import { FiringItem } from "../../../../api.js" */

const WORD = "fired";
const PAD = 4;

/**
 * @param {Canvas} canvas
 * @param {(time: number) => number} place
 * @param {FiringItem|null} firing
 */
export function drawFiring({ context: ctx, colors, width, height, font }, place, firing) {
  if (!firing) return;
  const x = Math.round(place(firing.fired));
  if (x < gutter.width || x > width) return;
  ctx.save();
  ctx.font = font;
  ctx.fillStyle = colors["--accent"];
  for (let y = RULER; y < height; y += 5) ctx.fillRect(x, y, 1, 3);
  const wide = ctx.measureText(WORD).width + 2 * PAD;
  const left = x + wide > width ? x - wide : x;
  ctx.fillRect(left, RULER, wide, AXIS - RULER - 1);
  ctx.fillStyle = colors["--bg"];
  ctx.textBaseline = "middle";
  ctx.fillText(WORD, left + PAD, (RULER + AXIS - 1) / 2);
  ctx.restore();
}
