// What is shown of the tree of processes: which lines are open, how they are called, where their lives are. Pure.

import { duration, exact, plural } from "../../lib/format.js";

/** @import { ProcessLife, ProcessTree } from "../../../../api.js" */

/**
 * The places of the lines that are shown: those below a closed one are not.
 * @param {Pick<ProcessLife, "depth"|"descendants">[]} processes
 * @param {Set<number>} closed places
 * @returns {number[]}
 */
export function shownPlaces(processes, closed) {
  const places = [];
  for (let at = 0; at < processes.length; at += 1) {
    places.push(at);
    if (closed.has(at)) at += processes[at].descendants;
  }
  return places;
}

/**
 * Where the life of a process is in a range, in percent of its width; never narrower than can be seen.
 * @param {Pick<ProcessLife, "start"|"end">} life
 * @param {{start: number, end: number}} range
 */
export function lifeBar({ start, end }, range) {
  const span = Math.max(1, range.end - range.start);
  const part = (/** @type {number} */ at) => Math.min(100, Math.max(0, ((at - range.start) / span) * 100));
  const left = part(start ?? range.start);
  const right = part(end ?? range.end);
  const width = Math.max(0.5, right - left);
  return { left: Math.min(left, 100 - width), width };
}

/**
 * From when to when a process was there, in words.
 * @param {Pick<ProcessLife, "start"|"end">} life
 */
export function lifeWords({ start, end }) {
  const from = start === undefined ? "there before the capture" : `started at ${duration(start)}`;
  if (end === undefined) return `${from}, still there at its end`;
  const took = start === undefined ? "" : `, after ${duration(end - start)}`;
  return `${from}, ended at ${duration(end)}${took}`;
}

/**
 * What of a process's facts was not recorded, and what records it.
 * @param {Pick<ProcessTree, "has_states"|"has_ends"|"has_arguments"|"has_parents"|"has_owners">} tree
 */
export function missingWords({
  has_states: states,
  has_ends: ends,
  has_arguments: args,
  has_parents: parents,
  has_owners: owners,
}) {
  const missing = [
    !args && "arguments (record the system call execve)",
    !ends && "exit status (record system calls)",
    !states && "CPU time (record thread states)",
    !parents && "who started what was there before",
    !owners && "user and container (captures of before have neither)",
  ].filter(Boolean);
  return missing.length > 0 ? `Not recorded: ${missing.join(", ")}.` : "";
}

/**
 * The places that are closed at first: the kernel's own threads are many, and seldom what is looked for.
 * @param {Pick<ProcessLife, "pid"|"comm"|"descendants">[]} processes
 * @returns {Set<number>}
 */
export function firstClosed(processes) {
  const at = processes.findIndex(({ pid, comm, descendants }) => pid === 2 && comm === "kthreadd" && descendants > 0);
  return new Set(at < 0 ? [] : [at]);
}

/**
 * What a process runs in: its container, else its unit, else its control group.
 * @param {Pick<ProcessLife, "container"|"unit"|"group">} life
 */
export function withinWords({ container, unit, group }) {
  return container || unit || (group === "/" ? "" : (group ?? ""));
}

/**
 * Whose a process is, in full.
 * @param {Pick<ProcessLife, "user"|"container"|"unit"|"group"|"is_inherited">} life
 */
export function ownerTitle({ user, container, unit, group, is_inherited: isInherited }) {
  const parts = [user && `user ${user}`, container && `container ${container}`, unit && `unit ${unit}`];
  const words = [...parts, group && `control group ${group}`].filter(Boolean).join(", ");
  return isInherited ? `${words}: as of the process that started it` : words;
}

/**
 * What a line says of all that is below it.
 * @param {Pick<ProcessLife, "descendants">} life
 */
export function belowWords({ descendants }) {
  return descendants === 0 ? "" : plural(descendants, "process", "processes");
}

/**
 * The CPU time or samples of a process with all below it.
 * @param {Pick<ProcessLife, "running"|"samples"|"descendants">[]} processes
 * @param {number} place
 */
export function usedBelow(processes, place) {
  const inside = processes.slice(place, place + 1 + processes[place].descendants);
  const sum = (/** @type {"running"|"samples"} */ what) =>
    inside.some((life) => life[what] !== undefined)
      ? inside.reduce((all, life) => all + (life[what] ?? 0), 0)
      : undefined;
  return { running: sum("running"), samples: sum("samples") };
}

/**
 * What a process used, in words; empty where nothing tells.
 * @param {{running?: number, samples?: number}} used
 */
export function usedWords({ running, samples }) {
  if (running !== undefined) return duration(running);
  return samples === undefined ? "" : `${exact(samples)} samples`;
}
