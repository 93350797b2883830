// A flame graph's columns with what drawing and walking need. Pure.

import { plural } from "../../lib/format.js";
import { MATCH_SELF, parentsOf } from "./flame_nodes.js";

/**
 * What stacks can be weighted by, the usual one first; what an address names besides, too.
 * @param {{info: {weights: {value: string, title: string}[], streams: {kind: string}[]}, hasCalls: boolean}} capture
 * @param {string} named
 * @returns {{value: string, title: string}[]}
 */
export function weightsOf({ info: { weights, streams }, hasCalls }, named) {
  const calls = hasCalls && !streams.some(({ kind }) => kind === "samples");
  const all = calls ? [{ value: "", title: "Time in functions" }, ...weights] : weights;
  return !named || all.some(({ value }) => value === named) ? all : [...all, { value: named, title: named }];
}

/**
 * Rows that are no part of a sum, in words.
 * @param {{missing: number, negative: number}} leftOut
 * @returns {string[]}
 */
export function leftOutWords({ missing, negative }) {
  return [
    missing > 0 ? `${plural(missing, "row")} without a value left out` : "",
    negative > 0 ? `${plural(negative, "row")} with a negative value left out` : "",
  ].filter(Boolean);
}

/**
 * What the first level can be, as people say it.
 * @type {Record<"process"|"thread"|"comm"|"cpu"|"container"|"source"|"none", string>}
 */
export const LEVELS = {
  process: "By process",
  thread: "By thread",
  comm: "By thread name",
  cpu: "By CPU",
  container: "By container",
  source: "By source",
  none: "All together",
};

/** What nodes and functions are, by the number that the API gives. */
export const KINDS = ["all samples", "process", "kernel", "user", "inlined", "JIT-compiled", "without a symbol"];

/** The answer of the flame endpoint, indexed. */
export class FlameModel {
  /** @param {import("../../../../api.js").FlameGraph} answer */
  constructor(answer) {
    this.total = answer.total;
    this.recorded = answer.recorded;
    this.transforms = answer.transforms;
    this.modules = answer.modules;
    this.focusTotal = answer.focus_total;
    this.maxDepth = answer.max_depth;
    this.cut = answer.cut;
    this.matched = answer.matched_samples;
    this.unresolved = answer.unresolved;
    this.unit = answer.unit;
    this.counted = answer.counted;
    this.leftOut = answer.left_out;
    this.names = answer.names;
    this.nodes = answer.nodes;
    this.count = answer.nodes.id.length;
    this.parents = parentsOf(answer.nodes.depth);
    this.focus = answer.focus ? answer.nodes.id.indexOf(answer.focus) : 0;
    if (this.focus < 0) this.focus = 0;
  }

  /**
   * What transforms of a node are about.
   * @param {number} i
   * @param {boolean} invert
   * @returns {import("./transforms.js").Frame & {own: number}}
   */
  frame(i, invert) {
    const isGroup = this.nodes.kind[i] < 2;
    const [name, node, module] = [this.name(i), this.nodes.id[i], this.module(i)];
    return { name, node, module, isGroup, invert, own: this.unit === "samples" ? this.nodes.own[i] : 0 };
  }

  /** @param {number} i */
  name(i) {
    return this.names[this.nodes.name[i]] ?? "";
  }

  /**
   * What the code of a node was mapped from; empty where that is not known.
   * @param {number} i
   */
  module(i) {
    return this.modules[this.nodes.module[i]] ?? "";
  }

  /**
   * Whether the node is drawn over the whole width because it is below the focus.
   * @param {number} i
   */
  isAncestor(i) {
    return i < this.focus;
  }

  /**
   * Where a node is, as shares of the width: left, wide.
   * @param {number} i
   */
  place(i) {
    if (this.isAncestor(i) || this.focusTotal === 0) return [0, 1];
    return [this.nodes.x[i] / this.focusTotal, this.nodes.value[i] / this.focusTotal];
  }

  /**
   * The nodes from the root to `i`.
   * @param {number} i
   */
  path(i) {
    const path = [];
    for (let at = i; at >= 0; at = this.parents[at]) path.unshift(at);
    return path;
  }

  /**
   * The widest child, or -1.
   * @param {number} i
   */
  widestChild(i) {
    let best = -1;
    for (let at = i + 1; at < this.count && this.nodes.depth[at] > this.nodes.depth[i]; at += 1) {
      if (this.parents[at] === i && (best < 0 || this.nodes.value[at] > this.nodes.value[best])) best = at;
    }
    return best;
  }

  /**
   * The next node of the same level to one side, or -1.
   * @param {number} i
   * @param {number} by
   */
  beside(i, by) {
    for (let at = i + by; at >= 0 && at < this.count; at += by) {
      if (this.nodes.depth[at] === this.nodes.depth[i] && !this.isAncestor(at)) return at;
    }
    return -1;
  }

  /**
   * Where an arrow key leads from a node: away from the root to the widest child, back, or beside. None for other keys, and
   * where there is nothing.
   * @param {string} key
   * @param {number} from
   * @param {boolean} down whether the root is on top
   * @returns {number|null} -1 where there is no such node
   */
  walked(key, from, down) {
    if (key === (down ? "ArrowDown" : "ArrowUp")) return from < 0 ? this.focus : this.widestChild(from);
    if (key === (down ? "ArrowUp" : "ArrowDown")) return from < 0 ? this.focus : this.parents[from];
    if (key === "ArrowLeft" || key === "ArrowRight")
      return from < 0 ? this.focus : this.beside(from, key === "ArrowLeft" ? -1 : 1);
    return key === "Home" ? 0 : null;
  }

  /**
   * The next node in drawing order whose name matches, or -1; goes round at the end.
   * @param {number} i
   * @param {number} by
   */
  nextMatch(i, by) {
    for (let step = 1; step <= this.count; step += 1) {
      const at = (i + by * step + this.count * 2) % this.count;
      if (this.nodes.match[at] & MATCH_SELF) return at;
    }
    return -1;
  }
}

/**
 * As much of a name as fits, with a mark where it was cut; nothing where not even three characters do.
 * @param {string} name
 * @param {number} pixels
 * @param {number} perCharacter
 */
export function fitting(name, pixels, perCharacter) {
  const room = Math.floor(pixels / perCharacter);
  if (room < 3) return "";
  return name.length <= room ? name : `${name.slice(0, room - 1)}…`;
}

/**
 * Why there is no graph, in words.
 * @param {{hasCalls: boolean, foldsMaps: boolean, info: {running: boolean}, view: {start: number|null, filter: string}}} capture
 * @returns {string}
 */
export function whyEmpty({ hasCalls, foldsMaps, info, view }) {
  const what = hasCalls ? "calls" : foldsMaps ? "values" : "samples";
  if (view.start !== null || view.filter) return `No ${what} in this range and filter.`;
  if (info.running) return `No ${what} stored yet. The graph appears with the first of them.`;
  if (hasCalls) return "No calls of known duration.";
  if (foldsMaps) return "The map held nothing by stack when it was read.";
  return "No samples: nothing of the target ran while it was sampled.";
}
