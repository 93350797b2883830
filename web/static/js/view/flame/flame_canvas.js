// A flame graph on a canvas, for more frames than the page can have as nodes. It is as large as what is in sight and stays there
// while the graph scrolls below it, so a frame of the screen costs what is in sight. What the pointer and the keyboard are at is
// drawn on a second canvas above, so that moving them draws two boxes.

import { CATEGORIES, FAMILIES, SHADES } from "../../lib/color.js";
import { Canvas } from "../../lib/canvas.js";
import { h, put } from "../../lib/dom.js";
import { FRAME, NOTE_MARK, TEXT_PAD, characterWidth, frameFont, frameTop, frameWidth } from "./flame_draw.js";
import { STEPS } from "./flame_colors.js";
import { fitting } from "./flame_model.js";
import { MATCH_BELOW, MATCH_SELF } from "./flame_nodes.js";

/** @import { FlameModel } from "./flame_model.js" */
/** @import { FlameLook } from "./flame_draw.js" */

const numbered = (/** @type {string} */ name, /** @type {number} */ count) =>
  Array.from({ length: count }, (_one, i) => `${name}-${i}`);
/** Classes of frames, each of which is a colour of the page. */
const CLASSES = [
  "fl-root",
  "df-same",
  ...numbered("cat", CATEGORIES),
  ...FAMILIES.flatMap((family) => numbered(`fl-${family}`, SHADES)),
  ...numbered("df-more", STEPS),
  ...numbered("df-less", STEPS),
];
const COLORS = [...CLASSES.map((name) => `--${name}`), "--on-frame", "--on-cat", "--text"];
/** How much is seen of frames below the one that is zoomed to, and of those that a search did not find, as the page's styles say. */
const ANCESTOR = 0.75;
const NO_MATCH = 0.42;
/** Widths of the line around what was found. */
const LINE = 1.6;

/**
 * @typedef {object} Paint frames that are filled alike
 * @property {string} color
 * @property {number} alpha
 * @property {number[]} frames
 */

/** The canvas. */
export class FlameCanvas {
  /** @type {FlameModel|null} */
  #model = null;
  /** @type {Paint[]} */
  #paints = [];
  /** By level from the top: frames from left to right. @type {number[][]} */
  #rows = [];
  /** Frames with a name, and the part of it that fits. @type {{i: number, text: string, ink: string, bold: boolean, alpha: number}[]} */
  #labels = [];
  /** @type {number[]} */
  #found = [];
  /** Those with notes. @type {number[]} */
  #noted = [];
  #left = new Float64Array(0);
  #wide = new Float64Array(0);
  #top = new Float64Array(0);
  #current = -1;
  #over = -1;
  #offset = 0;

