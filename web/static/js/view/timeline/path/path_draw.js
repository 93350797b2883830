// Draws a critical path: above what the time went into, with the colours and patterns of states, below in which thread.

import { category } from "../../../lib/color.js";
import { cutText, hatch } from "../../../lib/canvas.js";
import { AXIS } from "../timeline_axis.js";
import { drawnParts, KINDS, threadName } from "./path_parts.js";

/** @import { Canvas } from "../../../lib/canvas.js" */
/** @import { CriticalPath } from "../../../../../api.js" */
/** @import { Pane } from "../../../lib/time_fold.js" */
/** @import { ShownRow } from "../track_draw.js" */

const STRIP = 14;
const PAD = 4;
const LEAST_TEXT = 28;
/** @type {Record<string, {color: string, pattern: "solid"|"slanted"|"upright"|"crossed"|"line"|"dots"}>} */
const LOOKS = {
  running: { color: "--state-running", pattern: "solid" },
  runnable: { color: "--state-runnable", pattern: "slanted" },
  uninterruptible: { color: "--state-blocked", pattern: "upright" },
  lock: { color: "--state-blocked", pattern: "crossed" },
  sleeping: { color: "--state-sleeping", pattern: "line" },
  idle: { color: "--state-sleeping", pattern: "dots" },
  other: { color: "--state-other", pattern: "dots" },
};

/**
 * @param {Canvas} canvas
 * @param {{path: CriticalPath, row: ShownRow, shown: Pane, scroll: number}} model
 */
export function drawPath({ context: ctx, colors, height }, { path, row, shown, scroll }) {
  const top = AXIS + row.top - scroll + PAD;
  if (top > height || top + row.height < AXIS) return;
  const wide = shown.right - shown.left;
  ctx.save();
  ctx.beginPath();
  ctx.rect(shown.left, AXIS, wide, height - AXIS);
  ctx.clip();
  for (const { part, left, right } of drawnParts(path, shown, wide)) {
    const x = shown.left + left;
    const across = Math.max(1, right - left);
    const look = LOOKS[KINDS[part.kind].look];
    fill(ctx, colors[look.color], look.pattern, x, top, across);
    const isOwn = part.wait === undefined || part.wait === null;
    const low = top + STRIP + 1;
    if (!isOwn) {
      ctx.fillStyle = colors[`--cat-${category(path.threads[part.thread].name)}`];
      // Neighbours of one colour are told apart by a gap.
      ctx.fillRect(x, low, across > 3 ? across - 1 : across, STRIP - 1);
    }
    if (across < LEAST_TEXT) continue;
    const text = isOwn ? [part.ended_by, part.call].filter(Boolean).join(", ") : threadName(path, part.thread);
    ctx.fillStyle = colors[isOwn ? "--text-quiet" : "--on-cat"];
    if (text) ctx.fillText(cutText(ctx, text, across - 6), x + 3, low + STRIP / 2);
  }
  ctx.restore();
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} color
 * @param {string} pattern
 * @param {number} x
 * @param {number} y
 * @param {number} across
 */
function fill(ctx, color, pattern, x, y, across) {
  ctx.fillStyle = color;
  if (pattern === "solid" || across < 2) ctx.fillRect(x, y, across, STRIP);
  else if (pattern === "line") ctx.fillRect(x, y + STRIP / 2 - 1, across, 2);
  else if (pattern === "upright") for (let at = 0; at < across; at += 4) ctx.fillRect(x + at, y, 2, STRIP);
  else if (pattern === "dots")
    for (let at = 0; at < across; at += 4)
      for (let down = 2; down < STRIP; down += 5) ctx.fillRect(x + at, y + down, 2, 2);
  else hatch(ctx, color, x, y, across, STRIP);
  if (pattern === "crossed") for (let at = 0; at < across; at += 6) ctx.fillRect(x + at, y, 2, STRIP);
}
