// The rows of a query that is a track: asked for, asked for again for the window in sight where the result was cut, and made what
// is drawn. A result that is whole is drawn from the rows that are there.

import { Latest, isAborted, send } from "../../../lib/api.js";
import { settled } from "../../../lib/dom.js";
import { Emitter } from "../../../lib/emitter.js";
import { exact, plural } from "../../../lib/format.js";
import { kindsOf, rolesOf, trackOf, windowed } from "../../../lib/sql_track.js";

/** @import { Answers } from "../../../../../api.js" */
/** @import { Kind } from "../../../lib/sql_track.js" */
/** @typedef {Answers["POST"]["/api/captures/{id}/query"]} Answer */
/** @typedef {{start: number, end: number}} Span */
/** @typedef {ReturnType<typeof trackOf>} RowsTrack what is drawn of rows */

/** A query that took longer than this is not asked again while the capture grows. */
const QUICK_MS = 1000;
/** How much wider than what is shown a window may be whose rows were cut, before it is asked for again. */
const COARSE = 3.5;
/** What rows of each kind are called. */
export const NOUNS = { instants: "instant", slices: "slice", counters: "value" };
/** Why a result without a time is no track. */
export const NO_TIME =
  "No column of the result is a time. Name one time, ts or start_ns; times are nanoseconds from the capture's start.";

/**
 * Sends `data` when something is other than before.
 * @extends {Emitter<{data: null}>}
 */
export class QueryData extends Emitter {
  #latest = new Latest();
  #later = settled(250, () => void this.#load());
  #stale = false;

  /**
   * @param {import("../../../page/capture_context.js").CaptureContext} context
   * @param {string} sql
   */
  constructor(context, sql) {
    super();
    this.context = context;
    this.sql = sql;
    /** The kind that was chosen; empty for the most telling one. */
    this.kind = "";
    /** @type {Span} */
    this.shown = { start: 0, end: context.duration };
    /**
     * The answer to the query as it is.
     * @type {Answer|null}
     */
    this.whole = null;
    /**
     * That for a window, where the whole was cut.
     * @type {(Span & {answer: Answer})|null}
     */
    this.part = null;
    /** @type {RowsTrack|null} */
    this.track = null;
    /** Whether it is being asked. */
    this.asked = false;
    /**
     * What went wrong; null for nothing.
     * @type {unknown}
     */
    this.failed = null;
  }

  /**
   * Shows the rows in another way.
   * @param {string} kind
   */
  showAs(kind) {
    if (kind === this.kind) return;
    this.kind = kind;
    this.part = null;
    this.#make();
  }

  /** It is no longer wanted. */
  end() {
    this.#later.cancel();
    this.#latest.cancel();
  }

  /** The kinds that the result can be shown as, the most telling first; none without a time, or before it is there. */
  get kinds() {
    return this.whole ? kindsOf(this.whole.columns) : [];
  }

  /** Whether the result is there and has no time. */
  get isTimeless() {
    return this.whole !== null && this.kinds.length === 0;
  }

  /** Whether values are durations. */
  get inTime() {
    const answer = this.part?.answer ?? this.whole;
    const value = answer ? rolesOf(answer.columns).value : -1;
    return value >= 0 && answer?.columns[value].display === "duration_ns";
  }

  /** The columns of the rows that are drawn. */
  get columns() {
    return (this.part?.answer ?? this.whole)?.columns ?? [];
  }

  /**
   * Says what is in sight: asks for what is missing.
   * @param {Span} shown
   */
  want(shown) {
    this.shown = { ...shown };
    if (this.failed !== null) return;
    if (!this.whole && !this.asked) void this.#load();
    else if (this.whole && !this.#enough) this.#later();
  }

  /**
   * The capture has grown.
   * @param {boolean} visible
   */
  grown(visible) {
    const quick = !this.whole || this.whole.elapsed_ms < QUICK_MS || !this.context.info.running;
    if (this.failed !== null || this.asked || !quick) return;
    this.#stale = true;
    if (visible) void this.#load();
  }

  /** Asks once more after something went wrong. */
  again() {
    this.failed = null;
    this.whole = null;
    this.part = null;
    void this.#load();
  }

  /** Whether the rows that are there are all that there are for what is shown. */
  get #enough() {
    const { start, end } = this.shown;
    if (this.#stale) return false;
    if (!this.whole?.truncated || this.kinds.length === 0) return true;
    const { part } = this;
    const all = start <= 0 && end >= this.context.duration;
    if (all) return !part;
    return (
      part !== null &&
      part.start <= Math.max(0, start) &&
      part.end >= Math.min(this.context.duration, end) &&
      (!part.answer.truncated || part.end - part.start <= COARSE * (end - start))
    );
  }

  /** The window to ask for: a screen on each side; null for everything. */
  get #window() {
    const { start, end } = this.shown;
    if (!this.whole?.truncated || this.#stale || (start <= 0 && end >= this.context.duration)) return null;
    const span = end - start;
    return { start: Math.max(0, start - span), end: Math.min(this.context.duration, end + span) };
  }

  async #load() {
    const window = this.#window;
    if (!window && this.whole && !this.#stale) {
      this.part = null;
      this.#make();
      return;
    }
    const shape = this.shape;
    const sql = window && this.whole && shape ? windowed(this.sql, this.whole.columns, shape, window) : this.sql;
    this.asked = true;
    this.emit("data", null);
    try {
      const answer = await this.#latest.run((signal) =>
        send("POST", "/api/captures/{id}/query", { id: this.context.id }, { sql }, signal),
      );
      if (!answer) return;
      this.#arrived(answer, window);
    } catch (error) {
      if (!isAborted(error)) this.failed = error;
    }
    this.asked = false;
    this.#make();
    if (this.failed === null) this.want(this.shown);
  }

  /**
   * @param {Answer} answer
   * @param {Span|null} window
   */
  #arrived(answer, window) {
    // Columns of a part have lost what they were, so those of the whole count.
    if (window && this.whole) this.part = { ...window, answer: { ...answer, columns: this.whole.columns } };
    else {
      this.whole = answer;
      this.part = null;
      this.#stale = false;
    }
  }

  /**
   * The kind that is shown: what was chosen where the result can be that; none of a result without a time.
   * @returns {Kind|undefined}
   */
  get shape() {
    return this.kinds.find((kind) => kind === this.kind) ?? this.kinds[0];
  }

  #make() {
    const answer = this.part?.answer ?? this.whole;
    const { shape } = this;
    this.track = answer && shape ? trackOf(answer, shape) : null;
    this.emit("data", null);
  }

  /** What is missing of the rows, in words; empty where nothing is. */
  get said() {
    const { track } = this;
    const answer = this.part?.answer ?? this.whole;
    if (!track || !answer) return "";
    const { n, skipped, more, kind } = track;
    const said = [
      n === 0 && (this.part ? "No rows here." : "The query gives no rows."),
      answer.truncated &&
        (this.part
          ? `Only ${exact(n)} of the rows in sight: zoom in to see all.`
          : `Only the first ${exact(n)} rows of the result: zoom in to see all of a range.`),
      skipped > 0 && `${plural(skipped, "row")} without a ${kind === "counters" ? "time or value" : "time"}.`,
      more > 0 && `${plural(more, "smaller line")} not shown.`,
    ];
    return said.filter(Boolean).join(" ");
  }
}
