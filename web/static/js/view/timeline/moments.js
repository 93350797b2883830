// Moments that stand over all tracks: when a flight recorder fired, and what people or scripts marked, such as a deployment. Each is a
// line with a word at the axis.

import { AXIS, RULER, gutter } from "./timeline_axis.js";

/** @import { Canvas } from "../../lib/canvas.js" */
/** @import { CapturePage } from "../../../../api.js" */

/** @typedef {{time: number, word: string, tells: string, color: string}} Moment */

const PAD = 4;
/** The longest word at the axis; all of it is told under the pointer. */
const WORD_CHARS = 24;
/** So near the pointer has to be, pixels. */
const NEAR = 5;

/**
 * The moments of a capture, the one that fired it last: it is drawn over the others.
 * @param {Pick<CapturePage, "firing"|"marks">} info
 * @returns {Moment[]}
 */
export function momentsOf({ firing, marks }) {
  const marked = marks.map(({ time, text, author }) => ({
    time,
    word: text.length > WORD_CHARS ? `${text.slice(0, WORD_CHARS - 1)}…` : text,
    tells: `${text}, marked by ${author}`,
    color: "--text-quiet",
  }));
  return firing ? [...marked, { time: firing.fired, word: "fired", tells: "Fired", color: "--accent" }] : marked;
}

/**
 * @param {Canvas} canvas
 * @param {(time: number) => number} place
 * @param {Moment[]} moments
 */
export function drawMoments({ context: ctx, colors, width, height, font }, place, moments) {
  ctx.save();
  ctx.font = font;
  ctx.textBaseline = "middle";
  for (const { time, word, color } of moments) {
    const x = Math.round(place(time));
    if (x < gutter.width || x > width) continue;
    ctx.fillStyle = colors[color];
    for (let y = RULER; y < height; y += 5) ctx.fillRect(x, y, 1, 3);
    const wide = ctx.measureText(word).width + 2 * PAD;
    const left = x + wide > width ? x - wide : x;
    ctx.fillRect(left, RULER, wide, AXIS - RULER - 1);
    ctx.fillStyle = colors["--bg"];
    ctx.fillText(word, left + PAD, (RULER + AXIS - 1) / 2);
  }
  ctx.restore();
}

/**
 * What the moment under the pointer tells; empty if there is none.
 * @param {{x: number, y: number}|null|undefined} pointer
 * @param {(time: number) => number} place
 * @param {Moment[]} moments
 */
export function momentWords(pointer, place, moments) {
  if (!pointer || pointer.x < gutter.width) return "";
  const found = moments.findLast(({ time }) => Math.abs(place(time) - pointer.x) <= NEAR);
  return found?.tells ?? "";
}
