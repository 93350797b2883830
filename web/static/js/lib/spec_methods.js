// The forms for system calls, thread states, ftrace and counts: what they hold, as the method of a spec and back. Pure. Everything that
// a method can say has a place in its form, so that a capture that is run again asks for the same.

import { probeLines, probesOf } from "./probe_text.js";

/** @import { CountSpec, StatesSpec, SyscallSpec, TraceSpec } from "../../../api.js" */
/** @typedef {{least?: number, most?: number, whole?: boolean}} Range what a number may be */
/** @typedef {ReturnType<typeof emptyMethods>["syscalls"]} SyscallsForm */
/** @typedef {ReturnType<typeof emptyMethods>["states"]} StatesForm */
/** @typedef {ReturnType<typeof emptyMethods>["trace"]} TraceForm */
/** @typedef {ReturnType<typeof emptyMethods>["count"]} CountForm */

/** @type {Record<string, number>} */
export const TIMES = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
/** @type {Record<string, number>} */
const INTERVALS = { ms: 1, s: 1000 };
const MOST_CPUS = 8192;

/** These forms as they are before anything is filled in. */
export function emptyMethods() {
  return {
    syscalls: {
      calls: "",
      outcome: "any",
      minDuration: "",
      minUnit: "ms",
      path: "",
      filter: "",
      below: "",
      belowDirect: false,
      stringBytes: "32",
      fdPaths: true,
      signals: true,
      stacks: false,
      rest: /** @type {Partial<SyscallSpec>} */ ({}),
    },
    states: { sleepStacks: false, wakeStacks: false },
    trace: {
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
    },
    count: {
      events: "",
      interval: "1",
      intervalUnit: "s",
      per: "total",
      cpus: "",
      everywhere: false,
      cgroup: "",
      detail: "0",
      dynamic: "",
      delay: "",
    },
  };
}

/**
 * Reads a number, or says what it must be.
 * @param {string} text
 * @param {string} what
 * @param {string[]} problems
 * @param {Range} [range]
 */
export function number(text, what, problems, { least = 0, most = Number.MAX_SAFE_INTEGER, whole = true } = {}) {
  const value = Number(text);
  if (
    text.trim() === "" ||
    !Number.isFinite(value) ||
    value < least ||
    value > most ||
    (whole && !Number.isInteger(value))
  ) {
    problems.push(`${what} must be ${whole ? "a whole number" : "a number"} from ${least} to ${most}.`);
  }
  return value;
}

/**
 * Words with blanks or commas between them.
 * @param {string} text
 */
const wordsOf = (text) => text.split(/[\s,]+/).filter(Boolean);

/**
 * The largest unit in which a number is whole.
 * @param {number} value
 * @param {Record<string, number>} units
 * @returns {[string, string]}
 */
function inUnit(value, units) {
  const sorted = Object.entries(units).sort(([, a], [, b]) => b - a);
  const [name, size] = sorted.find(([, one]) => value % one === 0) ?? sorted[sorted.length - 1];
  return [String(value / size), name];
}

/**
 * System calls as the spec has them.
 * @param {SyscallsForm} form
 * @param {string[]} problems gets what is wrong, in words
 * @returns {SyscallSpec}
 */
export function syscallsOf(form, problems) {
  const calls = wordsOf(form.calls);
  if (calls.slice(1).some((word) => word.startsWith("!")))
    problems.push("Write ! only before the first system call: it means all calls but those of the list.");
  if (calls[0] === "!") problems.push("Write the system calls to leave out after the !.");
  if (new TextEncoder().encode(form.path).length > 128)
    problems.push("The beginning of the path can have 128 bytes at most; shorten it.");
  return {
    calls,
    outcome: /** @type {SyscallSpec["outcome"]} */ (form.outcome),
    min_duration_ns: form.minDuration.trim()
      ? Math.round(number(form.minDuration, "The least duration", problems, { whole: false }) * TIMES[form.minUnit])
      : 0,
    ...(form.path ? { path: form.path } : {}),
    ...(form.filter.trim() ? { filter: form.filter.trim() } : {}),
    ...(form.below.trim()
      ? {
          below: {
            pid: number(form.below, "The process that others descend from", problems, { least: 1, most: 2 ** 31 - 1 }),
            direct: form.belowDirect,
          },
        }
      : {}),
    ...form.rest,
    string_bytes: number(form.stringBytes, "The bytes kept of a text", problems, { most: 16384 }),
    fd_paths: form.fdPaths,
    signals: form.signals,
    ...(form.stacks ? { stacks: true } : {}),
  };
}

