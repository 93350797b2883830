// Who woke whom in the range: a matrix of counts.

import { h, put } from "../../../lib/dom.js";
import { exact, plural } from "../../../lib/format.js";
import { RangeAsk } from "./range_ask.js";
import { sqlTable } from "../../../lib/sql_words.js";
import { commaed, tabbed } from "./range_text.js";
import { copyRows, saveText } from "../../../lib/save_text.js";
import { matrixOf } from "./wake_matrix.js";

/** @import { RangeWakeups } from "../../../../../api.js" */
/** @import { RangeParts } from "./range_tabs.js" */

/** Steps of the heat. */
const STEPS = 6;

/** @extends {RangeAsk<"/api/captures/{id}/range/wakeups">} */
export class WakeupsTab extends RangeAsk {
  /** @param {RangeParts} parts */
  constructor(parts) {
    super(parts, "/api/captures/{id}/range/wakeups", "Counting wake-ups");
    /** @type {RangeWakeups|null} */
    this.answer = null;
    this.words = h("span", { class: "quiet" });
    this.place = h("div", { class: "range-table" });
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ click) =>
      h("button", { type: "button", text, title, on: { click } });
    put(
      this.body,
      h(
        "div",
        { class: "range-bar" },
        this.words,
        h("span", { class: "grow" }),
        button("Table", "Show the rows", () => this.#toRows("")),
        button("SQL", "The same as a query", () => this.#sql()),
        button("Copy", "Copy all pairs with tabs between the columns", () => void this.#copy()),
        button("CSV", "Save all pairs as a file with commas", () => this.#save()),
      ),
      this.place,
    );
  }

  get #stream() {
    return this.context.info.streams.find(({ name, rule }) => name === "run-queue latency" && rule)?.index ?? -1;
  }

  /** @param {RangeWakeups} answer */
  draw(answer) {
    this.answer = answer;
    const matrix = matrixOf(answer, this.context.view.ranked);
    const more =
      answer.uncounted > 0 ? `; ${plural(answer.uncounted, "more")} between too many pairs to tell apart` : "";
    const marked = this.over?.rows ? " Either of the two is a marked thread, or the CPU is marked." : "";
    this.words.textContent =
      answer.total === 0
        ? "No thread was woken in this range."
        : `${plural(answer.total, "wake-up")}${more}. Rows wake, columns are woken; a heading sorts.${marked}`;
    if (answer.total === 0) {
      put(this.place);
      return;
    }
    put(
      this.place,
      h(
        "table",
        { class: "wake-matrix", "aria-label": "Who woke whom, how often" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col", text: "waker \\ woken" }),
            this.#heading("all", "all", "-all"),
            ...matrix.columns.map(({ title, at }) => this.#heading(title, title, at < 0 ? "-rest" : `-${at}`)),
          ),
        ),
        h(
          "tbody",
          {},
          ...matrix.rows.map((row) =>
            h(
              "tr",
              {},
              h("th", { scope: "row", title: row.title, text: row.title }),
              h("td", { class: "num quiet", text: exact(row.all) }),
              ...row.counts.map((count, i) => this.#cell(count, matrix.most, row, matrix.columns[i])),
            ),
          ),
        ),
      ),
    );
  }

  /**
   * @param {string} text
   * @param {string} title
   * @param {string} ranked
   */
  #heading(text, title, ranked) {
    const is = (this.context.view.ranked || "-all") === ranked;
    const click = () => {
      this.context.state.set({ ranked });
      this.redraw();
    };
    return h(
      "th",
      { scope: "col", class: "wake-head", title, "aria-sort": is ? "descending" : "none" },
      h(
        "button",
        { type: "button", class: "vt-sort", on: { click } },
        h("span", { class: "cut", text }),
        h("span", { "aria-hidden": "true", text: is ? " ↓" : "" }),
      ),
    );
  }

  /**
   * @param {number} count
   * @param {number} most
   * @param {import("./wake_matrix.js").WakeRow} row
   * @param {import("./wake_matrix.js").WakeColumn} column
   */
  #cell(count, most, row, column) {
    if (count === 0) return h("td", { class: "num", "aria-label": "0" });
    // Counts differ by powers of ten: the heat goes by their logarithm.
    const heat = Math.max(1, Math.ceil((STEPS * Math.log2(count + 1)) / Math.log2(most + 1)));
    const title = `${row.title} woke ${column.title} ${plural(count, "time")}`;
    if (row.tid === null || column.tid === null)
      return h("td", { class: "num", data: { heat: String(heat) }, title, text: exact(count) });
    const filter = `waker_tid == ${row.tid} && tid == ${column.tid}`;
    const click = () => this.#toRows(filter);
    return h(
      "td",
      { class: "num", data: { heat: String(heat) } },
      h("button", {
        type: "button",
        class: "plain",
        title: `${title}: show the rows`,
        text: exact(count),
        on: { click },
      }),
    );
  }

  /** Draws the rows in another order. */
  redraw() {
    if (this.answer) this.draw(this.answer);
  }

  /**
   * Wake-ups count whose waker is marked too.
   * @param {string} condition
   * @param {string} or
   */
  marked(condition, or) {
    const wakers = condition.split(or).filter((term) => term.startsWith("tid "));
    return [condition, ...wakers.map((term) => `waker_${term}`)].filter(Boolean).join(or);
  }

  /** @param {string} filter */
  #toRows(filter) {
    if (this.#stream >= 0) this.toTable(this.#stream, filter, { sort: "duration_ns" });
  }

  #sql() {
    const { over, context } = this;
    if (!over || this.#stream < 0) return;
    this.toSql(
      "select waker_comm, waker_tid, comm, tid, count(*) as count\n" +
        `from ${sqlTable(context.info.streams, this.#stream)}\nwhere time >= ${over.start} and time < ${over.end}${this.sqlMarked}\n` +
        "group by waker_tid, tid order by count desc limit 1000",
    );
  }

  /** All pairs of the matrix, with the columns that they are copied with. */
  get #pairs() {
    const matrix = matrixOf(this.answer ?? { wakers: [], wakees: [], counts: [], more_wakers: 0, more_wakees: 0 }, "");
    const pairs = matrix.rows.flatMap((row) =>
      row.counts.map((count, i) => ({ waker: row.title, woken: matrix.columns[i].title, count })),
    );
    /** @typedef {(typeof pairs)[number]} Pair */
    const columns = [
      { key: "waker", title: "waker", value: (/** @type {Pair} */ pair) => pair.waker },
      { key: "woken", title: "woken", value: (/** @type {Pair} */ pair) => pair.woken },
      { key: "count", title: "count", value: (/** @type {Pair} */ pair) => pair.count },
    ];
    return { columns, rows: pairs.filter(({ count }) => count > 0) };
  }

  async #copy() {
    const { columns, rows } = this.#pairs;
    await copyRows(tabbed(columns, rows), rows.length, "pair");
  }

  #save() {
    const { columns, rows } = this.#pairs;
    saveText(`wake-ups-${this.over?.start}-${this.over?.end}.csv`, commaed(columns, rows));
  }
}