  /** @param {import("./flame_picture.js").FlamePicture} picture */
  constructor(picture) {
    this.stage = picture.stage;
    this.owner = picture.owner;
    this.element = h("canvas", {
      class: "flame-canvas",
      tabindex: "0",
      role: "application",
      "aria-label": picture.label,
    });
    const marks = h("canvas", { class: "flame-marks", "aria-hidden": "true" });
    this.window = h("div", { class: "flame-window" }, this.element, marks);
    put(this.stage, this.window);
    this.scroller = this.stage.closest(".flame-scroll, .between-graphs") ?? this.stage;
    this.base = new Canvas(this.element, COLORS, () => this.#paint());
    this.marks = new Canvas(marks, ["--text", "--accent"], () => this.#paintMarks());
    picture.listen(this.element, (event) => this.#index(event));
    this.element.addEventListener("pointermove", (event) => this.#hover(this.#index(event)));
    this.element.addEventListener("pointerleave", () => this.#hover(-1));
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#fit()).observe(this.scroller);
  }

  /**
   * Draws a graph.
   * @param {FlameModel} model
   * @param {number} width pixels
   * @param {FlameLook} look
   */
  show(model, width, look) {
    this.#model = model;
    this.#over = -1;
    this.#arrange(model, width, look);
    this.#fit();
    this.base.redraw();
    this.marks.redraw();
  }

  /** Forgets the graph. */
  clear() {
    this.#model = null;
    this.#paints = [];
    this.#labels = [];
    this.#found = [];
    this.#noted = [];
    this.#rows = [];
  }

  /** @param {number} i */
  mark(i) {
    this.#current = i;
    this.marks.redraw();
  }

  /** @param {number} i */
  box(i) {
    if (!this.#model || i < 0 || i >= this.#model.count) return null;
    const { left, top } = this.window.getBoundingClientRect();
    const y = top + this.#top[i] - this.#offset;
    return new DOMRect(left + this.#left[i], y, this.#wide[i], FRAME);
  }

  /** As much as is in sight, where it is in sight. */
  #fit() {
    const height = Math.min(this.stage.clientHeight, this.scroller.clientHeight);
    this.window.style.height = `${height}px`;
    this.#scrolled();
  }

  #scrolled() {
    if (!this.#model) return;
    const offset = Math.max(0, this.window.getBoundingClientRect().top - this.stage.getBoundingClientRect().top);
    if (offset === this.#offset) return;
    this.#offset = offset;
    this.base.redraw();
    this.marks.redraw();
  }

  /**
   * Says once where each frame is and how it is filled.
   * @param {FlameModel} model
   * @param {number} width
   * @param {FlameLook} look
   */
  #arrange(model, width, { down, searching, color, noted }) {
    const { count, nodes } = model;
    this.#left = new Float64Array(count);
    this.#wide = new Float64Array(count);
    this.#top = new Float64Array(count);
    this.#rows = Array.from({ length: model.maxDepth + 1 }, () => []);
    this.#labels = [];
    this.#found = [];
    this.#noted = [];
    /** @type {Map<string, Paint>} */
    const paints = new Map();
    for (let i = 0; i < count; i += 1) {
      const [left, share] = model.place(i);
      const wide = frameWidth(share * width);
      this.#left[i] = left * width;
      this.#wide[i] = wide;
      this.#top[i] = frameTop(model, i, down);
      this.#rows[this.#top[i] / FRAME].push(i);
      const found = searching && (nodes.match[i] & (MATCH_SELF | MATCH_BELOW)) !== 0;
      const alpha = (model.isAncestor(i) ? ANCESTOR : 1) * (searching && !found ? NO_MATCH : 1);
      const name = color(i);
      const key = `${name} ${alpha}`;
      const paint = paints.get(key) ?? { color: `--${name}`, alpha, frames: [] };
      paint.frames.push(i);
      paints.set(key, paint);
      if (found) this.#found.push(i);
      if (noted?.(i)) this.#noted.push(i);
      const text = fitting(model.name(i), wide - TEXT_PAD * 2, characterWidth());
      const bold = searching && (nodes.match[i] & MATCH_SELF) !== 0;
      if (text) this.#labels.push({ i, text, ink: name.startsWith("cat-") ? "--on-cat" : "--on-frame", bold, alpha });
    }
    this.#paints = [...paints.values()];
  }

  #paint() {
    const { context: ctx, width, height, ratio, colors } = this.base;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    if (!this.#model) return;
    const [first, last] = [this.#offset - FRAME, this.#offset + height];
    const isSeen = (/** @type {number} */ i) => this.#top[i] > first && this.#top[i] < last;
    for (const { color, alpha, frames } of this.#paints) {
      ctx.globalAlpha = alpha;
      ctx.fillStyle = colors[color] ?? colors["--fl-unresolved-0"];
      for (const i of frames)
        if (isSeen(i)) ctx.fillRect(this.#left[i], this.#top[i] - this.#offset, this.#wide[i], FRAME - 1);
    }
    ctx.globalAlpha = 1;
    this.#paintFound(isSeen);
    this.#paintNoted(isSeen);
    ctx.textBaseline = "alphabetic";
    let [ink, bold] = ["", false];
    ctx.font = frameFont();
    for (const label of this.#labels) {
      if (!isSeen(label.i)) continue;
      if (label.ink !== ink) ctx.fillStyle = colors[(ink = label.ink)];
      if (label.bold !== bold) ctx.font = frameFont((bold = label.bold));
      ctx.globalAlpha = label.alpha;
      ctx.fillText(label.text, this.#left[label.i] + TEXT_PAD, this.#top[label.i] - this.#offset + FRAME - 5.5);
    }
    ctx.globalAlpha = 1;
  }

  /** @param {(i: number) => boolean} isSeen */
  #paintFound(isSeen) {
    const { context: ctx, colors } = this.base;
    ctx.strokeStyle = colors["--text"];
    for (const bits of [MATCH_BELOW, MATCH_SELF]) {
      const own = bits === MATCH_SELF;
      ctx.lineWidth = own ? LINE : 1;
      ctx.setLineDash(own ? [] : [2, 2]);
      ctx.beginPath();
      for (const i of this.#found) {
        if ((((this.#model?.nodes.match[i] ?? 0) & MATCH_SELF) !== 0) === own && isSeen(i))
          ctx.rect(this.#left[i], this.#top[i] - this.#offset, this.#wide[i], FRAME - 1);
      }
      ctx.stroke();
    }
    ctx.setLineDash([]);
  }

  /** @param {(i: number) => boolean} isSeen */
  #paintNoted(isSeen) {
    const { context: ctx, colors } = this.base;
    ctx.fillStyle = colors["--text"];
    for (const i of this.#noted) {
      if (!isSeen(i)) continue;
      const [right, top] = [this.#left[i] + this.#wide[i], this.#top[i] - this.#offset];
      ctx.beginPath();
      ctx.moveTo(right - Math.min(NOTE_MARK, this.#wide[i]), top);
      ctx.lineTo(right, top);
      ctx.lineTo(right, top + NOTE_MARK);
      ctx.fill();
    }
  }

  #paintMarks() {
    const { context: ctx, width, height, ratio, colors } = this.marks;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    for (const [i, color, line] of /** @type {const} */ ([
      [this.#over, "--text", 1],
      [this.#current, "--accent", 2],
    ])) {
      if (!this.#model || i < 0 || i >= this.#model.count) continue;
      ctx.strokeStyle = colors[color];
      ctx.lineWidth = line;
      ctx.strokeRect(this.#left[i], this.#top[i] - this.#offset, this.#wide[i], FRAME - 1);
    }
  }

  /**
   * The frame at a place; -1 for none.
   * @param {MouseEvent} event
   */
  #index({ clientX, clientY }) {
    const { left, top } = this.window.getBoundingClientRect();
    const [x, y] = [clientX - left, clientY - top + this.#offset];
    const row = this.#rows[Math.floor(y / FRAME)] ?? [];
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#left[row[middle]] <= x) low = middle + 1;
      else high = middle;
    }
    const i = row[low - 1] ?? -1;
    // Gaps between frames are less than a pixel.
    return i >= 0 && x <= this.#left[i] + Math.max(1, this.#wide[i] + 0.6) ? i : -1;
  }

  /** @param {number} i */
  #hover(i) {
    if (i === this.#over) return;
    this.#over = i;
    this.element.style.cursor = i >= 0 ? "pointer" : "";
    this.marks.redraw();
    if (i >= 0) this.owner.tell(i);
  }
}
