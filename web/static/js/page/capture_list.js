// Captures as a table, for the start page and the history.

import { h, put } from "../lib/dom.js";
import { UNKNOWN_LOSS, ago, bytes, count, duration, exact, lostNumber, wall } from "../lib/format.js";
import { PINS, keptFor } from "./retention.js";

const STATES = {
  recording: "Recording",
  finished: "Finished",
  interrupted: "Interrupted",
  failed: "Failed",
  agent_lost: "Agent ended",
};

/**
 * The state of a capture: a shape and a word.
 * @param {string} state
 */
export function captureState(state) {
  return h("span", { class: `state state-${state}`, text: STATES[state] ?? state });
}

const exactly = (value, text) => h("td", { class: "num", title: exact(value), text });

/** Columns by name: heading, whether it is a number, how a cell is made. */
const COLUMNS = {
  title: [
    "Title",
    false,
    (one) =>
      h(
        "td",
        { class: "wide", title: one.title },
        h("a", { href: `/captures/${encodeURIComponent(one.id)}`, tabindex: "-1", text: one.title }),
        one.pinned && h("span", { class: "chip-pin", title: PINS, text: "Pinned" }),
      ),
  ],
  state: ["State", false, (one) => h("td", {}, captureState(one.state))],
  target: ["Target", false, (one) => h("td", { class: "cut", title: one.target, text: one.target })],
  host: ["Host", false, (one) => h("td", { text: one.host })],
  owner: ["By", false, (one) => h("td", { text: one.owner })],
  started: [
    "Started",
    false,
    (one) => h("td", { title: wall(one.started_unix_ns), text: ago(one.started_unix_ns, Date.now()) }),
  ],
  duration: ["Duration", true, (one) => exactly(one.duration_ns, duration(one.duration_ns))],
  rows: ["Rows", true, (one) => exactly(one.rows, count(one.rows))],
  bytes: ["Size", true, (one) => exactly(one.bytes, bytes(one.bytes))],
  kept: [
    "Kept for",
    false,
    (one) =>
      h("td", {
        class: "quiet",
        title: one.pinned ? PINS : one.kept_until_unix_ns && `Deleted after ${wall(one.kept_until_unix_ns)}`,
        text: keptFor(one, Date.now()),
      }),
  ],
  lost: [
    "Lost",
    true,
    (one) =>
      h("td", {
        class: one.lost > 0 || one.lost_at_least ? "num loss" : "num quiet",
        title: one.lost_at_least ? UNKNOWN_LOSS : exact(one.lost),
        text: lostNumber(one),
      }),
  ],
};

/** A table whose rows open with Enter and are walked through with the arrow keys. */
export class CaptureTable {
  /**
   * @param {Element} place
   * @param {string[]} columns
   * @param {(one: object) => HTMLElement|null} [action] last cell of each row
   */
  constructor(place, columns, action = undefined) {
    this.columns = columns.map((name) => COLUMNS[name]);
    this.action = action;
    this.body = h("tbody", { on: { keydown: (event) => this.#key(event), click: (event) => this.#click(event) } });
    const heads = this.columns.map(([label, number]) =>
      h("th", { scope: "col", class: number ? "num" : "", text: label }),
    );
    put(
      place,
      h(
        "div",
        { class: "scroll-x" },
        h(
          "table",
          { class: "list" },
          h(
            "thead",
            {},
            h("tr", {}, ...heads, action && h("th", {}, h("span", { class: "offscreen", text: "Actions" }))),
          ),
          this.body,
        ),
      ),
    );
  }

  /** @param {Array<object>} items */
  show(items) {
    const focused = document.activeElement?.closest?.("tr")?.dataset.id;
    put(this.body, ...items.map((one, i) => this.#row(one, i === 0)));
    if (focused) this.body.querySelector(`tr[data-id="${CSS.escape(focused)}"]`)?.focus();
  }

  #row(one, first) {
    const last = this.action?.(one);
    return h(
      "tr",
      { tabindex: first ? "0" : "-1", data: { id: one.id } },
      ...this.columns.map(([, , make]) => make(one)),
      this.action && h("td", { class: "num" }, last),
    );
  }

  #click(event) {
    const row = event.target.closest("tr");
    if (row && !event.target.closest("a, button") && getSelection().isCollapsed) row.querySelector("a").click();
  }

  #key(event) {
    const row = event.target.closest("tr");
    if (event.target !== row) return;
    const to = {
      ArrowDown: row.nextElementSibling,
      ArrowUp: row.previousElementSibling,
      Home: this.body.firstElementChild,
      End: this.body.lastElementChild,
    }[event.key];
    if (to) {
      row.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    } else if (event.key === "Enter") {
      row.querySelector("a").click();
    } else if (event.key === "Delete") {
      row.querySelector("button.danger")?.click();
    } else if (event.key.toLowerCase() === "k" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      row.querySelector("button.pin")?.click();
    } else {
      return;
    }
    event.preventDefault();
  }
}
