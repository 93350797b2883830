// A flame graph's columns with what drawing and walking need. Pure.

/** Bits of `match`: the node's own name, something that was cut away above it. */
export const MATCH_SELF = 1;
/** See {@link MATCH_SELF}. */
export const MATCH_BELOW = 2;
/**
 * What samples can count, as people say it.
 * @type {Record<string, string>}
 */
export const UNITS = { samples: "Samples", nanoseconds: "Time off CPU", bytes: "Bytes" };

/**
 * What the samples of some streams count, those that come first first.
 * @param {{unit: string | null}[]} streams
 */
export function unitsOf(streams) {
  return [...new Set(streams.flatMap(({ unit }) => unit ?? []))];
}

/**
 * What an address may name as what is counted; empty for others.
 * @param {string} text
 * @returns {"" | "samples" | "nanoseconds" | "bytes"}
 */
export function readUnit(text) {
  return text === "samples" || text === "nanoseconds" || text === "bytes" ? text : "";
}

/** What nodes and functions are, by the number that the API gives. */
export const KINDS = ["all samples", "process", "kernel", "user", "inlined", "JIT-compiled", "without a symbol"];

/** The answer of the flame endpoint, indexed. */
export class FlameModel {
  /** @param {import("../../../../api.js").FlameGraph} answer */
  constructor(answer) {
    this.total = answer.total;
    this.focusTotal = answer.focus_total;
    this.maxDepth = answer.max_depth;
    this.cut = answer.cut;
    this.matched = answer.matched_samples;
    this.unresolved = answer.unresolved;
    this.unit = answer.unit;
    this.names = answer.names;
    this.nodes = answer.nodes;
    this.count = answer.nodes.id.length;
    this.parents = parentsOf(answer.nodes.depth);
    this.focus = answer.focus ? answer.nodes.id.indexOf(answer.focus) : 0;
    if (this.focus < 0) this.focus = 0;
  }

  /** @param {number} i */
  name(i) {
    return this.names[this.nodes.name[i]] ?? "";
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
 * For each node in preorder the index of its parent; -1 for the root.
 * @param {number[]} depths
 */
export function parentsOf(depths) {
  /** @type {number[]} */
  const last = [];
  return depths.map((depth, i) => {
    last[depth] = i;
    return depth === 0 ? -1 : (last[depth - 1] ?? -1);
  });
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
