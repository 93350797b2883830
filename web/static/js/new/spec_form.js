// The form that makes a capture spec. Pure.

import { KINDS, kindNamed, kindOf } from "../kind/table.js";
import { emptyFlight, flightForm, flightOf } from "./flight_form.js";
import { number } from "../lib/form_values.js";
import { sourcesOf } from "../lib/spec.js";

/** @import { Budgets, Limits, Method, Target } from "../../../api.js" */
/** @import { KindForms } from "../kind/table.js" */
/** @import { AskedLimits, AskedSpec, Join, KnownSpec } from "../lib/spec.js" */
/** @typedef {ReturnType<typeof emptyForm>} Form */
/** @typedef {(text: string) => {words: string[], problem: string}} Split turns a command line into words */

/**
 * The forms of all kinds in a form, for those who ask by a name that they got.
 * @param {KindForms} form
 */
const formsIn = (form) => /** @type {Record<string, unknown>} */ (form);

function emptyKinds() {
  return /** @type {KindForms} */ (
    /** @type {unknown} */ (Object.fromEntries(KINDS.map((kind) => [kind.name, kind.empty()])))
  );
}

/** The form as it is before anything is filled in. */
export function emptyForm() {
  return {
    method: KINDS[0].name,
    // What the source is called, where not as its kind is.
    sourceId: "",
    // Whether the capture may begin without it.
    optional: false,
    name: "",
    ...emptyKinds(),
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
    highPriority: false,
    budgetRows: "",
    budgetBytes: "",
    budgetAgent: "",
    budgetMemory: "",
    ...emptyFlight(),
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
        id: form.sourceId || recordedAs(form.method),
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
  const kind = kindNamed(form.method) ?? KINDS[0];
  const asked = kind.specOf(formsIn(form)[kind.name], { ofSome: form.target !== "system", problems });
  return /** @type {Method} */ (/** @type {unknown} */ ({ [recordedAs(kind.name)]: asked }));
}

/**
 * The kind that a spec of the form is of.
 * @param {string} method
 */
const recordedAs = (method) => kindNamed(method)?.recordedAs ?? method;

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
  if (!kindNamed(form.method)?.ofThreads)
    problems.push(
      "Thread states, tracepoints, profiles and counts are of threads; of others choose the process, and filter by tid.",
    );
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
  if (form.highPriority) limits.reading = "high";
  const budgets = budgetsOf(form, problems);
  if (Object.keys(budgets).length > 0) limits.budgets = budgets;
  const flight = flightOf(form, problems);
  if (flight) limits.flight = flight;
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
   * @param {import("../lib/form_values.js").Range} range
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
  const known = kindOf(method);
  if (known) {
    form.method = known.kind.name;
    formsIn(form)[form.method] = known.kind.formOf(known.spec);
  }
  Object.assign(form, targetForm(spec.target, join));
  return Object.assign(form, limitsForm(spec.limits ?? {}));
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
    highPriority: limits.reading === "high",
    ...budgetsForm(limits.budgets ?? {}),
    ...flightForm(limits.flight),
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
