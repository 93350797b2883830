// What the form for system calls has beside plain fields: suggestions, and what a filter line of sysdig fills in.

import { get, problemOf } from "../lib/api.js";
import { syscalls as kind } from "../kind/syscalls.js";
import { byId, inputOf, put } from "../lib/dom.js";
import { joinWords } from "../lib/words.js";
import { formOf } from "./spec_form.js";
import { MOST, fitting, suggestWords, tracepoints } from "./suggest.js";

/** @import { FormPage } from "./form_part.js" */
/** @typedef {import("../lib/combobox.js").Item} Item */

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

/** The System calls tab. */
export class SyscallsForm {
  /** @param {FormPage} page */
  constructor(page) {
    this.page = page;
    suggestWords(inputOf("sys-calls"), systemCalls);
    this.#startEnds();
    byId("sys-line").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.ctrlKey) return;
      event.preventDefault();
      this.#readLine();
    });
  }

  /** What was asked for before is asked for again, whatever calls are typed. */
  runsAgain() {
    byId("sys-signals").dataset.chosen = "1";
  }

  /** Whoever chooses calls gets no ends of threads beside them, unless they say so. */
  #startEnds() {
    const [calls, ends] = [inputOf("sys-calls"), inputOf("sys-signals")];
    ends.addEventListener("change", () => {
      ends.dataset.chosen = "1";
    });
    for (const name of ["input", "change", "blur"])
      calls.addEventListener(name, () => {
        if (!ends.dataset.chosen) ends.checked = wantsEnds(calls.value);
      });
  }

  /** Fills the form from a filter line of sysdig. */
  async #readLine() {
    const [input, help] = [inputOf("sys-line"), byId("sys-line-help")];
    /**
     * @param {string} text
     * @param {boolean} bad
     */
    const say = (text, bad) => {
      help.classList.toggle("stop", bad);
      put(help, text);
      input.setAttribute("aria-invalid", String(bad));
    };
    try {
      const { target: asked, syscalls, notes } = await get("/api/syscalls/filter", { line: input.value });
      const now = this.page.form();
      const read = formOf(
        { sources: [{ id: kind.name, method: { syscalls } }], target: asked ?? "system", limits: {} },
        joinWords,
      );
      const { target, pid, tids, children, groupKind, group, ofUser, comm } = read;
      this.page.fill({
        ...now,
        ...{ target, pid, tids, children, groupKind, group, ofUser, comm },
        syscalls: {
          ...read.syscalls,
          stringBytes: now.syscalls.stringBytes,
          fdPaths: now.syscalls.fdPaths,
          signals: read.syscalls.signals && now.syscalls.signals,
          stacks: now.syscalls.stacks,
        },
      });
      const done = syscalls.filter
        ? "The form is filled from the filter; what the kernel cannot decide is decided before rows are stored."
        : "The form is filled from the filter.";
      say([done, ...notes.map((text) => `${text}.`)].join(" "), false);
    } catch (error) {
      const { why, remedy } = problemOf(error);
      say([why, remedy].filter(Boolean).join(". "), true);
    }
  }
}
