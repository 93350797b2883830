// A table of the range's panel: sorted by any column, copied, exported, and with a way on from each row.

import { h, put } from "../../../lib/dom.js";
import { plural } from "../../../lib/format.js";
import { copyRows, saveText } from "../../../lib/save_text.js";
import { commaed, ranking, sorted, tabbed, turned } from "./range_text.js";

/** @import { CaptureContext } from "../../../page/capture_context.js" */

/**
 * @template R
 * @typedef {import("./range_text.js").RangeColumn<R>} RangeColumn
 */
/**
 * What can be done with a row.
 * @template R
 * @typedef {object} RowAction
 * @property {string} text
 * @property {string} title
 * @property {(row: R) => void} run
 * @property {(row: R) => boolean} [when] whether it can be done with this row
 */

/** Rows that are put on the page before somebody asks for more. */
const FIRST_ROWS = 100;

/**
 * @template R
 */
export class RangeTable {
  /**
   * @param {object} parts
   * @param {CaptureContext} parts.context
   * @param {string} parts.name of what is exported, and of the table for who hears it
   * @param {RangeColumn<R>[]} parts.columns
   * @param {string} parts.usual how it is sorted at first, as the address has it
   * @param {RowAction<R>[]} [parts.actions] of each row
   * @param {(row: R) => HTMLElement|null} [parts.more] what a row shows below itself when it is opened
   * @param {(row: R) => string} [parts.id] names a row that can be opened in the address
   * @param {HTMLElement[]} [parts.buttons] besides those to copy and to export
   */
  constructor(parts) {
    this.parts = parts;
    /** @type {R[]} */
    this.rows = [];
    this.all = false;
    this.words = h("span", { class: "quiet" });
    this.bar = h(
      "div",
      { class: "range-bar" },
      this.words,
      h("span", { class: "grow" }),
      ...(parts.buttons ?? []),
      h("button", {
        type: "button",
        text: "Copy",
        title: "Copy all rows with tabs between the columns, as spreadsheets take them",
        on: { click: () => void this.#copy() },
      }),
      h("button", {
        type: "button",
        text: "CSV",
        title: "Save all rows as a file with commas",
        on: { click: () => this.#save() },
      }),
    );
    this.place = h("div", { class: "range-table" });
    this.element = h("div", {}, this.bar, this.place);
  }

  /** How rows are sorted now. */
  get #ranked() {
    const { ranked } = this.parts.context.view;
    return ranking(this.parts.columns, ranked) ? ranked : this.parts.usual;
  }

  /**
   * @param {R[]} rows
   * @param {string} words above the table: what the rows are, and what has no row
   */
  show(rows, words) {
    if (rows !== this.rows) this.all = false;
    this.rows = rows;
    this.words.textContent = words;
    this.draw();
  }

  get #sorted() {
    return sorted(this.rows, this.parts.columns, this.#ranked);
  }

  /**
   * Whether a row is the one that the address opens.
   * @param {R} row
   */
  #isOpen(row) {
    const { context, id } = this.parts;
    return id !== undefined && context.view.opened !== "" && id(row) === context.view.opened;
  }

  /** Draws the rows in the order that the address says. */
  draw() {
    const { columns, actions = [], name } = this.parts;
    const rows = this.#sorted;
    // What a link opens is in sight, wherever the order puts it.
    if (rows.findIndex((row) => this.#isOpen(row)) >= FIRST_ROWS) this.all = true;
    const shown = this.all ? rows : rows.slice(0, FIRST_ROWS);
    const extra = actions.length > 0 ? [h("th", { scope: "col", text: "" })] : [];
    put(
      this.place,
      h(
        "table",
        { class: "list range-list", "aria-label": name },
        h("thead", {}, h("tr", {}, ...columns.map((column) => this.#head(column)), ...extra)),
        h("tbody", {}, ...shown.flatMap((row) => this.#lines(row))),
      ),
      shown.length < rows.length &&
        h("button", {
          type: "button",
          class: "plain",
          text: `Show all ${plural(rows.length, "row")}`,
          on: {
            click: () => {
              this.all = true;
              this.draw();
            },
          },
        }),
    );
  }

  /** @param {RangeColumn<R>} column */
  #head(column) {
    const { context } = this.parts;
    const ranked = this.#ranked;
    const by = ranking(this.parts.columns, ranked);
    const is = by?.column === column;
    const click = () => {
      context.state.set({ ranked: turned(column, ranked) });
      this.draw();
      // The heading was made anew.
      const at = this.parts.columns.indexOf(column);
      /** @type {NodeListOf<HTMLElement>} */ (this.place.querySelectorAll("thead button"))[at]?.focus();
    };
    return h(
      "th",
      {
        scope: "col",
        class: column.num ? "num" : null,
        title: column.about ?? null,
        "aria-sort": is ? (by?.down ? "descending" : "ascending") : "none",
      },
      h(
        "button",
        { type: "button", class: "vt-sort", on: { click } },
        column.title,
        h("span", { "aria-hidden": "true", text: is ? (by?.down ? " ↓" : " ↑") : "" }),
      ),
    );
  }

  /** @param {R} row */
  #lines(row) {
    const { columns, actions = [], more } = this.parts;
    const isOpen = this.#isOpen(row);
    const cells = columns.map((column, i) => {
      const { num, value, text } = column;
      const exactly = String(value(row));
      const shown = text ? text(row) : exactly;
      if (i > 0 || !more)
        return h("td", {
          class: num ? "num mono" : "cut",
          title: num && shown !== exactly && exactly !== "" ? `${exactly} ${column.unit ?? ""}`.trim() : shown,
          text: shown,
        });
      const open = h("button", {
        type: "button",
        class: "plain range-open",
        "aria-expanded": String(isOpen),
        title: isOpen ? "Close the histogram" : "Show the histogram",
        text: shown,
        on: { click: () => this.#open(row) },
      });
      return h("td", { class: "cut", title: shown }, open);
    });
    const buttons = actions
      .filter(({ when }) => !when || when(row))
      .map(({ text, title, run }) =>
        h("button", { type: "button", class: "plain", text, title, on: { click: () => run(row) } }),
      );
    if (actions.length > 0) cells.push(h("td", { class: "range-actions" }, ...buttons));
    const below = isOpen ? more?.(row) : null;
    const line = h("tr", { class: isOpen ? "is-open" : null }, ...cells);
    return below ? [line, h("tr", {}, h("td", { colspan: String(cells.length), class: "told" }, below))] : [line];
  }

  /** @param {R} row */
  #open(row) {
    const { context, id } = this.parts;
    context.state.set({ opened: this.#isOpen(row) ? "" : (id?.(row) ?? "") });
    const at = this.#sorted.indexOf(row);
    this.draw();
    /** @type {NodeListOf<HTMLElement>} */ (this.place.querySelectorAll(".range-open"))[at]?.focus();
  }

  async #copy() {
    await copyRows(tabbed(this.parts.columns, this.#sorted), this.rows.length, "row");
  }

  #save() {
    const { columns, name, context } = this.parts;
    const { start, end } = context.range;
    saveText(
      `${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}-${start ?? 0}-${end ?? ""}.csv`,
      commaed(columns, this.#sorted),
    );
  }
}
