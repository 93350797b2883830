// The row of notes in the tree of tracks.

import { clipLane } from "../timeline_axis.js";
import { NOTE_LINE } from "../track_arrange.js";
import { drawNotes } from "./notes_draw.js";
import { packNotes } from "./notes_place.js";

/** @import { TimedNote } from "../../notes/note_words.js" */
/** @import { Canvas } from "../../../lib/canvas.js" */
/** @import { Pane } from "../../../lib/time_fold.js" */
/** @import { LanePlace } from "../track_arrange.js" */
/** @import { PaneModel } from "../track_draw.js" */

/**
 * How many lines of notes have room.
 * @param {{height: number}} place
 */
export const noteLines = ({ height }) => Math.max(1, Math.floor((height + 1) / NOTE_LINE));

/**
 * Draws notes in lines below each other.
 * @param {Canvas} canvas
 * @param {PaneModel} model
 * @param {LanePlace} place
 * @param {number} top
 */
export function drawNoteLines(canvas, model, place, top) {
  const { context: ctx, colors } = canvas;
  const { shown, notes } = model;
  clipLane(ctx, shown, top, place.height);
  const { lines, more } = placedNotes(ctx, model, noteLines(place));
  for (const [i, placed] of lines.entries()) {
    const low = top + (i + 1) * NOTE_LINE;
    drawNotes(ctx, colors, placed, { top: low - NOTE_LINE, bottom: low - 2, low: low - 2 }, notes.selected);
  }
  if (more > 0) {
    const text = `+${more}`;
    ctx.fillStyle = colors["--text-quiet"];
    ctx.fillText(text, shown.right - ctx.measureText(text).width - 4, top + place.height - NOTE_LINE / 2);
  }
  ctx.restore();
}

/**
 * Where notes are in a row of the tree.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{shown: Pane, notes: {items: TimedNote[]}}} model
 * @param {number} lines
 */
export function placedNotes(ctx, { shown, notes }, lines) {
  const perNs = (shown.right - shown.left) / (shown.end - shown.start);
  const place = (/** @type {number} */ time) => shown.left + (time - shown.start) * perNs;
  return packNotes(notes.items, place, shown, lines, (text) => ctx.measureText(text).width);
}
