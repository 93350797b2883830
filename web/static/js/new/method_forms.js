// What the forms for system calls, ftrace, counts and profiles have beside plain fields: suggestions, and the list of
// events of a trace.

import { get, Latest, messageOf } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { byId, fieldOf, h, inputOf, put, settled } from "../lib/dom.js";
import { exact, plural } from "../lib/format.js";
import { sentence } from "../lib/notice.js";
import { BRANCH_WORDS } from "../lib/spec.js";
import { lastWord } from "../lib/spec_methods.js";

/** @import { DescribedField, PerfEventInfo, PerfEvents } from "../../../api.js" */
/** @typedef {import("../lib/combobox.js").Item} Item */
/** @typedef {(word: string, signal: AbortSignal) => Promise<Item[]>} Source */
/** @typedef {{event: string, input: HTMLInputElement, element: HTMLElement}} EventRow */

/** Sets of system calls that have a name. */
const SETS = [
  ["%file", "calls that take a path"],
  ["%network", "sockets"],
  ["%process", "making, ending and waiting for processes"],
  ["%memory", "mapping and protecting memory"],
  ["%signal", "signals"],
  ["%ipc", "shared memory, semaphores and queues of System V"],
  ["%desc", "calls that take a descriptor"],
];
const MOST = 40;

/**
 * The words that fit.
 * @param {string[][]} list words with what they mean
 * @param {string} word
 */
const fitting = (list, word) =>
  list.filter(([label, detail]) => `${label} ${detail}`.includes(word)).map(([label, detail]) => ({ label, detail }));

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

/**
 * Tracepoints that match.
 * @param {string} query
 * @param {AbortSignal} signal
 */
async function tracepoints(query, signal) {
  return (await get("/api/tracepoints", { q: query, limit: MOST }, signal)).items;
}

/** @type {Promise<PerfEvents>|null} */
let events = null;

/** Kinds of what is only read, and does not happen. */
const READ = new Set(["tool", "pressure", "memory", "vm"]);

/**
 * Events that can be sampled.
 * @param {string} word
 * @param {AbortSignal} signal
 */
async function sampledEvents(word, signal) {
  return perfEvents(word, signal, ({ kind }) => !READ.has(kind));
}

/**
 * Events that can be counted: those that work here first, then tracepoints.
 * @param {string} word
 * @param {AbortSignal} signal
 * @param {(event: PerfEventInfo) => boolean} [fits]
 */
async function perfEvents(word, signal, fits = () => true) {
  events ??= get("/api/perf_events").catch((error) => {
    events = null;
    throw error;
  });
  const { items } = await events;
  const wanted = word.toLowerCase();
  const found = items
    .filter((one) => fits(one) && `${one.name} ${one.alias ?? ""}`.toLowerCase().includes(wanted))
    .sort((a, b) => Number(b.works) - Number(a.works))
    .slice(0, MOST)
    .map((one) => ({
      label: one.name,
      detail: one.meaning,
      group: one.works ? `${one.kind} ${READ.has(one.kind) ? "counters" : "events"}` : "cannot be counted here",
    }));
  const names = word.length > 1 ? await tracepoints(word, signal) : [];
  return [...found, ...names.map((label) => ({ label, group: "tracepoints" }))];
}

/**
 * @param {string} word
 * @param {AbortSignal} signal
 * @returns {Promise<Item[]>}
 */
async function systemCalls(word, signal) {
  const sets = fitting(SETS, word);
  if (word.startsWith("%") || word === "") return sets;
  const names = await tracepoints(`sys_enter_${word}`, signal);
  const calls = names
    .filter((name) => name.startsWith("syscalls:sys_enter_"))
    .map((name) => ({ label: name.slice("syscalls:sys_enter_".length) }));
  // The kernel's names of some calls differ from those that people write (newstat is stat): any word can be kept.
  return [...calls.slice(0, MOST), ...sets];
}

/**
 * Suggests the last word of a list; what stands before it stays.
 * @param {HTMLInputElement} input
 * @param {Source} source
 * @param {string} [after]
 */
function suggestWords(input, source, after = ", ") {
  new Combobox({
    input,
    keepsText: true,
    source: async (text, signal) => {
      const { before, word } = lastWord(text);
      return (await source(word, signal)).map((item) => ({ ...item, text: `${before}${item.label}${after}` }));
    },
    pick: () => input.focus(),
  });
}

/** The events of a trace, each with a filter. */
class TraceEvents {
  /** @type {EventRow[]} */
  #rows = [];

  constructor() {
    this.list = byId("trace-events");
    this.adding = inputOf("trace-add");
    new Combobox({
      input: this.adding,
      firstIsActive: true,
      empty: "No matching tracepoint.",
      source: async (query, signal) =>
        (await tracepoints(query.trim(), signal)).map((label) => ({ label, value: label })),
      pick: ({ value }) => {
        this.add({ event: value, filter: "" });
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
export function showGraph() {
  byId("trace-graph").hidden = fieldOf("trace-tracer").value.trim() !== "function_graph";
}

/** Sets and calls that are about signals and ends. */
const ABOUT_ENDS = /^(%?(process|signal)s?|%%?creds|.*exit.*|.*kill.*|.*signal.*|rt_sig.*|wait.*)$/;

/**
 * Whether signals and ends of processes belong to what is asked for: to everything, and to calls that are about them. Pure.
 * @param {string} calls as typed
 */
export function wantsEnds(calls) {
  const words = calls
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);
  return words.length === 0 || words.some((word) => word.startsWith("!") || ABOUT_ENDS.test(word));
}

/** Whoever chooses calls gets no ends of threads beside them, unless they say so. */
function startEnds() {
  const [calls, ends] = [inputOf("sys-calls"), inputOf("sys-signals")];
  ends.addEventListener("change", () => {
    ends.dataset.chosen = "1";
  });
  for (const name of ["input", "change", "blur"])
    calls.addEventListener(name, () => {
      if (!ends.dataset.chosen) ends.checked = wantsEnds(calls.value);
    });
}

/**
 * Brings these forms to life.
 * @returns {{add: (event: {event: string, filter: string}) => void, clear: () => void, value: () => {event: string, filter: string}[]}} the
 * events of a trace
 */
export function startMethods() {
  suggestWords(inputOf("sys-calls"), systemCalls);
  startEnds();
  suggestWords(inputOf("count-events"), perfEvents);
  suggestWords(inputOf("event"), sampledEvents, "");
  suggestWords(inputOf("branches"), async (word) => fitting(BRANCH_WORDS, word));
  new Combobox({ input: inputOf("trace-tracer"), keepsText: true, source: tracers, pick: showGraph });
  for (const id of ["trace-functions", "trace-roots"]) countFunctions(inputOf(id), byId(`${id}-count`));
  byId("trace-tracer").addEventListener("input", showGraph);
  new Combobox({
    input: inputOf("count-cgroup"),
    keepsText: true,
    source: async (query, signal) =>
      (await get("/api/groups", { q: query.trim(), limit: MOST }, signal)).items.map(({ path }) => ({ label: path })),
    pick: () => {},
  });
  return new TraceEvents();
}
