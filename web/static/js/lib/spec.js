// A capture spec and the form that makes one. Pure.

import {
  countForm,
  countOf,
  delayOf,
  emptyMethods,
  groupsOf,
  number,
  statesForm,
  statesOf,
  syscallsForm,
  syscallsOf,
  traceForm,
  traceOf,
} from "./spec_methods.js";

/** @import { Budgets, CaptureSpec, Limits, Method, ProfileSpec, SampledEvent, ScriptSpec, Target } from "../../../api.js" */
/** @typedef {ReturnType<typeof emptyForm>} Form */
/** @typedef {(text: string) => {words: string[], problem: string}} Split turns a command line into words */
/** @typedef {(words: string[]) => string} Join turns words into a command line */
/** @typedef {Omit<Limits, "budgets"> & {budgets?: Partial<Budgets>}} AskedLimits */
/** @typedef {Omit<CaptureSpec, "limits"> & {limits: AskedLimits}} AskedSpec a spec as the API takes it */
/** @typedef {{id: string, method: Method, required?: boolean}[]} Sources */
/** @typedef {{sources: Sources} | {sources?: undefined, method: Method}} Recorded what is recorded, as any release says it */
/** @typedef {Partial<Omit<AskedSpec, "sources"|"limits">> & Recorded & {limits?: Partial<AskedLimits>}} KnownSpec as it was stored by any release */

/**
 * The sources of a capture. Before captures could have several, a spec had one method.
 * @param {Recorded} spec
 * @returns {Sources}
 */
export function sourcesOf(spec) {
  return spec.sources ?? [{ id: Object.keys(spec.method)[0] ?? "", method: spec.method }];
}

/**
 * What a capture records, by kind: of each kind what its first source records.
 * @param {Recorded} spec
 * @returns {Method}
 */
export function methodsOf(spec) {
  return Object.assign(
    {},
    ...sourcesOf(spec)
      .map(({ method }) => method)
      .toReversed(),
  );
}

/**
 * What kinds of sources are called.
 * @type {Record<string, string>}
 */
export const METHOD_TITLES = {
  events: "events",
  profile: "profile",
  syscalls: "system calls",
  states: "thread states",
  trace: "ftrace",
  count: "counts",
  script: "script",
};

/** The form as it is before anything is filled in. */
export function emptyForm() {
  return {
    method: "events",
    // What the source is called, where not as its kind is.
    sourceId: "",
    // Whether the capture may begin without it.
    optional: false,
    name: "",
    probes: /** @type {{tracepoint: string, fields: string[], predicate: string}[]} */ ([]),
    // `sampling` is what the form does not show: the bytes of stack that are copied.
    frequency: "99",
    kernel: true,
    user: true,
    event: "",
    period: "",
    callGraph: "frame_pointer",
    memory: false,
    branches: "",
    delay: "",
    sampling: /** @type {Partial<ProfileSpec>} */ ({}),
    ...emptyMethods(),
    script: { text: "", file: "", params: /** @type {string[]} */ ([]), allow_unsafe: false },
    target: "system",
    pid: "",
    tids: "",
    argv: "",
    runAs: "",
    during: false,
    children: true,
    groupKind: "unit",
    group: "",
    ofUser: "",
    comm: "",
    duration: "10",
    durationUnit: "s",
    maxEvents: "",
    maxSize: "1",
    maxSizeUnit: "GiB",
    budget: "5",
    overBudget: "",
    budgetRows: "",
    budgetBytes: "",
    budgetAgent: "",
    budgetMemory: "",
  };
}

/** @type {Record<string, number>} */
const SECONDS = { s: 1, min: 60, h: 3600 };
/** @type {Record<string, number>} */
const SIZES = { MiB: 1 << 20, GiB: 2 ** 30 };

/**
 * The form as a spec for the API, with what is wrong in words.
 * @param {Form} form
 * @param {Split} split
 * @returns {{spec: AskedSpec, problems: string[]}}
 */
export function specOf(form, split) {
  /** @type {string[]} */
  const problems = [];
  const spec = {
    name: form.name.trim(),
    sources: [
      {
        id: form.sourceId || form.method,
        method: methodOf(form, problems),
        ...(form.optional ? { required: false } : {}),
      },
    ],
    target: targetOf(form, split, problems),
    limits: limitsOf(form, problems),
  };
  return { spec, problems };
}

/**
 * @param {Form} form
 * @param {string[]} problems
 * @returns {Method}
 */
