// The whole capture at a glance: rows per second, losses at their time, the selected range, the timeline's window.

import { ApiError, Latest, get } from "../lib/api.js";
import { Canvas, drawSelection, hatch } from "../lib/canvas.js";
import { byId, settled } from "../lib/dom.js";
import { dragRange } from "../lib/drag_range.js";
import { count, duration, rate, tickLabel, ticks } from "../lib/format.js";
import { noteError } from "../lib/notice.js";
import { drawFound } from "../view/timeline/find/find_draw.js";
import { NOTE_COLORS, drawSmallNotes } from "../view/timeline/notes/notes_draw.js";

/** @import { Rate, Tick } from "../../../api.js" */
/** @typedef {{start: number, end: number}} Span */

const AXIS = 16;
const BAR = 2;
const COLORS = [
  "--bg",
  "--bg-rail",
  "--line",
  "--line-strong",
  "--text-quiet",
  "--accent",
  "--selection",
  "--loss-mark",
  ...NOTE_COLORS,
];
const STEP = 0.02;
const ROWS_PER_BIN = 8;

/** Draws and selects. While the capture runs it is fed by `tick`; afterwards it asks the server. */
export class Minimap {
  #latest = new Latest();

  /**
   * @param {import("./capture_context.js").CaptureContext} context
   * @param {(text: string|null) => void} readout what is under the pointer
   */
  constructor(context, readout) {
    this.context = context;
    this.readout = readout;
    /** @type {Rate|null} */
    this.data = null;
    /** @type {{from: number, time: number, rows: number, lost: number}[]} What came while this page was open. */
    this.live = [];
    /** @type {Span|null} */
    this.preview = null;
    this.heights = new Float64Array(0);
    this.canvas = new Canvas(byId("minimap", HTMLCanvasElement), COLORS, () => this.#draw());
    const element = this.canvas.element;
    element.addEventListener(
      "measured",
      settled(100, () => this.load()),
    );
    context.state.on("change", ({ parts }) => {
      if (parts.has("filter")) this.load();
      this.#tell();
      this.canvas.redraw();
    });
    context.on("info", () => this.load());
    context.notes.on("change", () => this.canvas.redraw());
    context.finder.on("change", () => this.canvas.redraw());
    dragRange(element, {
      time: (x) => (x / this.canvas.width) * this.span,
      place: (time) => (time / this.span) * this.canvas.width,
      selection: () => this.#selection(),
      accepts: () => true,
      preview: (range) => {
        this.preview = range;
        this.canvas.redraw();
        this.readout(
          range && `${duration(range.start)} to ${duration(range.end)}: ${duration(range.end - range.start)}`,
        );
      },
      done: (range) => context.select(range),
    });
    element.addEventListener("dblclick", () => {
      context.select(null);
      context.state.set({ from: null, to: null });
    });
    element.addEventListener("pointermove", (event) => !this.preview && this.#hover(event.offsetX));
    element.addEventListener("pointerleave", () => this.readout(null));
    element.addEventListener("keydown", (event) => this.#key(event));
    this.#tell();
    this.load();
  }

  /** Nanoseconds that the width stands for: while it runs at least the first seconds, so that it does not race. */
  get span() {
    if (!this.context.info.running) return this.context.duration;
    const limit = (this.context.info.spec.limits?.duration_ms ?? 0) * 1e6;
    const so_far = Math.max(this.context.duration, this.live.at(-1)?.time ?? 0);
    return limit ? Math.max(limit, so_far) : Math.max(10e9, so_far * 1.15);
  }

  /** Asks for the stored rates: of a running capture once, for what was before this page. */
  async load() {
    if (this.canvas.width === 0 || (this.context.info.running && (this.data || this.context.duration < 1e9))) return;
    // Few rows in many bins would show the bins, not the rows.
    const rows = this.context.recorded.reduce((sum, stream) => sum + stream.rows, 0);
    const bins = Math.max(
      1,
      Math.min(8192, Math.floor(this.canvas.width / BAR), Math.max(60, Math.ceil(rows / ROWS_PER_BIN))),
    );
    try {
      const data = await this.#latest.run((signal) =>
        get("/api/captures/{id}/rate", { id: this.context.id, bins, filter: this.context.view.filter }, signal),
      );
      if (!data) return;
      this.data = data;
      this.canvas.redraw();
    } catch (error) {
      // A filter that cannot be used is shown at the filter.
      if (!(error instanceof ApiError) || error.status !== 400) noteError(error);
    }
  }

  /**
   * Rates of a running capture.
   * @param {Tick} tick
   */
  tick(tick) {
    /** @param {"rows_per_s"|"lost"} name */
    const sum = (name) => tick.streams.reduce((total, stream) => total + stream[name], 0);
    // The first one tells nothing of the time before it, except at the beginning.
    const before = this.live.at(-1)?.time ?? (tick.elapsed < 2e9 ? 0 : tick.elapsed);
    this.live.push({ from: before, time: tick.elapsed, rows: sum("rows_per_s"), lost: sum("lost") });
    if (this.live.length > 4096)
      this.live = this.live.flatMap((one, i) => (i % 2 ? [{ ...one, from: this.live[i - 1].from }] : []));
    this.canvas.redraw();
  }

  #selection() {
    const { start, end } = this.context.range;
    return start === null || end === null ? null : { start, end };
  }

  /** Bars as shares of the highest, with the rate that it stands for. */
  #bars() {
    const columns = Math.floor(this.canvas.width / BAR);
    const heights = new Float64Array(columns);
    if (this.data) {
      const { bins, streams, start, end } = this.data;
      const binNs = (end - start) / bins;
      for (let x = 0; x < columns; x += 1) {
        const bin = Math.floor((((x + 0.5) / columns) * this.span - start) / binNs);
        if (bin < 0 || bin >= bins) continue;
        // The first and the last bin reach beyond the capture. Of a sliver no rate can be told.
        const within = Math.min(start + (bin + 1) * binNs, this.context.duration) - Math.max(start + bin * binNs, 0);
        heights[x] = streams.reduce((sum, stream) => sum + stream.counts[bin], 0) / (Math.max(binNs / 2, within) / 1e9);
      }
    }
    if (this.context.info.running || !this.data) {
      for (const point of this.live) {
        const from = Math.floor((point.from / this.span) * columns);
        const to = Math.max(from + 1, Math.floor((point.time / this.span) * columns));
        heights.fill(point.rows, from, Math.min(columns, to));
      }
    }
    return heights;
  }

