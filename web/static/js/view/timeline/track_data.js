// What is on the tracks in sight: asked for with room on both sides, given up when something else is wanted, kept and drawn
// scaled until the next answer is there.

import { Latest, getBytes } from "../../lib/api.js";
import { Emitter } from "../../lib/emitter.js";
import { settled } from "../../lib/dom.js";
import { decodeWindow } from "./track_decode.js";

/** @import { TrackPieces } from "./track_decode.js" */

const MOST_WIDTH = 8192;
/** Screens on each side. */
const PADDING = 1;
const MOST_TRACKS = 400;
/** Tracks whose pieces are kept. */
const MOST_KEPT = 2000;

/**
 * Which window to ask for, and how wide in pixels. Pure.
 * @param {{start: number, end: number}} shown
 * @param {number} pixels of the shown window
 * @param {{start: number, end: number}} whole
 */
export function paddedWindow(shown, pixels, whole) {
  const span = shown.end - shown.start;
  const start = Math.floor(Math.max(whole.start, shown.start - span * PADDING));
  const end = Math.max(start + 1, Math.ceil(Math.min(whole.end, shown.end + span * PADDING)));
  return { start, end, width: Math.max(1, Math.min(MOST_WIDTH, Math.round((pixels * (end - start)) / span))) };
}

/**
 * Whether what is known of a track is fine enough and reaches far enough for what is shown. Pure.
 * @param {TrackPieces & {pixel: number}} known `pixel`: nanoseconds of a pixel that it was asked for
 * @param {{start: number, end: number}} shown
 * @param {number} pixels
 * @param {{start: number, end: number}} whole
 */
export function isEnough(known, shown, pixels, whole) {
  const pixel = (shown.end - shown.start) / pixels;
  const reaches = known.start <= Math.max(whole.start, shown.start) && known.end >= Math.min(whole.end, shown.end);
  return reaches && known.pixel <= pixel * 1.3 && known.pixel >= pixel * 0.25;
}

/**
 * Sends `data` when there is some, `error` with what went wrong.
 * @extends {Emitter<{data: null, error: unknown}>}
 */
export class TrackData extends Emitter {
  #latest = new Latest();
  #fetch = settled(40, () => this.#load());
  #asked = "";

  /** @param {string} id of the capture */
  constructor(id) {
    super();
    this.id = id;
    /** @type {Map<string, TrackPieces & {pixel: number, age: number}>} */
    this.known = new Map();
    /** @type {{shown: {start: number, end: number}, pixels: number, whole: {start: number, end: number}, tracks: string[]}|null} */
    this.wanted = null;
    this.age = 0;
  }

  /**
   * Says what is shown now.
   * @param {{start: number, end: number}} shown
   * @param {number} pixels
   * @param {{start: number, end: number}} whole
   * @param {string[]} tracks
   */
  want(shown, pixels, whole, tracks) {
    this.wanted = { shown: { ...shown }, pixels, whole, tracks };
    if (this.#missing().length > 0) this.#fetch();
    else this.#fetch.cancel();
  }

  /** What was got is no longer true: the capture has grown. It is drawn until there is more. */
  expire() {
    this.age += 1;
    this.#asked = "";
  }

  #missing() {
    if (!this.wanted) return [];
    const { shown, pixels, whole, tracks } = this.wanted;
    return tracks.filter((id) => {
      const known = this.known.get(id);
      return !known || known.age !== this.age || !isEnough(known, shown, pixels, whole);
    });
  }

  async #load() {
    const missing = this.#missing();
    if (!this.wanted || missing.length === 0) return;
    const { shown, pixels, whole } = this.wanted;
    const window = paddedWindow(shown, pixels, whole);
    const tracks = missing.slice(0, MOST_TRACKS).join(",");
    const asked = JSON.stringify([window, tracks]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    const { age } = this;
    try {
      const buffer = await this.#latest.run((signal) =>
        getBytes("/api/captures/{id}/tracks/window", { id: this.id, ...window, tracks }, signal),
      );
      if (!buffer) return;
      const pixel = (window.end - window.start) / window.width;
      for (const [id, pieces] of decodeWindow(buffer)) {
        this.known.delete(id);
        this.known.set(id, { ...pieces, pixel, age });
      }
      for (const id of this.known.keys()) {
        if (this.known.size <= MOST_KEPT) break;
        this.known.delete(id);
      }
      this.emit("data", null);
      this.#asked = "";
      if (this.#missing().length > 0) this.#fetch();
    } catch (error) {
      this.emit("error", error);
    } finally {
      if (this.#asked === asked) this.#asked = "";
    }
  }
}
