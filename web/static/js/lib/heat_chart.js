// A heat map: time from left to right, rows from bottom to top, a shade for what each cell holds. A drag selects time alone, time
// and rows at once, or from a cell on to a later one where rows are parts of their column's time.

import { BOTTOM, LEFT, sideLabels, timeAxis } from "./canvas_axes.js";
import { Canvas, hatch } from "./canvas.js";
import { h, s } from "./dom.js";
import { dragBox } from "./drag_box.js";
import { opacityOf, shadeOf, shadeWords } from "./heat_shades.js";

/** @typedef {{column: number, row: number}} HeatCell */
/** @typedef {{from: HeatCell, to: HeatCell}} HeatSelection the first and the last cell, columns and rows ascending or in time order */
/**
 * What a drag selects: columns with all rows, columns and rows, or from one cell on to another.
 * @typedef {"columns"|"box"|"flow"} HeatDrag
 */
/**
 * What is drawn.
 * @typedef {object} HeatPicture
 * @property {{start: number, end: number}} window the time that the width stands for
 * @property {{from: number, to: number}[]} columns ascending
 * @property {{label: string, apart?: boolean}[]} rows the lowest first; `apart`: rows without anything are left out below it
 * @property {ArrayLike<number>} values column by column; NaN where nothing is known
 * @property {number[]} limits the greatest value of each shade
 * @property {(value: number) => string} text a value in the legend
 * @property {boolean} [whole] whether values are whole numbers
 * @property {string} [nothing] what a cell without a shade holds, in the legend
 * @property {string} [about] what the shades are of, in the legend
 */

const CELL_HEIGHT = 24;
/** The most room that names get at the left. */
const MOST_LEFT = 260;
/** @type {Record<string, [columns: number, rows: number]>} Columns and rows that an arrow key goes on by. */
const STEPS_OF_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** @type {HeatPicture} */
const NOTHING = {
  window: { start: 0, end: 1 },
  columns: [],
  rows: [],
  values: [],
  limits: [],
  text: String,
  whole: true,
};

/** The chart. */
export class HeatChart {
  /**
   * @param {object} parts
   * @param {string} parts.label what it is, for those who do not see it
   * @param {HeatDrag} parts.drag
   * @param {(cell: HeatCell|null) => void} parts.at the cell that the pointer or the cursor is on
   * @param {(cell: HeatCell) => void} parts.chosen a click or Enter
   * @param {(selection: HeatSelection) => void} parts.select
   * @param {(selection: HeatSelection|null) => void} parts.preview while a selection is made
   * @param {boolean} [parts.hasNames] whether rows are called by names, which take more room than numbers
   */
  constructor(parts) {
    this.parts = parts;
    this.drag = parts.drag;
    this.picture = NOTHING;
    /** @type {HeatCell|null} */
    this.at = null;
    /** @type {HeatCell|null} Where a selection began. */
    this.anchor = null;
    /** @type {HeatSelection|null} */
    this.selection = null;
    /** @type {{picture: HeatPicture, look: string, image: HTMLCanvasElement}|undefined} */
    this.drawn = undefined;
    /** @type {Canvas|undefined} */
    this.drawing = undefined;
    this.canvas = h("canvas", { class: "heat-canvas", tabindex: "0", role: "img", "aria-label": parts.label });
    this.element = h("div", { class: "heat" }, this.canvas);
    dragBox(this.canvas, {
      accepts: ({ x }) => x >= this.#left,
      hover: (point) => this.#go(point && this.#cell(point)),
      preview: (from, to) => this.#between(this.#near(from), this.#near(to)),
      done: () => this.#select(),
      given_up: () => this.#clear(),
      click: (point) => {
        const cell = this.#cell(point);
        if (!cell) return;
        this.#go(cell);
        this.parts.chosen(cell);
      },
    });
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /**
   * Shows another picture. The element must be in the page by now.
   * @param {HeatPicture} picture
   */
  show(picture) {
    const isLike =
      picture.columns.length === this.picture.columns.length && picture.rows.length === this.picture.rows.length;
    this.picture = picture;
    if (!isLike) this.at = null;
    this.anchor = null;
    this.selection = null;
    // No higher than its cells need, so that what is said of it stands right below.
    this.element.style.maxHeight = `${Math.max(2, picture.rows.length) * CELL_HEIGHT + BOTTOM + 1}px`;
    this.drawing ??= new Canvas(
      this.canvas,
      ["--accent", "--bg", "--line", "--selection", "--text-quiet", "--text"],
      (canvas) => this.#draw(canvas),
    );
    this.drawing.redraw();
  }

  /**
   * What a cell holds; NaN where nothing is known.
   * @param {HeatCell} cell
   */
  value({ column, row }) {
    return this.picture.values[column * this.picture.rows.length + row] ?? 0;
  }

  /** What is selected by keys, or else where the cursor is. */
  get chosen() {
    return this.selection ?? (this.at && { from: this.at, to: this.at });
  }

  /** The room for labels: of names as much as the longest needs, up to a third. */
  get #left() {
    const { drawing } = this;
    if (!this.parts.hasNames || !drawing) return LEFT;
    drawing.context.font = drawing.font;
    const longest = this.picture.rows.reduce((most, { label }) => Math.max(most, drawing.widthOf(label)), 0);
    return Math.round(Math.max(LEFT, Math.min(longest + 14, drawing.width / 3, MOST_LEFT)));
  }

