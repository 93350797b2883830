// Captures as a table, for the start page and the history.

import { closest, h, put } from "../lib/dom.js";
import { UNKNOWN_LOSS, ago, bytes, count, duration, exact, lostNumber, plural, wall } from "../lib/format.js";
import { captureState } from "./capture_state.js";
import { foundIn, markedParts } from "./history_words.js";
import { PINS, keptFor } from "./retention.js";
import { seriesAddress } from "./series_address.js";
import { tagChip } from "./tag_chip.js";

/** @import { CaptureItem } from "../../../api.js" */

/**
 * @param {number} value
 * @param {string} text
 */
const exactly = (value, text) => h("td", { class: "num", title: exact(value), text });

/**
 * Columns by name: heading, whether it is a number, how a cell is made.
 * @type {Record<string, [heading: string, isNumber: boolean, make: (one: CaptureItem) => HTMLElement]>}
 */
const COLUMNS = {
  title: [
    "Title",
    false,
    (one) =>
      h(
        "td",
        { class: "wide", title: one.title },
        h("a", { href: `/captures/${encodeURIComponent(one.id)}`, tabindex: "-1", text: one.title }),
        (one.pinned || one.tags.length > 0 || one.series) &&
          h(
            "div",
            { class: "tags-line" },
            one.series && runsLink(one.series),
            one.pinned && h("span", { class: "chip-pin", title: PINS, text: "Pinned" }),
            ...one.tags.map(tagChip),
          ),
        ...(one.found ?? []).map(foundLine),
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

/** @param {{id: string, runs: number}} series */
const runsLink = ({ id, runs }) =>
  h("a", {
    class: "runs-link small",
    href: seriesAddress(id),
    tabindex: "-1",
    title: "Runs of the same, with their key numbers over time",
    text: runs >= 20 ? "20 runs or more" : plural(runs, "run"),
  });

/**
 * Where the words that were searched for are: not in the title, which is there to be seen.
 * @param {NonNullable<CaptureItem["found"]>[number]} place
 */
function foundLine({ field, text, marks }) {
  if (field === "title" || field === "tags") return null;
  return h(
    "div",
    { class: "found-line small", title: text },
    h("span", { class: "quiet", text: `${foundIn(field)}: ` }),
    ...markedParts(text, marks).map(({ text, isFound }) => (isFound ? h("mark", { text }) : text)),
  );
}

/** Columns that the server sorts by, and whether their first order goes up. */
const SORTED = new Map(
  Object.entries({
    title: true,
    state: true,
    target: true,
    host: true,
    owner: true,
    started: false,
    duration: false,
    rows: false,
    bytes: false,
    lost: false,
  }),
);

/**
 * @typedef {object} ListSort
 * @property {() => string} now the column, with `-` before it where its order is the other way round
 * @property {(sort: string) => void} set
 */

/** A table whose rows open with Enter and are walked through with the arrow keys. */
export class CaptureTable {
  /**
   * @param {Element} place
   * @param {string[]} columns
   * @param {(one: CaptureItem) => HTMLElement|null} [action] last cell of each row
   * @param {ListSort} [sort] of a list whose columns can be sorted
   * @param {import("./history_selection.js").HistorySelection} [selection] of a list whose captures can be chosen together
   */
  constructor(place, columns, action = undefined, sort = undefined, selection = undefined) {
    this.columns = columns.map((name) => COLUMNS[name]);
    this.action = action;
    this.body = h("tbody", { on: { keydown: (event) => this.#key(event), click: (event) => this.#click(event) } });
    this.sort = sort;
    this.selection = selection;
    this.choosing = selection && h("th", { class: "choose" });
    const heads = columns.map((name) => this.#head(name));
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
            h(
              "tr",
              {},
              this.choosing,
              ...heads,
              action && h("th", {}, h("span", { class: "offscreen", text: "Actions" })),
            ),
          ),
          this.body,
        ),
      ),
    );
  }

  /**
   * The heading of a column; a button where the list can be sorted by it.
   * @param {string} name
   */
  #head(name) {
    const [label, isNumber] = COLUMNS[name];
    const head = h("th", { scope: "col", class: isNumber ? "num" : "" });
    const upFirst = SORTED.get(name);
    const { sort } = this;
    if (!sort || upFirst === undefined) {
      head.textContent = label;
      return head;
    }
    const [now, other] = [sort.now(), `-${name}`];
    const isSorted = now === name || now === other;
    const isUp = upFirst === (now === name);
    if (isSorted) head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const mark = isSorted ? (isUp ? " ↑" : " ↓") : "";
    const button = h("button", {
      type: "button",
      class: "list-sort",
      title: `Sort by ${label.toLowerCase()}`,
      text: `${label}${mark}`,
      on: { click: () => sort.set(now === name ? other : name) },
    });
    put(head, button);
    return head;
  }

  /** @param {CaptureItem[]} items */
  show(items) {
    const focused = document.activeElement?.closest("tr")?.dataset.id;
    if (this.choosing && this.selection) put(this.choosing, this.selection.head());
    put(this.body, ...items.map((one, i) => this.#row(one, i === 0)));
    if (focused) [...this.body.rows].find((row) => row.dataset.id === focused)?.focus();
  }

  /**
   * @param {CaptureItem} one
   * @param {boolean} first
   */
  #row(one, first) {
    const last = this.action?.(one);
    return h(
      "tr",
      { tabindex: first ? "0" : "-1", data: { id: one.id } },
      this.selection && h("td", { class: "choose" }, this.selection.box(one)),
      ...this.columns.map(([, , make]) => make(one)),
      this.action && h("td", { class: "num" }, last),
    );
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const row = closest(event, "tr");
    if (row && !closest(event, "a, button, input") && getSelection()?.isCollapsed) row.querySelector("a")?.click();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const row = closest(event, "tr");
    if (!row || event.target !== row) return;
    /** @type {Record<string, Element|null>} */
    const ways = {
      ArrowDown: row.nextElementSibling,
      ArrowUp: row.previousElementSibling,
      Home: this.body.firstElementChild,
      End: this.body.lastElementChild,
    };
    const to = ways[event.key];
    /** @param {string} selector */
    const press = (selector) => /** @type {HTMLElement|null} */ (row.querySelector(selector))?.click();
    if (to instanceof HTMLElement) {
      row.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    } else if (event.key === "Enter") {
      press("a");
    } else if (event.key === "x" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      press("input.select");
    } else if (event.key === "Delete") {
      press("button.danger");
    } else if (event.key.toLowerCase() === "k" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      press("button.pin");
    } else {
      return;
    }
    event.preventDefault();
  }
}