function methodOf(form, problems) {
  if (form.method === "profile") return { profile: profileOf(form, problems) };
  if (form.method === "syscalls") return { syscalls: syscallsOf(form.syscalls, problems) };
  if (form.method === "states") return { states: statesOf(form.states) };
  if (form.method === "trace") return { trace: traceOf(form.trace, problems) };
  if (form.method === "count") return { count: countOf(form.count, form.target !== "system", problems) };
  if (form.method === "script") return { script: scriptOf(form.script) };
  if (form.probes.length === 0) problems.push("Add at least one tracepoint.");
  return {
    events: {
      probes: form.probes.map(({ tracepoint, fields, predicate }) => ({
        tracepoint,
        fields,
        ...(predicate.trim() ? { predicate: predicate.trim() } : {}),
      })),
    },
  };
}

/** Words that select branches, with what they mean. */
export const BRANCH_WORDS = [
  ["any", "all branches"],
  ["any_call", "calls"],
  ["any_ret", "returns"],
  ["ind_call", "calls whose target is computed"],
  ["ind_jmp", "jumps whose target is computed"],
  ["cond", "conditional branches"],
  ["call", "calls whose target is fixed"],
  ["u", "in user space"],
  ["k", "in the kernel"],
  ["hv", "in the hypervisor"],
  ["in_tx", "in transactions"],
  ["no_tx", "outside of transactions"],
  ["abort_tx", "aborts of transactions"],
  ["save_type", "with the kind of each"],
];

/**
 * @param {Form} form
 * @param {string[]} problems
 */
function branchesOf(form, problems) {
  const words = form.branches.split(/[\s,]+/).filter(Boolean);
  const wrong = words.find((word) => !BRANCH_WORDS.some(([known]) => known === word));
  if (wrong) problems.push(`“${wrong}” selects no branches; ${BRANCH_WORDS.map(([word]) => word).join(", ")} do.`);
  if (words.length > 0 && form.callGraph === "lbr")
    problems.push(
      "Branches and stacks by branch records need the same hardware; choose another way to find stacks, or leave Branches empty.",
    );
  return words;
}

/**
 * The events that are sampled: one, several, or one group in braces. What was asked of each of them before stays.
 * @param {Form} form
 * @param {string[]} problems
 */
function sampledOf(form, problems) {
  const groups = groupsOf(form.event, problems);
  const group = groups.some((one) => one.length > 1);
  if (group && groups.length > 1)
    problems.push("A group of events in braces stands beside others; write all in one pair of braces, or none.");
  const [event = "", ...names] = groups.flat();
  const { more: before = [] } = form.sampling;
  const same = names.length === before.length && names.every((name, at) => name === before[at].event);
  const period = form.period.trim() ? { period: Number(form.period) } : {};
  const more = same ? before : names.map((name) => ({ event: name, ...period }));
  return { event, more: { ...(more.length ? { more } : {}), ...(group ? { group } : {}) } };
}

/**
 * @param {Form} form
 * @param {string[]} problems
 * @returns {ProfileSpec}
 */
function profileOf(form, problems) {
  const { stack_bytes: bytes, more: _before, ...sampling } = form.sampling;
  const { event, more } = sampledOf(form, problems);
  if (!form.kernel && !form.user) problems.push("A profile needs kernel stacks, user stacks or both.");
  else if (form.callGraph !== "frame_pointer" && !form.user)
    problems.push("DWARF tables and branch records only find stacks of programs; choose programs and libraries too.");
  const branches = branchesOf(form, problems);
  if (form.period.trim() && !event) problems.push("A period needs the event that is counted; choose one.");
  return {
    ...sampling,
    frequency_hz: number(form.frequency, "The frequency", problems, { least: 1, most: 10000 }),
    kernel_stacks: form.kernel,
    user_stacks: form.user,
    ...(event ? { event } : {}),
    ...(form.period.trim() ? { period: number(form.period, "The period", problems, { least: 1 }) } : {}),
    ...(form.callGraph === "frame_pointer"
      ? {}
      : { call_graph: /** @type {ProfileSpec["call_graph"]} */ (form.callGraph) }),
    // Only DWARF takes a copy of the stack.
    ...(bytes && form.callGraph === "dwarf" ? { stack_bytes: bytes } : {}),
    ...(form.memory ? { memory: true } : {}),
    ...(branches.length > 0 ? { branches: /** @type {ProfileSpec["branches"]} */ (branches) } : {}),
    ...delayOf(form.delay, problems),
    ...more,
  };
}

