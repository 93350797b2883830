// A histogram, its shares or what is cumulated, as SVG: buckets from left to right, a line or bars for each group. A press on a
// bucket or a drag over several selects them; so do arrows, with Shift for several, and Enter.

import { h, put, s } from "../../lib/dom.js";
import { dragBox } from "../../lib/drag_box.js";
import { count, percent } from "../../lib/format.js";

const LEFT = 56;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 24;

/**
 * @typedef {object} PlotGroup
 * @property {string} name
 * @property {number|null} cat its colour; none for all rows
 * @property {number[]} heights of its buckets
 */
/**
 * What is drawn.
 * @typedef {object} Plot
 * @property {PlotGroup[]} groups
 * @property {number} buckets how many there are
 * @property {number} most the greatest height
 * @property {string[]} edges where each bucket begins, and where the last ends, in words
 * @property {"rows"|"log"|"share"|"cumulative"} curve
 */

/** The plot. */
export class HistogramPlot {
  /**
   * @param {object} parts
   * @param {string} parts.label
   * @param {(bucket: number|null) => void} parts.at the bucket that the pointer or the cursor is on
   * @param {(first: number, last: number) => void} parts.preview
   * @param {(first: number, last: number) => void} parts.select
   */
  constructor(parts) {
    this.parts = parts;
    /** @type {Plot} */
    this.plot = { groups: [], buckets: 0, most: 1, edges: [], curve: "rows" };
    /** @type {number|null} */
    this.at = null;
    /** @type {number|null} */
    this.anchor = null;
    this.lines = s("g");
    this.axes = s("g", { class: "plot-axes" });
    this.mark = s("rect", { class: "plot-mark" });
    this.svg = s(
      "svg",
      { class: "plot", tabindex: "0", role: "img", "aria-label": parts.label },
      this.lines,
      this.axes,
      this.mark,
    );
    this.element = h("div", { class: "plot-place" }, this.svg);
    dragBox(this.svg, {
      accepts: ({ x }) => x >= LEFT && this.plot.buckets > 0,
      hover: (point) => this.#go(point && this.#bucket(point.x)),
      preview: (from, to) => this.#between(this.#near(from.x), this.#near(to.x)),
      done: (from, to) => this.#select(this.#near(from.x), this.#near(to.x)),
      given_up: () => this.#go(null),
      click: ({ x }) => this.#select(this.#near(x), this.#near(x)),
    });
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** @param {Plot} plot */
  show(plot) {
    if (plot.buckets !== this.plot.buckets) this.at = null;
    this.anchor = null;
    this.plot = plot;
    this.draw();
  }

  get #size() {
    const { clientWidth: width, clientHeight: height } = this.element;
    return { width, height, wide: Math.max(1, width - LEFT - RIGHT), high: Math.max(1, height - TOP - BOTTOM) };
  }

  /** @param {number} edge */
  #x(edge) {
    return LEFT + (edge / Math.max(1, this.plot.buckets)) * this.#size.wide;
  }

  /** @param {number} value */
  #y(value) {
    const { high } = this.#size;
    return TOP + high * (1 - value / this.plot.most);
  }

  /** Draws it in the size that its place has. */
  draw() {
    const { width, height, high } = this.#size;
    if (width === 0 || height === 0) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const base = TOP + high;
    const { groups, buckets } = this.plot;
    put(
      this.lines,
      ...groups.map(({ heights, cat }) => {
        const steps = heights.map((value, i) => {
          const y = this.#y(value).toFixed(2);
          return `${i === 0 ? `M${LEFT} ${base}` : ""}V${y}H${this.#x(i + 1).toFixed(2)}`;
        });
        return s("path", {
          class: cat === null ? "plot-all" : `plot-group plot-cat-${cat}`,
          d: buckets > 0 ? `${steps.join("")}V${base}${cat === null ? "Z" : ""}` : "",
        });
      }),
    );
    this.#drawAxes(base);
    this.#drawMark();
  }

  /** @param {number} base */
  #drawAxes(base) {
    const { width } = this.#size;
    const { edges, most, curve, buckets } = this.plot;
    const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words, anchor = "middle") =>
      s("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, text: words });
    const marks = curve === "log" ? powers(most) : parts(most);
    // No two labels over each other, whatever they say.
    const longest = Math.max(4, ...edges.map((edge) => edge.length));
    const every = Math.max(1, Math.ceil((buckets * (longest * 6.5 + 10)) / Math.max(1, width - LEFT)));
    const labels = [];
    for (let edge = 0; edge <= buckets && buckets > 0; edge += every)
      labels.push(text(this.#x(edge), base + 16, edges[edge], edge === 0 ? "start" : "middle"));
    put(
      this.axes,
      s("path", { d: `M${LEFT - 0.5} ${TOP}V${base + 0.5}H${width - RIGHT}` }),
      ...marks.map((value) => {
        const words =
          curve === "log" ? count(Math.round(10 ** value) - 1) : curve === "rows" ? count(value) : percent(value, 1);
        return text(LEFT - 6, this.#y(value) + 4, words, "end");
      }),
      ...labels,
    );
  }

  #drawMark() {
    const { first, last } = this.marked ?? { first: -1, last: -1 };
    const { high } = this.#size;
    const left = this.#x(first);
    this.mark.setAttribute("x", left.toFixed(2));
    this.mark.setAttribute("y", String(TOP));
    this.mark.setAttribute("height", String(high));
    this.mark.setAttribute("width", first < 0 ? "0" : Math.max(2, this.#x(last + 1) - left).toFixed(2));
  }

  /** What is under the cursor, or selected with it. */
  get marked() {
    if (this.at === null) return null;
    const other = this.anchor ?? this.at;
    return { first: Math.min(this.at, other), last: Math.max(this.at, other) };
  }

  /**
   * The bucket at a place; null beside all.
   * @param {number} x
   */
  #bucket(x) {
    return x < LEFT || x > this.#x(this.plot.buckets) || this.plot.buckets === 0 ? null : this.#near(x);
  }

  /** @param {number} x */
  #near(x) {
    const at = Math.floor(((x - LEFT) / this.#size.wide) * this.plot.buckets);
    return Math.max(0, Math.min(this.plot.buckets - 1, at));
  }

  /** @param {number|null} bucket */
  #go(bucket) {
    this.anchor = null;
    this.at = bucket;
    this.#drawMark();
    this.parts.at(bucket);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #between(from, to) {
    this.anchor = from;
    this.at = to;
    this.#drawMark();
    this.parts.preview(Math.min(from, to), Math.max(from, to));
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #select(from, to) {
    this.#go(to);
    this.parts.select(Math.min(from, to), Math.max(from, to));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || this.plot.buckets === 0) return;
    const last = this.plot.buckets - 1;
    const at = this.at ?? -1;
    const to = { ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(last, at + 1), Home: 0, End: last }[event.key];
    if (to !== undefined && event.shiftKey) this.#between(this.anchor ?? Math.max(0, at), to);
    else if (to !== undefined) this.#go(to);
    else if (event.key === "Enter" && this.marked) this.#select(this.marked.first, this.marked.last);
    else if (event.key === "Escape" && this.anchor !== null) this.#go(this.at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @param {number} most */
const parts = (most) => (most > 0 ? [0, most > 1 ? Math.round(most / 2) : most / 2, most] : [0]);

/**
 * Marks at powers of ten.
 * @param {number} most the logarithm of the greatest
 */
const powers = (most) => Array.from({ length: Math.floor(most) + 1 }, (_one, i) => i);
