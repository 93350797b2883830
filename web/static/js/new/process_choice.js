// Which process was meant: an id, or a name that is taken if one process has it. Pure but for the list.

import { h } from "../lib/dom.js";
import { duration } from "../lib/format.js";

/** @import { Process } from "../../../api.js" */

/**
 * What a typed text stands for.
 * @param {string} typed
 * @param {P[]} items what the server found for it, the likeliest first
 * @template {Pick<Process, "pid"|"comm"|"kernel">} P
 * @returns {{pid: number}|{pid?: undefined, several: P[]}}
 */
export function chooseProcess(typed, items) {
  const text = typed.trim();
  if (/^\d+$/.test(text)) return { pid: Number(text) };
  const exact = items.filter(({ comm }) => comm.toLowerCase() === text.toLowerCase());
  // Threads of the kernel are meant only where nothing else is called so.
  for (const some of [exact.filter(({ kernel }) => !kernel), exact, items.filter(({ kernel }) => !kernel), items]) {
    if (some.length === 1) return { pid: some[0].pid };
    if (some.length > 1) return { several: some };
  }
  return { several: [] };
}

/**
 * What tells a process from others of its name: command line, user, age, CPU time.
 * @param {Pick<Process, "command"|"user"|"age_s"|"cpu_ms"|"kernel">} process
 */
export function processDetail({ command, user, age_s: age, cpu_ms: cpu, kernel }) {
  return [
    kernel ? "kernel thread" : command,
    user,
    `${duration(age * 1e9)} old`,
    cpu > 0 ? `${duration(cpu * 1e6)} CPU` : "no CPU time",
  ]
    .filter(Boolean)
    .join(" · ");
}

/**
 * The processes to choose from, as buttons.
 * @param {string} typed
 * @param {Process[]} items
 * @param {number} total
 * @param {(pid: number) => void} chosen
 * @returns {HTMLElement}
 */
export function processList(typed, items, total, chosen) {
  /** @param {Process} one */
  const button = (one) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "process-entry", on: { click: () => chosen(one.pid) } },
        h("span", { class: "mono", text: `${one.pid} ${one.comm}` }),
        h("span", { class: "quiet", text: processDetail(one) }),
      ),
    );
  const more = total > items.length ? ` The first ${items.length} of them:` : "";
  return h(
    "div",
    { class: "notice notice-stop", role: "alert" },
    h("p", { text: `${total} processes match “${typed.trim()}”. Choose one.${more}` }),
    h("ul", { class: "process-list" }, ...items.map(button)),
  );
}
