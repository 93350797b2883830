// What a capture's spec says, as any release stored it. Pure.

/** @import { Budgets, CaptureSpec, Limits, Method, Target } from "../../../api.js" */
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
