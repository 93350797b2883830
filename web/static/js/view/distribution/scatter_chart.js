// Single rows by time and value: a dot each. A press opens the nearest row; a drag selects time and values; arrows walk from row to
// row in the order of time, up and down in that of values.

import { BOTTOM, LEFT, sideLabels, timeAxis } from "../../lib/canvas_axes.js";
import { Canvas } from "../../lib/canvas.js";
import { h, s } from "../../lib/dom.js";
import { dragBox } from "../../lib/drag_box.js";

const TOP = 8;
const RADIUS = 2.5;
/** How near the pointer must be to a dot, in pixels. */
const REACH = 12;

/**
 * @typedef {object} Dots
 * @property {{start: number, end: number}} window
 * @property {number[]} times
 * @property {number[]} values
 * @property {boolean} isLog whether values are by powers
 * @property {(value: number) => string} text
 */
/** @typedef {{start: number, end: number, low: number, high: number}} DotBox times and values */

/** The chart. */
export class ScatterChart {
  /**
   * @param {object} parts
   * @param {(dot: number|null) => void} parts.at
   * @param {(dot: number) => void} parts.chosen
   * @param {(box: DotBox|null) => void} parts.preview
   * @param {(box: DotBox) => void} parts.select
   */
  constructor(parts) {
    this.parts = parts;
    /** @type {Dots} */
    this.dots = { window: { start: 0, end: 1 }, times: [], values: [], isLog: true, text: String };
    /** @type {number|null} */
    this.at = null;
    /** @type {DotBox|null} */
    this.box = null;
    /** @type {Canvas|undefined} */
    this.drawing = undefined;
    /** @type {number[]} Dots in the order of their values. */
    this.ranked = [];
    this.canvas = h("canvas", {
      class: "heat-canvas",
      tabindex: "0",
      role: "img",
      "aria-label":
        "Single rows: time from left to right, values from bottom to top. Left and right walk in the order of time, up and down in that of values, Enter opens the row.",
    });
    this.element = h("div", { class: "heat spread-scatter" }, this.canvas);
    dragBox(this.canvas, {
      accepts: ({ x }) => x >= LEFT,
      hover: (point) => this.#go(point && this.#nearest(point)),
      preview: (from, to) => {
        this.box = this.#boxOf(from, to);
        this.drawing?.redraw();
        this.parts.preview(this.box);
      },
      done: (from, to) => {
        const box = this.#boxOf(from, to);
        this.#clear();
        this.parts.select(box);
      },
      given_up: () => this.#clear(),
      click: (point) => {
        const dot = this.#nearest(point);
        if (dot === null) return;
        this.#go(dot);
        this.parts.chosen(dot);
      },
    });
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /**
   * Shows other rows. The element must be in the page by now.
   * @param {Dots} dots
   */
  show(dots) {
    this.dots = dots;
    this.at = null;
    this.ranked = dots.values.map((_one, i) => i).toSorted((a, b) => dots.values[a] - dots.values[b] || a - b);
    this.drawing ??= new Canvas(
      this.canvas,
      ["--accent", "--bg", "--line", "--selection", "--text-quiet", "--text"],
      (canvas) => this.#draw(canvas),
    );
    this.drawing.redraw();
  }

  get #base() {
    return (this.drawing?.height ?? 0) - BOTTOM;
  }

