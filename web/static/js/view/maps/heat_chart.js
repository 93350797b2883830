// A heat map: time from left to right, buckets from bottom to top, a shade for how many came in between two readings.

import { Canvas, drawSelection } from "../../lib/canvas.js";
import { sign } from "../../lib/amount.js";
import { h } from "../../lib/dom.js";
import { dragRange } from "../../lib/drag_range.js";
import { duration, exact, plural, tickLabel, ticks } from "../../lib/format.js";
import { bucket, limit, shade } from "../../lib/map_words.js";

/** @import { HeatColumn, HeatView } from "../../../../api.js" */
/** @typedef {{column: number, row: number}} HeatCell */
/** @typedef {{start: number, end: number}} Span */

const LEFT = 64;
const BOTTOM = 22;
const STEPS = 16;
const CELL_HEIGHT = 24;

/**
 * Columns and rows that an arrow key goes on by.
 * @type {Record<string, [columns: number, rows: number]>}
 */
const STEPS_OF_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/**
 * Whether buckets without anything were left out below this one.
 * @param {HeatView["buckets"]} buckets
 * @param {number} row
 */
const apart = (buckets, row) => row > 0 && String(buckets[row - 1][1]) !== String(buckets[row][0]);

/** The chart. */
export class HeatChart {
  /** @param {{readout: (text: string) => void, chosen: (snapshot: number) => void, select: (range: {start: number, end: number}) => void}} parts */
  constructor(parts) {
    this.parts = parts;
    /** @type {HeatView} */
    this.view = { buckets: [], columns: [], most: 0, snapshots_per_column: 1, unit: "values" };
    /** @type {HeatCell|null} */
    this.at = null;
    this.window = { start: 0, end: 1 };
    /** @type {Span|null} */
    this.preview = null;
    /** Whether a range is being dragged. */
    this.dragged = false;
    /** @type {Canvas|undefined} */
    this.drawing = undefined;
    this.canvas = h("canvas", {
      class: "heat-canvas",
      tabindex: "0",
      role: "img",
      "aria-label": "Heat map. Arrow keys walk through its cells, Enter shows the histogram of one read.",
    });
    this.element = h("div", { class: "heat" }, this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.#go(this.#cell(event)));
    this.canvas.addEventListener("pointerleave", () => this.#go(null));
    this.canvas.addEventListener("click", (event) => {
      // What ends a drag chooses no cell.
      if (this.dragged) this.dragged = false;
      else this.#choose(this.#cell(event));
    });
    this.canvas.addEventListener("pointerdown", () => {
      this.dragged = false;
    });
    dragRange(this.canvas, {
      time: (x) => this.#time(x),
      place: (time) => this.#place(time),
      selection: () => null,
      accepts: (event) => event.offsetX >= LEFT,
      preview: (range) => {
        if (range) this.dragged = true;
        this.preview = range;
        this.drawing?.redraw();
        this.parts.readout(
          range ? `${duration(range.start)} to ${duration(range.end)}: ${duration(range.end - range.start)}` : "",
        );
      },
      done: (range) => this.parts.select(range),
    });
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /**
   * Shows another view. The element must be in the page by now.
   * @param {HeatView} view
   * @param {{start: number, end: number}} window the time that the width stands for
   */
  show(view, window) {
    this.view = view;
    this.window = window;
    this.at = null;
    // No higher than its cells need, so that what is said of it stands right below.
    this.element.style.maxHeight = `${Math.max(2, view.buckets.length) * CELL_HEIGHT + BOTTOM + 1}px`;
    this.drawing ??= new Canvas(
      this.canvas,
      ["--accent", "--bg", "--line", "--selection", "--text-quiet", "--text"],
      (canvas) => this.#draw(canvas),
    );
    this.drawing.redraw();
  }

  get #size() {
    const { width, height } = this.drawing ?? { width: 0, height: 0 };
    const { buckets } = this.view;
    return {
      wide: Math.max(1, width - LEFT),
      cellHeight: Math.min(CELL_HEIGHT, (height - BOTTOM - 1) / Math.max(1, buckets.length)),
      base: height - BOTTOM,
    };
  }

  /** @param {number} time */
  #place(time) {
    const { start, end } = this.window;
    return LEFT + ((time - start) / Math.max(1, end - start)) * this.#size.wide;
  }

  /** @param {number} x */
  #time(x) {
    const { start, end } = this.window;
    return Math.max(start, Math.min(end, start + ((x - LEFT) / this.#size.wide) * (end - start)));
  }

  /**
   * @param {MouseEvent} event
   * @returns {HeatCell|null}
   */
  #cell(event) {
    const { cellHeight, base } = this.#size;
    const time = this.#time(event.offsetX);
    const column =
      event.offsetX < LEFT ? -1 : this.view.columns.findIndex((one) => time >= one.from && time < one.time);
    const row = Math.floor((base - event.offsetY) / cellHeight);
    return this.view.columns[column] && this.view.buckets[row] ? { column, row } : null;
  }

  /** @param {HeatCell|null} at */
  #go(at) {
    this.at = at;
    this.drawing?.redraw();
    if (!at) {
      this.parts.readout("");
      return;
    }
    const column = this.view.columns[at.column];
    const [low, high] = this.view.buckets[at.row];
    this.parts.readout(
      `${duration(Math.max(0, column.from))} to ${duration(column.time)}, ${bucket(String(low), String(high))}: ${plural(column.counts[at.row], "value")}`,
    );
  }

  /** @param {HeatCell|null} at */
  #choose(at) {
    if (at) this.parts.chosen(this.view.columns[at.column].snapshot);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = STEPS_OF_KEYS[event.key];
    if (event.key === "Enter") this.#choose(this.at);
    else if (step) {
      /**
       * @param {number} value
       * @param {number} most
       */
      const within = (value, most) => Math.max(0, Math.min(most - 1, value));
      const { column, row } = this.at ?? { column: -step[0], row: -step[1] };
      this.#go({
        column: within(column + step[0], this.view.columns.length),
        row: within(row + step[1], this.view.buckets.length),
      });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {Canvas} canvas */
  #draw({ context, width, height, ratio, colors, font }) {
    const { columns, buckets, most } = this.view;
    const { cellHeight, base } = this.#size;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = colors["--accent"];
    for (const column of columns) {
      const [left, right] = this.#sides(column);
      const gap = right - left > 4 ? 1 : 0;
      column.counts.forEach((value, row) => {
        const depth = shade(value, most, STEPS);
        if (depth === 0) return;
        context.globalAlpha = 0.08 + (0.92 * depth) / STEPS;
        context.fillRect(
          left,
          base - (row + 1) * cellHeight,
          Math.max(1, right - left - gap),
          cellHeight - (cellHeight > 4 ? 1 : 0),
        );
      });
    }
    context.globalAlpha = 1;
    this.#axes(context, { buckets, cellHeight, base, width, colors, font });
    if (this.preview)
      drawSelection(context, colors, this.#place(this.preview.start), this.#place(this.preview.end), base);
    if (this.at) {
      context.strokeStyle = colors["--text"];
      const [left, right] = this.#sides(columns[this.at.column]);
      context.strokeRect(left - 0.5, base - (this.at.row + 1) * cellHeight - 0.5, right - left + 1, cellHeight + 1);
    }
  }

