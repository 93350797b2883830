// The condition of one tracepoint: rows of field, operator and value, or text, checked by the server while it is typed.

import { Latest, get, messageOf } from "../lib/api.js";
import { h, put, settled } from "../lib/dom.js";
import { NUMBER_OPERATORS, TEXT_OPERATORS, predicateText, rowsOf } from "./predicate_rows.js";

/** @import { DescribedField, CheckedPredicate } from "../../../api.js" */
/** @typedef {import("./predicate_rows.js").Row} Row */

/** @type {[name: string, isText: boolean][]} */
const COMMON = [
  ["pid", false],
  ["tid", false],
  ["cpu", false],
  ["comm", true],
];
const TEXT_KINDS = /text/;

/** Edits one predicate. `text` is what it says now. */
export class ConditionEditor {
  #latest = new Latest();
  #check = settled(180, () => this.#ask());

  /**
   * @param {string} tracepoint
   * @param {Pick<DescribedField, "name"|"column"|"kind"|"recordable">[]} fields
   * @param {string} text
   * @param {() => void} changed
   */
  constructor(tracepoint, fields, text, changed) {
    this.tracepoint = tracepoint;
    this.changed = changed;
    /** Field names with whether they hold text. */
    this.fields = new Map(COMMON);
    for (const one of fields) if (one.recordable) this.fields.set(one.column, TEXT_KINDS.test(one.kind));
    /** @param {string} field */
    this.isText = (field) => this.fields.get(field) ?? false;
    this.text = text;
    /** Whether the server has found the text to be wrong. */
    this.bad = false;
    const parsed = rowsOf(text);
    this.mode = parsed ? "rows" : "text";
    /** @type {"all"|"any"} */
    this.join = parsed?.join ?? "all";
    /** @type {Row[]} */
    this.rows = parsed?.rows ?? [];
    this.verdict = h("p", { class: "verdict", role: "status" });
    this.body = h("div");
    this.head = h("div", { class: "condition-head" });
    /** The text as it is typed, and below it where it is wrong. */
    this.input = h("input");
    this.caret = h("div");
    this.element = h("div", { class: "condition" }, this.head, this.body, this.verdict);
    this.#draw();
    if (text) this.#ask();
  }

  #draw() {
    /**
     * @param {"rows"|"text"} name
     * @param {string} label
     */
    const mode = (name, label) =>
      h("button", {
        type: "button",
        "aria-pressed": String(this.mode === name),
        text: label,
        on: { click: () => this.#switch(name) },
      });
    put(
      this.head,
      h("span", { class: "quiet small", text: "Record only where" }),
      this.mode === "rows" && this.rows.length > 1 && this.#joinChoice(),
      h("span", { class: "grow" }),
      h(
        "span",
        { class: "segments small", role: "group", "aria-label": "How the condition is written" },
        mode("rows", "Rows"),
        mode("text", "Text"),
      ),
    );
    if (this.mode === "text") this.#drawText();
    else this.#drawRows();
  }

