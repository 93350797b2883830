// A canvas as large as its place, in device pixels, drawn again when its size or the colours change.

import { resolved } from "./color.js";
import { framed } from "./dom.js";
import { themeEvents } from "./theme.js";

/** Texts whose widths a canvas keeps. */
const MOST_WIDTHS = 20_000;

/** A canvas that knows when it must be drawn. */
export class Canvas {
  /**
   * @param {HTMLCanvasElement} element
   * @param {string[]} colors custom properties to resolve
   * @param {(canvas: Canvas) => void} draw
   */
  constructor(element, colors, draw) {
    const place = element.parentElement;
    const context = element.getContext("2d");
    if (!place || !context) throw new Error("a canvas is drawn in its place on the page");
    this.place = place;
    this.element = element;
    this.context = context;
    this.width = 0;
    this.height = 0;
    this.ratio = 1;
    this.names = colors;
    this.colors = resolved(colors);
    this.font = "12px sans-serif";
    /** @type {Map<string, number>} */
    this.widths = new Map();
    this.redraw = framed(() => {
      if (this.width > 0 && this.height > 0) draw(this);
    });
    new ResizeObserver(() => this.#measure()).observe(place);
    themeEvents.addEventListener("change", () => {
      this.colors = resolved(this.names);
      this.redraw();
    });
    this.#measure();
  }

  /**
   * How wide a text is in the canvas's font: measuring costs as much as drawing, and the same texts are drawn in each frame.
   * @param {string} text
   */
  widthOf(text) {
    const known = this.widths.get(text);
    if (known !== undefined) return known;
    if (this.widths.size >= MOST_WIDTHS) this.widths.clear();
    const wide = this.context.measureText(text).width;
    this.widths.set(text, wide);
    return wide;
  }

  #measure() {
    const { clientWidth, clientHeight } = this.place;
    const ratio = window.devicePixelRatio || 1;
    if (clientWidth === this.width && clientHeight === this.height && ratio === this.ratio) return;
    Object.assign(this, { width: clientWidth, height: clientHeight, ratio });
    this.element.width = Math.round(clientWidth * ratio);
    this.element.height = Math.round(clientHeight * ratio);
    this.element.style.width = `${clientWidth}px`;
    this.element.style.height = `${clientHeight}px`;
    this.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    this.widths.clear();
    this.element.dispatchEvent(new Event("measured"));
    this.redraw();
  }
}

/**
 * Slanted stripes, so that a loss is not told by colour alone.
 * @param {CanvasRenderingContext2D} context
 * @param {string} color
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function hatch(context, color, x, y, width, height) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = color;
  context.lineWidth = 1.2;
  context.beginPath();
  for (let at = x - height - ((x - height) % 6); at < x + width; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

/**
 * A selected range: a tint between two lines.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {number} left
 * @param {number} right
 * @param {number} height
 * @param {number} [top]
 */
export function drawSelection(ctx, colors, left, right, height, top = 0) {
  ctx.fillStyle = colors["--selection"];
  ctx.fillRect(left, top, right - left, height);
  ctx.fillStyle = colors["--accent"];
  ctx.fillRect(left - 0.5, top, 1, height);
  ctx.fillRect(right - 0.5, top, 1, height);
}

/**
 * As much of a text as fits, with `…` where it was cut; nothing where not even a letter fits.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} most pixels
 * @param {(text: string) => number} [widthOf] how wide a text is
 */
export function cutText(ctx, text, most, widthOf = (one) => ctx.measureText(one).width) {
  const wide = widthOf(text);
  if (wide <= most) return text;
  let length = Math.max(0, Math.floor((most / wide) * text.length));
  while (length > 0 && widthOf(`${text.slice(0, length)}…`) > most) length -= 1;
  return length > 0 ? `${text.slice(0, length)}…` : "";
}
