// The search in all of a capture: what was found by stream, column and track, part by part, and the row that is shown of it. The
// minimap and the timeline share one.

import { Latest, get, isAborted } from "../../../lib/api.js";
import { settled } from "../../../lib/dom.js";
import { Emitter } from "../../../lib/emitter.js";
import { addFound, nothingFound } from "./find_marks.js";
import { FoundTiles, tilesOf } from "./find_tiles.js";

/** @import { FoundHit } from "../../../../../api.js" */
/** @import { Found } from "./find_marks.js" */

/** How long a window of time must stand still before it is searched. */
const WINDOW_MS = 150;
/** Columns of the whole capture. */
const COLUMNS = 1024;

/**
 * Sends `change` when more or something else is found.
 * @extends {Emitter<{change: null}>}
 */
export class Finder extends Emitter {
  #whole = new Latest();
  #window = new Latest();
  #step = new Latest();

  /** @param {import("../../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    /** What is looked for. */
    this.text = "";
    /**
     * In all of the capture.
     * @type {Found|null}
     */
    this.found = null;
    /** In windows that were shown. */
    this.tiles = new FoundTiles((stream) => this.#nameOf(stream));
    /**
     * The row that is shown.
     * @type {FoundHit|null}
     */
    this.row = null;
    /**
     * What went wrong.
     * @type {unknown}
     */
    this.problem = null;
    /** Whether the search goes on. */
    this.isSearching = false;
    /** What is said of the last step: that it began anew, or found nothing. */
    this.said = "";
    this.later = settled(
      WINDOW_MS,
      (/** @type {{start: number, end: number}} */ shown, /** @type {number} */ pixels) =>
        void this.#searchWindow(shown, pixels),
    );
  }

  /** Looks for what the address says, in all of the capture. */
  search() {
    const { find } = this.context.view;
    if (find !== this.text) {
      this.row = null;
      this.said = "";
    }
    this.text = find;
    [this.found, this.problem] = [null, null];
    this.tiles.clear();
    this.stop();
    if (find !== "") void this.#searchAll();
    this.emit("change", null);
  }

  /** Looks again in a capture that has grown; what was found stays until all is found anew. */
  again() {
    if (this.isSearching || this.text === "" || this.problem) return;
    this.tiles.clear();
    void this.#searchAll();
  }

  /** Gives up what is under way; what was found stays. */
  stop() {
    for (const one of [this.#whole, this.#window, this.#step]) one.cancel();
    this.later.cancel();
    this.isSearching = false;
    this.emit("change", null);
  }

  async #searchAll() {
    this.isSearching = true;
    /** @type {Found|null} */
    let found = null;
    const done = await this.#run(this.#whole, { columns: COLUMNS, long: this.#columnNs }, (part) => {
      found ??= nothingFound(part);
      addFound(found, part, (stream) => this.#nameOf(stream));
      if (found.isAll || !this.found?.isAll) this.found = found;
    });
    if (done) this.isSearching = false;
    this.emit("change", null);
  }

  /** How long a column of the whole capture is. Rows that are longer are told with their times, others are in tiles. */
  get #columnNs() {
    return Math.ceil(this.context.duration / COLUMNS);
  }

  /**
   * The tiles of a window; none where the whole capture was looked at as finely.
   * @param {{start: number, end: number}} shown
   * @param {number} pixels
   */
  tilesOf(shown, pixels) {
    const isWhole = shown.start <= 0 && shown.end >= this.context.duration;
    const wanted = tilesOf(shown, pixels);
    return isWhole || wanted.column >= this.#columnNs ? null : wanted;
  }

  /**
   * Looks for rows in a window, as finely as it has pixels.
   * @param {{start: number, end: number}} shown
   * @param {number} pixels
   */
  async #searchWindow(shown, pixels) {
    const wanted = this.tilesOf(shown, pixels);
    if (this.text === "" || !wanted) return;
    await this.tiles.fill(wanted, (range, take) => this.#run(this.#window, { ...range, reach: this.#columnNs }, take));
    this.emit("change", null);
  }

  /**
   * Asks part by part; whether it came to the end.
   * @param {Latest} latest
   * @param {Record<string, number>} range
   * @param {(part: import("../../../../../api.js").FoundRows) => void} take
   */
  async #run(latest, range, take) {
    const query = { id: this.context.id, find: this.text, ...range };
    /** @type {number|null} */
    let skip = 0;
    try {
      while (skip !== null) {
        /** @type {Record<string, unknown>} */
        const asked = { ...query, skip };
        /** @type {import("../../../../../api.js").FoundRows|undefined} */
        const part = await latest.run((signal) => get("/api/captures/{id}/find", asked, signal));
        if (!part) return false;
        take(part);
        skip = part.next;
        this.emit("change", null);
      }
      return true;
    } catch (error) {
      if (isAborted(error)) return false;
      this.problem = error;
      this.emit("change", null);
      return true;
    }
  }

  /**
   * Goes to the next row that is found, or the one before, and on from the other end.
   * @param {"next"|"before"} way
   * @param {{start: number, end: number}} shown where to begin if no row is shown yet
   */
  async step(way, shown) {
    if (this.text === "") return null;
    const back = way === "before" ? 1 : 0;
    const { row } = this;
    /** @type {Record<string, number>} */
    const from = row
      ? { from: row.time, stream: row.stream, row: row.row }
      : { from: Math.round(back ? shown.end : shown.start) };
    this.said = "";
    let found = await this.#ask({ ...from, back });
    if (found === null) {
      /** @type {Record<string, number>} */
      const end = back ? { from: Number.MAX_SAFE_INTEGER } : {};
      found = await this.#ask({ ...end, back });
      this.said = found ? `went on from the ${back ? "end" : "beginning"}` : "";
    }
    if (found) this.row = found;
    this.emit("change", null);
    return found ?? null;
  }

  /**
   * Shows the row of an address.
   * @param {{time: number, stream: number, row: number}} place
   */
  async restore({ time, stream, row }) {
    if (this.text === "" || this.row) return null;
    const found =
      row > 0
        ? await this.#ask({ from: time, stream, row: row - 1, back: 0 })
        : await this.#ask({ from: time, back: 0 });
    if (found) this.row = found;
    this.emit("change", null);
    return found ?? null;
  }

  /**
   * A row from a place on; null if there is none, undefined if something else was asked for meanwhile.
   * @param {Record<string, number>} from
   */
  async #ask(from) {
    const query = { id: this.context.id, find: this.text, columns: COLUMNS, ...from };
    let skip = 0;
    try {
      for (;;) {
        const asked = { ...query, skip };
        const step = await this.#step.run((signal) => get("/api/captures/{id}/find/step", asked, signal));
        if (!step) return undefined;
        if (step.row || step.next === null) return step.row;
        skip = step.next;
      }
    } catch (error) {
      if (!isAborted(error)) this.problem = error;
      return undefined;
    }
  }

  /** @param {number} stream */
  #nameOf(stream) {
    return this.context.info.streams[stream]?.name ?? "";
  }
}
