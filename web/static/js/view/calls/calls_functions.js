// The ranking: functions by what their calls took, or parts of them by CPU, thread or interrupt.

import { h, put } from "../../lib/dom.js";
import { category } from "../../lib/color.js";
import { MARKS, durationMark } from "../../lib/duration_marks.js";
import { duration, exact, percent, plural } from "../../lib/format.js";

/** @import { FunctionRow, FunctionsPage } from "../../../../api.js" */
/** @typedef {import("../../page/url_state.js").ViewParts["rank"]} Rank */

/** @type {[name: Rank, text: string][]} */
const COLUMNS = [
  ["calls", "Calls"],
  ["total", "Total"],
  ["self", "Self"],
  ["average", "Average"],
  ["median", "Median"],
  ["p99", "p99"],
  ["longest", "Longest"],
];
/** @type {Partial<Record<Rank, string>>} */
const TITLES = {
  total: "Time in all calls, including the calls that they made",
  self: "Time in the function itself, without the recorded calls that it made",
  p99: "99 % of the calls took at most this long",
  longest: "The longest call; click it to see it in the tree",
};

/** The table. Sends nothing: what is chosen goes into the view. */
export class CallsFunctions {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {(id: number) => void} reveal shows a call in the tree
   */
  constructor(context, reveal) {
    this.context = context;
    this.reveal = reveal;
    this.element = h("div", { class: "calls-functions", tabindex: "-1" });
  }

  /**
   * Shows an answer.
   * @param {FunctionsPage} page
   */
  show(page) {
    const { rank, turn, part, func } = this.context.view;
    /**
     * @param {Rank} name
     * @param {string} text
     * @param {boolean} [num]
     */
    const sort = (name, text, num = true) => {
      const sorted = rank === name;
      const ascending = (name === "name") !== (sorted && turn);
      const flip = () => this.context.state.set({ rank: name, turn: sorted && !turn });
      return h(
        "th",
        {
          scope: "col",
          class: num ? "num" : "",
          "aria-sort": sorted ? (ascending ? "ascending" : "descending") : "none",
          title: TITLES[name],
        },
        h(
          "button",
          { type: "button", class: "vt-sort", on: { click: flip } },
          text,
          h("span", { "aria-hidden": "true", text: sorted ? (ascending ? " ↑" : " ↓") : "" }),
        ),
      );
    };
    const parted = part !== "";
    const irqs = page.irqs && part !== "irq";
    const head = h(
      "tr",
      {},
      sort("name", "Function", false),
      part !== "" && h("th", { scope: "col", text: { cpu: "CPU", thread: "Thread", irq: "Interrupt" }[part] }),
      ...COLUMNS.map(([name, text]) => sort(name, text)),
      h("th", { scope: "col", class: "bar-head", text: "Share of self" }),
      irqs && h("th", { scope: "col", text: "Interrupts" }),
    );
    /**
     * @param {number} ns
     * @param {string} [extra]
     */
    const time = (ns, extra = "") => h("td", { class: "num mono", title: `${exact(ns)} ns` }, extra, duration(ns));
    /** @param {FunctionRow} row */
    const line = (row) =>
      h(
        "tr",
        { class: row.function === func ? "is-current" : "" },
        h(
          "td",
          { class: "cut mono" },
          h("button", {
            type: "button",
            class: "plain call-name",
            title: `Show only calls of ${row.function} in the tree`,
            data: { cat: String(category(row.function)) },
            text: row.function,
            on: {
              click: () =>
                this.context.state.set({
                  func: row.function,
                  calls: "tree",
                  call: null,
                  open: "",
                  thread: row.tid ?? this.context.view.thread,
                }),
            },
          }),
        ),
        parted && h("td", { class: "cut mono", text: row.part ?? "" }),
        h("td", {
          class: "num mono",
          title: row.cut
            ? `${plural(row.cut, "call")} of unknown duration, because the entry or the return was not recorded`
            : null,
          text: exact(row.calls) + (row.cut ? "*" : ""),
        }),
        time(row.total),
        time(row.own),
        time(row.average),
        time(row.median),
        time(row.p99),
        h("td", { class: "num mono" }, row.longest_id === null ? "–" : this.#longest(row.longest_id, row.longest)),
        h(
          "td",
          { class: "bar-cell", title: `${percent(row.own, page.own)} of the time in calls` },
          this.#bar(row.own, page.own),
        ),
        irqs &&
          h("td", {
            class: "cut",
            text: (row.irqs ?? []).map(({ name, count }) => `${name} ×${exact(count)}`).join(", "),
          }),
      );
    const more =
      page.total > page.rows.length &&
      h("p", { class: "quiet", text: `${plural(page.total - page.rows.length, "more row")}; find them by name.` });
    const cut =
      page.rows.some((row) => row.cut > 0) &&
      h("p", {
        class: "quiet small",
        text: "* includes calls of unknown duration, because the entry or the return was not recorded. They are in Calls and not in the times.",
      });
    put(
      this.element,
      h("table", { class: "list calls-table" }, h("thead", {}, head), h("tbody", {}, ...page.rows.map(line))),
      more,
      cut,
    );
  }

  /**
   * The longest call, to be pressed.
   * @param {number} id
   * @param {number} took
   */
  #longest(id, took) {
    const mark = durationMark(took);
    const meaning = MARKS.find(([, sign]) => sign === mark)?.[2];
    return h(
      "button",
      {
        type: "button",
        class: "plain",
        title: `${exact(took)} ns${meaning ? `, ${meaning}` : ""}; show it in the tree`,
        on: { click: () => this.reveal(id) },
      },
      [mark, duration(took)].filter(Boolean).join(" "),
    );
  }

  /**
   * @param {number} value
   * @param {number} whole
   */
  #bar(value, whole) {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${whole > 0 ? Math.max(0.5, (value / whole) * 100) : 0}%`;
    return bar;
  }
}
