// One track of a query below a timeline without a tree: draws its rows, tells what is at the pointer.

import { Canvas } from "../../lib/canvas.js";
import { h, put } from "../../lib/dom.js";
import { dragRange } from "../../lib/drag_range.js";
import { count, moment, plural } from "../../lib/format.js";
import { errorNotice } from "../../lib/notice.js";
import { KINDS, NAME_CHARS, rowAt } from "../../lib/sql_track.js";
import { NOUNS, NO_TIME } from "./rows/query_data.js";
import { lastOf, rowWords } from "./rows/rows_words.js";
import { COLORS, drawSqlTrack } from "./sql_track_draw.js";

const REACH_PIXELS = 4;
/** @import { QueryData, RowsTrack } from "./rows/query_data.js" */
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
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {QueryData} query
   * @param {Parts} parts
   */
  constructor(context, query, parts) {
    this.context = context;
    this.query = query;
    this.sql = query.sql;
    this.parts = parts;
    this.name = "";
    this.current = -1;
    this.dragging = false;
    /** @type {RowsTrack|null} */
    this.drawn = null;
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
    query.on("data", () => this.#arrived());
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
    this.name = name || "Query";
    if (document.activeElement !== this.named) this.named.value = this.name;
    this.remove.setAttribute("aria-label", `Remove the track ${this.name}`);
    this.remove.title = `Remove the track ${this.name}`;
    this.about.title = this.sql;
    this.about.setAttribute("aria-label", `Open the query of ${this.name}`);
    this.element.setAttribute("aria-label", `Track ${this.name}`);
    this.query.showAs(kind);
    this.#arrived();
  }

  /** Another window is shown: draws it, and asks for rows that are missing. */
  want() {
    this.redraw();
    this.query.want(this.parts.shown());
  }

  /** Draws soon. */
  redraw() {
    this.canvas.redraw();
  }

  /** What is known of the rows is other than before. */
  #arrived() {
    const { query } = this;
    if (this.drawn !== query.track) this.current = -1;
    this.drawn = query.track;
    this.element.classList.toggle("is-waiting", query.asked);
    if (query.failed !== null) this.#fail(errorNotice(query.failed, () => query.again()));
    else if (query.isTimeless) {
      const words = [h("strong", { text: "No time. " }), NO_TIME];
      this.#fail(h("p", { class: "notice notice-stop", role: "alert" }, ...words));
    } else if (query.track) this.#say(query.track);
    this.redraw();
  }

  /** @param {HTMLElement} notice */
  #fail(notice) {
    this.amount.textContent = "";
    this.kinds.hidden = true;
    this.place.hidden = true;
    this.note.hidden = true;
    this.problem.hidden = false;
    put(this.problem, notice);
  }

  /** @param {RowsTrack} track */
  #say({ n, kind }) {
    const { kinds, said } = this.query;
    this.kinds.hidden = false;
    this.place.hidden = false;
    this.problem.hidden = true;
    put(this.problem);
    put(
      this.kinds,
      h("option", {
        value: "",
        selected: !kinds.some((one) => one === this.query.kind),
        text: `Auto: ${KINDS[kinds[0]].toLowerCase()}`,
      }),
      ...kinds.map((one) => h("option", { value: one, selected: one === this.query.kind, text: KINDS[one] })),
    );
    this.amount.textContent = count(n);
    this.amount.title = plural(n, NOUNS[kind]);
    this.note.hidden = said === "";
    this.note.textContent = said;
    this.canvas.element.setAttribute(
      "aria-label",
      `${this.name}: ${plural(n, NOUNS[kind])}. ${said} Left and right walk through them, Enter selects the time of one.`,
    );
  }

  #draw() {
    drawSqlTrack(this.canvas, {
      track: this.query.track,
      shown: this.parts.shown(),
      losses: this.parts.losses(),
      selection: this.parts.selection(),
      current: this.current,
      inTime: this.query.inTime,
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
    const { track } = this.query;
    const row = track ? rowAt(track, time, this.#time(x + REACH_PIXELS) - time) : -1;
    this.parts.tell([track && row >= 0 && this.#what(track, row), `${moment(time)} s`].filter(Boolean).join("  "));
  }

  /**
   * @param {RowsTrack} track
   * @param {number} row
   */
  #what(track, row) {
    return `${this.name}: ${rowWords(track, row, this.query.inTime)}`;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { current: from } = this;
    const { track } = this.query;
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
   * @param {RowsTrack} track
   */
  #near({ starts, n }) {
    const { start } = this.parts.shown();
    const found = starts.findIndex((time) => time >= start);
    return found >= 0 ? found : n - 1;
  }

  /**
   * @param {RowsTrack} track
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
   * @param {RowsTrack} track
   * @param {number} row
   */
  #select(track, row) {
    this.context.select({ start: track.starts[row], end: Math.max(track.starts[row] + 1, lastOf(track, row)) });
  }
}
