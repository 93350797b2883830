// Traces by ftrace as a kind of source: what the pages know of it. Pure but for what Info shows.

import { h } from "../lib/dom.js";
import { entry } from "../lib/facts.js";
import { number, wordsOf } from "../lib/form_values.js";
import { exact } from "../lib/format.js";
import { probeLines, probesOf } from "../lib/probe_text.js";
import { probedEntries } from "./own_probes.js";

/** @import { TraceSpec } from "../../../api.js" */
/** @import { Kind, Reading } from "./kind.js" */
/** @typedef {ReturnType<typeof empty>} TraceForm */

const empty = () => ({
  tracer: "",
  functions: "",
  notFunctions: "",
  graphRoots: "",
  graphNot: "",
  maxDepth: "",
  events: /** @type {{event: string, filter: string}[]} */ ([]),
  dynamic: "",
  options: "",
  clock: "",
  bufferKib: "",
  overwrite: false,
});

/**
 * An option with `no` before it is switched off, as in the kernel's own file.
 * @param {string} word
 * @returns {[name: string, on: boolean]}
 */
const optionOf = (word) => (/^no./.test(word) ? [word.slice(2), false] : [word, true]);

/**
 * A trace as the spec has it: without what is as usual. What only the graph tracer has is left out for others.
 * @param {TraceForm} form
 * @param {Reading} reading
 * @returns {TraceSpec}
 */
function specOf(form, { problems }) {
  const tracer = form.tracer.trim();
  const dynamic = probesOf(form.dynamic);
  const [functions, not_functions] = [form.functions, form.notFunctions].map(wordsOf);
  if (!tracer && form.events.length === 0 && dynamic.length === 0)
    problems.push("Choose a tracer, add an event, or write a probe of your own.");
  else if (!tracer && functions.length + not_functions.length > 0)
    problems.push("Functions need a tracer: choose function or function_graph.");
  const graph = tracer === "function_graph";
  const texts = { tracer, clock: form.clock };
  const lists = {
    functions,
    not_functions,
    graph_roots: graph ? wordsOf(form.graphRoots) : [],
    graph_not: graph ? wordsOf(form.graphNot) : [],
    events: form.events.map(({ event, filter }) => ({ event, ...(filter.trim() ? { filter: filter.trim() } : {}) })),
    dynamic,
    options: wordsOf(form.options).map(optionOf),
  };
  return {
    ...Object.fromEntries(Object.entries({ ...texts, ...lists }).filter(([, value]) => value.length > 0)),
    ...(graph && form.maxDepth.trim()
      ? { max_depth: number(form.maxDepth, "The depth", problems, { least: 1, most: 256 }) }
      : {}),
    ...(form.bufferKib.trim()
      ? { buffer_kib: number(form.bufferKib, "The buffer", problems, { least: 16, most: 262144 }) }
      : {}),
    ...(form.overwrite ? { overwrite: true } : {}),
  };
}

/**
 * The form for this trace.
 * @param {TraceSpec} trace
 * @returns {TraceForm}
 */
function formOf(trace) {
  /** @param {string[]|undefined} list */
  const words = (list) => (list ?? []).join(" ");
  /** @param {number|null|undefined} value */
  const digits = (value) => (value === undefined || value === null ? "" : String(value));
  return {
    tracer: trace.tracer ?? "",
    functions: words(trace.functions),
    notFunctions: words(trace.not_functions),
    graphRoots: words(trace.graph_roots),
    graphNot: words(trace.graph_not),
    maxDepth: digits(trace.max_depth),
    events: (trace.events ?? []).map(({ event, filter }) => ({ event, filter: filter ?? "" })),
    dynamic: probeLines(trace.dynamic ?? []).join("\n"),
    options: words((trace.options ?? []).map(([name, on]) => (on ? name : `no${name}`))),
    clock: trace.clock ?? "",
    bufferKib: digits(trace.buffer_kib),
    overwrite: trace.overwrite ?? false,
  };
}

/**
 * A trace by ftrace: only what was asked for.
 * @param {TraceSpec} trace
 */
function entries({
  tracer,
  functions = [],
  not_functions: not = [],
  graph_roots: roots = [],
  graph_not: leftOut = [],
  max_depth: depth,
  events = [],
  dynamic = [],
}) {
  /**
   * @param {string} name
   * @param {string[]} words
   */
  const codes = (name, words) => (words.length ? entry(name, h("code", { text: words.join(" ") })) : []);
  return [
    ...codes("Tracer", tracer ? [tracer] : []),
    ...codes("Functions", functions),
    ...codes("Excluded functions", not),
    ...codes("Graph begins at", roots),
    ...codes("Graph excludes", leftOut),
    ...(depth ? entry("Depth", exact(depth)) : []),
    ...events.flatMap(({ event, filter }, i) =>
      entry(
        i === 0 ? "Events" : "",
        h("code", { text: event }),
        filter && h("div", {}, "only where ", h("code", { text: filter })),
      ),
    ),
    ...probedEntries(dynamic),
  ];
}

/** @satisfies {Kind<TraceForm, TraceSpec>} */
export const trace = {
  name: /** @type {const} */ ("trace"),
  title: "ftrace",
  command: "trace with ftrace",
  empty,
  specOf,
  formOf,
  fields: {
    "trace-tracer": "tracer",
    "trace-functions": "functions",
    "trace-not-functions": "notFunctions",
    "trace-roots": "graphRoots",
    "trace-graph-not": "graphNot",
    "trace-depth": "maxDepth",
    "trace-dynamic": "dynamic",
    "trace-options": "options",
    "trace-clock": "clock",
    "trace-buffer": "bufferKib",
    "trace-overwrite": "overwrite",
  },
  parameters: { tracer: "tracer", functions: "functions", roots: "graphRoots" },
  costIsEstimated: true,
  entries,
  hasOwnProbes: ({ dynamic = [] }) => dynamic.length > 0,
};
