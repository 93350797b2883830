// What the tree has beside states and slices: samples and instants of threads, and counters. They come from the timeline's bins
// of rows, for all tracks at once.

import { getBytes } from "../../lib/api.js";
import { Emitter } from "../../lib/emitter.js";
import { TimelineData } from "./timeline_data.js";
import { decodeTimeline } from "./timeline_decode.js";

/** @import { Timeline, Track } from "./timeline_decode.js" */
/** @import { Query } from "./timeline_data.js" */

/** As many as the server gives. */
const MOST_TRACKS = 1024;
/** What states of threads are computed from says nothing that they do not. */
const OF_STATES = /^(switches|wakeups|sched:sched_(switch|wakeup|wakeup_new|waking))$/;

/**
 * The streams whose rows are ticks on tracks of threads. Pure.
 * @param {{index: number, name: string, row: string, rule: string, rows: number}[]} streams
 */
export function tickStreams(streams) {
  const isTick = (/** @type {string} */ row) => row === "sample" || row === "instant";
  return streams.filter(({ name, row, rule, rows }) => isTick(row) && rule === "" && rows > 0 && !OF_STATES.test(name));
}

/** @typedef {{data: Timeline, track: Track, most: number}} BinnedTrack `most`: the greatest value in all of the capture */
/** @typedef {{ticks: TimelineData, counters: TimelineData, known: Map<string, BinnedTrack>}} BinnedWindow by the ids of lanes */

/**
 * Sends `data` when there is some, `error` with what went wrong.
 * @extends {Emitter<{data: null, error: unknown}>}
 */
export class BinnedTracks extends Emitter {
  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    /** @type {import("./track_tree.js").BinnedTracks & {more: number}} */
    this.heads = { ticks: [], counters: [], more: 0 };
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
    const window = { ticks: new TimelineData(id), counters: new TimelineData(id), known: new Map() };
    this.windows[pane] = window;
    for (const data of [window.ticks, window.counters]) {
      data.on("data", () => {
        this.#arrange(window);
        this.emit("data", null);
      });
      data.on("error", (error) => this.emit("error", error));
    }
    return window;
  }

  /** @returns {Query} */
  get #tickQuery() {
    const streams = tickStreams(this.context.info.streams).map(({ index }) => index);
    return { group: "thread", filter: "", streams: streams.join(","), limit_tracks: MOST_TRACKS };
  }

  /** Asks which threads and counters there are. */
  async load() {
    const { id, info, duration, hasCounts } = this.context;
    const whole = { id, start: 0, end: Math.ceil(duration), width: 2 };
    const ask = async (/** @type {Query} */ query) =>
      decodeTimeline(await getBytes("/api/captures/{id}/timeline", { ...whole, ...query }));
    const [ticks, counters] = await Promise.all([
      tickStreams(info.streams).length > 0 ? ask(this.#tickQuery) : null,
      hasCounts ? ask({ group: "counter", filter: "", limit_tracks: MOST_TRACKS }) : null,
    ]);
    this.heads = {
      ticks: ticks?.tracks ?? [],
      counters: counters?.tracks ?? [],
      more: (ticks?.more_tracks ?? 0) + (counters?.more_tracks ?? 0),
    };
    for (const { key, values } of counters?.tracks ?? [])
      this.most.set(key, values?.most.reduce((a, b) => Math.max(a, b), 0) ?? 0);
    return this.heads;
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
    if (this.heads.ticks.length > 0) window.ticks.want(shown, pixels, this.#tickQuery, duration);
    const counters = { group: "counter", filter: "", limit_tracks: MOST_TRACKS };
    if (this.heads.counters.length > 0) window.counters.want(shown, pixels, counters, duration);
  }

  /** The capture has grown. */
  expire() {
    for (const { ticks, counters } of this.windows) {
      ticks.expire();
      counters.expire();
    }
  }

  /** @param {BinnedWindow} window */
  #arrange({ ticks, counters, known }) {
    known.clear();
    const put = (/** @type {Timeline|null} */ data, /** @type {string} */ before) =>
      data?.tracks.forEach((track) =>
        known.set(`${before}${track.key}`, { data, track, most: this.most.get(track.key) ?? 0 }),
      );
    put(ticks.current, "ticks/");
    put(counters.current, "");
  }
}
