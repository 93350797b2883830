// Draws tracks: the picture of their lanes with names of slices, labels of rows, and what lies over them.

import { CATEGORIES } from "../../lib/color.js";
import { PANE_GAP } from "../../lib/time_fold.js";
import { cutText, drawSelection, hatch } from "../../lib/canvas.js";
import { count, duration } from "../../lib/format.js";
import { AXIS, drawAxis, gutter } from "./timeline_axis.js";
import { rowsBetween } from "./row_search.js";
import { firstPiece } from "./track_decode.js";
import { drawCounterLane, mostWords } from "./binned_draw.js";
import { drawOwnRows } from "./rows/own_draw.js";
import { drawFlag, noteColor } from "./notes/notes_draw.js";
import { FLAG } from "./notes/notes_place.js";
import { HEAD_FLAG } from "./notes/track_notes.js";
import { STATES } from "./track_paint.js";

/** @import { Canvas } from "../../lib/canvas.js" */
/** @import { Pane } from "../../lib/time_fold.js" */
/** @import { TrackPieces } from "./track_decode.js" */
/** @import { BinnedTrack } from "./binned_tracks.js" */
/** @import { LanePlace, Size } from "./track_arrange.js" */
/** @import { TreeRow } from "./track_tree.js" */
/** @import { TrackLabel } from "../../../../api.js" */

const PAD = 4;
const INDENT = 12;
/** A name is written where at least so much of it fits. */
const LEAST_TEXT = 24;

/** Custom properties that are needed. */
export const TRACK_COLORS = [
  "--bg",
  "--bg-rail",
  "--bg-hover",
  "--line",
  "--line-strong",
  "--text",
  "--text-quiet",
  "--accent",
  "--selection",
  "--loss-mark",
  "--bg-selected",
  "--on-cat",
  ...new Set(Object.values(STATES).map(({ color }) => color)),
  ...Array.from({ length: CATEGORIES }, (_one, i) => `--cat-${i}`),
];

/**
 * @typedef {object} ShownRow a row in sight
 * @property {TreeRow} row
 * @property {boolean} isOpen
 * @property {boolean} isPinned
 * @property {number} top pixels from the first row
 * @property {number} height
 * @property {Size} size
 * @property {LanePlace[]} places of its lanes; none of a group
 * @property {number} more lanes that have no place at this height
 */
/**
 * @typedef {object} PaneData what is on the tracks in a pane
 * @property {import("./known_tracks.js").KnownTracks} pieces
 * @property {Map<string, BinnedTrack>} binned samples, instants and counters
 * @property {import("./track_picture.js").TrackPictures} pictures of its rows
 */
/**
 * @typedef {object} TracksModel what is drawn
 * @property {(Pane & PaneData)[]} panes the parts of time, from left to right
 * @property {boolean} isBeside whether the second pane is another time, and not what follows
 * @property {ShownRow[]} rows
 * @property {number} scroll
 * @property {number} whole nanoseconds that the capture lasted, for shares
 * @property {{start: number, end: number}[]} losses
 * @property {{start: number, end: number}|null} selection
 * @property {{track: number|null, time: number, depth: number}|null} cursor `depth`: the lane of its row
 * @property {{from: number, to: number}|null} dragged the row that is dragged, and the one whose place it would take
 * @property {{lane: string, number: number, start: number, end: number}|null} picked `number`: which row of the lane
 * @property {import("./rows/rows_lanes.js").RowsLanes} own results of SQL and readings of maps
 * @property {{items: import("../notes/note_words.js").TimedNote[], of: Map<string, import("../../../../api.js").NoteItem[]>,
 *   selected: string}} notes `of`: those on tracks as a whole
 */
/** @typedef {TracksModel & PaneData & {shown: Pane}} PaneModel what is drawn in a pane */

/**
 * Draws everything that there is time for. Says whether there is more.
 * @param {Canvas} canvas
 * @param {TracksModel} model
 */
