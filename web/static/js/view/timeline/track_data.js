// What is on the tracks in sight: one request at a time for all of them, of what is not there yet, what is in sight first. What is there
// is drawn scaled until the answer is.

import { Latest, addressOf, getBytes, traffic } from "../../lib/api.js";
import { Emitter } from "../../lib/emitter.js";
import { LabelTable, readWindow } from "./track_decode.js";
import { KnownTracks } from "./known_tracks.js";
import { isUseful, keptOf, pixelOf, planOf } from "./track_plan.js";

/** @import { Plan, Wanted } from "./track_plan.js" */

const PATH = "/api/captures/{id}/tracks/window";
/** After so many milliseconds it is tried again where something went wrong. */
const AGAIN_MS = 2000;

/**
 * Sends `data` when there is some, `error` with what went wrong.
 * @extends {Emitter<{data: null, error: unknown}>}
 */
export class TrackData extends Emitter {
  #latest = new Latest();
  #table = new LabelTable();
  #pixel = 0;
  /** @type {Plan|null} */
  #asked = null;
  #failedAt = -Infinity;

  /** @param {string} id of the capture */
  constructor(id) {
    super();
    this.id = id;
    this.known = new KnownTracks();
    /** @type {Wanted|null} */
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
    const before = this.wanted;
    const way = before && before.shown.start !== shown.start ? before.shown.start < shown.start : null;
    this.wanted = { shown: { ...shown }, pixels, whole, tracks, way: way === null ? (before?.way ?? 1) : way ? 1 : -1 };
    this.#pixel = pixelOf(this.wanted, this.#pixel);
    this.#next();
  }

  /** What was got is no longer true: the capture has grown. It is drawn until there is more. */
  expire() {
    this.age += 1;
  }

  /** Asks for what is missing, unless what is on its way will do for now. */
  #next() {
    const { wanted } = this;
    if (!wanted || performance.now() - this.#failedAt < AGAIN_MS) return;
    const plan = planOf(wanted, this.#pixel, this.age, (track) => this.known.reach(track));
    if (!plan) return;
    const waits = this.#asked && isUseful(this.#asked, wanted, this.#pixel);
    // What comes into sight later waits for nobody, and nobody waits for it.
    if (waits && (!this.#asked?.isAhead || plan.isAhead)) return;
    void this.#load(plan);
  }

  /** @param {Plan} plan */
  async #load(plan) {
    this.#asked = plan;
    const { age } = this;
    try {
      const asked = { id: this.id, start: plan.start, end: plan.end, width: plan.width, tracks: plan.tracks.join(",") };
      const window = traffic.window?.(addressOf(PATH, asked), asked) ?? asked;
      const buffer = await this.#latest.run((signal) => getBytes(PATH, window, signal));
      if (!buffer || this.#asked !== plan) return;
      this.#asked = null;
      this.#take(buffer, plan, age);
      this.emit("data", null);
      this.#next();
    } catch (error) {
      this.#asked = null;
      this.#failedAt = performance.now();
      this.emit("error", error);
    }
  }

  /**
   * @param {ArrayBuffer} buffer
   * @param {Plan} plan
   * @param {number} age
   */
  #take(buffer, { start, end, pixel }, age) {
    let window = readWindow(buffer, this.#table);
    if (!window) {
      // Names of before and of now cannot stand beside each other.
      this.#table = new LabelTable();
      this.known.clear();
      window = readWindow(buffer, this.#table);
    }
    // What a file does not have is not asked for again.
    if (window && traffic.window)
      window = { ...window, start: Math.min(start, window.start), end: Math.max(end, window.end) };
    if (window) this.known.add(window, { pixel, age, kept: this.wanted ? keptOf(this.wanted) : { start, end } });
  }
}
