// System calls as a kind of source: what the pages know of it. Pure but for what Info shows.

import { h } from "../lib/dom.js";
import { entry } from "../lib/facts.js";
import { inUnit, number, wordsOf } from "../lib/form_values.js";
import { duration } from "../lib/format.js";

/** @import { SyscallSpec } from "../../../api.js" */
/** @import { Kind, Reading } from "./kind.js" */
/** @typedef {ReturnType<typeof empty>} SyscallsForm */

/** @type {Record<string, number>} */
const TIMES = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

const empty = () => ({
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
});

/**
 * System calls as the spec has them.
 * @param {SyscallsForm} form
 * @param {Reading} reading
 * @returns {SyscallSpec}
 */
function specOf(form, { problems }) {
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
function formOf({
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

/** @param {SyscallSpec} syscalls */
function entries(syscalls) {
  return [
    ...entry(
      "System calls",
      h("code", { text: syscalls.calls?.join(", ") || "all" }),
      syscalls.outcome && syscalls.outcome !== "any" && `, only those that ${syscalls.outcome}`,
    ),
    ...(syscalls.min_duration_ns > 0 ? entry("Only longer than", duration(syscalls.min_duration_ns)) : []),
    ...(syscalls.path ? entry("Only paths from", h("code", { text: syscalls.path })) : []),
  ];
}

/** @satisfies {Kind<SyscallsForm, SyscallSpec>} */
export const syscalls = {
  name: /** @type {const} */ ("syscalls"),
  title: "system calls",
  command: "system calls",
  empty,
  specOf,
  formOf,
  fields: {
    "sys-calls": "calls",
    "sys-outcome": "outcome",
    "sys-min": "minDuration",
    "sys-min-unit": "minUnit",
    "sys-path": "path",
    "sys-filter": "filter",
    "sys-below": "below",
    "sys-below-direct": "belowDirect",
    "sys-bytes": "stringBytes",
    "sys-fd-paths": "fdPaths",
    "sys-signals": "signals",
    "sys-stacks": "stacks",
  },
  // How calls are written.
  hidden: ["rest"],
  entries,
};