/**
 * The form for these system calls; what the spec does not say is as usual.
 * @param {Partial<SyscallSpec>} spec
 * @returns {SyscallsForm}
 */
export function syscallsForm({
  calls = [],
  outcome = "any",
  min_duration_ns: least = 0,
  path = "",
  string_bytes: kept = 32,
  fd_paths: fdPaths = true,
  signals = true,
  stacks = false,
  filter = "",
  below,
  ...rest
}) {
  const [minDuration, minUnit] = least ? inUnit(least, TIMES) : ["", "ms"];
  return {
    calls: calls.join(", "),
    outcome,
    minDuration,
    minUnit,
    path,
    filter,
    below: below ? String(below.pid) : "",
    belowDirect: below?.direct ?? false,
    stringBytes: String(kept),
    fdPaths,
    signals,
    stacks,
    rest,
  };
}

/**
 * Thread states as the spec has them: without what is as usual.
 * @param {StatesForm} form
 * @returns {StatesSpec}
 */
export function statesOf({ sleepStacks, wakeStacks }) {
  return { ...(sleepStacks ? { sleep_stacks: true } : {}), ...(wakeStacks ? { wake_stacks: true } : {}) };
}

/**
 * The form for these thread states; what the spec does not say is as usual.
 * @param {StatesSpec} spec
 * @returns {StatesForm}
 */
export function statesForm({ sleep_stacks: sleepStacks = false, wake_stacks: wakeStacks = false }) {
  return { sleepStacks, wakeStacks };
}

/**
 * An option with `no` before it is switched off, as in the kernel's own file.
 * @param {string} word
 * @returns {[name: string, on: boolean]}
 */
const optionOf = (word) => (/^no./.test(word) ? [word.slice(2), false] : [word, true]);

/**
 * A trace as the spec has it: without what is as usual. What only the graph tracer has is left out for others.
 * @param {TraceForm} form
 * @param {string[]} problems gets what is wrong, in words
 * @returns {TraceSpec}
 */
