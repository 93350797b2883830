// One row in full, beside the table: every field, the wall time, the stack.

import { Latest, get } from "../../lib/api.js";
import { FAMILIES } from "../../lib/color.js";
import { copyText, h, put } from "../../lib/dom.js";
import { exact, wall, cell as cellText } from "../../lib/format.js";
import { note, noteError, showError } from "../../lib/notice.js";
import { NoteThreads } from "../notes/note_threads.js";

/** @import { TableCell, TableColumn, TableRow } from "../../lib/virtual_table.js" */
/** @import { Stack } from "../../../../api.js" */

/** How a row is copied. */
const FORMS = /** @type {const} */ (["text", "JSON", "Markdown"]);

/** The drawer. */
export class RowDetails {
  #latest = new Latest();

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {() => void} closed
   */
  constructor(context, closed) {
    this.context = context;
    /** @type {Map<number, Stack>} */
    this.stacks = new Map();
    /** @type {TableRow|undefined} */
    this.row = undefined;
    /** @type {TableColumn[]} */
    this.columns = [];
    this.body = h("div", { class: "drawer-body" });
    this.title = h("h2");
    this.noted = new NoteThreads(context, {
      shows: ({ on }) => on.kind === "row" && on.stream === this.#stream && on.row === this.row?.number,
      fresh: () => this.#fresh(),
    });
    this.element = h(
      "aside",
      { class: "drawer", "aria-label": "Row", hidden: true },
      h(
        "div",
        { class: "drawer-head" },
        this.title,
        h(
          "span",
          { class: "row-copies", role: "group", "aria-label": "Copy the row" },
          ...FORMS.map((form) =>
            h("button", {
              type: "button",
              class: "plain",
              text: form,
              title: `Copy the row as ${form}`,
              on: { click: () => this.#copyRow(form) },
            }),
          ),
        ),
        h("button", { type: "button", class: "plain", on: { click: closed } }, "Close ", h("kbd", { text: "Esc" })),
      ),
      this.body,
    );
  }

  /**
   * Copies the row with its stack.
   * @param {typeof FORMS[number]} form
   */
  async #copyRow(form) {
    const { row, columns } = this;
    if (!row) return;
    const { ROW_TEXTS } = await import("./row_tools.js");
    const cell = row[columns.findIndex((column) => column.type === "stack")];
    const id = cell !== null && typeof cell === "object" ? cell.id : undefined;
    try {
      const stack = id === undefined ? null : await this.#stackOf(id);
      if (await copyText(ROW_TEXTS[form](row, columns, stack ?? null)))
        note(`Copied the row as ${form}.`, { ms: 2000 });
    } catch (error) {
      noteError(error);
    }
  }

  get #stream() {
    return this.context.info.streams.indexOf(this.context.stream);
  }

  /** What a note on the row is tied to; nothing while rows come one by one. */
  #fresh() {
    const { row } = this;
    if (row?.number === undefined) return null;
    const on = { kind: /** @type {const} */ ("row"), stream: this.#stream, row: row.number };
    return { on, start: Number(row[0]) };
  }

  /** @param {number} id */
  async #stackOf(id) {
    const known =
      this.stacks.get(id) ?? (await get("/api/captures/{id}/stacks/{stack}", { id: this.context.id, stack: id }));
    this.stacks.set(id, known);
    return known;
  }

  /** Whether it is open. */
  get open() {
    return !this.element.hidden;
  }

  /** Takes it away. */
  close() {
    this.element.hidden = true;
    this.#latest.cancel();
  }

  /**
   * Shows a row.
   * @param {number} index
   * @param {TableRow|undefined} row
   * @param {TableColumn[]} columns
   */
  show(index, row, columns) {
    this.element.hidden = false;
    this.row = row;
    this.columns = columns;
    this.title.textContent = `Row ${exact(index + 1)}`;
    if (!row) {
      put(this.body, h("p", { class: "quiet", text: "Loading" }));
      return;
    }
    const started = Number(this.context.info.started_unix_ns);
    const entries = columns.flatMap((column, i) => this.#entry(column, row[i]));
    const stackAt = columns.findIndex((column) => column.type === "stack");
    const frames = h("div");
    const printed = row.text ? this.#fact("as the kernel prints it", "", row.text, row.text) : [];
    put(
      this.body,
      h(
        "dl",
        { class: "facts row-facts" },
        h("dt", { text: "wall time" }),
        h("dd", { text: wall(started + Number(row[0]), true) }),
        ...printed,
        ...entries,
      ),
      this.noted.element,
      stackAt >= 0 && frames,
    );
    this.noted.draw();
    if (stackAt >= 0) this.#stack(row[stackAt], frames);
  }

  /**
   * @param {TableColumn} column
   * @param {TableCell} value
   */
  #entry(column, value) {
    const text = value === null ? "missing" : cellText(value, column) + (column.display === "time_ns" ? " s" : "");
    return this.#fact(column.name, "mono", text, value === null ? null : cellText(value, column));
  }

  /**
   * A name and a text that a click copies; `copied` is what of it, or nothing.
   * @param {string} name
   * @param {string} look
   * @param {string} text
   * @param {string|null} copied
   */
  #fact(name, look, text, copied) {
    return [
      h("dt", { class: look, text: name }),
      h(
        "dd",
        {},
        h("button", {
          type: "button",
          class: copied === null ? "copy quiet" : "copy mono",
          title: "Copy",
          text,
          on: {
            click: async () => {
              if (copied !== null && (await copyText(copied))) note(`Copied ${name}.`, { ms: 2000 });
            },
          },
        }),
      ),
    ];
  }

  /**
   * @param {TableCell|undefined} cell
   * @param {HTMLElement} place
   */
  async #stack(cell, place) {
    if (cell === null || typeof cell !== "object" || cell.id === undefined) {
      put(place, h("p", { class: "quiet", text: "No stack." }));
      return;
    }
    const { id } = cell;
    try {
      const answer =
        this.stacks.get(id) ??
        (await this.#latest.run((signal) =>
          get("/api/captures/{id}/stacks/{stack}", { id: this.context.id, stack: id }, signal),
        ));
      if (!answer) return;
      this.stacks.set(id, answer);
      put(
        place,
        h("h3", { text: `Stack, innermost first (${answer.frames.length})` }),
        h(
          "ol",
          { class: "frames" },
          ...answer.frames.map((frame) =>
            h(
              "li",
              { class: `frame-${FAMILIES[frame.kind] ?? "unresolved"}` },
              h("span", { class: "mono", text: frame.name }),
              h("span", { class: "quiet small", text: frame.module.split("/").at(-1), title: frame.module }),
            ),
          ),
        ),
      );
    } catch (error) {
      showError(place, error);
    }
  }
}
