// The values that the builder records, in their order: how each is shown, and whether it is looked at late.

import { h, put } from "../lib/dom.js";
import { FORMAT_WORDS, formatKey, formatName, formatOf, valuesAt } from "./builder_model.js";

/** @import { ProbeForm, RecordedValue, ValueFormat } from "../../../api.js" */
/** @import { Place } from "./builder_model.js" */

/** @param {ValueFormat} format */
const hasFunction = (format) => typeof format !== "string" || !["plain", "decimal", "hex", "octal"].includes(format);

export class ValueList {
  /**
   * @param {HTMLElement} element
   * @param {object} parts
   * @param {(place: Place, values: RecordedValue[]) => void} parts.change
   */
  constructor(element, parts) {
    this.element = element;
    this.parts = parts;
    /** @type {Map<string, ValueFormat[]>} formats that fit, by the expression */
    this.fits = new Map();
  }

  /** @param {ProbeForm} form */
  show(form) {
    // What has the focus is made anew: its place in the list stays the same.
    const had = document.activeElement;
    const label = had instanceof HTMLElement && this.element.contains(had) ? had.getAttribute("aria-label") : null;
    /** @type {Place[]} */
    const places = form.until ? ["begin", "end"] : ["begin"];
    put(
      this.element,
      ...places.flatMap((place) =>
        valuesAt(form, place).map((value, index, all) => this.#row(form, place, value, index, all)),
      ),
    );
    const same = [...this.element.querySelectorAll("[aria-label]")].find(
      (one) => one.getAttribute("aria-label") === label,
    );
    if (label !== null && same instanceof HTMLElement) same.focus();
  }

  /**
   * @param {ProbeForm} form
   * @param {Place} place
   * @param {RecordedValue} value
   * @param {number} index
   * @param {RecordedValue[]} all
   */
  #row(form, place, value, index, all) {
    /** @param {Partial<RecordedValue>} patch */
    const change = (patch) =>
      this.parts.change(
        place,
        all.map((one, i) => (i === index ? { ...one, ...patch } : one)),
      );
    const late = h("input", {
      type: "checkbox",
      "aria-label": `Read ${value.expr} when it ends`,
      on: { change: () => change({ late: late.checked }) },
    });
    late.checked = value.late;
    return h(
      "li",
      { class: "row build-value" },
      h("code", { text: value.expr }),
      form.until !== null && h("span", { class: "quiet small", text: place === "end" ? "when it ends" : "" }),
      h("span", { class: "grow" }),
      place === "begin" &&
        form.until !== null &&
        hasFunction(value.format) &&
        h(
          "label",
          { class: "check small", title: "A text may not be in memory yet when a system call begins" },
          late,
          "read when it ends",
        ),
      this.#formats(value, change),
      h("button", {
        type: "button",
        class: "plain small",
        text: "Remove",
        "aria-label": `Remove ${value.expr} from the recorded values`,
        on: {
          click: () =>
            this.parts.change(
              place,
              all.filter((_one, i) => i !== index),
            ),
        },
      }),
    );
  }

  /**
   * @param {RecordedValue} value
   * @param {(patch: Partial<RecordedValue>) => void} change
   */
  #formats(value, change) {
    const known = this.fits.get(value.expr) ?? FORMAT_WORDS;
    const keys = [...new Set([...known.map(formatKey), formatKey(value.format)])];
    const select = h(
      "select",
      {
        "aria-label": `How ${value.expr} is shown`,
        on: { change: () => change({ format: formatOf(select.value) }) },
      },
      ...keys.map((key) => h("option", { value: key, text: formatName(formatOf(key)) })),
    );
    select.value = formatKey(value.format);
    return select;
  }
}
