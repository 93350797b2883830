// What the form for events has: tracepoints, each with its fields and its condition.

import { get } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { byId, inputOf } from "../lib/dom.js";
import { ProbeEditor } from "./probe_editor.js";

/** @typedef {import("../kind/events.js").EventsForm} Form */
/** @typedef {Form["probes"][number]} Probe */

/** The Events tab. */
export class EventsForm {
  /** @type {ProbeEditor[]} */
  #editors = [];

  constructor() {
    const adding = inputOf("add-event");
    new Combobox({
      input: adding,
      firstIsActive: true,
      empty: "No matching tracepoint.",
      source: async (query, signal) => {
        const { total, items } = await get("/api/tracepoints", { q: query.trim(), limit: 40 }, signal);
        return items.map((name, i) => ({
          label: name,
          group: total > items.length && i === 0 ? `${items.length} of ${total}` : undefined,
          value: name,
        }));
      },
      pick: (item) => {
        this.#addTracepoint(item.value);
        adding.focus();
      },
      enter: (text) => this.#addTracepoint(text),
    });
  }

  /** @param {Form} form */
  fill({ probes }) {
    for (const editor of this.#editors.splice(0)) editor.element.remove();
    for (const probe of probes) this.#addProbe(probe);
  }

  /** @param {Form} form gets what is in no field */
  read(form) {
    form.probes = this.#editors.map((editor) => editor.value());
  }

  /** What is wrong with the conditions, in words. */
  problems() {
    const found = [];
    if (this.#editors.some((editor) => editor.bad))
      found.push("A condition has an error; the form shows it below the condition.");
    if (this.#editors.some((editor) => !editor.condition))
      found.push("The fields of a tracepoint could not be read; remove it or try again.");
    return found;
  }

  /**
   * Begins with the tracepoint of the address.
   * @param {URLSearchParams} params
   */
  begin(params) {
    const tracepoint = params.get("tracepoint");
    if (tracepoint !== null) this.#addTracepoint(tracepoint);
    return tracepoint !== null;
  }

  /** Puts the caret where a tracepoint is added. */
  focus() {
    byId("add-event").focus();
  }

  /** @param {Omit<Probe, "fields"> & {fields: string[]|null}} probe `fields` null ticks all */
  #addProbe(probe) {
    const editor = new ProbeEditor(probe, {
      changed: () => {},
      remove: (gone) => {
        this.#editors = this.#editors.filter((one) => one !== gone);
        gone.element.remove();
        byId("add-event").focus();
      },
    });
    this.#editors.push(editor);
    byId("probes").append(editor.element);
  }

  /** @param {string} name */
  #addTracepoint(name) {
    const text = name.trim();
    if (!/^[\w.-]+:[\w.-]+$/.test(text)) return;
    inputOf("add-event").value = "";
    const known = this.#editors.find((one) => one.tracepoint === text);
    if (known) known.element.scrollIntoView({ block: "nearest" });
    else this.#addProbe({ tracepoint: text, fields: null, predicate: "" });
  }
}
