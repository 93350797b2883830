// One tracepoint of a new capture: its fields and its condition.

import { get } from "../lib/api.js";
import { ConditionEditor } from "./condition_editor.js";
import { h, put } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { showError } from "../lib/notice.js";

/** @import { DescribedField } from "../../../api.js" */

/** Edits one probe. */
export class ProbeEditor {
  /**
   * @param {{tracepoint: string, fields: string[]|null, predicate: string}} probe `fields` null ticks all
   * @param {{changed: () => void, remove: (editor: ProbeEditor) => void}} parts
   */
  constructor(probe, parts) {
    this.tracepoint = probe.tracepoint;
    this.chosen = probe.fields ? new Set(probe.fields) : null;
    this.predicate = probe.predicate;
    this.parts = parts;
    /** @type {ConditionEditor|null} */
    this.condition = null;
    this.body = h("div", {}, h("p", { class: "quiet small", text: "Reading its fields" }));
    this.element = h(
      "section",
      { class: "probe", "aria-label": probe.tracepoint },
      h(
        "div",
        { class: "probe-head" },
        h("h2", { text: probe.tracepoint }),
        h("button", {
          type: "button",
          class: "plain",
          "aria-label": `Remove ${probe.tracepoint}`,
          text: "Remove",
          on: { click: () => parts.remove(this) },
        }),
      ),
      this.body,
    );
    this.#load();
  }

  async #load() {
    const [system, name] = this.tracepoint.split(":");
    try {
      const { fields } = await get("/api/tracepoints/{system}/{name}", { system, name: name ?? "" });
      const chosen = this.chosen ?? new Set(fields.filter((one) => one.recordable).map((one) => one.name));
      this.chosen = chosen;
      this.condition = new ConditionEditor(this.tracepoint, fields, this.predicate, this.parts.changed);
      put(this.body, ...this.#fields(fields, chosen), this.condition.element);
      this.parts.changed();
    } catch (error) {
      showError(this.body, error, () => this.#load());
    }
  }

  /**
   * @param {DescribedField[]} fields
   * @param {Set<string>} chosen
   */
  #fields(fields, chosen) {
    if (fields.length === 0)
      return [
        h("p", {
          class: "quiet small",
          text: "It has no fields of its own. Time, CPU, pid, tid and comm are always recorded.",
        }),
      ];
    /** @type {HTMLInputElement[]} */
    const boxes = [];
    const counted = h("span");
    const tell = () => {
      counted.textContent = `Records ${chosen.size} of ${plural(fields.length, "field")}, besides time, CPU, pid, tid and comm`;
    };
    /** @param {boolean} on */
    const all = (on) => () => {
      for (const box of boxes) if (!box.disabled && box.checked !== on) box.click();
    };
    const list = fields.map((one) => {
      const box = h("input", {
        type: "checkbox",
        disabled: !one.recordable,
        on: {
          change: () => {
            chosen[box.checked ? "add" : "delete"](one.name);
            tell();
            this.parts.changed();
          },
        },
      });
      box.checked = one.recordable && chosen.has(one.name);
      boxes.push(box);
      return h(
        "label",
        { title: [one.type, one.note].filter(Boolean).join(". ") },
        box,
        h("span", { class: "mono", text: one.name }),
        h("span", {
          class: "quiet",
          text: one.recordable ? one.type : `${one.type}: ${one.note || "cannot be recorded"}`,
        }),
      );
    });
    tell();
    return [
      h(
        "div",
        { class: "fields-head" },
        counted,
        h("button", { type: "button", class: "plain small", text: "All", on: { click: all(true) } }),
        h("button", { type: "button", class: "plain small", text: "None", on: { click: all(false) } }),
      ),
      h("div", { class: "fields" }, ...list),
    ];
  }

  /** The probe as the spec has it. */
  value() {
    return {
      tracepoint: this.tracepoint,
      fields: [...(this.chosen ?? [])],
      predicate: this.condition ? this.condition.text : this.predicate,
    };
  }

  /** Whether its condition was found to be wrong. */
  get bad() {
    return this.condition?.bad ?? false;
  }
}