  #losses() {
    const stored = this.data?.losses ?? [];
    if (!this.context.info.running) return stored;
    const before = this.data ? this.data.losses.reduce((sum, loss) => sum + loss.count, 0) : 0;
    const seen = this.live.flatMap((point, i) => {
      const lost =
        point.lost - (this.live[i - 1]?.lost ?? Math.max(before, point.from === point.time ? point.lost : 0));
      return lost > 0 ? [{ start: point.from, end: point.time, count: lost }] : [];
    });
    return [...stored, ...seen];
  }

  #draw() {
    const { context: ctx, colors, width, height, ratio, font } = this.canvas;
    const chart = height - AXIS;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colors["--bg-rail"];
    ctx.fillRect(0, 0, width, chart);
    ctx.fillStyle = colors["--bg"];
    ctx.fillRect(0, chart, width, AXIS);
    /** @param {number} time */
    const place = (time) => (time / this.span) * width;
    const heights = this.#bars();
    const most = heights.reduce((a, b) => Math.max(a, b), 0);
    this.heights = heights;
    ctx.fillStyle = colors["--line-strong"];
    for (let x = 0; x < heights.length; x += 1) {
      if (heights[x] > 0) {
        const tall = Math.max(1, (heights[x] / most) * (chart - 4));
        ctx.fillRect(x * BAR, chart - tall, BAR, tall);
      }
    }
    for (const loss of this.#losses()) {
      const left = Math.max(0, place(loss.start));
      const wide = Math.max(3, place(loss.end) - left);
      hatch(ctx, colors["--loss-mark"], left, 0, wide, chart);
      ctx.fillStyle = colors["--loss-mark"];
      ctx.fillRect(left, 0, wide, 3);
    }
    const { notes, finder, view } = this.context;
    if (finder.found && view.find) drawFound(ctx, colors, finder.found, place, { left: 0, right: width }, chart - 4);
    drawSmallNotes(ctx, colors, notes.timed, place, chart, view.note);
    this.#drawAxis(ctx, chart, place, most);
    const selection = this.preview ?? this.#selection();
    if (selection) drawSelection(ctx, colors, place(selection.start), place(selection.end), chart);
    const { from, to, tab } = this.context.view;
    if (
      (tab === "timeline" || (tab === "calls" && this.context.view.calls === "chart")) &&
      from !== null &&
      to !== null
    ) {
      ctx.strokeStyle = colors["--accent"];
      ctx.strokeRect(place(from) + 0.5, 0.5, Math.max(2, place(to) - place(from) - 1), chart - 1);
    }
    ctx.font = font;
  }

  /**
   * @param {CanvasRenderingContext2D} ctx
   * @param {number} chart
   * @param {(time: number) => number} place
   * @param {number} most
   */
  #drawAxis(ctx, chart, place, most) {
    const { colors, width, font } = this.canvas;
    ctx.font = font;
    ctx.textBaseline = "middle";
    ctx.fillStyle = colors["--text-quiet"];
    const { step, at } = ticks(0, this.span, Math.max(2, Math.floor(width / 110)));
    for (const time of at) {
      const x = Math.round(place(time)) + 0.5;
      ctx.fillRect(x, chart, 0.6, 4);
      const label = tickLabel(time, step);
      const wide = ctx.measureText(label).width;
      ctx.fillText(label, Math.max(0, Math.min(width - wide, x - wide / 2)), chart + AXIS / 2 + 2);
    }
    if (most > 0) {
      const label = rate(most);
      const wide = ctx.measureText(label).width;
      ctx.fillStyle = colors["--bg-rail"];
      ctx.fillRect(width - wide - 8, 2, wide + 8, 14);
      ctx.fillStyle = colors["--text-quiet"];
      ctx.fillText(label, width - wide - 4, 9);
    }
  }

  /** @param {number} x */
  #hover(x) {
    const at = (x / this.canvas.width) * this.span;
    const bar = this.heights[Math.min(this.heights.length - 1, Math.floor(x / BAR))] ?? 0;
    const near = (this.span / this.canvas.width) * 3;
    const loss = this.#losses()
      .filter((one) => at >= one.start - near && at <= one.end + near)
      .reduce((sum, one) => sum + one.count, 0);
    this.readout(`At ${duration(at)}: ${rate(bar)}${loss ? `, ${count(loss)} lost` : ""}`);
  }

  #tell() {
    const selection = this.#selection();
    const text = selection ? `${duration(selection.start)} to ${duration(selection.end)}` : "The whole capture";
    this.canvas.element.setAttribute("aria-valuetext", text);
    this.canvas.element.setAttribute("aria-valuemin", "0");
    this.canvas.element.setAttribute("aria-valuemax", String(this.span));
    this.canvas.element.setAttribute("aria-valuenow", String(selection?.start ?? 0));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const direction = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    const range = this.#selection() ?? { start: 0, end: this.span * 0.1 };
    const step = this.span * STEP * direction;
    if (direction && event.shiftKey)
      this.context.select({ start: range.start, end: Math.max(range.start + this.span / 1000, range.end + step) });
    else if (direction) {
      const by = Math.max(-range.start, Math.min(this.span - range.end, this.#selection() ? step : 0));
      this.context.select({ start: range.start + by, end: range.end + by });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
