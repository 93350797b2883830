// A flame graph as SVG nodes. Names only ever become text.

import { s } from "../../lib/dom.js";
import { fitting } from "./flame_model.js";
import { MATCH_BELOW, MATCH_SELF } from "./flame_nodes.js";

/** Height of a frame in pixels. */
export const FRAME = 18;
/** Pixels between a frame's edge and its name. */
export const TEXT_PAD = 4;

let perCharacter = 0;
let family = "";

/**
 * The font of names, for a canvas.
 * @param {boolean} [bold]
 */
export function frameFont(bold = false) {
  family ||= getComputedStyle(document.documentElement).getPropertyValue("--mono") || "monospace";
  return `${bold ? "bold " : ""}12px ${family}`;
}

/** How wide a character of a name is, in pixels. */
export function characterWidth() {
  if (!perCharacter) {
    const context = document.createElement("canvas").getContext("2d");
    if (!context) return 7;
    context.font = frameFont();
    perCharacter = context.measureText("0".repeat(50)).width / 50;
  }
  return perCharacter;
}

/**
 * @typedef {object} FlameLook
 * @property {boolean} down whether the root is on top
 * @property {boolean} searching whether frames that do not match are dimmed
 * @property {(i: number) => string} color the class of a node
 * @property {(i: number) => boolean} [noted] whether there is a note on a node
 */

/** Pixels of the mark of a note, at the upper right corner of its frame. */
export const NOTE_MARK = 7;

/**
 * The graph's frames, to be put into an SVG element. Each group carries its node's index in `data-i`.
 * @param {import("./flame_model.js").FlameModel} model
 * @param {number} width pixels
 * @param {FlameLook} look
 * @returns {DocumentFragment}
 */
export function drawFlame(model, width, look) {
  const all = document.createDocumentFragment();
  for (let i = 0; i < model.count; i += 1) all.append(frame(model, i, width, look));
  return all;
}

/**
 * A small square in the colour of a class, for legends.
 * @param {string} color
 */
export function swatch(color) {
  const rect = s("rect", { width: "100%", height: "100%", rx: 2 });
  return s("svg", { class: `swatch ${color}`, "aria-hidden": "true" }, rect);
}

/**
 * How wide a frame is drawn, so that there is a gap between neighbours.
 * @param {number} pixels
 */
export function frameWidth(pixels) {
  return Math.max(0.5, pixels - (pixels > 3 ? 0.6 : 0));
}

/**
 * The y of a frame's top.
 * @param {import("./flame_model.js").FlameModel} model
 * @param {number} i
 * @param {boolean} down whether the root is on top
 */
export function frameTop(model, i, down) {
  const depth = model.nodes.depth[i];
  return (down ? depth : model.maxDepth - depth) * FRAME;
}

/**
 * @param {import("./flame_model.js").FlameModel} model
 * @param {number} i
 * @param {number} width pixels
 * @param {FlameLook} look
 */
function frame(model, i, width, { down, searching, color, noted }) {
  const [left, share] = model.place(i);
  const x = left * width;
  const wide = frameWidth(share * width);
  const y = frameTop(model, i, down);
  const match = model.nodes.match[i];
  const classes = [
    color(i),
    model.isAncestor(i) && "is-ancestor",
    searching && (match & MATCH_SELF ? "is-match" : match & MATCH_BELOW ? "has-match" : "no-match"),
  ];
  const group = s(
    "g",
    { class: classes.filter(Boolean).join(" "), "data-i": i },
    s("rect", { x: x.toFixed(2), y, width: wide.toFixed(2), height: FRAME - 1, rx: wide > 6 ? 1.5 : 0 }),
  );
  const text = fitting(model.name(i), wide - TEXT_PAD * 2, characterWidth());
  if (text) group.append(s("text", { x: (x + TEXT_PAD).toFixed(2), y: y + FRAME - 5.5, text }));
  if (noted?.(i)) {
    const mark = Math.min(NOTE_MARK, wide);
    group.append(
      s("path", { class: "flame-noted", d: `M${(x + wide - mark).toFixed(2)} ${y}h${mark.toFixed(2)}v${NOTE_MARK}z` }),
    );
  }
  return group;
}