export function drawTracks(canvas, model) {
  const { context: ctx, colors, width, height, ratio, font } = canvas;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = font;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colors["--bg"];
  ctx.fillRect(0, 0, width, height);
  const panes = model.panes.map((pane) => ({ ...model, ...pane, shown: pane }));
  const rows = inSight(model, height);
  let isMore = false;
  for (const { pictures, shown, pieces, binned } of panes) {
    const sight = { shown, rows, scroll: model.scroll, data: { pieces, binned } };
    isMore = pictures.draw(canvas, sight) || isMore;
  }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  for (const pane of panes) {
    writeNames(canvas, pane);
    drawCounterRows(canvas, pane);
    isMore = drawOwnRows(canvas, pane, rows) || isMore;
  }
  drawRowLabels(canvas, model);
  for (const pane of panes) {
    drawOver(canvas, pane);
    drawAxis(canvas, pane.shown, 0.4, pane.shown, model.isBeside);
  }
  for (const { right } of model.panes.slice(0, -1)) drawGap(canvas, right);
  return isMore;
}

/**
 * Where time is divided: a band, so that what is on both sides of it does not look as if it followed.
 * @param {Canvas} canvas
 * @param {number} left
 */
function drawGap({ context: ctx, colors, height }, left) {
  ctx.fillStyle = colors["--bg"];
  ctx.fillRect(left, 0, PANE_GAP, height);
  hatch(ctx, colors["--line-strong"], left + 1, 0, PANE_GAP - 2, height);
}

/**
 * @param {TracksModel} model
 * @param {number} height
 */
function inSight({ rows, scroll }, height) {
  return rows.slice(...rowsBetween(rows, scroll, scroll + height - AXIS));
}

/**
 * Counters in sight, as lines.
 * @param {Canvas} canvas
 * @param {PaneModel} model
 */
function drawCounterRows({ context: ctx, colors, height }, model) {
  for (const row of inSight(model, height))
    for (const { lane, top, height: tall } of row.places) {
      const binned = model.binned.get(lane.id);
      const bottom = AXIS + row.top + top + tall - model.scroll;
      if (lane.row === "counter" && binned)
        drawCounterLane(ctx, model.shown, binned, {
          left: model.shown.left,
          width: model.shown.right,
          least: AXIS,
          bottom,
          tall,
          color: colors["--cat-0"],
        });
    }
}

/**
 * Names within what is wide enough, but for states of threads, which have their colours.
 * @param {Canvas} canvas
 * @param {PaneModel} model
 */
function writeNames(canvas, model) {
  const { context: ctx, colors, height } = canvas;
  const widthOf = (/** @type {string} */ text) => canvas.widthOf(text);
  const { shown, scroll, pieces: known } = model;
  const perPixel = (shown.end - shown.start) / (shown.right - shown.left);
  ctx.save();
  ctx.beginPath();
  ctx.rect(shown.left, AXIS, shown.right - shown.left, height - AXIS);
  ctx.clip();
  ctx.fillStyle = colors["--on-cat"];
  for (const row of inSight(model, height)) {
    for (const { lane, top, height: tall } of row.places) {
      const pieces = known.peek(lane.id);
      if (!pieces || (lane.row === "state" && lane.of === "thread")) continue;
      const middle = AXIS + row.top + top + tall / 2 - scroll + 0.5;
      const place = (/** @type {number} */ units) =>
        shown.left + (pieces.start + units * pieces.unit - shown.start) / perPixel;
      for (let i = firstPiece(pieces, shown.start); i < pieces.begins.length; i += 1) {
        const left = Math.max(shown.left, place(pieces.begins[i]));
        if (left > shown.right) break;
        const room = Math.min(shown.right, place(pieces.ends[i])) - left - 6;
        const label = pieces.labels[pieces.names[i]];
        if (pieces.several[i] >= 0 || room < LEAST_TEXT || label.tid === 0) continue;
        ctx.fillText(cutText(ctx, nameOf(label), room, widthOf), left + 3, middle);
      }
    }
  }
  ctx.restore();
}

/**
 * What a piece is called.
 * @param {TrackLabel} label
 */
export function nameOf({ text, tid }) {
  if (tid === undefined) return text;
  return tid === 0 ? "idle" : `${text} ${tid}`;
}

/**
 * @param {Canvas} canvas
 * @param {TracksModel} model
 */
