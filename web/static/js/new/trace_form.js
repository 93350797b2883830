// What the form for ftrace has beside plain fields: suggestions, how many functions its patterns stand for, the list of events,
// probes of one's own.

import { get, Latest, messageOf } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { byId, fieldOf, h, inputOf, put, settled } from "../lib/dom.js";
import { exact, plural } from "../lib/format.js";
import { sentence } from "../lib/notice.js";
import { ProbeBuilder } from "./probe_builder.js";
import { KEPT, MOST, fitting, keptProbes, suggestWords, tracepoints } from "./suggest.js";

/** @import { DescribedField } from "../../../api.js" */
/** @typedef {import("../kind/trace.js").TraceForm} Form */
/** @typedef {{event: string, input: HTMLInputElement, element: HTMLElement}} EventRow */

/**
 * Tracers of ftrace: those of this kernel first, the others with what it would need.
 * @param {string} query
 * @param {AbortSignal} signal
 */
async function tracers(query, signal) {
  const { items } = await get("/api/catalog", { kind: "tracer", q: query.trim(), limit: MOST }, signal);
  /** @param {boolean} works */
  const group = (works) => (works ? "tracers of this kernel" : "not in this kernel");
  return items
    .sort((a, b) => Number(b.works) - Number(a.works))
    .map(({ name, note, works }) => ({ label: name, detail: note, group: group(works) }));
}

/**
 * Says below a field how many functions its patterns stand for, before anything is traced.
 * @param {HTMLInputElement} input
 * @param {HTMLElement} place
 */
function countFunctions(input, place) {
  const latest = new Latest();
  const tell = async () => {
    const patterns = input.value.split(/[\s,]+/).filter(Boolean);
    if (patterns.length === 0) {
      latest.cancel();
      put(place);
      return;
    }
    // A name that moved is told where it went, a pattern how much it stands for.
    /**
     * @param {string} pattern
     * @param {AbortSignal} signal
     */
    const told = async (pattern, signal) => {
      if (!/[*?[:]/.test(pattern)) {
        const { total, hint } = await get("/api/dynamic/functions", { q: pattern, limit: 1 }, signal);
        return hint && h("div", { class: total === 0 ? "stop" : "" }, sentence(hint));
      }
      const { total, usable } = await get("/api/catalog/count", { kind: "function", pattern }, signal);
      return h(
        "span",
        { class: total === 0 ? "stop" : "" },
        h("code", { text: pattern }),
        `: ${plural(total, "function")}${usable < total ? `, ${exact(usable)} of them can be traced` : ""} `,
      );
    };
    try {
      const counts = await latest.run((signal) =>
        Promise.all(patterns.slice(0, 8).map((pattern) => told(pattern, signal))),
      );
      if (counts) put(place, ...counts);
    } catch (error) {
      put(place, messageOf(error));
    }
  };
  input.addEventListener("input", settled(200, tell));
  return tell;
}

/** The events of a trace, each with a filter. */
class TraceEvents {
  /** @type {EventRow[]} */
  #rows = [];

  /** @param {(name: string) => void} addKept takes the name of a kept probe, which is a line of the definitions */
  constructor(addKept) {
    this.list = byId("trace-events");
    this.adding = inputOf("trace-add");
    new Combobox({
      input: this.adding,
      firstIsActive: true,
      empty: "No matching tracepoint.",
      source: async (query, signal) => {
        const [names, kept] = await Promise.all([tracepoints(query.trim(), signal), keptProbes(query.trim(), signal)]);
        return [
          ...kept.map((one) => ({ ...one, value: one.label })),
          ...names.map((label) => ({ label, value: label, group: kept.length ? "tracepoints" : "" })),
        ];
      },
      pick: ({ value, group }) => {
        if (group === KEPT) {
          this.adding.value = "";
          addKept(value);
        } else this.add({ event: value, filter: "" });
        this.adding.focus();
      },
      enter: (text) => {
        if (/^[\w.-]+:[\w.-]+$/.test(text.trim())) this.add({ event: text.trim(), filter: "" });
      },
    });
  }

  /** Removes all events. */
  clear() {
    this.#rows = [];
    put(this.list);
  }

  /**
   * Adds an event, unless it is there.
   * @param {{event: string, filter: string}} one
   */
  add({ event, filter }) {
    this.adding.value = "";
    if (this.#rows.some((row) => row.event === event)) return;
    const input = h("input", {
      type: "text",
      class: "mono",
      placeholder: "filter: none",
      "aria-label": `Filter of ${event}`,
      spellcheck: "false",
    });
    input.value = filter;
    const element = h(
      "div",
      { class: "trace-event", role: "group", "aria-label": event },
      h("code", { text: event }),
      input,
      h("button", {
        type: "button",
        class: "plain",
        "aria-label": `Remove ${event}`,
        text: "Remove",
        on: { click: () => this.#remove(row) },
      }),
    );
    const row = { event, input, element };
    this.#rows.push(row);
    this.list.append(row.element);
    /** @type {DescribedField[]|null} */
    let fields = null;
    const [system, name] = event.split(":");
    suggestWords(
      input,
      async (word, signal) => {
        fields ??= (await get("/api/tracepoints/{system}/{name}", { system, name }, signal)).fields;
        return word
          ? fitting(
              fields.map((one) => [one.name, one.type]),
              word,
            )
          : [];
      },
      " ",
    );
  }

  /** @param {EventRow} row */
  #remove(row) {
    this.#rows = this.#rows.filter((one) => one !== row);
    row.element.remove();
    this.adding.focus();
  }

  /** The events with their filters. */
  value() {
    return this.#rows.map(({ event, input }) => ({ event, filter: input.value }));
  }
}

/** Shows what only the graph tracer has. */
function showGraph() {
  byId("trace-graph").hidden = fieldOf("trace-tracer").value.trim() !== "function_graph";
}

/** The ftrace tab. */
export class TraceForm {
  constructor() {
    new Combobox({ input: inputOf("trace-tracer"), keepsText: true, source: tracers, pick: showGraph });
    for (const id of ["trace-functions", "trace-roots"]) countFunctions(inputOf(id), byId(`${id}-count`));
    byId("trace-tracer").addEventListener("input", showGraph);
    this.builder = new ProbeBuilder();
    this.events = new TraceEvents((name) => this.builder.text.add(name));
  }

  /**
   * The fields are filled.
   * @param {Form} form
   */
  fill({ events }) {
    this.events.clear();
    for (const event of events) this.events.add(event);
    showGraph();
    this.builder.text.filled();
  }

  /** @param {Form} form gets what is in no field */
  read(form) {
    form.events = this.events.value();
  }
}
