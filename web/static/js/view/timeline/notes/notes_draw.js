// Draws notes and the measured span on a ruler, with lines down over what is below it, and notes in the minimap.

import { cutText } from "../../../lib/canvas.js";
import { duration } from "../../../lib/format.js";
import { firstLine } from "../../notes/note_words.js";
import { FLAG } from "./notes_place.js";

/** @import { TimedNote } from "../../notes/note_words.js" */
/** @import { PlacedNote } from "./notes_place.js" */
/** @typedef {Record<string, string>} Colors */

const COLOURS = 8;
/** Custom properties that are needed. */
export const NOTE_COLORS = [
  "--bg",
  "--text",
  "--accent",
  ...Array.from({ length: COLOURS }, (_one, i) => `--cat-${i}`),
];

/**
 * The custom property of a note's colour.
 * @param {{colour: number|null}} note
 */
export function noteColor({ colour }) {
  return colour === null ? "--text" : `--cat-${colour}`;
}

/**
 * Notes in a strip, and their lines down.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Colors} colors
 * @param {PlacedNote[]} placed
 * @param {{top: number, bottom: number, low: number}} strip
 * @param {string} selected
 */
export function drawNotes(ctx, colors, placed, { top, bottom, low }, selected) {
  const middle = (top + bottom) / 2;
  ctx.textBaseline = "middle";
  for (const { note, left, right, textLeft, textWide } of placed) {
    const color = colors[noteColor(note)];
    const isSelected = note.id === selected;
    ctx.fillStyle = color;
    if (right > left) {
      // Over the tracks only that of the selected note: several would hide what is below them.
      ctx.globalAlpha = 0.12;
      ctx.fillRect(left, top, right - left, (isSelected ? low : bottom) - top);
      ctx.globalAlpha = 1;
      ctx.fillRect(left, bottom - 2, right - left, 2);
    }
    ctx.globalAlpha = isSelected ? 1 : 0.35;
    for (const x of right > left ? [left, right] : [left]) ctx.fillRect(Math.round(x), bottom, 1, low - bottom);
    ctx.globalAlpha = 1;
    ctx.fillRect(Math.round(left), top + 1, isSelected ? 2 : 1, bottom - top);
    drawFlag(ctx, Math.round(left), top + 1);
    if (isSelected) {
      ctx.strokeStyle = colors["--accent"];
      ctx.lineWidth = 1;
      ctx.strokeRect(Math.round(left) - 2.5, top + 0.5, FLAG + 5, bottom - top - 1);
    }
    if (textWide <= 0) continue;
    ctx.fillStyle = colors["--text"];
    ctx.fillText(cutText(ctx, firstLine(note), textWide), textLeft, middle);
  }
}

/**
 * The flag of a note, without its pole.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 */
export function drawFlag(ctx, x, y) {
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x + FLAG, y + 4);
  ctx.lineTo(x, y + 8);
  ctx.fill();
}

/**
 * The measured span: a line with two ends and how long it is.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Colors} colors
 * @param {{start: number, end: number}} span
 * @param {{left: number, right: number}} at pixels
 * @param {{top: number, bottom: number, low: number, from: number, until: number}} strip
 */
export function drawSpan(ctx, colors, span, { left, right }, { top, bottom, low, from, until }) {
  const middle = Math.round((top + bottom) / 2);
  ctx.fillStyle = colors["--accent"];
  for (const x of [left, right]) {
    ctx.fillRect(Math.round(x) - 1, top + 1, 2, bottom - top - 2);
    for (let y = bottom; y < low; y += 6) ctx.fillRect(Math.round(x), y, 1, 3);
  }
  ctx.fillRect(left, middle, right - left, 1);
  const text = duration(span.end - span.start);
  const wide = ctx.measureText(text).width;
  const inside = right - left > wide + 16;
  const wanted = inside ? (Math.max(left, from) + Math.min(right, until) - wide) / 2 : right + 6;
  const x = Math.max(from + 4, Math.min(until - wide - 4, wanted));
  ctx.fillStyle = colors["--bg"];
  ctx.fillRect(x - 4, top, wide + 8, bottom - top - 1);
  ctx.fillStyle = colors["--accent"];
  ctx.textBaseline = "middle";
  ctx.fillText(text, x, middle);
}

/**
 * Notes in the minimap.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Colors} colors
 * @param {TimedNote[]} notes
 * @param {(time: number) => number} place
 * @param {number} height
 * @param {string} selected
 */
export function drawSmallNotes(ctx, colors, notes, place, height, selected) {
  for (const note of notes) {
    const left = Math.round(place(note.start));
    ctx.fillStyle = colors[noteColor(note)];
    ctx.fillRect(left, 0, note.id === selected ? 2 : 1, height);
    drawFlag(ctx, left, 0);
    if (note.end !== null) ctx.fillRect(left, height - 2, Math.max(2, place(note.end) - left), 2);
  }
}
