// The critical path of a thread in the tree of tracks: asked for over the selected range, else over what is in sight, drawn in a
// row below the thread's.

import { Latest, get } from "../../../lib/api.js";
import { settled } from "../../../lib/dom.js";
import { Emitter } from "../../../lib/emitter.js";
import { pathPartAt } from "./path_parts.js";

/** @import { CriticalPath, PathPart } from "../../../../../api.js" */
/** @import { TrackLayer } from "../track_layer.js" */
/** @import { TreeRow } from "../track_tree.js" */

/** Pixels of the row. */
export const PATH_HEIGHT = 36;
/** Names the row among those of the tree. */
const ROW_KEY = "critical path";

/**
 * Sends `data` when there is another path or none, `error` with what went wrong.
 * @extends {Emitter<{data: null, error: unknown}>}
 */
export class PathLayer extends Emitter {
  #latest = new Latest();
  #fetch = settled(120, () => void this.#load());
  #asked = "";
  /** @type {{start: number, end: number}|null} */
  #wanted = null;

  /** @param {TrackLayer} layer */
  constructor(layer) {
    super();
    this.layer = layer;
    /** @type {CriticalPath|null} */
    this.data = null;
  }

  /** Whose path is shown, as the address has it; empty for none. */
  get key() {
    return this.layer.context.view.path;
  }

  /** The row of the thread whose path it is; null for none. */
  get thread() {
    const { key } = this;
    return (key && this.layer.tree.find((row) => row.kind === "tracks" && row.key === key)) || null;
  }

  /**
   * Shows the path of the picked thread, else of that of a row, over the selected range, else over what is in sight; none if it
   * was shown already.
   * @param {TreeRow|null|undefined} at
   * @param {{start: number, end: number}} shown
   */
  turn(at, shown) {
    const { context } = this.layer;
    const row = this.layer.picked?.row ?? (at?.kind === "path" ? this.thread : at);
    const key = row?.kind === "tracks" && row.key.startsWith("tid:") ? row.key : "";
    if (key === "" || key === this.key) {
      context.state.set({ path: "" });
      return;
    }
    // What it went into is read in the panel of a range.
    this.layer.clear();
    if (context.range.start === null) context.select({ start: Math.floor(shown.start), end: Math.ceil(shown.end) });
    context.state.set({ path: key, panel: "path" });
  }

  /**
   * The row of the path, to stand below its thread's.
   * @param {TreeRow} thread
   * @returns {TreeRow}
   */
  rowBelow(thread) {
    return { ...thread, key: ROW_KEY, kind: "path", label: "Critical path", sub: "", lanes: [], tracks: [], busy: 0 };
  }

  /**
   * Says over which range the path is wanted.
   * @param {{start: number, end: number}} range
   */
  want(range) {
    if (!this.key) return this.clear();
    this.#wanted = { start: Math.floor(range.start), end: Math.ceil(range.end) };
    this.#fetch();
  }

  /** What was got is no longer true: the capture has grown. */
  expire() {
    this.#asked = "";
  }

  /** No path is wanted. */
  clear() {
    this.#latest.cancel();
    this.#asked = "";
    if (!this.data) return;
    this.data = null;
    this.emit("data", null);
  }

  async #load() {
    const { key } = this;
    if (!key || !this.#wanted) return;
    const { start, end } = this.#wanted;
    const asked = `${key} ${start} ${end}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    try {
      const { id } = this.layer.context;
      const data = await this.#latest.run((signal) =>
        get("/api/captures/{id}/tracks/critical-path", { id, thread: key, start, end }, signal),
      );
      if (!data) return;
      this.data = data;
      this.emit("data", null);
    } catch (error) {
      this.#asked = "";
      this.emit("error", error);
    }
  }

  /**
   * The part at a moment; null for none.
   * @param {number} time
   */
  partAt(time) {
    return this.data && pathPartAt(this.data, time);
  }

  /**
   * Picks the state of a thread in which a part stands; null if the thread has no states.
   * @param {PathPart} part
   */
  async pick(part) {
    const tid = this.data?.threads[part.thread].tid;
    const row = this.layer.tree.find(({ kind, key }) => kind === "tracks" && key === `tid:${tid}`);
    const lane = row?.lanes.find((one) => one.row === "state" && one.of === "thread");
    if (!row || !lane) return null;
    await this.layer.pick(row, lane, part.start);
    return this.layer.picked;
  }
}
