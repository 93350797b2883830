// A table that draws only the rows that are seen, over any number of rows, and is walked through with the keyboard.

import { category } from "./color.js";
import { closest, copyText, framed, h, put, settled } from "./dom.js";
import { cell as cellText, columnHeading } from "./format.js";
import { note } from "./notice.js";
import { VirtualScroll } from "./virtual_scroll.js";

/**
 * @typedef {object} TableColumn
 * @property {string} name
 * @property {string} [type] what its cells are
 * @property {string} [display] how they are written
 * @property {string} [width] where that does not follow from the others
 * @property {number} [at] its place in rows, where that is not its place in the table
 * @property {boolean} [pinned] it stays at the left while the others are scrolled; such columns are the first
 * @property {string} [heading] where that does not follow from the others
 * @property {(cell: TableCell) => string} [show] how its cells are written, where that does not follow from the others
 */
/** @typedef {{name: string, descending: boolean}} TableOrder */
/** @typedef {number|string|null|{id?: number, top: string, depth?: number}} TableCell */
/** @typedef {TableCell[] & {text?: string|null, number?: number}} TableRow `text`: the line that the kernel would print; `number`: of the row in its stream */
/** @typedef {{element: HTMLElement, cells: HTMLElement[]}} TableLine what shows a row */
/**
 * @typedef {object} TableSource
 * @property {number} count of rows
 * @property {(index: number) => TableRow|undefined} row nothing while it is on its way
 * @property {(first: number, last: number) => void} need rows that are to be seen, `last` not included
 */

const ROW = 24;
/** By how many pixels a key makes a column wider. */
const WIDER = 16;
const PROCESS_NAME = /(^|[._])comm$/;

/** Columns that all captures of a kind have, in characters: what is known to be short leaves room for what is long. */
const KNOWN = new Map([
  ["cpu", 7],
  ["pid", 9],
  ["tid", 9],
  ["call", 16],
  ["error", 14],
  ["kind", 12],
  ["scope", 14],
  ["value", 15],
]);

/** @type {Record<string, number>} */
const WIDTHS = { time_ns: 19, duration_ns: 12, hex: 20, stack: 0, text: 0 };

/**
 * The width of a column, by what is in it.
 * @param {TableColumn} column
 */
function track(column) {
  if (column.width) return column.width;
  const head = column.name.length + 4;
  if (KNOWN.has(column.name)) return `${KNOWN.get(column.name)}ch`;
  const chars = WIDTHS[column.display ?? ""] ?? WIDTHS[column.type ?? ""] ?? 11;
  if (chars) return `${Math.max(chars, head)}ch`;
  if (column.type === "stack") return "minmax(40ch, 3fr)";
  return PROCESS_NAME.test(column.name)
    ? `${Math.max(20, head)}ch`
    : `minmax(${Math.max(column.name === "args" ? 30 : 24, head)}ch, 2fr)`;
}

/**
 * Whether a column's values are numbers, which align at the right.
 * @param {TableColumn} column
 */
export function isNumber(column) {
  return ["u64", "i64", "f64"].includes(column.type ?? "");
}

/**
 * @param {TableCell|undefined} cell
 * @param {TableColumn} column
 */
function written(cell, column) {
  return column.show && cell !== undefined ? column.show(cell) : cellText(cell, column);
}

