// One capture on its page: what the server says of it, and the view that the person has of it. All views share this.

import { ApiError, SHARE, get, getBytes } from "../lib/api.js";
import { rankColors } from "../lib/color.js";
import { firstStream, isMap, isRecorded, isStack } from "../view/first_view.js";
import { Emitter } from "../lib/emitter.js";
import { scriptOf } from "../kind/table.js";
import { Finder } from "../view/timeline/find/find_model.js";
import { viewOf } from "../view/notes/note_words.js";
import { Notes } from "../view/notes/notes_model.js";
import { decodeTimeline } from "../view/timeline/timeline_decode.js";
import { namesByRows } from "../view/timeline/timeline_legend.js";

import { parseView } from "./url_state.js";

/** @import { CapturePage } from "../../../api.js" */

/** How finely the whole capture is looked at for its most frequent names. */
const RANKED_BINS = 512;
const RANKED_TRACKS = 256;

/**
 * Sends `info` when the capture's facts are new, `gone` when it was deleted, `colors` when names have other colours, `filter`
 * when it is known whether the filter is right, with what is wrong, `again` when the view in sight is to ask for all it shows,
 * `flight` when it is known what a flight recorder holds now, `noted` when somebody goes to a note, also to the one that is selected.
 * @extends {Emitter<{info: null, gone: null, colors: null, filter: unknown, again: null, flight: null, noted: null}>}
 */
export class CaptureContext extends Emitter {
  /**
   * @param {string} id
   * @param {CapturePage} info from the API
   * @param {import("./url_state.js").ViewState} state
   */
  constructor(id, info, state) {
    super();
    this.id = id;
    this.info = info;
    this.state = state;
    this.path = `${SHARE}/api/captures/${encodeURIComponent(id)}`;
    /** Whether it was deleted while it was open. */
    this.gone = false;
    this.checking = false;
    this.notes = new Notes(id);
    this.finder = new Finder(this);
  }

  /** The view's parts. */
  get view() {
    return this.state.view;
  }

  /** Nanoseconds from the capture's start to its end. */
  get duration() {
    return Math.max(1, this.info.end_ns - this.info.start_ns);
  }

  /** The range that the views show: what is selected, or all of it as nulls. */
  get range() {
    const { start, end } = this.view;
    return { start, end };
  }

  /** The stream that the table shows. */
  get stream() {
    const { streams } = this.info;
    return streams[this.view.stream ?? firstStream(streams)] ?? streams[0];
  }

  /** The streams that were recorded, and not computed from others. */
  get recorded() {
    return this.info.streams.filter(isRecorded);
  }

  /** Whether any stream has stacks. */
  get hasStacks() {
    return this.info.streams.some((stream) => stream.kind === "samples" || stream.columns.some(isStack));
  }

  /** Whether it has calls of functions, which `function_graph` records. */
  get hasCalls() {
    return this.info.streams.some((stream) => stream.name === "function_graph" && stream.kind === "events");
  }

  /** The first stream of system calls, if there is one. */
  get syscallStream() {
    const wanted = ["call", "args", "result", "duration_ns"];
    return this.info.streams.find(({ columns }) => wanted.every((name) => columns.some((one) => one.name === name)));
  }

  /** Whether it has system calls. */
  get hasSyscalls() {
    return this.syscallStream !== undefined;
  }

  /** Whether it can have tracks of states or slices: streams that were computed have, and recorded ones in the end. */
  get hasTracks() {
    const { streams, running } = this.info;
    const isTracked = (/** @type {string} */ row) => row === "state" || row === "slice";
    return streams.some(({ rule, row, rows }) => isTracked(row) && rows > 0 && (rule || !running));
  }

  /** Whether a script made it. */
  get isScript() {
    return scriptOf(this.info.spec) !== null;
  }

  /** The text of the script that made it; empty if none did. */
  get scriptText() {
    return scriptOf(this.info.spec) ?? "";
  }