function drawRowLabels(canvas, model) {
  const { context: ctx, colors, height } = canvas;
  const widthOf = (/** @type {string} */ text) => canvas.widthOf(text);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, AXIS, ctx.canvas.width, height - AXIS);
  ctx.clip();
  const [first, last] = rowsBetween(model.rows, model.scroll, model.scroll + height - AXIS);
  for (let index = first; index < last; index += 1) {
    const shown = model.rows[index];
    const { row, isOpen, isPinned } = shown;
    const y = AXIS + shown.top - model.scroll;
    if (row.kind === "group" || model.cursor?.track === index) {
      ctx.fillStyle = colors[model.cursor?.track === index ? "--bg-selected" : "--bg-rail"];
      ctx.fillRect(0, y, row.kind === "group" && isOpen ? ctx.canvas.width : gutter.width - 1, shown.height);
    }
    const own = model.cursor?.track === index ? shown.places[model.cursor.depth] : undefined;
    if (own && shown.places.length > 1) {
      ctx.fillStyle = colors["--accent"];
      ctx.fillRect(gutter.width - 5, y + own.top, 3, own.height);
    }
    const middle = row.kind === "group" ? y + shown.height / 2 : y + Math.min(shown.height / 2, 12);
    const left = PAD + row.depth * INDENT + (row.kind === "group" ? INDENT : 0);
    if (row.kind === "group") drawTurn(ctx, colors["--text-quiet"], PAD + 4, middle, isOpen);
    ctx.fillStyle = colors["--text-quiet"];
    const counter = row.kind === "tracks" && model.panes[0].binned.get(row.lanes[0].id);
    const share =
      row.busy > 0
        ? shareText(row.busy / model.whole)
        : counter && counter.most
          ? mostWords(counter)
          : ownAmount(model, row);
    const flagged = model.notes.of.get(row.key);
    const end = flagged ? gutter.width - HEAD_FLAG : gutter.width - 10;
    const wide = widthOf(share);
    ctx.fillText(share, end - wide, middle);
    if (flagged) drawHeadFlag(ctx, colors, middle, flagged, model.notes.selected);
    ctx.fillStyle = colors["--text"];
    const room = end - 10 - wide - left;
    const notes = [isPinned ? "pinned" : "", shown.more > 0 ? `+${shown.more}` : ""].filter(Boolean).join(", ");
    const label = cutText(ctx, notes ? `${row.label} (${notes})` : row.label, room, widthOf);
    ctx.fillText(label, left, middle);
    const used = widthOf(label) + 6;
    ctx.fillStyle = colors["--text-quiet"];
    if (row.sub && room - used > 30) ctx.fillText(cutText(ctx, row.sub, room - used, widthOf), left + used, middle);
    ctx.fillStyle = colors["--line"];
    ctx.fillRect(0, Math.round(y + shown.height) - 1, ctx.canvas.width, 1);
  }
  ctx.fillStyle = colors["--line"];
  ctx.fillRect(gutter.width - 1, AXIS, 1, height);
  if (model.dragged && model.rows[model.dragged.to]) {
    const { from, to } = model.dragged;
    const { top, height: tall } = model.rows[to];
    ctx.fillStyle = colors["--accent"];
    ctx.fillRect(0, AXIS + top + (to > from ? tall : 0) - model.scroll - 1, gutter.width, 2);
  }
  ctx.restore();
}

/**
 * The flag of notes on a track as a whole, in the colour of the selected one, or the last.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {number} middle
 * @param {import("../../../../api.js").NoteItem[]} notes
 * @param {string} selected
 */
function drawHeadFlag(ctx, colors, middle, notes, selected) {
  const chosen = notes.find(({ id }) => id === selected);
  const left = gutter.width - HEAD_FLAG + 9;
  ctx.fillStyle = colors[noteColor(chosen ?? notes[notes.length - 1])];
  ctx.fillRect(left, middle - 6, 1, 12);
  drawFlag(ctx, left, middle - 6);
  if (!chosen) return;
  ctx.strokeStyle = colors["--accent"];
  ctx.lineWidth = 1;
  ctx.strokeRect(left - 2.5, middle - 7.5, FLAG + 5, 15);
}

/**
 * How many rows a query has, how many notes there are; empty of other rows.
 * @param {TracksModel} model
 * @param {TreeRow} row
 */
