// Profiles as a kind of source: what the pages know of it. Pure but for what Info shows.

import { entry } from "../lib/facts.js";
import { delayOf, groupsOf, number } from "../lib/form_values.js";
import { duration, exact } from "../lib/format.js";

/** @import { ProfileSpec, SampledEvent } from "../../../api.js" */
/** @import { Kind, Reading } from "./kind.js" */
/** @typedef {ReturnType<typeof empty>} ProfileForm */

/** How stacks are found, where that is not by frame pointers. */
const WALKS = { frame_pointer: "", dwarf: ", by DWARF", lbr: ", by branch records" };

const empty = () => ({
  frequency: "99",
  kernel: true,
  user: true,
  event: "",
  period: "",
  callGraph: "frame_pointer",
  memory: false,
  branches: "",
  delay: "",
  // What the form does not show: the bytes of stack that are copied, what was asked of each of several events.
  sampling: /** @type {Partial<ProfileSpec>} */ ({}),
});

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
 * @param {ProfileForm} form
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
 * @param {ProfileForm} form
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
 * @param {ProfileForm} form
 * @param {Reading} reading
 * @returns {ProfileSpec}
 */
function specOf(form, { problems }) {
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
 * @param {string|undefined} first
 * @param {SampledEvent[]} [more]
 * @param {boolean} [group]
 */
function sampledText(first, more = [], group = false) {
  const events = [first ?? "", ...more.map(({ event }) => event)].join(", ");
  return group ? `{${events}}` : events;
}

/**
 * The form for this profile.
 * @param {ProfileSpec} profile
 * @returns {ProfileForm}
 */
function formOf(profile) {
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
  return {
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
  };
}

/** @param {ProfileSpec} profile */
function entries(profile) {
  return entry(
    "Method",
    `Profile: ${profile.event ? `${[profile.event, ...(profile.more ?? []).map(({ event }) => event)].join(", ")}${profile.group ? " as one group" : ""}, ` : ""}${profile.period ? `one sample for ${exact(profile.period)}` : `${exact(profile.frequency_hz)} samples per second and CPU`}${WALKS[profile.call_graph ?? "frame_pointer"]}, ${[profile.kernel_stacks && "kernel", profile.user_stacks && "user"].filter(Boolean).join(" and ")} stacks${profile.memory ? ", accesses to memory" : ""}${profile.branches?.length ? `, branches (${profile.branches.join(", ")})` : ""}${profile.delay_ms ? `, begun after ${duration(profile.delay_ms * 1e6)}` : ""}`,
  );
}

/** @satisfies {Kind<ProfileForm, ProfileSpec>} */
export const profile = {
  name: /** @type {const} */ ("profile"),
  title: "profile",
  command: "profile CPU",
  empty,
  specOf,
  formOf,
  fields: {
    frequency: "frequency",
    kernel: "kernel",
    user: "user",
    event: "event",
    period: "period",
    delay: "delay",
    "call-graph": "callGraph",
    memory: "memory",
    branches: "branches",
  },
  hidden: ["sampling"],
  parameters: { event: "event" },
  ofThreads: true,
  costIsEstimated: true,
  entries,
  tab: "flame",
};