  /** The streams of what scripts have printed. */
  get outputs() {
    const { spec, streams } = this.info;
    const scripts = spec.sources.filter(({ method }) => "script" in method).map(({ id }) => id);
    const isOf = (/** @type {string} */ source) => scripts.includes(source) || (source === "" && this.isScript);
    return streams.filter(
      ({ row, rule, rows, source }) => row === "instant" && rule === "" && rows > 0 && isOf(source),
    );
  }

  /** Whether it has counts of events. */
  get hasCounts() {
    return this.info.streams.some(({ row }) => row === "counter");
  }

  /** Whether it has nothing but counts of events. */
  get isCounts() {
    return this.hasCounts && this.recorded.every(({ row }) => row === "counter");
  }

  /** Whether stacks are those of a script's maps: nothing else has any. */
  get foldsMaps() {
    return this.isScript && !this.info.streams.some((stream) => !isMap(stream) && stream.columns.some(isStack));
  }

  /** Whether the script keeps anything in maps. */
  get hasMaps() {
    return this.info.streams.some(isMap);
  }

  /** Everything that was lost. */
  get lost() {
    const lost = this.info.ledger.losses.filter(({ stage }) => stage !== "not_kept");
    return lost.reduce((sum, loss) => sum + loss.count, 0);
  }

  /**
   * When a loss can have happened, from the capture's start. The ledger's times are absolute.
   * @param {{start_ns: number, end_ns: number}} loss
   */
  lossRange(loss) {
    return { start: loss.start_ns - this.info.start_ns, end: loss.end_ns - this.info.start_ns };
  }

  /**
   * Gives the capture's most frequent names colours of their own. They are told by all of it, so that they are the same in
   * every range, view and link. Tracks of threads have colours by stream.
   */
  async rankColors() {
    const streams = this.recorded;
    if (this.isCounts || !streams.some(({ rows }) => rows > 0)) return;
    const query = {
      start: 0,
      end: Math.ceil(this.duration),
      width: RANKED_BINS,
      group: "cpu",
      limit_tracks: RANKED_TRACKS,
    };
    const names = namesByRows(
      decodeTimeline(await getBytes("/api/captures/{id}/timeline", { id: this.id, ...query })),
    ).map(([name]) => name);
    rankColors(
      streams.toSorted((a, b) => b.rows - a.rows).map(({ name }) => name),
      names,
    );
    this.emit("colors", null);
  }

  /**
   * Shows the rows of another filter.
   * @param {string} filter
   */
  setFilter(filter) {
    this.state.set({ filter, row: null });
  }

  /**
   * Tells whether the filter is right, for the line below it.
   * @param {unknown} problem what is wrong with it; null for nothing
   */
  filterIs(problem) {
    this.emit("filter", problem);
  }

  /**
   * The parts of the view that show what a note is tied to.
   * @param {import("../../../api.js").NoteItem} note
   */
  notedView(note) {
    const parts = viewOf(note, (query) => parseView(query).view);
    return /** @type {Partial<import("./url_state.js").ViewParts>} */ (parts);
  }

  /**
   * Shows what a note is tied to.
   * @param {import("../../../api.js").NoteItem} note
   */
  goToNote(note) {
    this.state.set(this.notedView(note));
    this.emit("noted", null);
  }

  /** Asks the server for the capture's facts again. */
  async refresh() {
    this.info = await get("/api/captures/{id}", { id: this.id });
    this.emit("info", null);
  }

  /** Finds out whether the capture still exists; sends `gone` when it does not. */
  async check() {
    if (this.gone || this.checking) return;
    this.checking = true;
    try {
      await get("/api/captures/{id}", { id: this.id });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404 || this.gone) return;
      this.gone = true;
      this.emit("gone", null);
    } finally {
      this.checking = false;
    }
  }

  /**
   * Selects a range, or nothing.
   * @param {{start: number, end: number}|null} range
   */
  select(range) {
    if (!range) {
      this.state.set({ start: null, end: null });
      return;
    }
    const start = Math.max(0, Math.round(Math.min(range.start, range.end)));
    const end = Math.min(Math.ceil(this.duration), Math.round(Math.max(range.start, range.end)));
    if (end > start) this.state.set({ start, end });
  }
}