function ownAmount({ own, notes }, { kind, lanes }) {
  if (kind !== "tracks") return "";
  const [{ id, row }] = lanes;
  const rows = row === "rows" ? own.lane(id)?.data.track?.n : row === "note" ? notes.items.length : undefined;
  return rows === undefined ? "" : count(rows);
}

/**
 * A share of the capture's time, of one CPU.
 * @param {number} share
 */
function shareText(share) {
  return share >= 0.0995 ? `${Math.round(share * 100)} %` : share >= 0.0005 ? `${(share * 100).toFixed(1)} %` : "";
}

/**
 * A triangle that says whether a group is open.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} color
 * @param {number} x
 * @param {number} y
 * @param {boolean} isOpen
 */
function drawTurn(ctx, color, x, y, isOpen) {
  ctx.fillStyle = color;
  ctx.beginPath();
  if (isOpen) {
    ctx.moveTo(x - 4, y - 2.5);
    ctx.lineTo(x + 4, y - 2.5);
    ctx.lineTo(x, y + 3);
  } else {
    ctx.moveTo(x - 2.5, y - 4);
    ctx.lineTo(x + 3, y);
    ctx.lineTo(x - 2.5, y + 4);
  }
  ctx.fill();
}

/**
 * Losses, what is selected, the cursor.
 * @param {Canvas} canvas
 * @param {PaneModel} model
 */
function drawOver({ context: ctx, colors, height }, model) {
  const { shown, rows, scroll } = model;
  const wide = shown.right - shown.left;
  const place = (/** @type {number} */ time) => shown.left + ((time - shown.start) / (shown.end - shown.start)) * wide;
  const last = rows.at(-1);
  const low = Math.min(height, AXIS + (last ? last.top + last.height : height) - scroll);
  ctx.save();
  ctx.beginPath();
  ctx.rect(shown.left, 0, wide, height);
  ctx.clip();
  for (const loss of model.losses) {
    if (loss.end < shown.start || loss.start > shown.end) continue;
    const left = place(loss.start);
    const across = Math.max(3, place(loss.end) - left);
    // What was stored all the same is to be seen through it.
    ctx.globalAlpha = 0.35;
    hatch(ctx, colors["--loss-mark"], left, AXIS, across, low - AXIS);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colors["--loss-mark"];
    ctx.fillRect(left, AXIS - 3, across, 3);
  }
  if (model.selection)
    drawSelection(ctx, colors, place(model.selection.start), place(model.selection.end), low - AXIS, AXIS);
  const { picked } = model;
  const row =
    picked && rows.find(({ row: { kind, lanes } }) => kind === "tracks" && lanes.some(({ id }) => id === picked.lane));
  if (picked && row) {
    const lane = row.places.find((one) => one.lane.id === picked.lane);
    const left = place(picked.start);
    const across = Math.max(2, place(picked.end) - left);
    ctx.strokeStyle = colors["--text"];
    ctx.lineWidth = 2;
    if (lane && lane.lane.row !== "rows") ctx.strokeRect(left, AXIS + row.top + lane.top - scroll, across, lane.height);
  }
  if (model.cursor) {
    ctx.fillStyle = colors["--accent"];
    ctx.fillRect(Math.round(place(model.cursor.time)), AXIS, 1, low - AXIS);
  }
  ctx.restore();
}

/**
 * What a piece says in words.
 * @param {TrackPieces} pieces
 * @param {number} i
 */
export function pieceText({ begins, ends, unit, several, names, others, shares, rows, labels }, i) {
  const took = duration((ends[i] - begins[i]) * unit);
  const at = several[i];
  const name = (/** @type {number} */ number) => nameOf(labels[number]);
  if (at < 0) return `${name(names[i])}, ${took}`;
  const all = [names[i], others[0][at], others[1][at]];
  const parts = shares
    .map((share, place) => ({ name: all[place], share: share[at] / 255 }))
    .filter(({ share }) => share > 0)
    .map(({ name: number, share }) => `${name(number)} ≈ ${Math.round(share * 100)} %`);
  return `about ${rows[at]} rows in ${took}: ${parts.join(", ") || name(names[i])}`;
}
