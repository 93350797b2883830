// A condition of a script: rows or text, which are the same condition as long as rows can say it.

import { Combobox } from "../lib/combobox.js";
import { h, put } from "../lib/dom.js";
import { NUMBER_OPERATORS } from "./predicate_rows.js";
import { TEXT_TESTS, scriptCondition, scriptRows } from "./script_condition.js";

/** @import { ScriptRow } from "./script_condition.js" */
/**
 * @typedef {object} ConditionField
 * @property {string} expr as the condition has it
 * @property {string} label
 * @property {boolean} isText
 * @property {string[]} names that its values have
 */

export class ScriptConditionEditor {
  /** @type {ScriptRow[]} */
  #rows = [];
  /** @type {"all"|"any"} */
  #join = "all";
  #isText = false;
  #text = "";
  /** @type {ConditionField[]} */
  #fields = [];

  /**
   * @param {object} parts
   * @param {string} parts.title
   * @param {string} parts.where where it runs, in words
   * @param {(text: string) => void} parts.change
   * @param {(expr: string) => Promise<string[]>} parts.sample values that occur
   */
  constructor(parts) {
    this.parts = parts;
    this.head = h("div", { class: "condition-head" });
    this.body = h("div", {});
    this.verdict = h("p", { class: "verdict", role: "status" });
    this.element = h(
      "div",
      { class: "condition", role: "group", "aria-label": parts.title },
      this.head,
      this.body,
      h("p", { class: "quiet small", text: parts.where }),
      this.verdict,
    );
  }

  /**
   * Shows a condition with the fields that it can ask for.
   * @param {string} text
   * @param {ConditionField[]} fields
   */
  show(text, fields) {
    const same = text === this.#text && JSON.stringify(fields) === JSON.stringify(this.#fields);
    this.#fields = fields;
    if (same && this.head.childElementCount > 0) return;
    if (text !== this.#text || this.#rows.length === 0) {
      const read = scriptRows(text);
      this.#text = text;
      if (read) this.#take(read);
      else this.#isText = true;
    }
    this.#draw();
  }