/** The table. */
export class VirtualTable {
  /**
   * @param {object} parts
   * @param {string} parts.label
   * @param {(name: string, more: boolean) => void} [parts.sort] a header was chosen; `more`: after those before it
   * @param {(index: number, pixels: number) => void} [parts.resize] a column is so wide from now on
   * @param {(index: number, by: number) => void} [parts.reorder] a column is to go so many places to the right
   * @param {(index: number) => void} [parts.move] another row is the current one
   * @param {(index: number) => void} [parts.open] Enter or a double click on a row
   * @param {() => void} [parts.scrolled] by the person
   * @param {(index: number) => boolean} [parts.off] whether a row is of something that cannot be used
   * @param {(cell: TableCell|undefined, column: TableColumn) => string} [parts.title] what hovering over a cell says
   */
  constructor(parts) {
    this.parts = parts;
    /** @type {TableSource} */
    this.source = { count: 0, row: () => undefined, need: () => {} };
    /** @type {TableColumn[]} */
    this.columns = [];
    this.scroll = new VirtualScroll(ROW);
    this.row = -1;
    this.column = 0;
    /** @type {TableLine[]} */
    this.pool = [];
    this.head = h("div", { class: "vt-head", role: "row" });
    this.body = h("div", { class: "vt-body", role: "presentation" });
    this.spacer = h("div", { class: "vt-spacer", role: "presentation" }, this.head, this.body);
    this.element = h(
      "div",
      {
        class: "vt",
        role: "grid",
        tabindex: "0",
        "aria-label": parts.label,
        on: {
          scroll: () => this.#scrolled(),
          keydown: (event) => this.#key(event),
          mousedown: (event) => this.#press(event),
          dblclick: (event) => {
            if (closest(event, ".vt-row")) this.parts.open?.(this.row);
          },
        },
      },
      this.spacer,
    );
    this.redraw = framed(() => this.#draw());
    this.rest = settled(160, () => {
      this.element.scrollTop = this.scroll.settle();
    });
    new ResizeObserver(() => this.#measure()).observe(this.element);
  }

  /**
   * @param {TableColumn[]} columns
   * @param {TableOrder[]} orders by what rows are sorted; by the first column of rows if by nothing
   */
  setColumns(columns, orders = []) {
    this.columns = columns;
    this.element.style.setProperty("--tracks", columns.map(track).join(" "));
    this.element.setAttribute("aria-colcount", String(columns.length));
    put(this.head, ...columns.map((column, i) => this.#header(column, i, orders)));
    this.pool = [];
    put(this.body);
    this.column = Math.min(this.column, Math.max(0, columns.length - 1));
    this.redraw();
  }

  /**
   * @param {TableColumn} column
   * @param {number} i
   * @param {TableOrder[]} orders
   */
  #header(column, i, orders) {
    const at = orders.length > 0 ? orders.findIndex(({ name }) => name === column.name) : (column.at ?? i);
    const sorted = orders.length > 0 ? orders[at] : at === 0 ? { descending: false } : undefined;
    const label = column.heading ?? columnHeading(column);
    const aria = sorted ? (sorted.descending ? "descending" : "ascending") : "none";
    const arrow = sorted ? (sorted.descending ? " ↓" : " ↑") + (orders.length > 1 ? at + 1 : "") : "";
    return h(
      "div",
      {
        class: this.#cellClass(column),
        role: "columnheader",
        title: column.name,
        "aria-sort": this.parts.sort ? aria : null,
      },
      this.parts.sort
        ? h(
            "button",
            {
              type: "button",
              class: "vt-sort",
              on: { click: (event) => this.parts.sort?.(column.name, event.shiftKey) },
            },
            label,
            h("span", { "aria-hidden": "true", text: arrow }),
          )
        : label,
      this.parts.resize && this.#edge(i),
    );
  }

  /** @param {TableColumn} column */
  #cellClass(column) {
    return `vt-cell${isNumber(column) ? " num" : ""}${column.pinned ? " is-pinned" : ""}`;
  }

  /**
   * The edge of a heading, by which its column is made wider.
   * @param {number} i
   */
  #edge(i) {
    /** @type {{x: number, width: number}|null} */
    let from = null;
    const width = (/** @type {PointerEvent} */ event) => (from ? Math.round(from.width + event.clientX - from.x) : 0);
    const edge = h("span", { class: "vt-edge", "aria-hidden": "true" });
    edge.addEventListener("pointerdown", (event) => {
      from = { x: event.clientX, width: this.widthOf(i) };
      edge.setPointerCapture(event.pointerId);
      event.preventDefault();
      event.stopPropagation();
    });
    edge.addEventListener("pointermove", (event) => {
      if (!from) return;
      const tracks = this.columns.map((column, n) => (n === i ? `${Math.max(20, width(event))}px` : track(column)));
      this.element.style.setProperty("--tracks", tracks.join(" "));
    });
    const end = (/** @type {PointerEvent} */ event) => {
      if (from && event.type === "pointerup") this.parts.resize?.(i, width(event));
      from = null;
    };
    edge.addEventListener("pointerup", end);
    edge.addEventListener("pointercancel", end);
    return edge;
  }

  /**
   * How wide a column is, in pixels.
   * @param {number} i
   */
  widthOf(i) {
    return this.head.children[i]?.getBoundingClientRect().width ?? 0;
  }

  /** The source has other rows or another number of them. */
  changed() {
    this.scroll.rows = this.source.count;
    this.element.setAttribute("aria-rowcount", String(this.source.count + 1));
    this.spacer.style.height = `${this.scroll.height + ROW}px`;
    if (this.row >= this.source.count) this.row = this.source.count - 1;
    this.scroll.scrolled(this.element.scrollTop);
    this.redraw();
  }

  /** Goes to the last row and says whether it is in sight from now on. */
  toEnd() {
    this.scroll.show(Math.max(0, this.source.count - 1));
    this.#place();
  }

  /** Whether the last row is in sight. */
  get atEnd() {
    return this.scroll.top + this.scroll.viewport >= this.scroll.total - ROW;
  }

  /** Takes the element's height; a last row that was in sight stays in sight. */
  #measure() {
    const height = Math.max(0, this.element.clientHeight - ROW);
    if (height === this.scroll.viewport) return;
    const wasAtEnd = this.scroll.top > 0 && this.atEnd;
    this.scroll.viewport = height;
    this.body.style.height = `${height}px`;
    this.changed();
    if (wasAtEnd) this.toEnd();
  }

