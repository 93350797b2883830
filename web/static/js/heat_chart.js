// A heat map: snapshots from left to right, buckets from bottom to top, a shade for how many came in.

import { Canvas } from "./canvas.js";
import { h } from "./dom.js";
import { duration, exact, plural, tickLabel, ticks } from "./format.js";
import { bucket, limit, shade } from "./map_words.js";

const LEFT = 64;
const BOTTOM = 22;
const STEPS = 16;
const CELL_HEIGHT = 24;

/** Whether buckets without anything were left out below this one. */
const apart = (buckets, row) => row > 0 && String(buckets[row - 1][1]) !== String(buckets[row][0]);

/** The chart. */
export class HeatChart {
  /** @param {{readout: (text: string) => void, chosen: (snapshot: number) => void}} parts */
  constructor(parts) {
    this.parts = parts;
    this.view = { buckets: [], columns: [], most: 0 };
    this.at = null;
    this.canvas = h("canvas", { class: "heat-canvas", tabindex: "0", role: "img", "aria-label": "Heat map. Arrow keys walk through its cells, Enter shows the histogram of one read." });
    this.element = h("div", { class: "heat" }, this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.#go(this.#cell(event)));
    this.canvas.addEventListener("pointerleave", () => this.#go(null));
    this.canvas.addEventListener("click", (event) => this.#choose(this.#cell(event)));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Shows another view. The element must be in the page by now. */
  show(view) {
    this.view = view;
    this.at = null;
    // No higher than its cells need, so that what is said of it stands right below.
    this.element.style.maxHeight = `${Math.max(2, view.buckets.length) * CELL_HEIGHT + BOTTOM + 1}px`;
    this.drawing ??= new Canvas(this.canvas, ["--accent", "--bg", "--line", "--text-quiet", "--text"], (canvas) => this.#draw(canvas));
    this.drawing.redraw();
  }

  get #size() {
    const { width, height } = this.drawing;
    const { columns, buckets } = this.view;
    return { cellWidth: Math.min(64, (width - LEFT - 1) / Math.max(1, columns.length)), cellHeight: Math.min(CELL_HEIGHT, (height - BOTTOM - 1) / Math.max(1, buckets.length)), base: height - BOTTOM };
  }

  #cell(event) {
    const { cellWidth, cellHeight, base } = this.#size;
    const column = Math.floor((event.offsetX - LEFT) / cellWidth);
    const row = Math.floor((base - event.offsetY) / cellHeight);
    return this.view.columns[column] && this.view.buckets[row] ? { column, row } : null;
  }

  #go(at) {
    this.at = at;
    this.drawing?.redraw();
    if (!at) return this.parts.readout("");
    const column = this.view.columns[at.column];
    const [low, high] = this.view.buckets[at.row];
    this.parts.readout(`at ${duration(column.time)}, ${bucket(low, high)}: ${plural(column.counts[at.row], "value")}`);
  }

  #choose(at) {
    if (at) this.parts.chosen(this.view.columns[at.column].snapshot);
  }

  #key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "Enter") this.#choose(this.at);
    else if (step) {
      const within = (value, most) => Math.max(0, Math.min(most - 1, value));
      const { column, row } = this.at ?? { column: -step[0], row: -step[1] };
      this.#go({ column: within(column + step[0], this.view.columns.length), row: within(row + step[1], this.view.buckets.length) });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #draw({ context, width, height, ratio, colors, font }) {
    const { columns, buckets, most } = this.view;
    const { cellWidth, cellHeight, base } = this.#size;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = colors["--accent"];
    columns.forEach(({ counts }, column) => counts.forEach((value, row) => {
      const depth = shade(value, most, STEPS);
      if (depth === 0) return;
      context.globalAlpha = 0.08 + (0.92 * depth) / STEPS;
      const gap = cellWidth > 4 ? 1 : 0;
      context.fillRect(LEFT + column * cellWidth, base - (row + 1) * cellHeight, cellWidth - gap, cellHeight - (cellHeight > 4 ? 1 : 0));
    }));
    context.globalAlpha = 1;
    this.#axes(context, { columns, buckets, cellWidth, cellHeight, base, width, colors, font });
    if (this.at) {
      context.strokeStyle = colors["--text"];
      context.strokeRect(LEFT + this.at.column * cellWidth - 0.5, base - (this.at.row + 1) * cellHeight - 0.5, cellWidth + 1, cellHeight + 1);
    }
  }

  #axes(context, { columns, buckets, cellWidth, cellHeight, base, width, colors, font }) {
    context.font = font;
    context.fillStyle = colors["--text-quiet"];
    context.strokeStyle = colors["--line"];
    context.beginPath();
    context.moveTo(LEFT - 0.5, 0);
    context.lineTo(LEFT - 0.5, base + 0.5);
    context.lineTo(width, base + 0.5);
    context.stroke();
    this.#gaps(context, buckets, base, cellHeight, LEFT + columns.length * cellWidth);
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(16 / cellHeight));
    for (let row = 0; row < buckets.length; row += every) context.fillText(limit(buckets[row][0]), LEFT - 6, base - row * cellHeight - cellHeight / 2);
    if (columns.length === 0) return;
    context.textAlign = "center";
    context.textBaseline = "top";
    const first = columns[0].time;
    const last = columns.at(-1).time;
    const marks = ticks(first, Math.max(last, first + 1), Math.max(1, Math.floor((columns.length * cellWidth) / 90)));
    for (const at of marks.at) {
      const x = LEFT + ((at - first) / Math.max(1, last - first)) * (columns.length - 1) * cellWidth + cellWidth / 2;
      context.fillText(tickLabel(at, marks.step), x, base + 5);
    }
  }

  /** Buckets without anything are not there; a broken line says where. */
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
    const earlier = this.view.earlier > 0 ? `, ${plural(this.view.earlier, "earlier read")} not shown` : "";
    const gaps = this.view.buckets.some((_, row) => apart(this.view.buckets, row)) ? ", broken line: empty buckets are left out" : "";
    return `darkest: ${exact(this.view.most)} values${gaps}${earlier}`;
  }
}
