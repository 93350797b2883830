// The dynamic events of the host as a table: whose they are, hits, how the kernel does them; and its setting for that.

import { ApiError, get, send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { exact } from "../lib/format.js";
import { note, showError, waitFor } from "../lib/notice.js";
import { listTable } from "./list_table.js";

/** @import { Event as ProbeEvent, ProbeLimit } from "../../../api.js" */
/** @typedef {import("./list_table.js").Head} Head */

/** @type {Record<string, string>} */
const HOW = { OPTIMIZED: "a jump", FTRACE: "ftrace", DISABLED: "off", GONE: "its code is gone" };

/**
 * How the kernel does a probe, in words.
 * @param {string[] | null} marks
 */
export function howText(marks) {
  if (!marks) return "";
  return marks.length === 0 ? "a breakpoint" : marks.map((mark) => HOW[mark] ?? mark.toLowerCase()).join(", ");
}

/**
 * Whose an event is.
 * @param {ProbeEvent} event
 */
function whose({ capture, owner }) {
  if (capture) return h("a", { href: `/captures/${capture}`, text: "a capture of this console" });
  if (owner?.ended) return "left by an agent that has ended";
  return owner ? `the Bathyscope agent with process ${owner.pid}` : "somebody else";
}

/**
 * Puts the events of a host into an element, with the captures' own buttons.
 * @param {HTMLElement} element
 * @param {{capture?: string, admin?: boolean, wanted?: string}} of only of this capture; whether settings can be changed; what a
 *   command wants of `debug.kprobes-optimization`, `0` or `1`
 */
export async function showProbes(element, { capture = "", admin = false, wanted = "" } = {}) {
  const again = () => showProbes(element, { capture, admin });
  try {
    const { events, optimization, limits } = await get("/api/dynamic");
    const shown = events.filter((event) => !capture || event.capture === capture);
    put(
      element,
      ...(capture ? [] : limits.map(limitText)),
      ...(capture || optimization === null ? [] : [setting(optimization, admin, again, wanted)]),
      shown.length
        ? table(shown, again, !capture)
        : h("p", {
            class: "empty",
            text: capture
              ? "All of its own probes were removed."
              : "There are no dynamic events. Captures with probes of their own make some; perf probe and others may too.",
          }),
    );
  } catch (error) {
    // Whoever only looks at captures is not told of the host's probes.
    if (capture && error instanceof ApiError && error.status === 404) put(element);
    else showError(element, error, again);
  }
}

/** @param {ProbeLimit} limit */
const limitText = ({ name, value, effect, remedy }) =>
  h("p", {}, h("code", { text: `${name} = ${value}` }), ` ${effect} ${remedy}`);

/**
 * What a command that was pasted wants of the setting, in words.
 * @param {boolean} on
 * @param {boolean} admin
 * @param {string} wanted
 */
export function wantedWords(on, admin, wanted) {
  if (wanted !== "0" && wanted !== "1") return "";
  if (wanted === String(Number(on))) return `It is ${wanted} already, as the command asks.`;
  return admin ? `The command asks for ${wanted}: confirm it.` : `The command asks for ${wanted}; an admin can set it.`;
}

/**
 * @param {boolean} on
 * @param {boolean} admin
 * @param {() => void} again
 * @param {string} wanted
 */
function setting(on, admin, again, wanted) {
  const change = async () => {
    try {
      await waitFor("Changing the kernel’s setting", send("POST", "/api/host/kprobes", {}, { optimization: !on }));
      note(`debug.kprobes-optimization is ${on ? 0 : 1} now and stays so until somebody changes it.`);
      again();
    } catch (error) {
      showError(button.parentElement ?? button, error, again);
    }
  };
  const button = h("button", {
    type: "button",
    text: on ? "Switch it off for the machine" : "Switch it on for the machine",
    on: { click: change },
  });
  const told = wantedWords(on, admin, wanted);
  // Enter confirms it.
  if (told && admin && wanted !== String(Number(on))) setTimeout(() => button.focus());
  return h(
    "div",
    { class: "row" },
    told && h("strong", { text: told }),
    h("code", { text: `debug.kprobes-optimization = ${on ? 1 : 0}` }),
    h("span", {
      class: "quiet",
      text: on
        ? "breakpoints of kernel probes become jumps where that is possible"
        : "every kernel probe within a function is a breakpoint",
    }),
    admin && button,
  );
}

/**
 * @param {ProbeEvent[]} events
 * @param {() => void} again
 * @param {boolean} tellsWhose
 */
function table(events, again, tellsWhose) {
  /** @type {Head[]} */
  const heads = [
    ["Event"],
    ["Actions"],
    ["Hits", true],
    ["Missed", true],
    ["Method"],
    ...(tellsWhose ? [/** @type {Head} */ (["Owner"])] : []),
    ["Where"],
  ];
  /** @param {ProbeEvent} event */
  const row = (event) => {
    // The group of a capture's probe tells only who made it.
    const name = event.label ?? (event.owner ? event.name : `${event.group}:${event.name}`);
    const detach = async () => {
      try {
        await waitFor(
          `Detaching ${name}`,
          send("POST", "/api/captures/{id}/probes/detach", { id: event.capture }, { pattern: name }),
        );
        note(`Detached ${name}; the capture goes on.`);
        again();
      } catch (error) {
        showError(button.parentElement ?? button, error, again);
      }
    };
    const button = h("button", {
      type: "button",
      class: "plain",
      "aria-label": `Detach ${name}`,
      text: "Detach",
      on: { click: detach },
    });
    /** @param {number|null} value */
    const number = (value) => h("td", { class: "num", text: value === null ? "" : exact(value) });
    return h(
      "tr",
      {},
      h("td", {}, h("code", { text: name })),
      h("td", {}, event.detached ? h("span", { class: "quiet", text: "detached" }) : event.can_detach && button),
      number(event.hits),
      number(event.missed),
      h("td", { text: howText(event.marks) }),
      tellsWhose && h("td", {}, whose(event)),
      h("td", {}, h("code", { text: event.line.slice(event.line.indexOf(" ") + 1) })),
    );
  };
  return listTable(heads, events.map(row));
}
