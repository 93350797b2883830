// What the timeline draws: asked for with room on both sides, given up when something else is wanted, kept until the next
// answer is there.

import { Latest, addressOf, getBytes, traffic } from "../../lib/api.js";
import { Emitter } from "../../lib/emitter.js";
import { settled } from "../../lib/dom.js";
import { decodeTimeline } from "./timeline_decode.js";

const MOST_WIDTH = 8192;
const PADDING = 1;
const MOST_TRACKS = 256;
const PATH = "/api/captures/{id}/timeline";

/**
 * Which window to ask for, so that there is a screen on each side, and how wide in pixels. Pure.
 * @param {{start: number, end: number}} shown
 * @param {number} pixels of the shown window
 * @param {number} duration
 */
export function paddedWindow(shown, pixels, duration) {
  const span = shown.end - shown.start;
  const start = Math.max(0, Math.floor(shown.start - span * PADDING));
  const end = Math.max(start + 1, Math.min(Math.ceil(duration), Math.ceil(shown.end + span * PADDING)));
  const width = Math.max(1, Math.min(MOST_WIDTH, end - start, Math.round(pixels * ((end - start) / span))));
  return { start, end, width };
}

/**
 * Whether data still fits what is shown: it reaches far enough, and its bins are those that would come for this window: one
 * or two pixels wide, as their length is a power of two. Pure.
 * @param {{start: number, end: number, width: number, asked: {start: number, end: number}}} data `asked`: the window that was
 *   asked for; the first and last bin can reach beyond it, and have no rows from there
 * @param {{start: number, end: number}} shown
 * @param {number} pixels
 * @param {number} duration
 */
export function fits(data, shown, pixels, duration) {
  if (data.asked.start > Math.max(0, shown.start) || data.asked.end < Math.min(duration, shown.end)) return false;
  const finest = paddedWindow(shown, pixels, duration);
  const ratio = (data.end - data.start) / data.width / ((finest.end - finest.start) / finest.width);
  return ratio > 0.99 && ratio < 2.02;
}

/** @typedef {ReturnType<typeof decodeTimeline> & {asked: {start: number, end: number, width: number}}} Shown what is drawn */
/** @typedef {{group: string, filter: string, streams?: string, limit_tracks?: number}} Query */

/**
 * Sends `data` when there is some, `error` with what went wrong.
 * @extends {Emitter<{data: null, error: unknown}>}
 */
export class TimelineData extends Emitter {
  #latest = new Latest();
  #asked = "";
  #fetch = settled(60, () => this.#load());

  /** @param {string} id of the capture */
  constructor(id) {
    super();
    this.id = id;
    /** @type {Shown|null} */
    this.current = null;
    /** @type {{shown: {start: number, end: number}, pixels: number, query: Query, duration: number}|null} */
    this.wanted = null;
    this.key = "";
  }

  /**
   * Says what is shown now.
   * @param {{start: number, end: number}} shown
   * @param {number} pixels device pixels of the shown window
   * @param {Query} query
   * @param {number} duration
   */
  want(shown, pixels, query, duration) {
    this.wanted = { shown: { ...shown }, pixels, query: { ...query }, duration };
    const key = JSON.stringify(query);
    if (this.current && this.key === key && fits(this.current, shown, pixels, duration)) {
      this.#fetch.cancel();
      return;
    }
    this.#fetch();
  }

  /** What was got is no longer true: the capture has grown. */
  expire() {
    this.key = "";
    this.#asked = "";
  }

  async #load() {
    if (!this.wanted) return;
    const { shown, pixels, query, duration } = this.wanted;
    const padded = paddedWindow(shown, pixels, duration);
    const key = JSON.stringify(query);
    const all = { id: this.id, ...padded, limit_tracks: MOST_TRACKS, ...query };
    const window = traffic.window?.(addressOf(PATH, all), padded) ?? padded;
    // A file has no finer one.
    if (traffic.window && this.key === key && JSON.stringify(this.current?.asked) === JSON.stringify(window)) return;
    const asked = JSON.stringify([window, query]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    try {
      const buffer = await this.#latest.run((signal) => getBytes(PATH, { ...all, ...window }, signal));
      if (!buffer) return;
      this.current = { ...decodeTimeline(buffer), asked: window };
      this.key = key;
      this.emit("data", null);
    } catch (error) {
      this.emit("error", error);
    } finally {
      if (this.#asked === asked) this.#asked = "";
    }
  }
}