  #scrolled() {
    // The browser moves what became higher too, and says so before it says the height: nobody has scrolled then.
    this.#measure();
    const before = this.scroll.top;
    this.scroll.scrolled(this.element.scrollTop);
    // Columns that are pinned go along.
    this.element.style.setProperty("--scrolled", `${this.element.scrollLeft}px`);
    if (this.scroll.top !== before) {
      this.rest();
      this.parts.scrolled?.();
      this.redraw();
    }
  }

  #place() {
    this.element.scrollTop = this.scroll.settle();
    this.redraw();
  }

  /**
   * Makes a row the current one.
   * @param {number} index
   * @param {"nearest"|"middle"|"top"} place
   */
  go(index, place = "nearest") {
    if (this.source.count === 0) return;
    const to = Math.max(0, Math.min(this.source.count - 1, index));
    const moved = to !== this.row;
    this.row = to;
    this.scroll.show(to, place);
    this.#place();
    if (moved) this.parts.move?.(to);
  }

  #draw() {
    const { first, last } = this.scroll.visible();
    this.source.need(first, last);
    while (this.pool.length < last - first) this.pool.push(this.#newRow());
    const offset = -(this.scroll.top - first * ROW);
    for (const [i, row] of this.pool.entries()) {
      const index = first + i;
      row.element.hidden = index >= last;
      if (index < last) this.#fill(row, index, Math.round(offset + i * ROW));
    }
    const current = this.pool[this.row - first];
    if (current && this.row >= first && this.row < last)
      this.element.setAttribute("aria-activedescendant", current.cells[this.column]?.id ?? "");
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** @returns {TableLine} */
  #newRow() {
    const name = `vt-${this.pool.length}`;
    const cells = this.columns.map((column, i) =>
      h("div", { class: this.#cellClass(column), role: "gridcell", id: `${name}-${i}` }),
    );
    const element = h("div", { class: "vt-row", role: "row" }, ...cells);
    this.body.append(element);
    return { element, cells };
  }

  /**
   * @param {TableLine} line
   * @param {number} index
   * @param {number} y
   */
  #fill({ element, cells }, index, y) {
    const row = this.source.row(index);
    element.style.transform = `translateY(${y}px)`;
    element.setAttribute("aria-rowindex", String(index + 2));
    element.dataset.index = String(index);
    element.classList.toggle("is-current", index === this.row);
    element.classList.toggle("is-waiting", row === undefined);
    element.classList.toggle("is-off", this.parts.off?.(index) ?? false);
    for (const [i, cell] of cells.entries()) {
      const column = this.columns[i];
      const value = row?.[column.at ?? i];
      const text = row === undefined ? "" : written(value, column);
      if (cell.textContent !== text) cell.textContent = text;
      cell.classList.toggle("is-null", row !== undefined && value === null);
      cell.classList.toggle("is-cell", index === this.row && i === this.column);
      if (PROCESS_NAME.test(column.name)) cell.dataset.cat = text ? String(category(text)) : "";
      cell.title = row === undefined ? "" : (this.parts.title?.(value, column) ?? text);
    }
  }

  /** @param {MouseEvent} event */
  #press(event) {
    const row = closest(event, ".vt-row");
    if (!row) return;
    const pressed = closest(event, ".vt-cell");
    if (pressed) this.column = [...row.children].indexOf(pressed);
    const index = Number(row.dataset.index);
    const moved = index !== this.row;
    this.row = index;
    if (moved) this.parts.move?.(index);
    this.redraw();
  }

  /** The current cell's value as text, in full. */
  cellValue() {
    const column = this.columns[this.column];
    const row = this.source.row(this.row);
    return row && column ? written(row[column.at ?? this.column], column) : "";
  }

  async #copy() {
    const text = this.cellValue();
    if (text && (await copyText(text))) note(`Copied ${this.columns[this.column].name}.`, { ms: 2000 });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (closest(event, "button") && ["Enter", " "].includes(event.key)) return;
    const page = Math.max(1, Math.floor(this.scroll.viewport / ROW) - 1);
    /** @type {Record<string, number>} */
    const byRows = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const rows = byRows[event.key];
    const columns = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : undefined;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "c" && getSelection()?.isCollapsed)
      this.#copy();
    else if (columns !== undefined && event.shiftKey && (event.ctrlKey ? this.parts.reorder : this.parts.resize))
      this.#change(columns, event.ctrlKey);
    else if (event.ctrlKey || event.altKey || event.metaKey) return;
    else if (rows !== undefined) this.go(Math.max(0, this.row + rows));
    else if (columns !== undefined) this.#sideways(columns);
    else if (event.key === "Enter") this.parts.open?.(this.row);
    else if (event.key.toLowerCase() === "s" && this.parts.sort)
      this.parts.sort(this.columns[this.column].name, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Makes the current column wider or narrower, or moves it.
   * @param {number} by
   * @param {boolean} order
   */
  #change(by, order) {
    const { column } = this;
    if (!order) {
      this.parts.resize?.(column, this.widthOf(column) + by * WIDER);
      return;
    }
    if (column + by < 0 || column + by >= this.columns.length) return;
    this.column += by;
    this.parts.reorder?.(column, by);
  }

  /** @param {number} by */
  #sideways(by) {
    this.column = Math.max(0, Math.min(this.columns.length - 1, this.column + by));
    this.redraw();
    this.head.children[this.column]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