/**
 * Without what is as usual.
 * @param {Form["script"]} script
 * @returns {ScriptSpec}
 */
function scriptOf({ text, file, params, allow_unsafe }) {
  return {
    text,
    ...(file ? { file } : {}),
    ...(params.length ? { params } : {}),
    ...(allow_unsafe ? { allow_unsafe } : {}),
  };
}

/**
 * Whether the form starts a command: as the target, or beside another one.
 * @param {Pick<Form, "target"|"during">} form
 */
export function startsCommand(form) {
  return form.target === "command" || form.during;
}

/**
 * @param {Form} form
 * @param {Split} split
 * @param {string[]} problems
 * @returns {Target}
 */
function targetOf(form, split, problems) {
  if (!startsCommand(form)) return watchedOf(form, problems);
  const { words, problem } = split(form.argv);
  if (problem) problems.push(problem);
  else if (!words[0]) problems.push("Write the command to run.");
  const command = { argv: words, ...(form.runAs.trim() ? { user: form.runAs.trim() } : {}) };
  return form.target === "command"
    ? { command: { ...command, children: form.children } }
    : { during: { ...command, of: watchedOf(form, problems) } };
}

/**
 * One process, or several with commas between them.
 * @param {Form} form
 * @param {string[]} problems
 * @returns {Target}
 */
function processesOf(form, problems) {
  const pids = form.pid
    .split(",")
    .map((text) => number(text.trim(), "The process id", problems, { least: 1, most: 4194304 }));
  if (new Set(pids).size < pids.length) problems.push("The same process is listed twice; list it once.");
  return pids.length === 1
    ? { process: { pid: pids[0], children: form.children } }
    : { processes: { pids, children: form.children } };
}

/**
 * Threads with commas between them.
 * @param {Form} form
 * @param {string[]} problems
 * @returns {Target}
 */
function threadsOf(form, problems) {
  if (form.method !== "profile" && form.method !== "count")
    problems.push("Only profiles and counts are of threads; choose their process, and filter by tid.");
  const tids = form.tids
    .split(",")
    .map((text) => number(text.trim(), "The thread id", problems, { least: 1, most: 4194304 }));
  if (new Set(tids).size < tids.length) problems.push("The same thread is listed twice; list it once.");
  return { threads: { tids, children: form.children } };
}

/**
 * Whose events, of targets that start no command.
 * @param {Form} form
 * @param {string[]} problems
 * @returns {Target}
 */
function watchedOf(form, problems) {
  if (form.target === "process") return processesOf(form, problems);
  if (form.target === "thread") return threadsOf(form, problems);
  // Blanks at the ends are part of a group's path and of a thread's name.
  /**
   * @param {string} text
   * @param {string} what
   */
  const named = (text, what, whole = false) => {
    if (!text.trim()) problems.push(what);
    return whole ? text : text.trim();
  };
  if (form.target === "group") {
    const name = named(form.group, "Choose a service, container or control group.", form.groupKind === "cgroup");
    if (form.groupKind === "cgroup") return { cgroup: { path: name } };
    return form.groupKind === "container" ? { container: { name } } : { unit: { name } };
  }
  if (form.target === "user") return { user: { user: named(form.ofUser, "Choose a user.") } };
  if (form.target === "comm") return { comm: { pattern: named(form.comm, "Write the threads' name.", true) } };
  return "system";
}

/**
 * @param {Form} form
 * @param {string[]} problems
 * @returns {AskedLimits}
 */
function limitsOf(form, problems) {
  /** @type {AskedLimits} */
  const limits = { duration_ms: null, max_events: null, max_bytes: null, budget_cpu_permille: 50 };
  if (form.duration.trim()) {
    const most = (7 * 24 * 3600) / SECONDS[form.durationUnit];
    limits.duration_ms = Math.round(
      number(form.duration, "The duration", problems, { least: 0.001, most, whole: false }) *
        SECONDS[form.durationUnit] *
        1000,
    );
  } else if (!startsCommand(form) && form.method !== "script") {
    problems.push("Write a duration; only a command ends by itself.");
  }
  if (form.maxEvents.trim()) limits.max_events = number(form.maxEvents, "The most rows", problems);
  if (form.maxSize.trim())
    limits.max_bytes = Math.round(
      number(form.maxSize, "The largest size", problems, {
        most: Math.floor(Number.MAX_SAFE_INTEGER / SIZES[form.maxSizeUnit]),
        whole: false,
      }) * SIZES[form.maxSizeUnit],
    );
  limits.budget_cpu_permille = Math.round(
    number(form.budget, "The budget", problems, { least: 0.1, most: 100, whole: false }) * 10,
  );
  if (form.overBudget) limits.over_budget = /** @type {Limits["over_budget"]} */ (form.overBudget);
  const budgets = budgetsOf(form, problems);
  if (Object.keys(budgets).length > 0) limits.budgets = budgets;
  return limits;
}