  /** @param {NonNullable<ReturnType<typeof scriptRows>>} read */
  #take(read) {
    this.#rows = read.rows;
    this.#join = read.join;
  }

  /**
   * What is wrong with it; empty if nothing is.
   * @param {string} why
   */
  say(why) {
    this.verdict.textContent = why;
    this.verdict.classList.toggle("bad", why !== "");
  }

  /** @param {string} expr */
  #field(expr) {
    return this.#fields.find((field) => field.expr === expr);
  }

  /** @param {string} expr */
  #textual(expr) {
    return this.#field(expr)?.isText ?? (/^(str|path|ntop)\(/.test(expr) || ["comm", "pcomm", "probe"].includes(expr));
  }

  #draw() {
    /**
     * @param {boolean} text
     * @param {string} label
     */
    const mode = (text, label) =>
      h("button", {
        type: "button",
        "aria-pressed": String(this.#isText === text),
        text: label,
        on: { click: () => this.#switch(text) },
      });
    put(
      this.head,
      h("span", { class: "quiet small", text: this.parts.title }),
      !this.#isText && this.#rows.length > 1 && this.#joined(),
      h("span", { class: "grow" }),
      h(
        "span",
        { class: "segments small", role: "group", "aria-label": "How the condition is written" },
        mode(false, "Rows"),
        mode(true, "Text"),
      ),
    );
    if (this.#isText) this.#drawText();
    else this.#drawRows();
  }

  #joined() {
    const select = h(
      "select",
      {
        "aria-label": "How the rows are joined",
        on: {
          change: () => {
            this.#join = select.value === "any" ? "any" : "all";
            this.#changed();
          },
        },
      },
      h("option", { value: "all", text: "all of these hold" }),
      h("option", { value: "any", text: "any of these holds" }),
    );
    select.value = this.#join;
    return select;
  }

  /** @param {boolean} text */
  #switch(text) {
    if (!text) {
      const read = scriptRows(this.#text);
      if (!read) {
        this.say(
          "This condition cannot be shown as rows, which compare one value each and are all joined in the same way. It stays text.",
        );
        return;
      }
      this.#take(read);
    }
    this.#isText = text;
    this.say("");
    this.#draw();
  }

  #drawText() {
    const input = h("input", {
      type: "text",
      class: "mono",
      maxlength: "4096",
      "aria-label": `${this.parts.title}, as text`,
      spellcheck: "false",
      placeholder: 'comm == "bash" && pid != 1',
      on: {
        input: () => {
          this.#text = input.value;
          this.parts.change(this.#text.trim());
        },
      },
    });
    input.value = this.#text;
    put(this.body, h("div", { class: "condition-text" }, input));
  }

  #drawRows() {
    const add = h("button", {
      type: "button",
      class: "plain small",
      text: this.#rows.length ? "Add a condition" : "Add a condition (none now: all hits)",
      disabled: this.#fields.length === 0,
      on: {
        click: () => {
          this.#rows.push({ field: this.#fields[0].expr, op: "==", value: "" });
          this.#drawRows();
          /** @type {NodeListOf<HTMLSelectElement>} */ (this.body.querySelectorAll("select.field-choice"))
            .item(this.#rows.length - 1)
            ?.focus();
        },
      },
    });
    put(this.body, ...this.#rows.map((row, index) => this.#row(row, index)), add);
  }

  /**
   * @param {ScriptRow} row
   * @param {number} index
   */
  #row(row, index) {
    const number = index + 1;
    const field = h(
      "select",
      {
        class: "mono field-choice",
        "aria-label": `Value that condition ${number} compares`,
        on: {
          change: () => {
            Object.assign(row, { field: field.value, op: "==" });
            this.#drawRows();
            this.#changed();
          },
        },
      },
      ...this.#fields.map(({ expr, label }) => h("option", { value: expr, text: label })),
    );
    if (!this.#field(row.field)) field.append(h("option", { value: row.field, text: row.field }));
    field.value = row.field;
    const op = h(
      "select",
      {
        "aria-label": `Operator of condition ${number}`,
        on: {
          change: () => {
            row.op = op.value;
            this.#changed();
          },
        },
      },
      ...(this.#textual(row.field) ? TEXT_TESTS : NUMBER_OPERATORS).map(([value, text]) =>
        h("option", { value, text }),
      ),
    );
    op.value = row.op;
    const remove = h("button", {
      type: "button",
      class: "plain",
      "aria-label": `Remove condition ${number}`,
      text: "Remove",
      on: {
        click: () => {
          this.#rows.splice(index, 1);
          this.#drawRows();
          this.#changed();
        },
      },
    });
    const line = h("div", { class: "condition-row" }, field, op, this.#value(row, number), remove);
    return line;
  }

  /**
   * @param {ScriptRow} row
   * @param {number} number
   */
  #value(row, number) {
    const input = h("input", {
      type: "text",
      class: "mono",
      "aria-label": `Value of condition ${number}`,
      placeholder: this.#textual(row.field) ? "text" : "number, 0x…, 1ms, or a name",
      on: {
        input: () => {
          row.value = input.value;
          this.#changed();
        },
      },
    });
    input.value = row.value;
    const holder = h("span", {}, input);
    /** @type {Promise<string[]>|null} */
    let sampled = null;
    new Combobox({
      input,
      keepsText: true,
      source: async (typed) => {
        const names = this.#field(row.field)?.names ?? [];
        const values = names.length ? names : await (sampled ??= this.parts.sample(row.field));
        const wanted = typed.trim().toLowerCase();
        const fits = values.filter((one) => one !== typed && one.toLowerCase().includes(wanted));
        return fits.slice(0, 40).map((label) => ({ label, group: names.length ? "Names" : "Seen in a sample" }));
      },
      pick: ({ label }) => {
        row.value = label;
        input.value = label;
        this.#changed();
      },
    });
    return holder;
  }

  #changed() {
    this.#text = scriptCondition(this.#rows, this.#join, (expr) => this.#textual(expr));
    this.parts.change(this.#text);
  }
}
