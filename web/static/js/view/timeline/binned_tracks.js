// What the tree has beside states and slices: samples and instants of threads, counters, and what scripts have printed. They come
// from the timeline's bins of rows, for all tracks at once.

import { Emitter } from "../../lib/emitter.js";
import { TimelineData } from "./timeline_data.js";

/** @import { Timeline, Track } from "./timeline_decode.js" */
/** @import { BinnedList } from "../../../../api.js" */

/** As many as the server gives. */
const MOST_TRACKS = 1024;
/** @typedef {{data: Timeline, track: Track, most: number}} BinnedTrack `most`: the greatest value in all of the capture */
/**
 * @typedef {object} BinnedWindow
 * @property {TimelineData} ticks samples and instants of threads
 * @property {TimelineData} counters
 * @property {TimelineData} outputs what scripts have printed
 * @property {Map<string, BinnedTrack>} known by the ids of lanes
 */

/**
 * Sends `data` when there is some, `error` with what went wrong.
 * @extends {Emitter<{data: null, error: unknown}>}
 */
export class BinnedTracks extends Emitter {
  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    /** @type {BinnedList} */
    this.heads = { tick_streams: [], ticks: [], counters: [], more: 0 };
    /** @type {Map<string, number>} */
    this.most = new Map();
    /** @type {BinnedWindow[]} */
    this.windows = [];
  }

  /**
   * What is on the tracks in one of the panes.
   * @param {number} pane
   * @returns {BinnedWindow}
   */
  window(pane) {
    const known = this.windows[pane];
    if (known) return known;
    const { id } = this.context;
    const [ticks, counters, outputs] = [1, 2, 3].map(() => new TimelineData(id));
    const window = { ticks, counters, outputs, known: new Map() };
    this.windows[pane] = window;
    for (const data of [ticks, counters, outputs]) {
      data.on("data", () => {
        this.#arrange(window);
        this.emit("data", null);
      });
      data.on("error", (error) => this.emit("error", error));
    }
    return window;
  }

  /**
   * Says which threads, counters and outputs there are.
   * @param {BinnedList} list
   */
  set list(list) {
    this.heads = list;
    for (const { key, most } of list.counters) this.most.set(key, most);
  }

  /**
   * The streams that a query is over, as requests take them.
   * @param {number[]} streams
   */
  #query(streams, group = "thread") {
    return { group, filter: this.context.view.filter, streams: streams.join(","), limit_tracks: MOST_TRACKS };
  }

  /**
   * Says what a pane shows now.
   * @param {number} pane
   * @param {{start: number, end: number}} shown
   * @param {number} pixels
   */
  want(pane, shown, pixels) {
    const { duration } = this.context;
    const window = this.window(pane);
    const { ticks, tick_streams: streams } = this.heads;
    if (ticks.length > 0) window.ticks.want(shown, pixels, this.#query(streams), duration);
    const outputs = this.context.outputs.map(({ index }) => index);
    if (outputs.length > 0) window.outputs.want(shown, pixels, this.#query(outputs, "stream"), duration);
    const counters = { group: "counter", filter: "", limit_tracks: MOST_TRACKS };
    if (this.heads.counters.length > 0) window.counters.want(shown, pixels, counters, duration);
  }

  /** The capture has grown. */
  expire() {
    for (const { ticks, counters, outputs } of this.windows)
      for (const data of [ticks, counters, outputs]) data.expire();
  }

  /** @param {BinnedWindow} window */
  #arrange({ ticks, counters, outputs, known }) {
    known.clear();
    const put = (/** @type {Timeline|null} */ data, /** @type {string} */ before) =>
      data?.tracks.forEach((track) =>
        known.set(`${before}${track.key}`, { data, track, most: this.most.get(track.key) ?? 0 }),
      );
    put(ticks.current, "ticks/");
    put(counters.current, "");
    put(outputs.current, "");
  }
}