/**
 * What else it may cost; without what is as usual.
 * @param {Form} form
 * @param {string[]} problems
 * @returns {Partial<Budgets>}
 */
function budgetsOf(form, problems) {
  /**
   * @param {string} text
   * @param {string} what
   * @param {import("./spec_methods.js").Range} range
   */
  const amount = (text, what, range) => (text.trim() ? number(text, what, problems, range) : null);
  /** @type {[name: string, value: number|null, scale: number][]} */
  const all = [
    ["rows_per_s", amount(form.budgetRows, "The rows a second", { least: 100 }), 1],
    [
      "bytes_per_s",
      amount(form.budgetBytes, "The MiB a second", { least: 0.0625, most: 1 << 20, whole: false }),
      SIZES.MiB,
    ],
    [
      "agent_cpu_permille",
      amount(form.budgetAgent, "The agent's share of a CPU", { least: 0.1, most: 400, whole: false }),
      10,
    ],
    [
      "agent_bytes",
      amount(form.budgetMemory, "The agent's memory", { least: 64, most: 1 << 20, whole: false }),
      SIZES.MiB,
    ],
  ];
  const given = all.flatMap(([name, value, scale]) => (value === null ? [] : [[name, Math.round(value * scale)]]));
  return Object.fromEntries(given);
}

/**
 * The form that makes this spec.
 * @param {KnownSpec} spec as the API gives it, predicates as text
 * @param {Join} join
 */
export function formOf(spec, join) {
  const form = emptyForm();
  form.name = spec.name ?? "";
  const [{ id, method, required }] = sourcesOf(spec);
  if (!(id in method)) form.sourceId = id;
  form.optional = required === false;
  const { events, profile, script, syscalls, states, trace, count } = method;
  if (script) Object.assign(form, { method: "script", script: { ...form.script, ...script } });
  if (events)
    form.probes = events.probes.map((probe) => ({
      tracepoint: probe.tracepoint,
      fields: [...probe.fields],
      predicate: probe.predicate ?? "",
    }));
  if (profile) {
    const {
      frequency_hz: frequency,
      kernel_stacks: kernel,
      user_stacks: user,
      event: first = "",
      group = false,
      period,
      call_graph: callGraph = "frame_pointer",
      memory = false,
      branches = [],
      delay_ms: delay,
      ...sampling
    } = profile;
    Object.assign(form, {
      method: "profile",
      frequency: String(frequency),
      kernel,
      user,
      event: sampledText(first, sampling.more, group),
      period: period ? String(period) : "",
      callGraph,
      memory,
      branches: branches.join(", "),
      delay: delay ? String(delay) : "",
      sampling,
    });
  }
  if (syscalls) Object.assign(form, { method: "syscalls", syscalls: syscallsForm(syscalls) });
  if (states) Object.assign(form, { method: "states", states: statesForm(states) });
  if (trace) Object.assign(form, { method: "trace", trace: traceForm(trace) });
  if (count) Object.assign(form, { method: "count", count: countForm(count) });
  Object.assign(form, targetForm(spec.target, join));
  return Object.assign(form, limitsForm(spec.limits ?? {}));
}

/**
 * @param {string|undefined} first
 * @param {SampledEvent[]} [more]
 * @param {boolean} [group]
 */
function sampledText(first, more = [], group = false) {
  const events = [first ?? "", ...more.map(({ event }) => event)].join(", ");
  return group ? `{${events}}` : events;
}

/**
 * @param {Target|undefined} target
 * @param {Join} join
 * @returns {Partial<Form>}
 */
