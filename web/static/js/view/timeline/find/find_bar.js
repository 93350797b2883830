// Find in all of the capture: the field with count, next and previous, and what was found as marks on the timeline.

import { h, settled } from "../../../lib/dom.js";
import { cell, moment } from "../../../lib/format.js";
import { bind } from "../../../lib/keys.js";
import { sentence } from "../../../lib/notice.js";
import { problemOf } from "../../../lib/api.js";
import { AXIS, gutter } from "../timeline_axis.js";
import { drawFound, drawFoundOnTracks, drawLong } from "./find_draw.js";
import { foundWords, streamWords, treeKey } from "./find_marks.js";

/** @import { FoundHit } from "../../../../../api.js" */
/** @import { Canvas } from "../../../lib/canvas.js" */
/** @import { TrackLayer } from "../track_layer.js" */

const TYPED_MS = 300;
/** How many columns of a row are told. */
const MOST_FIELDS = 4;
/** Columns that are told otherwise, or say little. */
const NOT_TOLD = ["time", "cpu", "pid", "tid", "comm", "duration_ns"];

/**
 * @typedef {object} SearchedTimeline what the search needs of the timeline
 * @property {import("../../../lib/time_navigator.js").TimeNavigator} nav
 * @property {Canvas} canvas
 * @property {TrackLayer} layer
 * @property {() => boolean} visible
 * @property {() => boolean} showsStates whether the tree of tracks is shown
 * @property {() => {keys: string[], tall: number, byCpu: boolean}} plain the tracks where the tree is not shown, and how high they
 *   are; whether they are CPUs
 * @property {(key: string|null, time: number) => void} point puts the cursor on a row of the tree
 */

/** The field, and its marks. */
export class FindBar {
  #isOpen = false;

