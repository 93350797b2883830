// A flame graph as SVG nodes. Names only ever become text.

import { frameClass } from "../../lib/color.js";
import { s } from "../../lib/dom.js";
import { MATCH_BELOW, MATCH_SELF, fitting } from "./flame_model.js";

/** Height of a frame in pixels. */
export const FRAME = 18;
const TEXT_PAD = 4;

let perCharacter = 0;

function characterWidth() {
  if (!perCharacter) {
    const context = document.createElement("canvas").getContext("2d");
    if (!context) return 7;
    context.font = `12px ${getComputedStyle(document.documentElement).getPropertyValue("--mono")}`;
    perCharacter = context.measureText("0".repeat(50)).width / 50;
  }
  return perCharacter;
}

/**
 * The graph's frames, to be put into an SVG element. Each group carries its node's index in `data-i`.
 * @param {import("./flame_model.js").FlameModel} model
 * @param {number} width pixels
 * @param {{invert: boolean, searching: boolean}} options
 * @returns {DocumentFragment}
 */
export function drawFlame(model, width, { invert, searching }) {
  const all = document.createDocumentFragment();
  for (let i = 0; i < model.count; i += 1) all.append(frame(model, i, width, invert, searching));
  return all;
}

/**
 * The y of a frame's top.
 * @param {import("./flame_model.js").FlameModel} model
 * @param {number} i
 * @param {boolean} invert
 */
export function frameTop(model, i, invert) {
  const depth = model.nodes.depth[i];
  return (invert ? depth : model.maxDepth - depth) * FRAME;
}

/**
 * @param {import("./flame_model.js").FlameModel} model
 * @param {number} i
 * @param {number} width pixels
 * @param {boolean} invert
 * @param {boolean} searching
 */
function frame(model, i, width, invert, searching) {
  const [left, share] = model.place(i);
  const x = left * width;
  const wide = Math.max(0.5, share * width - (share * width > 3 ? 0.6 : 0));
  const y = frameTop(model, i, invert);
  const match = model.nodes.match[i];
  const classes = [
    frameClass(model.nodes.kind[i], model.name(i)),
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
  return group;
}
