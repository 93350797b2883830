// Values over time, a line for each key.

import { Canvas } from "./canvas.js";
import { h } from "./dom.js";
import { count, duration, exact, tickLabel, ticks } from "./format.js";
import { keyText } from "./map_words.js";

const LEFT = 56;
const BOTTOM = 22;
const TOP = 8;
const CATEGORIES = Array.from({ length: 12 }, (_, i) => `--cat-${i}`);

/**
 * @typedef {object} LinesView
 * @property {{time: number}[]} at the moments, ascending
 * @property {{key: import("./map_words.js").KeyPart[], values: (number|string|null)[]}[]} lines a value for each moment
 * @property {boolean} [plain] not over time but over plain numbers
 * @property {(value: number) => string} [format] how values are written; numbers without
 */

/**
 * @typedef {object} Axes
 * @property {(time: number) => number} x
 * @property {(value: number) => number} y
 * @property {number} first
 * @property {number} span
 * @property {number} least
 * @property {number} most
 * @property {number} width
 * @property {number} base
 * @property {Record<string, string>} colors
 * @property {string} font
 */

/** The chart. */
export class LinesChart {
  /** @param {{readout: (text: string) => void}} parts */
  constructor(parts) {
    this.parts = parts;
    /** @type {LinesView} */
    this.view = { at: [], lines: [] };
    /** @type {Canvas|undefined} */
    this.drawing = undefined;
    this.moment = -1;
    /** @type {Map<string, number>} */
    this.categories = new Map();
    this.canvas = h("canvas", {
      class: "lines-canvas",
      tabindex: "0",
      role: "img",
      "aria-label": "Values over time. Arrow keys walk through the reads.",
    });
    this.place = h("div", { class: "lines-place" }, this.canvas);
    this.legend = h("ul", { class: "lines-legend mono" });
    this.element = h("div", { class: "lines" }, this.place, this.legend);
    this.canvas.addEventListener("pointermove", (event) => this.#go(this.#nearest(event.offsetX)));
    this.canvas.addEventListener("pointerleave", () => this.#go(-1));
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.#go(Math.max(0, Math.min(this.view.at.length - 1, this.moment + step)));
    });
  }

  /**
   * Shows another view. The element must be in the page by now.
   * @param {LinesView} view
   */
  show(view) {
    this.view = view;
    this.moment = -1;
    // By the order of names and not by the name itself: lines beside each other must differ.
    const names = view.lines.map(({ key }) => keyText(key)).toSorted();
    this.categories = new Map(names.map((name, i) => [name, i % CATEGORIES.length]));
    this.#drawLegend();
    this.drawing ??= new Canvas(this.canvas, [...CATEGORIES, "--line", "--text-quiet", "--text"], (canvas) =>
      this.#draw(canvas),
    );
    this.drawing.redraw();
  }

  #drawLegend() {
    const entries = this.view.lines.map((line) => {
      const name = keyText(line.key);
      const value = this.moment >= 0 ? line.values[this.moment] : (line.values.findLast((one) => one !== null) ?? null);
      return h(
        "li",
        { title: name },
        h("span", { class: "cut", data: { cat: String(this.categories.get(name)) }, text: name }),
        h("span", { class: "num", text: value === null || value === undefined ? "–" : this.#words(value) }),
      );
    });
    this.legend.replaceChildren(...entries);
  }

  /** @param {number|string} value */
  #words(value) {
    return this.view.format ? this.view.format(Number(value)) : exact(value);
  }

  /** @param {number} x */
  #nearest(x) {
    const { at } = this.view;
    if (at.length === 0) return -1;
    const share = (x - LEFT) / Math.max(1, (this.drawing?.width ?? 0) - LEFT);
    const time = at[0].time + share * (at[at.length - 1].time - at[0].time);
    let best = 0;
    at.forEach((one, i) => {
      if (Math.abs(one.time - time) < Math.abs(at[best].time - time)) best = i;
    });
    return best;
  }

  /** @param {number} moment */
  #go(moment) {
    this.moment = moment;
    const at = moment >= 0 ? this.view.at[moment].time : 0;
    this.parts.readout(moment < 0 ? "" : `at ${this.view.plain ? exact(at) : duration(at)}`);
    this.#drawLegend();
    this.drawing?.redraw();
  }

  /** @param {Canvas} canvas */
  #draw({ context, width, height, ratio, colors, font }) {
    const { at, lines } = this.view;
    const base = height - BOTTOM;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (at.length === 0) return;
    const values = lines
      .flatMap((line) => line.values)
      .filter((value) => value !== null)
      .map(Number);
    const most = Math.max(1, ...values);
    const least = Math.min(0, ...values);
    const first = at[0].time;
    const span = Math.max(1, at[at.length - 1].time - first);
    /** @param {number} time */
    const x = (time) => LEFT + ((time - first) / span) * (width - LEFT - 8);
    /** @param {number} value */
    const y = (value) => base - ((value - least) / (most - least)) * (base - TOP);
    this.#axes(context, { x, y, first, span, least, most, width, base, colors, font });
    for (const line of lines) {
      context.strokeStyle = colors[CATEGORIES[this.categories.get(keyText(line.key)) ?? 0]];
      context.lineWidth = 1.5;
      context.beginPath();
      let open = false;
      line.values.forEach((value, i) => {
        if (value === null) {
          open = false;
          return;
        }
        context[open ? "lineTo" : "moveTo"](x(at[i].time), y(Number(value)));
        if (at.length === 1) context.arc(x(at[i].time), y(Number(value)), 2, 0, 7);
        open = true;
      });
      context.stroke();
    }
    if (this.moment >= 0) {
      context.strokeStyle = colors["--text-quiet"];
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x(at[this.moment].time), TOP);
      context.lineTo(x(at[this.moment].time), base);
      context.stroke();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Axes} axes
   */
  #axes(context, { x, y, first, span, least, most, width, base, colors, font }) {
    context.font = font;
    context.lineWidth = 1;
    context.strokeStyle = colors["--line"];
    context.fillStyle = colors["--text-quiet"];
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.beginPath();
    for (const value of ticks(least, most, 6).at) {
      context.moveTo(LEFT, Math.round(y(value)) + 0.5);
      context.lineTo(width, Math.round(y(value)) + 0.5);
      context.fillText(this.view.format?.(value) ?? count(value), LEFT - 6, y(value));
    }
    context.stroke();
    context.textAlign = "center";
    context.textBaseline = "top";
    const marks = ticks(first, first + span, Math.max(1, Math.floor((width - LEFT) / 100)));
    for (const time of marks.at) {
      const label = this.view.plain ? count(time) : tickLabel(time, marks.step);
      const half = context.measureText(label).width / 2;
      context.fillText(label, Math.min(width - half, x(time)), base + 5);
    }
  }
}
