// Draws arrows over the tree of tracks.

import { AXIS } from "../timeline_axis.js";

/** @import { PlacedArrow } from "./arrows.js" */

/**
 * Draws arrows in a pane.
 * @param {import("../../../lib/canvas.js").Canvas} canvas
 * @param {PlacedArrow[]} arrows
 * @param {{left: number, right: number}} shown
 * @param {{color: string, width: number}} look
 */
export function drawArrows({ context: ctx, height }, arrows, { left, right }, { color, width }) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, AXIS, right - left, height - AXIS);
  ctx.clip();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = width;
  for (const { x, from, to } of arrows) {
    const way = Math.sign(to - from);
    ctx.beginPath();
    ctx.moveTo(x, from);
    ctx.lineTo(x, to - way * 6);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x, from, 1 + width, 0, 2 * Math.PI);
    ctx.moveTo(x - 4, to - way * 7);
    ctx.lineTo(x + 4, to - way * 7);
    ctx.lineTo(x, to);
    ctx.fill();
  }
  ctx.restore();
}