function targetForm(target, join) {
  const parts = typeof target === "object" ? target : null;
  /** @type {Partial<Form>} */
  const form = {};
  if (!parts) return form;
  const { process, processes, threads, command, during, cgroup, unit, container, user, comm } = parts;
  if (during)
    Object.assign(form, targetForm(during.of ?? "system", join), {
      during: true,
      argv: join(during.argv),
      runAs: during.user ?? "",
    });
  if (process) Object.assign(form, { target: "process", pid: String(process.pid), children: process.children });
  if (processes)
    Object.assign(form, { target: "process", pid: processes.pids.join(","), children: processes.children });
  if (threads) Object.assign(form, { target: "thread", tids: threads.tids.join(","), children: threads.children });
  if (command)
    Object.assign(form, {
      target: "command",
      argv: join(command.argv),
      runAs: command.user ?? "",
      children: command.children,
    });
  if (cgroup) Object.assign(form, { target: "group", groupKind: "cgroup", group: cgroup.path });
  if (unit) Object.assign(form, { target: "group", groupKind: "unit", group: unit.name });
  if (container) Object.assign(form, { target: "group", groupKind: "container", group: container.name });
  if (user) Object.assign(form, { target: "user", ofUser: user.user });
  if (comm) Object.assign(form, { target: "comm", comm: comm.pattern });
  return form;
}

/** @param {Partial<AskedLimits>} limits */
function limitsForm(limits) {
  const seconds = (limits.duration_ms ?? 0) / 1000;
  const unit = seconds && seconds % 3600 === 0 ? "h" : seconds && seconds % 60 === 0 ? "min" : "s";
  const size = limits.max_bytes ?? 0;
  const sizeUnit = size >= SIZES.GiB && size % (SIZES.GiB / 4) === 0 ? "GiB" : "MiB";
  return {
    duration: seconds ? String(seconds / SECONDS[unit]) : "",
    durationUnit: unit,
    maxEvents: shown(limits.max_events),
    // A power of two divides without a rest that would be lost.
    maxSize: shown(limits.max_bytes, SIZES[sizeUnit]),
    maxSizeUnit: sizeUnit,
    budget: String((limits.budget_cpu_permille ?? 50) / 10),
    overBudget: limits.over_budget ?? "",
    ...budgetsForm(limits.budgets ?? {}),
  };
}

/**
 * A number in a unit; empty where there is none.
 * @param {number|null|undefined} value
 */
const shown = (value, unit = 1) => (value === undefined || value === null ? "" : String(value / unit));

/** @param {Partial<Budgets>} budgets */
function budgetsForm(budgets) {
  return {
    budgetRows: shown(budgets.rows_per_s, 1),
    budgetBytes: shown(budgets.bytes_per_s, SIZES.MiB),
    budgetAgent: shown(budgets.agent_cpu_permille, 10),
    budgetMemory: shown(budgets.agent_bytes, SIZES.MiB),
  };
}

/**
 * A target in words.
 * @param {Target|undefined} target
 * @param {Join} join
 * @param {string} [name] of what is watched
 * @returns {string}
 */
export function targetText(target, join, name = "") {
  if (typeof target !== "object") return "whole system";
  if (target.process)
    return `${name ? `${name} (pid ${target.process.pid})` : `pid ${target.process.pid}`}${target.process.children ? " and its children" : ""}`;
  if (target.processes)
    return `${name ? `${name} (` : ""}pids ${target.processes.pids.join(", ")}${name ? ")" : ""}${target.processes.children ? " and their children" : ""}`;
  if (target.threads)
    return `${name ? `${name} (` : ""}${target.threads.tids.length > 1 ? "threads" : "thread"} ${target.threads.tids.join(", ")}${name ? ")" : ""}${target.threads.children ? " and what they start" : ""}`;
  if (target.during)
    return `${targetText(target.during.of ?? "system", join, name)} while ${join(target.during.argv)} runs${target.during.user ? ` as ${target.during.user}` : ""}`;
  if (target.command) return `${join(target.command.argv)}${target.command.user ? ` as ${target.command.user}` : ""}`;
  if (target.cgroup) return `control group ${target.cgroup.path}`;
  if (target.unit) return target.unit.name;
  if (target.container) return `container ${target.container.name}`;
  if (target.user) return `user ${target.user.user}`;
  if (target.comm) return `threads called ${target.comm.pattern}`;
  return "whole system";
}

/** Said beside costs that were not measured. */
export const ESTIMATED =
  "Estimated: the kernel keeps no time for ftrace, samples and counters, so what one usually takes is multiplied with how many there were.";

/**
 * Whether what a capture's probes cost is an estimate.
 * @param {Recorded} spec
 */
export function costIsEstimated(spec) {
  return sourcesOf(spec).some(({ method }) => method.trace ?? method.profile ?? method.count);
}