  /**
   * @param {import("../../../page/capture_context.js").CaptureContext} context
   * @param {SearchedTimeline} timeline
   */
  constructor(context, timeline) {
    this.context = context;
    this.timeline = timeline;
    this.finder = context.finder;
    const typed = settled(TYPED_MS, () => context.state.set({ find: this.input.value.trim(), hit: "" }));
    this.typed = typed;
    this.input = h("input", {
      type: "search",
      class: "find-field",
      maxlength: "1024",
      placeholder: "Text in names, arguments, threads and stacks, or result == -2",
      "aria-label": "Find in all of the capture: text in names, arguments, threads and stacks, or a condition",
      value: context.view.find,
      on: { input: () => typed(), keydown: (event) => this.#key(event) },
    });
    this.count = h("span", { class: "find-count", role: "status" });
    this.streams = h("span", { class: "quiet cut" });
    this.row = h("span", { class: "mono cut" });
    this.problem = h("span", { class: "find-problem", role: "alert" });
    this.stop = this.#button("Stop", () => this.finder.stop());
    this.toTable = this.#button("Show in the table", () => this.#toTable());
    this.element = h(
      "div",
      { class: "find-bar", role: "search", "aria-label": "All of the capture", hidden: true },
      this.input,
      this.#button("Previous", () => void this.step("before")),
      this.#button("Next", () => void this.step("next")),
      this.stop,
      this.count,
      this.problem,
      this.row,
      this.toTable,
      h("span", { class: "grow" }),
      this.streams,
      this.#button("Close", () => this.#close()),
    );
    this.button = h("button", { type: "button", text: "Find", on: { click: () => this.#turn() } });
    this.finder.on("change", () => this.#changed());
    context.state.on("change", ({ parts }) => {
      if (!parts.has("find")) return;
      if (document.activeElement !== this.input) this.input.value = context.view.find;
      this.want();
      this.#changed();
    });
    this.#startKeys();
    this.#changed();
    void this.#restore();
  }

  #startKeys() {
    const { visible } = this.timeline;
    const when = () => visible() && this.context.view.find !== "";
    bind("timeline.find", () => this.open(), { when: visible });
    bind("timeline.found.before", () => void this.step("before"), { when });
    bind("timeline.found", () => void this.step("next"), { when });
  }

  /** Opens the field. */
  open() {
    this.#isOpen = true;
    this.#changed();
    this.input.focus();
    this.input.select();
  }

  #turn() {
    if (this.element.hidden) this.open();
    else this.#close();
  }

  #close() {
    this.#isOpen = false;
    this.typed.cancel();
    this.input.value = "";
    this.context.state.set({ find: "", hit: "" });
    this.#changed();
    this.timeline.canvas.element.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Escape") this.#close();
    else if (event.key === "Enter") {
      this.typed.cancel();
      this.context.state.set({ find: this.input.value.trim() });
      void this.step(event.shiftKey ? "before" : "next");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Asks for marks of the window that is shown. */
  want() {
    const { nav, canvas } = this.timeline;
    if (this.context.view.find === "") return;
    if (this.finder.tilesOf(nav.shown, nav.wide * canvas.ratio)) this.finder.later(nav.shown, nav.wide * canvas.ratio);
    else this.finder.later.cancel();
  }

  /**
   * Goes to the next row that was found, or the one before.
   * @param {"next"|"before"} way
   */
  async step(way) {
    const row = await this.finder.step(way, this.timeline.nav.shown);
    if (row) await this.#show(row);
  }

  /** Knows again which row the address is at. */
  async #restore() {
    const found = /^(\d+)\.(\d+)@(-?\d+)$/.exec(this.context.view.hit);
    if (!found) return;
    const [, stream, row, time] = found.map(Number);
    await this.finder.restore({ time, stream, row });
  }

  /**
   * Shows a row that was found: its time, its track, and what it is where the track has it.
   * @param {FoundHit} row
   */
  async #show(row) {
    const { nav, layer, showsStates, point } = this.timeline;
    this.context.state.set({ hit: `${row.stream}.${row.row}@${row.time}` });
    const { start, end } = nav.shown;
    const half = (end - start) / 2;
    if (row.start < start || row.start > end) nav.view(row.start - half, row.start + half);
    const key = treeKey(row.key, row.of_stream, (stream) => this.context.info.streams[stream]?.name ?? "");
    const of = showsStates() ? layer.tree.find((one) => one.key === key) : undefined;
    if (!of) {
      point(null, row.start);
      return;
    }
    this.#open(of.parent);
    const lanes = of.lanes.filter(({ number }) => number === row.stream);
    for (const lane of lanes) {
      await layer.pick(of, lane, row.start);
      const at = layer.picked?.moment.at;
      if (at?.start === row.start && at.end === row.end) break;
    }
    if (lanes.length === 0) layer.clear();
    point(key, row.start);
  }

  /**
   * Opens a group of the tree.
   * @param {string} key empty for none
   */
  #open(key) {
    const { layer } = this.timeline;
    const index = layer.rows.findIndex(({ row, isOpen }) => row.key === key && row.kind === "group" && !isOpen);
    if (index >= 0) layer.turn(index);
  }

  #changed() {
    const { finder } = this;
    const { find } = this.context.view;
    this.element.hidden = !this.#isOpen && find === "";
    this.button.setAttribute("aria-pressed", String(!this.element.hidden));
    if (this.element.hidden) {
      this.timeline.canvas.redraw();
      return;
    }
    const { found, row } = finder;
    const { why, remedy } = problemOf(finder.problem);
    this.problem.textContent = finder.problem ? [why, remedy].map(sentence).filter(Boolean).join(" ") : "";
    const said = finder.said && row ? `, ${finder.said}` : "";
    this.count.textContent = find === "" || finder.problem ? "" : `${foundWords(found, row)}${said}`;
    this.streams.textContent = streamWords(found);
    this.row.textContent = row ? this.#words(row) : "";
    this.stop.hidden = !finder.isSearching;
    this.toTable.hidden = row === null;
    this.timeline.canvas.redraw();
  }

