// What is known of each track: windows that came are decoded and put together when somebody looks at the track, not all at once. Pure.

import { joined, joinedReach } from "./track_join.js";

/** @import { TrackPieces } from "./track_decode.js" */

/** Tracks whose pieces are kept. */
const MOST_KEPT = 2000;
/** Windows of a track that wait to be put together. */
const MOST_WAITING = 4;

/**
 * @typedef {object} Known
 * @property {number} start
 * @property {number} end
 * @property {number} unit nanoseconds
 * @property {number} pixel nanoseconds of one, as it was asked for
 * @property {number} age of what was true then
 * @property {TrackPieces|undefined} base what the windows that wait are put to
 * @property {TrackPieces|undefined} last what somebody has seen
 * @property {(() => TrackPieces)[]} waiting what came since
 * @property {{start: number, end: number}} kept what is further away is let go
 */

export class KnownTracks {
  /** @type {Map<string, Known>} */
  #known = new Map();

  /**
   * What is on a track.
   * @param {string} id
   */
  get(id) {
    const known = this.#known.get(id);
    if (!known) return undefined;
    for (const make of known.waiting) {
      const added = make();
      known.base = known.base ? joined(known.base, added, known.kept) : added;
    }
    known.waiting = [];
    known.last = known.base;
    return known.base;
  }

  /**
   * What was on a track when it was looked at.
   * @param {string} id
   */
  peek(id) {
    return this.#known.get(id)?.last;
  }

  /**
   * Something that is another one when something else is on the track.
   * @param {string} id
   * @returns {object|undefined}
   */
  stamp(id) {
    return this.#known.get(id);
  }

  /**
   * Which time is known, in which detail.
   * @param {string} id
   */
  reach(id) {
    return this.#known.get(id);
  }

  clear() {
    this.#known.clear();
  }

  /**
   * Takes a window.
   * @param {{start: number, end: number, unit: number, tracks: Map<string, () => TrackPieces>}} window
   * @param {{pixel: number, age: number, kept: {start: number, end: number}}} how
   */
  add({ start, end, unit, tracks }, { pixel, age, kept }) {
    const window = { start, end, unit };
    for (const [id, make] of tracks) {
      const before = this.#known.get(id);
      const fits = before && before.pixel === pixel && before.age === age;
      const reach = fits ? joinedReach(before, window, kept) : window;
      const goesOn = fits && reach !== window;
      const waiting = goesOn ? [...before.waiting, make] : [make];
      const base = goesOn ? before.base : undefined;
      this.#known.delete(id);
      this.#known.set(id, { ...reach, pixel, age, base, last: before?.last, waiting, kept });
      if (waiting.length > MOST_WAITING) this.get(id);
    }
    for (const id of this.#known.keys()) {
      if (this.#known.size <= MOST_KEPT) break;
      this.#known.delete(id);
    }
  }
}
