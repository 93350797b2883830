// The columns of the table of system calls, and what is said beside it. Pure.

import { bytes, duration, exact, plural } from "../../lib/format.js";

/** @import { SyscallLine, SyscallTable } from "../../../../api.js" */

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {string} text its head
 * @property {boolean} num whether its values are numbers
 * @property {(line: SyscallLine) => string} cell
 * @property {string} [title] what it means
 */

const HEADS = {
  call: "System call",
  process: "Process",
  thread: "Thread",
  process_call: "Process and call",
  thread_call: "Thread and call",
};

/**
 * Whose calls a line counts, in words; empty where they are of all.
 * @param {Pick<SyscallLine, "comm"|"pid"|"tid">} line
 */
export function ownerWords({ comm, pid, tid }) {
  if (pid === undefined) return "";
  const name = comm || "[no name]";
  return tid === undefined || tid === pid ? `${name} ${pid}` : `${name} ${tid} of ${pid}`;
}

/**
 * The errors of a line, in words.
 * @param {Pick<SyscallLine, "errors"|"other_errors">} line
 */
export function errorWords({ errors, other_errors: others }) {
  const words = errors.map(({ name, count }) => `${name} ×${exact(count)}`);
  return [...words, ...(others > 0 ? [`others ×${exact(others)}`] : [])].join(", ");
}

/**
 * The columns of the table.
 * @param {keyof typeof HEADS} group
 * @param {boolean} isSplit whether it is known how long calls ran and waited
 * @returns {Column[]}
 */
export function columnsOf(group, isSplit) {
  /**
   * @param {string} name
   * @param {string} text
   * @param {(line: SyscallLine) => string} cell
   * @param {string} [title]
   */
  const number = (name, text, cell, title) => ({ name, text, num: true, cell, title });
  // Of calls whose entries were not recorded nobody knows how long they took.
  const length = (/** @type {"mean"|"p50"|"p99"|"longest"} */ key) => (/** @type {SyscallLine} */ line) =>
    line.count > line.without ? duration(line[key]) : "";
  return [
    { name: "name", text: HEADS[group], num: false, cell: () => "" },
    { name: "share", text: "Share of time", num: false, cell: () => "" },
    number("time", "Time", ({ time }) => duration(time), "Of whole calls"),
    number("count", "Calls", ({ count }) => exact(count)),
    number("failed", "Errors", ({ failed }) => (failed ? exact(failed) : "")),
    number("mean", "Mean", length("mean")),
    number("p50", "Median", length("p50"), "To 1 %"),
    number("p99", "p99", length("p99"), "To 1 %"),
    number("longest", "Longest", length("longest")),
    number("bytes", "Bytes", ({ bytes: moved }) => (moved ? bytes(moved) : ""), "Of calls whose result is bytes moved"),
    ...(isSplit
      ? [
          number("running", "Running", ({ running }) => duration(running), "On a CPU, of calls of which that is known"),
          number("waiting", "Waiting", ({ waiting }) => duration(waiting), "Of calls of which that is known"),
        ]
      : []),
    { name: "errors", text: "Which errors", num: false, cell: errorWords },
  ];
}

/**
 * Calls of which nobody knows how long they took, in words; empty where there are none.
 * @param {Pick<SyscallTable["all"], "without">} all
 */
export function withoutWords({ without }) {
  if (without === 0) return "";
  return `Of ${plural(without, "call")} the entry or the exit was not recorded: not in times, means and percentiles. `;
}

/**
 * What is known of running and waiting, in words.
 * @param {Pick<SyscallTable, "all"|"has_states"|"has_too_many_states">} table
 */
export function splitWords({ all, has_states: hasStates, has_too_many_states: tooMany }) {
  const { running, waiting, unsplit, count, without } = all;
  if (tooMany && running + waiting === 0)
    return "Too many thread states to see how much of it was running and how much waiting; choose a later start.";
  if (running + waiting === 0 && !hasStates)
    return "Record thread states too, to see how much of it was running and how much waiting.";
  const known = `${duration(running)} running, ${duration(waiting)} waiting`;
  return unsplit > 0
    ? `${known}, of ${exact(count - without - unsplit)} calls of which states are known.`
    : `${known}.`;
}