  get #size() {
    const { width, height } = this.drawing ?? { width: 0, height: 0 };
    const base = height - BOTTOM;
    const left = this.#left;
    return {
      left,
      wide: Math.max(1, width - left),
      cellHeight: Math.min(CELL_HEIGHT, (base - 1) / Math.max(1, this.picture.rows.length)),
      base,
    };
  }

  /** @param {number} time */
  #place(time) {
    const { start, end } = this.picture.window;
    const { left, wide } = this.#size;
    return left + ((time - start) / Math.max(1, end - start)) * wide;
  }

  /**
   * The cell at a place; null where there is none.
   * @param {import("./drag_box.js").PlacePoint} point
   * @returns {HeatCell|null}
   */
  #cell({ x, y }) {
    const { cellHeight, base, left, wide } = this.#size;
    const { columns, rows, window } = this.picture;
    const time = window.start + ((x - left) / wide) * (window.end - window.start);
    const column = x < left ? -1 : columns.findIndex((one) => time >= one.from && time < one.to);
    const row = Math.floor((base - y) / cellHeight);
    return columns[column] && rows[row] ? { column, row } : null;
  }

  /**
   * The cell nearest to a place.
   * @param {import("./drag_box.js").PlacePoint} point
   * @returns {HeatCell}
   */
  #near({ x, y }) {
    const { cellHeight, base, left, wide } = this.#size;
    const { columns, rows, window } = this.picture;
    const time = window.start + ((x - left) / wide) * (window.end - window.start);
    const found = columns.findIndex((one) => time < one.to);
    const row = Math.floor((base - y) / cellHeight);
    return {
      column: found < 0 ? columns.length - 1 : found,
      row: Math.max(0, Math.min(rows.length - 1, row)),
    };
  }

  /** @param {HeatCell|null} at */
  #go(at) {
    this.at = at;
    this.drawing?.redraw();
    this.parts.at(at);
  }

  /**
   * @param {HeatCell} a
   * @param {HeatCell} b
   */
  #between(a, b) {
    const { rows } = this.picture;
    const isLater = a.column > b.column || (a.column === b.column && a.row > b.row);
    if (this.drag === "flow") this.selection = isLater ? { from: b, to: a } : { from: a, to: b };
    else {
      const whole = this.drag === "columns";
      this.selection = {
        from: { column: Math.min(a.column, b.column), row: whole ? 0 : Math.min(a.row, b.row) },
        to: { column: Math.max(a.column, b.column), row: whole ? rows.length - 1 : Math.max(a.row, b.row) },
      };
    }
    this.drawing?.redraw();
    this.parts.preview(this.selection);
  }

  #clear() {
    this.selection = null;
    this.anchor = null;
    this.drawing?.redraw();
    this.parts.preview(null);
  }

  #select() {
    const { selection } = this;
    this.#clear();
    if (selection && this.picture.columns.length > 0) this.parts.select(selection);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = STEPS_OF_KEYS[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter") {
      if (this.selection) this.#select();
      else if (this.at) this.parts.chosen(this.at);
    } else if (event.key === "Escape" && this.selection) this.#clear();
    else if (step) this.#walk(step, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {[columns: number, rows: number]} step
   * @param {boolean} selects
   */
  #walk([columns, rows], selects) {
    const within = (/** @type {number} */ value, /** @type {number} */ most) => Math.max(0, Math.min(most - 1, value));
    const from = this.at ?? { column: -columns, row: -rows };
    const to = {
      column: within(from.column + columns, this.picture.columns.length),
      row: within(from.row + rows, this.picture.rows.length),
    };
    if (!selects) {
      this.anchor = null;
      this.selection = null;
      this.#go(to);
      return;
    }
    this.anchor ??= this.at ?? to;
    this.at = to;
    this.#between(this.anchor, to);
  }

  /**
   * The cells, drawn once for as long as they look the same: the pointer moves over many of them.
   * @param {Canvas} canvas
   */
  #cells({ width, height, ratio, colors }) {
    const look = `${width} ${height} ${ratio} ${colors["--accent"]} ${colors["--line"]}`;
    if (this.drawn?.picture === this.picture && this.drawn.look === look) return this.drawn.image;
    const image = h("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const context = image.getContext("2d");
    if (!context) return image;
    const { columns, rows, values, limits } = this.picture;
    const { cellHeight, base } = this.#size;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const rowGap = cellHeight > 4 ? 1 : 0;
    columns.forEach((column, at) => {
      const [left, right] = this.#sides(column);
      const wide = Math.max(1, right - left - (right - left > 4 ? 1 : 0));
      for (let row = 0; row < rows.length; row += 1) {
        const value = values[at * rows.length + row];
        const top = base - (row + 1) * cellHeight;
        if (Number.isNaN(value)) {
          context.globalAlpha = 0.5;
          hatch(context, colors["--line"], left, top, wide, cellHeight - rowGap);
          continue;
        }
        const shade = shadeOf(value, limits);
        if (shade === 0) continue;
        context.globalAlpha = opacityOf(shade, limits.length);
        context.fillStyle = colors["--accent"];
        context.fillRect(left, top, wide, Math.max(1, cellHeight - rowGap));
      }
    });
    this.drawn = { picture: this.picture, look, image };
    return image;
  }

  /** @param {Canvas} canvas */
  #draw(canvas) {
    const { context, width, height, ratio, colors, font } = canvas;
    const { columns, rows } = this.picture;
    const { cellHeight, base, left: room } = this.#size;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.drawImage(this.#cells(canvas), 0, 0, width, height);
    const place = (/** @type {number} */ time) => this.#place(time);
    timeAxis(context, this.picture.window, { width, base, place, colors, font, left: room });
    this.#gaps(context, width);
    const marks = rows.map(({ label }, row) => ({ y: base - (row + 0.5) * cellHeight, text: label }));
    sideLabels(context, marks, colors["--text-quiet"], room);
    if (this.selection) this.#drawSelection(context, colors, this.selection);
    if (this.at && columns[this.at.column]) {
      context.strokeStyle = colors["--text"];
      const [left, right] = this.#sides(columns[this.at.column]);
      const high = Math.max(3, cellHeight);
      context.strokeRect(
        left - 0.5,
        base - this.at.row * cellHeight - high - 0.5,
        Math.max(3, right - left + 1),
        high + 1,
      );
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Record<string, string>} colors
   * @param {HeatSelection} selection
   */
  #drawSelection(context, colors, { from, to }) {
    const { cellHeight, base } = this.#size;
    const { rows } = this.picture;
    context.strokeStyle = colors["--accent"];
    context.fillStyle = colors["--selection"];
    // Parts of columns that are selected; one rectangle but where a selection goes on from cell to cell.
    const one = (
      /** @type {number} */ a,
      /** @type {number} */ b,
      /** @type {number} */ low,
      /** @type {number} */ high,
    ) => {
      if (a > b || low > high) return;
      const left = this.#sides(this.picture.columns[a])[0];
      const right = this.#sides(this.picture.columns[b])[1];
      const top = base - (high + 1) * cellHeight;
      context.fillRect(left, top, right - left, (high - low + 1) * cellHeight);
      context.strokeRect(
        left + 0.5,
        top + 0.5,
        Math.max(1, right - left - 1),
        Math.max(1, (high - low + 1) * cellHeight - 1),
      );
    };
    const last = rows.length - 1;
    if (this.drag !== "flow" || from.column === to.column) one(from.column, to.column, from.row, to.row);
    else {
      one(from.column, from.column, from.row, last);
      one(from.column + 1, to.column - 1, 0, last);
      one(to.column, to.column, 0, to.row);
    }
  }

  /**
   * Where a column begins and ends, as far as it is in the window.
   * @param {{from: number, to: number}} column
   */
  #sides({ from, to }) {
    const { start, end } = this.picture.window;
    const within = (/** @type {number} */ time) => this.#place(Math.max(start, Math.min(end, time)));
    return [within(from), within(to)];
  }

  /**
   * Rows without anything are not there; a broken line says where.
   * @param {CanvasRenderingContext2D} context
   * @param {number} right
   */
  #gaps(context, right) {
    const { cellHeight, base } = this.#size;
    context.setLineDash([3, 3]);
    context.beginPath();
    this.picture.rows.forEach(({ apart }, row) => {
      if (!apart || row === 0) return;
      const y = Math.round(base - row * cellHeight) - 0.5;
      context.moveTo(this.#left - 10, y);
      context.lineTo(right, y);
    });
    context.strokeStyle = context.fillStyle;
    context.stroke();
    context.setLineDash([]);
  }

  /** What its shades mean: a list with a swatch for each. */
  get legend() {
    const { limits, text, whole = true, values, rows, nothing = text(0), about } = this.picture;
    const swatch = (/** @type {number} */ opacity) => {
      const mark = h("i", { class: "heat-swatch", "aria-hidden": "true" });
      const fill = h("i");
      fill.style.opacity = String(opacity);
      mark.append(fill);
      return mark;
    };
    const isUnknown = Array.from(values).some(Number.isNaN);
    return h(
      "ul",
      { class: "heat-legend small quiet", "aria-label": "Shades" },
      about && h("li", { class: "mono", text: about }),
      h("li", {}, swatch(0), nothing),
      ...shadeWords(limits, text, whole).map((words, i) => h("li", {}, swatch(opacityOf(i + 1, limits.length)), words)),
      isUnknown && h("li", {}, h("i", { class: "heat-swatch is-unknown", "aria-hidden": "true" }), "not known"),
      rows.some(({ apart }) => apart) && h("li", { text: "broken line: empty buckets are left out" }),
    );
  }

  /** The same as SVG: what is drawn, with its axes. */
  get svg() {
    const { columns, rows, values, limits } = this.picture;
    const { width, height } = this.drawing ?? { width: 0, height: 0 };
    const { cellHeight, base, left: room } = this.#size;
    const colors = this.drawing?.colors ?? {};
    const cells = columns.flatMap((column, at) => {
      const [left, right] = this.#sides(column);
      return rows.map((_row, row) => {
        const shade = shadeOf(values[at * rows.length + row], limits);
        if (shade === 0) return null;
        return s("rect", {
          x: left.toFixed(2),
          y: (base - (row + 1) * cellHeight).toFixed(2),
          width: Math.max(1, right - left).toFixed(2),
          height: cellHeight.toFixed(2),
          fill: colors["--accent"],
          "fill-opacity": opacityOf(shade, limits.length).toFixed(2),
        });
      });
    });
    const every = Math.max(1, Math.ceil(14 / cellHeight));
    const labels = rows.map(
      ({ label }, row) =>
        row % every === 0 &&
        s("text", {
          x: room - 6,
          y: (base - (row + 0.5) * cellHeight + 4).toFixed(2),
          "text-anchor": "end",
          fill: colors["--text-quiet"],
          text: label,
        }),
    );
    return { width, height, base, left: room, children: [...cells, ...labels], window: this.picture.window };
  }
}
