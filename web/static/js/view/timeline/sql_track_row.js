// One track of a query in the timeline: asks for its rows, draws them, tells what is at the pointer. A result that was cut is
// asked for again for the window in sight; one that is whole is drawn from the rows that are there.

import { Latest, isAborted, send } from "../../lib/api.js";
import { Canvas } from "../../lib/canvas.js";
import { h, put, settled } from "../../lib/dom.js";
import { dragRange } from "../../lib/drag_range.js";
import { count, duration, exact, moment, plural } from "../../lib/format.js";
import { errorNotice } from "../../lib/notice.js";
import { KINDS, NAME_CHARS, kindsOf, rolesOf, rowAt, trackOf, windowed } from "../../lib/sql_track.js";
import { COLORS, drawSqlTrack } from "./sql_track_draw.js";

/** A query that took longer than this is not asked again while the capture grows. */
const QUICK_MS = 1000;
/** How much wider than what is shown a window may be whose rows were cut, before it is asked for again. */
const COARSE = 3.5;
const REACH_PIXELS = 4;
const NOUNS = { instants: "instant", slices: "slice", counters: "value" };

/** @import { Answers } from "../../../../api.js" */
/** @typedef {Answers["POST"]["/api/captures/{id}/query"]} Answer */
/** @typedef {{start: number, end: number}} Span */
/** @typedef {{name?: string, kind?: string}} Patch */

/**
 * @typedef {object} TimelineParts what the timeline does for its tracks
 * @property {() => Span} shown
 * @property {() => Span[]} losses
 * @property {() => Span|null} selection what is selected or being dragged
 * @property {(range: Span|null) => void} preview
 * @property {(event: WheelEvent, time: number) => void} wheel
 * @property {(text: string) => void} tell writes the readout; empty for nothing
 * @property {(start: number, end: number) => void} view shows a window
 * @property {() => HTMLElement} back what gets the focus when the last track is gone
 */
/** @typedef {TimelineParts & {change: (row: SqlTrackRow, patch: Patch|null) => void}} Parts */