  get #wide() {
    return Math.max(1, (this.drawing?.width ?? 0) - LEFT - 8);
  }

  /** The least and the greatest value, as they are placed. */
  get #extremes() {
    const { values } = this.dots;
    const [least, most] = [values[this.ranked[0]] ?? 0, values[this.ranked[this.ranked.length - 1]] ?? 1];
    const [low, high] = [this.#scaled(least), this.#scaled(most)];
    return high > low ? { low, high } : { low: low - 0.5, high: high + 0.5 };
  }

  /** @param {number} value */
  #scaled(value) {
    return this.dots.isLog ? Math.sign(value) * Math.log2(1 + Math.abs(value)) : value;
  }

  /** @param {number} place */
  #unscaled(place) {
    return this.dots.isLog ? Math.sign(place) * (2 ** Math.abs(place) - 1) : place;
  }

  /** @param {number} time */
  #x(time) {
    const { start, end } = this.dots.window;
    return LEFT + ((time - start) / Math.max(1, end - start)) * this.#wide;
  }

  /**
   * @param {number} value
   * @param {{low: number, high: number}} extremes
   */
  #y(value, { low, high }) {
    return TOP + (this.#base - TOP - RADIUS) * (1 - (this.#scaled(value) - low) / (high - low));
  }

  /** @param {import("../../lib/drag_box.js").PlacePoint} point */
  #nearest({ x, y }) {
    const extremes = this.#extremes;
    let [best, least] = [/** @type {number|null} */ (null), REACH * REACH];
    this.dots.times.forEach((time, i) => {
      const across = this.#x(time) - x;
      if (Math.abs(across) > REACH) return;
      const away = across ** 2 + (this.#y(this.dots.values[i], extremes) - y) ** 2;
      if (away < least) [best, least] = [i, away];
    });
    return best;
  }

  /**
   * @param {import("../../lib/drag_box.js").PlacePoint} a
   * @param {import("../../lib/drag_box.js").PlacePoint} b
   * @returns {DotBox}
   */
  #boxOf(a, b) {
    const { start, end } = this.dots.window;
    const { low, high } = this.#extremes;
    const time = (/** @type {number} */ x) =>
      start + (Math.max(0, Math.min(this.#wide, x - LEFT)) / this.#wide) * (end - start);
    const value = (/** @type {number} */ y) => {
      const share = 1 - (y - TOP) / (this.#base - TOP - RADIUS);
      return this.#unscaled(low + Math.max(-0.01, Math.min(1.01, share)) * (high - low));
    };
    const [times, values] = [
      [time(a.x), time(b.x)].toSorted((one, other) => one - other),
      [value(a.y), value(b.y)].toSorted((one, other) => one - other),
    ];
    return {
      start: Math.floor(times[0]),
      end: Math.ceil(times[1]) + 1,
      low: Math.floor(values[0]),
      high: Math.ceil(values[1]) + 1,
    };
  }

  /** @param {number|null} dot */
  #go(dot) {
    this.at = dot;
    this.drawing?.redraw();
    this.parts.at(dot);
  }

  #clear() {
    this.box = null;
    this.drawing?.redraw();
    this.parts.preview(null);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || this.dots.times.length === 0) return;
    const last = this.dots.times.length - 1;
    const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const within = (/** @type {number} */ i) => Math.max(0, Math.min(last, i));
    if (event.key === "Enter" && this.at !== null) this.parts.chosen(this.at);
    // Up from nothing is the greatest value: an outlier is one key away.
    else if (up)
      this.#go(this.ranked[this.at === null ? (up > 0 ? last : 0) : within(this.ranked.indexOf(this.at) + up)]);
    else if (across) this.#go(this.at === null ? (across > 0 ? 0 : last) : within(this.at + across));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Values that are marked at the side. */
  get #marks() {
    const { low, high } = this.#extremes;
    const many = Math.max(2, Math.floor((this.#base - TOP) / 40));
    return Array.from({ length: many + 1 }, (_one, i) => {
      const value = this.#unscaled(low + ((high - low) * i) / many);
      return { y: TOP + (this.#base - TOP - RADIUS) * (1 - i / many), text: this.dots.text(Math.round(value)) };
    });
  }

  /** @param {Canvas} canvas */
  #draw({ context, width, height, ratio, colors, font }) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const extremes = this.#extremes;
    context.fillStyle = colors["--accent"];
    context.globalAlpha = this.dots.times.length > 2000 ? 0.5 : 0.8;
    context.beginPath();
    this.dots.times.forEach((time, i) => {
      const [x, y] = [this.#x(time), this.#y(this.dots.values[i], extremes)];
      context.moveTo(x + RADIUS, y);
      context.arc(x, y, RADIUS, 0, 2 * Math.PI);
    });
    context.fill();
    context.globalAlpha = 1;
    const place = (/** @type {number} */ time) => this.#x(time);
    timeAxis(context, this.dots.window, { width, base: this.#base, place, colors, font });
    sideLabels(context, this.#marks, colors["--text-quiet"]);
    if (this.box) {
      const [left, right] = [this.#x(this.box.start), this.#x(this.box.end)];
      const [bottom, top] = [this.#y(this.box.low, extremes), this.#y(this.box.high, extremes)];
      context.fillStyle = colors["--selection"];
      context.fillRect(left, top, right - left, bottom - top);
      context.strokeStyle = colors["--accent"];
      context.strokeRect(left + 0.5, top + 0.5, Math.max(1, right - left - 1), Math.max(1, bottom - top - 1));
    }
    if (this.at !== null) {
      context.strokeStyle = colors["--text"];
      context.lineWidth = 2;
      context.beginPath();
      context.arc(this.#x(this.dots.times[this.at]), this.#y(this.dots.values[this.at], extremes), RADIUS + 3, 0, 7);
      context.stroke();
      context.lineWidth = 1;
    }
  }

  /** The same as SVG. */
  get svg() {
    const { width, height } = this.drawing ?? { width: 0, height: 0 };
    const colors = this.drawing?.colors ?? {};
    const extremes = this.#extremes;
    const dots = this.dots.times.map((time, i) =>
      s("circle", {
        cx: this.#x(time).toFixed(2),
        cy: this.#y(this.dots.values[i], extremes).toFixed(2),
        r: RADIUS,
        fill: colors["--accent"],
        "fill-opacity": 0.7,
      }),
    );
    const marks = this.#marks.map(({ y, text }) =>
      s("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end", fill: colors["--text-quiet"], text }),
    );
    return { width, height, base: this.#base, left: LEFT, children: [...dots, ...marks], window: this.dots.window };
  }
}
