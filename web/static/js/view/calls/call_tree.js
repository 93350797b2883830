// A call tree of which only parts are known: levels with pages of calls, some of them unfolded. Pure.

/** Calls of a page. */
export const PAGE = 200;

/** @import { CallLine } from "../../../../api.js" */
/**
 * @typedef {object} CallNode a call that is known
 * @property {CallLine} call
 * @property {Level} level that it is in
 * @property {number} index its place there
 * @property {Level|null} within what is in it, where it is unfolded
 */

class Level {
  /** @param {CallNode|null} around the node that it is in; null for the outermost calls */
  constructor(around) {
    this.around = around;
    this.total = around ? around.call.children : 0;
    /** @type {Map<number, CallNode>} */
    this.nodes = new Map();
    /** @type {CallNode[]} Unfolded nodes by their places, ascending. */
    this.unfolded = [];
  }

  /**
   * Rows of this level and of all that is unfolded in it.
   * @returns {number}
   */
  get size() {
    return this.unfolded.reduce((sum, { within }) => sum + (within?.size ?? 0), this.total);
  }
}

/** The tree as rows. */
export class CallTree {
  /** @type {Map<number, CallNode>} */
  #byId = new Map();

  constructor() {
    this.root = new Level(null);
  }

  /** How many rows there are. */
  get count() {
    return this.root.size;
  }

  /**
   * Whether a call is known.
   * @param {number} id
   */
  node(id) {
    return this.#byId.get(id);
  }

  /**
   * What is in a row: its level, its place there, how deep that is, and the node if it is known.
   * @param {number} row
   * @returns {{level: Level, index: number, depth: number, node: CallNode|undefined}|null}
   */
  at(row) {
    if (row < 0 || row >= this.count) return null;
    let level = this.root;
    let left = row;
    for (let depth = 0; ; depth += 1) {
      const inside = this.#step(level, left);
      if (inside.within) {
        level = inside.within;
        left = inside.left;
        continue;
      }
      return { level, index: inside.left, depth, node: level.nodes.get(inside.left) };
    }
  }

  /**
   * @param {Level} level
   * @param {number} row
   */
  #step(level, row) {
    let left = row;
    for (const { index, within } of level.unfolded) {
      if (left <= index) return { left, within: null };
      const size = within?.size ?? 0;
      if (left <= index + size) return { within, left: left - index - 1 };
      left -= size;
    }
    return { left, within: null };
  }

  /**
   * The row of a known call, or -1 if it is within one that is folded.
   * @param {number} id
   */
  rowOf(id) {
    const node = this.#byId.get(id);
    if (!node) return -1;
    let row = 0;
    for (let at = /** @type {CallNode|null} */ (node); at; at = at.level.around) {
      if (at !== node) {
        if (!at.within) return -1;
        row += 1;
      }
      row += at.index;
      for (const before of at.level.unfolded) if (before.index < at.index) row += before.within?.size ?? 0;
    }
    return row;
  }

  /**
   * Takes a page of the calls within `parent`; null for the outermost ones.
   * @param {number|null} parent
   * @param {{total: number, offset: number, calls: CallLine[]}} page
   */
  put(parent, { total, offset, calls }) {
    const level = parent === null ? this.root : this.#byId.get(parent)?.within;
    if (!level) return;
    level.total = total;
    for (const [i, call] of calls.entries()) this.#add(level, offset + i, call);
  }

  /**
   * @param {Level} level
   * @param {number} index
   * @param {CallLine} call
   */
  #add(level, index, call) {
    const known = level.nodes.get(index);
    if (known?.call.id === call.id) {
      known.call = call;
      return known;
    }
    /** @type {CallNode} */
    const node = { call, level, index, within: null };
    level.nodes.set(index, node);
    this.#byId.set(call.id, node);
    return node;
  }

  /**
   * Unfolds a known call.
   * @returns {boolean} whether it was folded
   * @param {number} id
   */
  unfold(id) {
    const node = this.#byId.get(id);
    if (!node || node.within || node.call.children === 0) return false;
    node.within = new Level(node);
    node.level.unfolded.push(node);
    node.level.unfolded.sort((a, b) => a.index - b.index);
    return true;
  }

  /**
   * Folds a call.
   * @returns {boolean} whether it was unfolded
   * @param {number} id
   */
  fold(id) {
    const node = this.#byId.get(id);
    if (!node?.within) return false;
    node.level.unfolded = node.level.unfolded.filter((other) => other !== node);
    node.within = null;
    return true;
  }

  /**
   * The calls that are unfolded, outer ones first.
   * @param {Level|null} [level]
   * @returns {number[]}
   */
  unfolded(level = this.root) {
    return (level?.unfolded ?? []).flatMap((node) => [node.call.id, ...this.unfolded(node.within)]);
  }

  /**
   * Pages that rows need and that are not known.
   * @param {number} first
   * @param {number} last not included
   * @returns {{parent: number|null, offset: number}[]}
   */
  missing(first, last) {
    const pages = new Map();
    for (let row = first; row < Math.min(last, this.count); row += 1) {
      const at = this.at(row);
      if (!at || at.node) continue;
      const { level, index } = at;
      const parent = level.around?.call.id ?? null;
      const offset = Math.floor(index / PAGE) * PAGE;
      pages.set(`${parent}:${offset}`, { parent, offset });
    }
    return [...pages.values()];
  }
}

/**
 * Whether events were lost between the beginnings of two calls that follow each other.
 * @param {{start: number, end: number}[]} losses from the capture's start
 * @param {{start: number}|undefined} before
 * @param {{start: number}} call
 */
export function lostBefore(losses, before, call) {
  return losses.some((loss) => loss.start <= call.start && loss.start > (before?.start ?? -Infinity));
}