/** The row. */
export class SqlTrackRow {
  #latest = new Latest();
  #later = settled(250, () => this.#load());

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {string} sql
   * @param {Parts} parts
   */
  constructor(context, sql, parts) {
    this.context = context;
    this.sql = sql;
    this.parts = parts;
    this.kind = "";
    this.name = "";
    /** @type {Answer|null} The answer to the query as it is. */
    this.whole = null;
    /** @type {(Span & {answer: Answer})|null} That for a window, where the whole was cut. */
    this.part = null;
    /** @type {ReturnType<typeof trackOf>|null} */
    this.track = null;
    this.current = -1;
    this.asked = false;
    this.stale = false;
    this.failed = false;
    this.inTime = false;
    this.dragging = false;
    const { change } = parts;
    this.named = h("input", {
      type: "text",
      class: "sql-track-name",
      maxlength: String(NAME_CHARS),
      spellcheck: "false",
      "aria-label": "Name of the track",
      on: {
        change: () => change(this, { name: this.named.value.trim() }),
        keydown: (event) => event.key === "Enter" && this.named.blur(),
      },
    });
    this.remove = h("button", {
      type: "button",
      class: "plain sql-track-remove",
      text: "✕",
      on: { click: () => change(this, null) },
    });
    this.kinds = h("select", {
      "aria-label": "Shown as",
      on: { change: () => change(this, { kind: this.kinds.value }) },
    });
    this.about = h("button", {
      type: "button",
      class: "plain",
      text: "SQL",
      on: { click: () => this.context.state.set({ tab: "sql", sql: this.sql }) },
    });
    this.amount = h("span", { class: "quiet small" });
    this.note = h("p", { class: "sql-track-note small", hidden: true });
    this.problem = h("div", { class: "sql-track-problem", hidden: true });
    const canvas = h("canvas", { tabindex: "0", role: "application" });
    this.place = h("div", { class: "sql-track-place" }, canvas);
    this.element = h(
      "section",
      { class: "sql-track" },
      h(
        "div",
        { class: "sql-track-head" },
        this.named,
        this.remove,
        h("div", { class: "sql-track-line" }, this.kinds, this.about, this.amount),
      ),
      h("div", { class: "sql-track-body" }, this.place, this.note, this.problem),
    );
    this.canvas = new Canvas(canvas, COLORS, () => this.#draw());
    this.#startPointer(canvas);
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("blur", () => {
      this.current = -1;
      this.parts.tell("");
      this.redraw();
    });
  }

  /**
   * What the address says of it.
   * @param {{name: string, kind: string}} entry
   */
  set({ name, kind }) {
    const other = kind !== this.kind;
    this.name = name || "Query";
    this.kind = kind;
    if (document.activeElement !== this.named) this.named.value = this.name;
    this.remove.setAttribute("aria-label", `Remove the track ${this.name}`);
    this.remove.title = `Remove the track ${this.name}`;
    this.about.title = this.sql;
    this.about.setAttribute("aria-label", `Open the query of ${this.name}`);
    this.element.setAttribute("aria-label", `Track ${this.name}`);
    if (other && this.whole) {
      this.part = null;
      this.#make();
    }
  }

  /** It is no longer there. */
  end() {
    this.#later.cancel();
    this.#latest.cancel();
  }

  /** Another window is shown: draws it, and asks for rows that are missing. */
  want() {
    this.redraw();
    if (this.failed) return;
    if (!this.whole && !this.asked) this.#load();
    else if (this.whole && !this.#enough()) this.#later();
  }

  /**
   * The capture has grown.
   * @param {boolean} visible
   */
  grown(visible) {
    const quick = !this.whole || this.whole.elapsed_ms < QUICK_MS || !this.context.info.running;
    if (this.failed || this.asked || !quick) return;
    this.stale = true;
    if (visible) this.#load();
  }

  /** Draws soon. */
  redraw() {
    this.canvas.redraw();
  }

  /** Whether the rows that are there are all that there are for what is shown. */
  #enough() {
    const { start, end } = this.parts.shown();
    if (this.stale) return false;
    if (!this.whole?.truncated || kindsOf(this.whole.columns).length === 0) return true;
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
  #window() {
    const { start, end } = this.parts.shown();
    if (!this.whole?.truncated || this.stale || (start <= 0 && end >= this.context.duration)) return null;
    const span = end - start;
    return { start: Math.max(0, start - span), end: Math.min(this.context.duration, end + span) };
  }

  async #load() {
    const window = this.#window();
    if (!window && this.whole && !this.stale) {
      this.part = null;
      return this.#make();
    }
    const sql =
      window && this.whole ? windowed(this.sql, this.whole.columns, this.#shape(this.whole), window) : this.sql;
    this.asked = true;
    this.element.classList.add("is-waiting");
    try {
      const answer = await this.#latest.run((signal) =>
        send("POST", "/api/captures/{id}/query", { id: this.context.id }, { sql }, signal),
      );
      if (!answer) return;
      this.#arrived(answer, window);
    } catch (error) {
      if (!isAborted(error)) this.#fail(errorNotice(error, () => this.#again()));
    }
    this.asked = false;
    this.element.classList.remove("is-waiting");
    if (!this.failed) this.want();
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
      this.stale = false;
    }
    this.#make();
  }

  #again() {
    this.failed = false;
    this.whole = null;
    this.part = null;
    this.#hideProblem();
    this.#load();
  }

  /** @param {HTMLElement} notice */
  #fail(notice) {
    this.failed = true;
    this.amount.textContent = "";
    this.kinds.hidden = true;
    this.place.hidden = true;
    this.note.hidden = true;
    this.problem.hidden = false;
    put(this.problem, notice);
  }

  #hideProblem() {
    this.kinds.hidden = false;
    this.place.hidden = false;
    this.problem.hidden = true;
    put(this.problem);
  }

  /**
   * The kind that is shown: what was chosen where the result can be that.
   * @param {Answer} answer
   */
  #shape({ columns }) {
    const kinds = kindsOf(columns);
    return kinds.find((kind) => kind === this.kind) ?? kinds[0];
  }

  #make() {
    const { whole } = this;
    if (!whole) return;
    const kinds = kindsOf(whole.columns);
    if (kinds.length === 0) {
      return this.#fail(
        h(
          "p",
          { class: "notice notice-stop", role: "alert" },
          h("strong", { text: "No time. " }),
          "No column of the result is a time. Name one time, ts or start_ns; times are nanoseconds from the capture's start.",
        ),
      );
    }
    const answer = this.part?.answer ?? whole;
    const shape = this.#shape(whole);
    this.track = trackOf(answer, shape);
    this.current = -1;
    const { value } = rolesOf(answer.columns);
    this.inTime = value >= 0 && answer.columns[value].display === "duration_ns";
    put(
      this.kinds,
      h("option", {
        value: "",
        selected: !kinds.some((kind) => kind === this.kind),
        text: `Auto: ${KINDS[kinds[0]].toLowerCase()}`,
      }),
      ...kinds.map((kind) => h("option", { value: kind, selected: kind === this.kind, text: KINDS[kind] })),
    );
    this.#say(answer, this.track);
    this.redraw();
  }

  /**
   * @param {Answer} answer
   * @param {ReturnType<typeof trackOf>} track
   */
  #say({ truncated }, { n, skipped, more, kind }) {
    this.amount.textContent = count(n);
    this.amount.title = plural(n, NOUNS[kind]);
    const cut =
      truncated &&
      (this.part
        ? `Only ${exact(n)} of the rows in sight: zoom in to see all.`
        : `Only the first ${exact(n)} rows of the result: zoom in to see all of a range.`);
    const said = [
      n === 0 && (this.part ? "No rows here." : "The query gives no rows."),
      cut,
      skipped > 0 && `${plural(skipped, "row")} without a ${kind === "counters" ? "time or value" : "time"}.`,
      more > 0 && `${plural(more, "smaller line")} not shown.`,
    ].filter(Boolean);
    this.note.hidden = said.length === 0;
    this.note.textContent = said.join(" ");
    this.canvas.element.setAttribute(
      "aria-label",
      `${this.name}: ${plural(n, NOUNS[kind])}. ${said.join(" ")} Left and right walk through them, Enter selects the time of one.`,
    );
  }

  #draw() {
    drawSqlTrack(this.canvas, {
      track: this.track,
      shown: this.parts.shown(),
      losses: this.parts.losses(),
      selection: this.parts.selection(),
      current: this.current,
      inTime: this.inTime,
    });
  }

  /** @param {number} x */
  #time(x) {
    const { start, end } = this.parts.shown();
    return start + (x / Math.max(1, this.canvas.width)) * (end - start);
  }

  /** @param {HTMLCanvasElement} canvas */
  #startPointer(canvas) {
    const { parts, context } = this;
    dragRange(canvas, {
      time: (x) => Math.max(0, Math.min(context.duration, this.#time(x))),
      selection: () => parts.selection(),
      accepts: (event) => !event.shiftKey,
      place: (time) => {
        const { start, end } = parts.shown();
        return ((time - start) / (end - start)) * this.canvas.width;
      },
      preview: (range) => {
        this.dragging = range !== null;
        parts.preview(range);
      },
      done: (range) => context.select(range),
    });
    canvas.addEventListener("pointermove", (event) => !this.dragging && this.#point(event.offsetX));
    canvas.addEventListener("pointerleave", () => parts.tell(""));
    canvas.addEventListener("dblclick", () => parts.view(0, context.duration));
    canvas.addEventListener("wheel", (event) => parts.wheel(event, this.#time(event.offsetX)), { passive: false });
  }

  /** @param {number} x */
  #point(x) {
    const time = this.#time(x);
    const { track } = this;
    const row = track ? rowAt(track, time, this.#time(x + REACH_PIXELS) - time) : -1;
    this.parts.tell([track && row >= 0 && this.#what(track, row), `${moment(time)} s`].filter(Boolean).join("  "));
  }

  /**
   * @param {ReturnType<typeof trackOf>} track
   * @param {number} row
   */
  #what(track, row) {
    const label = track.names[track.labels[row]];
    const value = track.values[row];
    const amount = {
      instants: "",
      slices: duration(track.ends[row] - track.starts[row]),
      counters: this.inTime ? duration(value) : exact(value),
    }[track.kind];
    return `${this.name}: ${[label, amount].filter(Boolean).join(", ") || "here"}`;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { track, current: from } = this;
    if (event.ctrlKey || event.altKey || event.metaKey || !track || track.n === 0) return;
    const last = track.n - 1;
    /** @type {Record<string, number>} */
    const places = {
      ArrowLeft: from < 0 ? this.#near(track) : from - 1,
      ArrowRight: from < 0 ? this.#near(track) : from + 1,
      Home: 0,
      End: last,
    };
    const to = places[event.key];
    if (event.key === "Enter" && from >= 0) this.#select(track, from);
    else if (to === undefined) return;
    else this.#go(track, Math.max(0, Math.min(last, to)));
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * The first row in sight.
   * @param {ReturnType<typeof trackOf>} track
   */
  #near({ starts, n }) {
    const { start } = this.parts.shown();
    const found = starts.findIndex((time) => time >= start);
    return found >= 0 ? found : n - 1;
  }

  /**
   * @param {ReturnType<typeof trackOf>} track
   * @param {number} row
   */
  #go(track, row) {
    this.current = row;
    const time = track.starts[row];
    const { start, end } = this.parts.shown();
    if (time < start || time > end) this.parts.view(time - (end - start) / 2, time + (end - start) / 2);
    this.parts.tell(`${this.#what(track, row)}  ${moment(time)} s`);
    this.redraw();
  }

  /**
   * @param {ReturnType<typeof trackOf>} track
   * @param {number} row
   */
  #select({ starts, ends, kind, n }, row) {
    const until = kind === "slices" ? ends[row] : row + 1 < n ? starts[row + 1] : starts[row] + 1;
    this.context.select({ start: starts[row], end: Math.max(starts[row] + 1, until) });
  }
}
