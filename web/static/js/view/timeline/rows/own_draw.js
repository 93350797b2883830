// Draws what the tree has besides the capture's states, slices and counters: rows of queries, and notes.

import { cutText } from "../../../lib/canvas.js";
import { AXIS, clipLane } from "../timeline_axis.js";
import { drawNoteLines } from "../notes/notes_row.js";
import { markRow } from "../sql_track_draw.js";
import { drawRowsPicture } from "./rows_picture.js";

/** @import { Canvas } from "../../../lib/canvas.js" */
/** @import { PaneModel, ShownRow } from "../track_draw.js" */
/** @import { LanePlace } from "../track_arrange.js" */

/**
 * Draws such rows in a pane. Says whether they are to be drawn once more.
 * @param {Canvas} canvas
 * @param {PaneModel} model
 * @param {ShownRow[]} rows those in sight
 */
export function drawOwnRows(canvas, model, rows) {
  let isMore = false;
  for (const row of rows)
    for (const place of row.places) {
      const top = AXIS + row.top + place.top - model.scroll;
      if (place.lane.row === "rows") isMore = drawRowsLane(canvas, model, place, top) || isMore;
      else if (place.lane.row === "note") drawNoteLines(canvas, model, place, top);
    }
  return isMore;
}

/**
 * @param {Canvas} canvas
 * @param {PaneModel} model
 * @param {LanePlace} place
 * @param {number} top
 */
function drawRowsLane(canvas, model, { lane, height }, top) {
  const { context: ctx, colors } = canvas;
  const { shown, own, picked } = model;
  const found = own.lane(lane.id);
  if (!found) return false;
  let isMore = false;
  clipLane(canvas.context, model.shown, top, height);
  ctx.translate(shown.left, top);
  const width = shown.right - shown.left;
  const problem = own.problem(found);
  const { track, inTime, said } = found.data;
  if (problem || !track) {
    ctx.fillStyle = colors["--text-quiet"];
    ctx.fillText(cutText(ctx, problem || "Reading", width - 8), 4, height / 2);
  } else {
    if (track.n > 0) isMore = drawRowsPicture(canvas, { track, inTime, shown, height });
    if (picked?.lane === lane.id && picked.number < track.n)
      markRow({ ctx, colors, track, shown, width, height }, picked.number);
    if (said) {
      const text = cutText(ctx, said, width - 12);
      const wide = ctx.measureText(text).width + 8;
      ctx.fillStyle = colors["--bg"];
      ctx.fillRect(width - wide, 0, wide, 14);
      ctx.fillStyle = colors["--text-quiet"];
      ctx.fillText(text, width - wide + 4, 7);
    }
  }
  ctx.restore();
  return isMore;
}