  #toTable() {
    const { state, view } = this.context;
    state.set({ tab: "events", stream: this.finder.row?.stream ?? null, filter: view.find });
  }

  /**
   * A row in a few words.
   * @param {FoundHit} row
   */
  #words({ name, time, key, of_stream: of, fields }) {
    const value = (/** @type {string} */ wanted) => {
      const at = fields.columns.findIndex((column) => column.name === wanted);
      return at < 0 ? "" : cell(fields.cells[at], fields.columns[at]);
    };
    const told = fields.columns.flatMap((column, i) => {
      const text = cell(fields.cells[i], column);
      return NOT_TOLD.includes(column.name) || text === "" ? [] : [`${column.name} ${text}`];
    });
    const who = of === null ? `${value("comm")} ${value("tid")}`.trim() : key;
    return [`${moment(time)} s`, name, who, ...told.slice(0, MOST_FIELDS)].filter(Boolean).join("  ");
  }

  /**
   * @param {string} text
   * @param {() => void} click
   */
  #button(text, click) {
    return h("button", { type: "button", text, on: { click } });
  }

  /**
   * Draws over a timeline that is drawn.
   * @param {Canvas} canvas
   * @param {number} scroll
   */
  draw({ context: ctx, colors, width, height, ratio }, scroll) {
    const { found, tiles } = this.finder;
    if (!found || this.context.view.find === "") return;
    const { nav } = this.timeline;
    const place = nav.placing;
    const sight = { left: gutter.width, right: width };
    const wanted = this.finder.tilesOf(nav.shown, nav.wide * ratio);
    const { there, missing } = wanted ? tiles.at(wanted) : { there: [], missing: [nav.shown] };
    const rows = this.#rows(scroll, height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(gutter.width, 0, width - gutter.width, height);
    ctx.clip();
    const drawPart = (/** @type {import("./find_marks.js").Found} */ part, /** @type {typeof sight} */ within) => {
      drawFoundOnTracks(ctx, colors, part, rows, place, within);
      drawFound(ctx, colors, part, place, within, AXIS - 5);
    };
    // Where it was not looked as finely yet, it is as fine as in all of the capture.
    for (const { start, end } of missing)
      drawPart(found, { left: Math.max(gutter.width, place(start)), right: Math.min(width, place(end)) });
    for (const tile of there) drawPart(tile, sight);
    if (wanted) drawLong(ctx, colors, found, rows, place, sight);
    ctx.restore();
  }

  /**
   * The tracks in sight that can have marks.
   * @param {number} scroll
   * @param {number} height of the canvas
   * @returns {import("./find_draw.js").MarkedRow[]}
   */
  #rows(scroll, height) {
    const { layer, showsStates, plain } = this.timeline;
    if (!showsStates()) {
      const { keys, tall, byCpu } = plain();
      return keys
        .map((key, i) => ({ keys: [key], top: AXIS + i * tall - scroll, byCpu }))
        .filter(({ top }) => top >= AXIS - 2 && top < height);
    }
    return layer.rows
      .map(({ row, isOpen, top, height: tall }) => ({ row, isOpen, top: AXIS + top - scroll, tall }))
      .filter(({ top, tall }) => top + tall > AXIS && top >= AXIS - 2 && top < height)
      .map(({ row, isOpen, top }) => ({ keys: this.#keysOf(row, isOpen), top, byCpu: false }));
  }

  /**
   * The tracks that a row stands for: a closed group for all in it.
   * @param {import("../track_tree.js").TreeRow} row
   * @param {boolean} isOpen
   */
  #keysOf({ kind, key }, isOpen) {
    if (kind !== "group") return [key];
    return isOpen ? [] : this.timeline.layer.tree.filter(({ parent }) => parent === key).map((one) => one.key);
  }
}