  /**
   * Where a column begins and ends: from the reading before to its own, as far as they are in the window.
   * @param {HeatColumn} column
   */
  #sides({ from, time }) {
    const { start, end } = this.window;
    return [this.#place(Math.max(start, Math.min(end, from))), this.#place(Math.max(start, Math.min(end, time)))];
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {{buckets: HeatView["buckets"], cellHeight: number, base: number, width: number, colors: Record<string, string>, font: string}} axes
   */
  #axes(context, { buckets, cellHeight, base, width, colors, font }) {
    context.font = font;
    context.fillStyle = colors["--text-quiet"];
    context.strokeStyle = colors["--line"];
    context.beginPath();
    context.moveTo(LEFT - 0.5, 0);
    context.lineTo(LEFT - 0.5, base + 0.5);
    context.lineTo(width, base + 0.5);
    context.stroke();
    this.#gaps(context, buckets, base, cellHeight, width);
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(16 / cellHeight));
    for (let row = 0; row < buckets.length; row += every)
      context.fillText(limit(String(buckets[row][0])), LEFT - 6, base - row * cellHeight - cellHeight / 2);
    context.textBaseline = "top";
    context.textAlign = "left";
    const { start, end } = this.window;
    const marks = ticks(start, end, Math.max(1, Math.floor((width - LEFT) / 110)));
    for (const at of marks.at) {
      const x = this.#place(at);
      const label = tickLabel(at, marks.step);
      const wide = context.measureText(label).width;
      context.fillRect(Math.round(x), base, 1, 4);
      context.fillText(label, Math.max(LEFT, Math.min(width - wide, x - wide / 2)), base + 6);
    }
  }

  /**
   * Buckets without anything are not there; a broken line says where.
   * @param {CanvasRenderingContext2D} context
   * @param {HeatView["buckets"]} buckets
   * @param {number} base
   * @param {number} cellHeight
   * @param {number} right
   */
  #gaps(context, buckets, base, cellHeight, right) {
    context.setLineDash([3, 3]);
    context.beginPath();
    for (let row = 1; row < buckets.length; row += 1) {
      if (!apart(buckets, row)) continue;
      const y = Math.round(base - row * cellHeight) - 0.5;
      context.moveTo(LEFT - 10, y);
      context.lineTo(right, y);
    }
    context.strokeStyle = context.fillStyle;
    context.stroke();
    context.setLineDash([]);
  }

  /** What its shades mean, in words. */
  get legend() {
    const gaps = this.view.buckets.some((_, row) => apart(this.view.buckets, row))
      ? ", broken line: empty buckets are left out"
      : "";
    return `most in a cell: ${exact(this.view.most)}${sign(this.view.unit) && `, buckets in ${sign(this.view.unit)}`}${gaps}`;
  }
}
