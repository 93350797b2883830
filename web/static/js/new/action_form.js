// What the builder does with each hit: a row, an aggregate with its number and name, or a format.

import { byId, fieldOf, h, inputOf, put } from "../lib/dom.js";
import { ACTIONS, actionWord, doing, ofNumber } from "./builder_model.js";

/** @import { ProbeForm } from "../../../api.js" */

/** @param {string} text */
const natural = (text) => Math.max(0, Math.round(Number(text)) || 0);

export class ActionForm {
  /**
   * @param {object} parts
   * @param {() => ProbeForm} parts.form
   * @param {(form: ProbeForm, how?: {draws?: boolean}) => void} parts.change
   * @param {() => string[]} parts.numbers expressions that are numbers where the row is made
   */
  constructor(parts) {
    this.parts = parts;
    const action = fieldOf("build-action");
    put(action, ...ACTIONS.map(([value, text]) => h("option", { value, text })));
    action.addEventListener("change", () => {
      const [usual = ""] = parts.numbers();
      parts.change(doing(parts.form(), action.value, usual), { draws: true });
    });
    this.#field("build-of", (of) => ({ of }));
    this.#field("build-map", (map) => ({ map: map.trim() }));
    this.#field("build-min", (text) => ({ min: natural(text) }));
    this.#field("build-max", (text) => ({ max: natural(text) }));
    this.#field("build-step", (text) => ({ step: natural(text) }));
    this.#field("build-format", (text) => ({ format: text.replaceAll("\\n", "\n").replaceAll("\\t", "\t") }));
  }

  /**
   * @param {string} id
   * @param {(text: string) => Record<string, unknown>} patch
   */
  #field(id, patch) {
    const input = inputOf(id);
    input.addEventListener("input", () => {
      const form = this.parts.form();
      const action = /** @type {ProbeForm["action"]} */ ({ ...form.action, ...patch(input.value) });
      this.parts.change({ ...form, action });
    });
  }

  /** @param {boolean} fills whether fields are filled anew that nobody is typing in */
  show(fills) {
    const { action, until } = this.parts.form();
    const word = actionWord(this.parts.form());
    const aggregates = "map" in action;
    fieldOf("build-action").value = word;
    byId("build-of-line").hidden = !ofNumber(word);
    byId("build-map-line").hidden = !aggregates;
    byId("build-linear").hidden = action.kind !== "linear_histogram";
    byId("build-format-line").hidden = action.kind !== "print";
    put(byId("build-numbers"), ...this.parts.numbers().map((value) => h("option", { value })));
    byId("build-rows").textContent = aggregates
      ? "One aggregate for each combination of these values and stacks; without any, one in all."
      : "Each row also has time, CPU, process, thread and thread name.";
    byId("build-action-note").textContent =
      aggregates && until ? "The number is a value at the end; write a value of the begin as @name[key]." : "";
    if (!fills) return;
    if ("of" in action) inputOf("build-of").value = action.of;
    if (aggregates) inputOf("build-map").value = action.map;
    if (action.kind === "print")
      inputOf("build-format").value = action.format.replaceAll("\n", "\\n").replaceAll("\t", "\\t");
    if (action.kind === "linear_histogram")
      for (const name of /** @type {const} */ (["min", "max", "step"]))
        inputOf(`build-${name}`).value = String(action[name]);
  }
}