  #joinChoice() {
    const select = h(
      "select",
      {
        "aria-label": "How the rows are joined",
        on: {
          change: () => {
            this.join = select.value === "any" ? "any" : "all";
            this.#fromRows();
          },
        },
      },
      h("option", { value: "all", text: "all of these hold" }),
      h("option", { value: "any", text: "any of these holds" }),
    );
    select.value = this.join;
    return select;
  }

  #drawRows() {
    const add = h("button", {
      type: "button",
      class: "plain small",
      text: this.rows.length ? "Add a condition" : "Add a condition (now: every hit)",
      on: { click: () => this.#addRow() },
    });
    put(this.body, ...this.rows.map((row, i) => this.#row(row, i)), add);
  }

  #addRow() {
    const field = [...this.fields.keys()][0];
    this.rows.push({ field, op: "==", value: "" });
    this.#draw();
    this.#focusRow(this.rows.length - 1);
  }

  /** @param {number} i */
  #focusRow(i) {
    /** @type {NodeListOf<HTMLSelectElement>} */
    const choices = this.body.querySelectorAll(".condition-row select");
    choices[i * 2]?.focus();
  }

  /**
   * @param {Row} row
   * @param {number} i
   */
  #row(row, i) {
    const field = h(
      "select",
      {
        class: "mono",
        "aria-label": `Field of condition ${i + 1}`,
        on: {
          change: () => {
            row.field = field.value;
            row.op = "==";
            this.#draw();
            this.#fromRows();
            this.#focusRow(i);
          },
        },
      },
      ...[...this.fields.keys()].map((name) => h("option", { value: name, text: name })),
    );
    if (!this.fields.has(row.field)) field.append(h("option", { value: row.field, text: row.field }));
    field.value = row.field;
    const op = h(
      "select",
      {
        "aria-label": `Operator of condition ${i + 1}`,
        on: {
          change: () => {
            row.op = op.value;
            this.#fromRows();
          },
        },
      },
      ...(this.isText(row.field) ? TEXT_OPERATORS : NUMBER_OPERATORS).map(([value, text]) =>
        h("option", { value, text }),
      ),
    );
    op.value = row.op;
    const value = h("input", {
      type: "text",
      class: "mono",
      "aria-label": `Value of condition ${i + 1}`,
      placeholder: this.isText(row.field) ? "text" : "number, also 0x…",
      on: {
        input: () => {
          row.value = value.value;
          this.#fromRows();
        },
      },
    });
    value.value = row.value;
    const remove = h("button", {
      type: "button",
      class: "plain",
      "aria-label": `Remove condition ${i + 1}`,
      text: "Remove",
      on: {
        click: () => {
          this.rows.splice(i, 1);
          this.#draw();
          this.#fromRows();
        },
      },
    });
    return h("div", { class: "condition-row" }, field, op, value, remove);
  }

  #fromRows() {
    this.#set(predicateText(this.rows, this.join, this.isText));
  }

  #drawText() {
    const input = h("input", {
      type: "text",
      class: "mono",
      maxlength: "1024",
      "aria-label": "Condition as text",
      spellcheck: "false",
      placeholder: 'prev_pid != 0 && comm ~ "post*"',
      on: { input: () => this.#set(input.value) },
    });
    input.value = this.text;
    this.input = input;
    this.caret = h("div", { class: "caret-line", "aria-hidden": "true" });
    put(this.body, h("div", { class: "condition-text" }, input, this.caret));
    this.#ask();
  }

  /** @param {"rows"|"text"} mode */
  #switch(mode) {
    if (mode === this.mode) return;
    if (mode === "rows") {
      const parsed = rowsOf(this.text);
      if (!parsed) {
        this.#say(
          "Rows cannot show this condition: they have no parentheses and no negation, and are joined by either all or any. It stays text.",
          true,
        );
        return;
      }
      this.join = parsed.join;
      this.rows = parsed.rows;
    }
    this.mode = mode;
    this.#draw();
  }

  /** @param {string} text */
  #set(text) {
    this.text = text;
    this.#check();
    this.changed();
  }

  /**
   * @param {string} text
   * @param {boolean} bad
   */
  #say(text, bad) {
    this.verdict.textContent = text;
    this.verdict.classList.toggle("bad", bad);
  }

  async #ask() {
    const text = this.text.trim();
    if (!text) {
      this.#latest.cancel();
      this.#judge({ ok: true, normal: "" });
      return;
    }
    try {
      const answer = await this.#latest.run((signal) =>
        get("/api/predicate", { tracepoint: this.tracepoint, text: this.text }, signal),
      );
      if (answer) this.#judge(answer);
    } catch (error) {
      this.#say(`Not checked: ${messageOf(error)}`, false);
    }
  }

  /** @param {CheckedPredicate} answer */
  #judge(answer) {
    this.bad = !answer.ok;
    if (this.mode === "text") {
      this.input.setAttribute("aria-invalid", String(this.bad));
      this.caret.textContent = this.bad && answer.offset !== undefined ? `${" ".repeat(answer.offset)}↑` : "";
    }
    const place = answer.offset === undefined ? "" : ` at character ${answer.offset + 1}`;
    if (this.bad) this.#say(`${answer.message}${this.mode === "text" ? place : ""}`, true);
    else this.#say(this.mode === "rows" && answer.normal ? answer.normal : "", false);
    this.changed();
  }
}
