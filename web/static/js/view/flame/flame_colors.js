// What colours of frames tell: their kind, their module, their package, or how they differ. Pure.

import { category, frameClass } from "../../lib/color.js";
import { KINDS } from "./flame_model.js";
import { baseName } from "./transforms.js";

/** @typedef {"kind"|"module"|"package"} ColorsBy */
/** @type {Record<ColorsBy, string>} */
export const COLORS = { kind: "Colour by kind", module: "Colour by module", package: "Colour by package" };
/** The most names in a legend. */
const LEGEND = 8;
/** Kinds that have no module: the root, groups. */
const isGroup = (/** @type {number} */ kind) => kind < 2;

/**
 * What a function belongs to: of Rust and C++ the first two parts of the path before its own name, of Go its package; empty if
 * nothing is known. The server reads names the same way for files (`package_of`).
 * @param {string} name
 */
export function packageOf(name) {
  const isTyped = name.startsWith("<");
  const plain = (isTyped ? name.slice(1).split(" as ")[0] : name).split(/[<([>]/)[0];
  if (plain.includes("::") || name.includes(">::")) return plain.split("::").slice(0, -1).slice(0, 2).join("::");
  if (!name.includes("/") && !name.includes(".(")) return "";
  const point = name.indexOf(".", name.lastIndexOf("/") + 1);
  return point < 0 ? "" : name.slice(0, point);
}

/**
 * What a node is coloured by; empty where nothing is known.
 * @param {import("./flame_model.js").FlameModel} model
 * @param {number} i
 * @param {ColorsBy} by
 */
export function belongsTo(model, i, by) {
  const module = baseName(model.module(i));
  return by === "package" ? packageOf(model.name(i)) || module : module;
}

/**
 * The class of a node.
 * @param {import("./flame_model.js").FlameModel} model
 * @param {number} i
 * @param {ColorsBy} by
 */
export function colorClass(model, i, by) {
  const kind = model.nodes.kind[i];
  if (by === "kind" || isGroup(kind)) return frameClass(kind, model.name(i));
  const owner = belongsTo(model, i, by);
  return owner ? `cat-${category(owner)}` : "fl-unresolved-0";
}

/**
 * What colours mean, those with most samples of their own first.
 * @param {import("./flame_model.js").FlameModel} model
 * @param {ColorsBy} by
 * @returns {{class: string, text: string}[]}
 */
export function legendOf(model, by) {
  /** @type {Map<string, {class: string, own: number}>} */
  const seen = new Map();
  for (let i = 1; i < model.count; i += 1) {
    const kind = model.nodes.kind[i];
    if (isGroup(kind)) continue;
    const text = by === "kind" ? (KINDS[kind] ?? "") : belongsTo(model, i, by) || "not known";
    const known = seen.get(text);
    if (known) known.own += model.nodes.own[i];
    else
      seen.set(text, {
        class: by === "kind" ? frameClass(kind, "").replace(/\d$/, "0") : colorClass(model, i, by),
        own: model.nodes.own[i],
      });
  }
  const all = [...seen].sort(([, a], [, b]) => b.own - a.own);
  const shown = all.slice(0, LEGEND).map(([text, one]) => ({ class: one.class, text }));
  return all.length > LEGEND ? [...shown, { class: "", text: `${all.length - LEGEND} more` }] : shown;
}

/** Steps of a difference to each side. */
export const STEPS = 4;

/**
 * The class of a difference: in fours from a tenth more or less to four times as much.
 * @param {number} value here
 * @param {number} other there, scaled
 * @param {number} least what is too little to tell
 */
export function differenceClass(value, other, least) {
  if (Math.max(value, other) <= 0 || Math.abs(value - other) <= least) return "df-same";
  const ratio = other > 0 ? value / other : Infinity;
  const size = Math.abs(Math.log2(Math.max(1 / 64, Math.min(64, ratio))));
  const step = Math.min(STEPS - 1, Math.floor(size / 0.585));
  if (size < 0.07) return "df-same";
  return ratio > 1 ? `df-more-${step}` : `df-less-${step}`;
}