export function traceOf(form, problems) {
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
export function traceForm(trace) {
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
 * Splits at commas that are neither in braces nor between the slashes of a PMU's event.
 * @param {string} text
 */
function splitEvents(text) {
  const parts = [];
  let [part, braces, slashes] = ["", false, false];
  for (const c of text) {
    if (c === "," && !braces && !slashes) {
      parts.push(part.trim());
      part = "";
      continue;
    }
    if (c === "{") braces = true;
    if (c === "}") braces = false;
    // The one slash of a breakpoint's length has no second one.
    if (c === "/") slashes = !slashes && !/(^|[,{])\s*mem:[^,]*$/.test(part);
    part += c;
  }
  return [...parts, part.trim()].filter(Boolean);
}

/**
 * @param {string} text
 * @param {string[]} problems
 * @returns {string[][]}
 */
export function groupsOf(text, problems) {
  return splitEvents(text).map((part) => {
    if (!/[{}]/.test(part)) return [part];
    const inside = /^\{([^{}]*)\}$/.exec(part)?.[1];
    const events = splitEvents(inside ?? "");
    if (inside === undefined)
      problems.push(
        `Write a group of events as {cycles, instructions}, with modifiers at its events; ${part} is not one.`,
      );
    else if (events.length === 0) problems.push("A group of events is empty; write events between { and }.");
    return events;
  });
}

/**
 * `0-3,8` as numbers.
 * @param {string} text
 * @param {string[]} problems
 */
function cpusOf(text, problems) {
  const cpus = [];
  for (const part of wordsOf(text)) {
    const [, from, to = from] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    if (from === undefined || Number(to) < Number(from) || cpus.length + Number(to) - Number(from) >= MOST_CPUS) {
      problems.push(`Write CPUs as 0-3,8; ${part} is not one of them.`);
      break;
    }
    for (let cpu = Number(from); cpu <= Number(to); cpu += 1) cpus.push(cpu);
  }
  return cpus;
}

/** @param {number[]} cpus */
function cpusText(cpus) {
  /** @type {[from: number, to: number][]} */
  const runs = [];
  for (const cpu of cpus) {
    const run = runs.at(-1);
    if (run && cpu === run[1] + 1) run[1] = cpu;
    else runs.push([cpu, cpu]);
  }
  return runs.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(",");
}

/**
 * Counts as the spec has them.
 * @param {CountForm} form
 * @param {boolean} ofSome whether the target is less than the whole system
 * @param {string[]} problems gets what is wrong, in words
 * @returns {CountSpec}
 */
export function countOf(form, ofSome, problems) {
  const [cpus, dynamic] = [cpusOf(form.cpus, problems), probesOf(form.dynamic)];
  const unit = INTERVALS[form.intervalUnit];
  const interval = number(form.interval, "The time between readings", problems, {
    least: 10 / unit,
    most: 3600000 / unit,
    whole: false,
  });
  const one = ofSome && !form.everywhere;
  if (form.per === "thread" && !one) problems.push("Rows for each thread need a process or a command as target.");
  if (form.cgroup && one)
    problems.push(
      "A control group is counted on whole CPUs: choose the whole system as target, or everything on the CPUs.",
    );
  return {
    groups: groupsOf(form.events, problems),
    interval_ms: Math.round(interval * unit),
    per: /** @type {CountSpec["per"]} */ (form.per),
    ...(cpus.length ? { cpus } : {}),
    ...(form.everywhere ? { everywhere: true } : {}),
    ...(form.cgroup ? { cgroup: form.cgroup } : {}),
    ...(form.detail === "0" ? {} : { detail: Number(form.detail) }),
    ...(dynamic.length ? { dynamic } : {}),
    ...delayOf(form.delay, problems),
  };
}

/**
 * Milliseconds before the first sample or count, if any.
 * @param {string} text
 * @param {string[]} problems
 * @returns {{delay_ms?: number}}
 */
export function delayOf(text, problems) {
  if (!text.trim() || text.trim() === "0") return {};
  return { delay_ms: number(text, "The delay in milliseconds", problems, { most: 3600000 }) };
}

/**
 * The form for these counts; what the spec does not say is as usual.
 * @param {Partial<CountSpec>} spec
 * @returns {CountForm}
 */
export function countForm({
  groups = [],
  interval_ms: every = 1000,
  per = "total",
  cpus = [],
  everywhere = false,
  cgroup = "",
  detail = 0,
  dynamic = [],
  delay_ms: delay = 0,
}) {
  const [interval, intervalUnit] = inUnit(every, INTERVALS);
  const events = groups.map((group) => (group.length > 1 ? `{${group.join(", ")}}` : group[0])).join(", ");
  return {
    events,
    interval,
    intervalUnit,
    per,
    cpus: cpusText(cpus),
    everywhere,
    cgroup: cgroup ?? "",
    detail: String(detail),
    dynamic: probeLines(dynamic).join("\n"),
    delay: delay ? String(delay) : "",
  };
}

/**
 * The word that is being written at the end of a list, and what stands before it.
 * @param {string} text
 * @returns {{before: string, word: string}}
 */
export function lastWord(text) {
  const [, before, word] = /^((?:[^]*[\s,{])?!?)([^\s,{]*)$/.exec(text) ?? ["", "", text];
  return { before, word };
}
