// Bytes of the rows of the range that say how many: by what rows are called, or by thread.

import { h, put } from "../../../lib/dom.js";
import { bytes, exact, plural } from "../../../lib/format.js";
import { RangeAsk, restWords } from "./range_ask.js";
import { RangeTable } from "./range_table.js";
import { sqlName, sqlRange, sqlTable } from "../../../lib/sql_words.js";

/** @import { RangeAmount, RangeAmounts } from "../../../../../api.js" */
/** @import { RangeParts } from "./range_tabs.js" */

/** @extends {RangeAsk<"/api/captures/{id}/range/amounts">} */
export class AmountsTab extends RangeAsk {
  /** @param {RangeParts} parts */
  constructor(parts) {
    super(parts, "/api/captures/{id}/range/amounts", "Adding up bytes");
    /** @type {RangeAmounts|null} */
    this.answer = null;
    const button = (/** @type {""|"thread"} */ amounts, /** @type {string} */ text) =>
      h("button", { type: "button", data: { amounts }, text, on: { click: () => this.#choose(amounts) } });
    this.choice = h(
      "span",
      { class: "segments", role: "group", "aria-label": "Bytes by" },
      button("", "By name"),
      button("thread", "By thread"),
    );
    /** @type {RangeTable<RangeAmount>} */
    this.table = new RangeTable({
      context: this.context,
      name: "Bytes",
      usual: "-bytes",
      columns: this.#columns(),
      actions: [
        {
          text: "Table",
          title: "Show the rows",
          run: ({ stream, column, filter }) => this.toTable(stream, filter, { sort: column }),
        },
        { text: "SQL", title: "The rows as a query", run: (row) => this.#sql(row) },
      ],
      buttons: [this.choice],
    });
    put(this.body, this.table.element);
  }

  /** @returns {import("./range_text.js").RangeColumn<RangeAmount>[]} */
  #columns() {
    const streamOf = (/** @type {number} */ stream) => this.context.info.streams[stream]?.name ?? "";
    return [
      { key: "name", title: "what", value: ({ name, tid }) => (tid === undefined ? name : `${name} tid ${tid}`) },
      { key: "stream", title: "stream", value: ({ stream }) => streamOf(stream) },
      { key: "column", title: "column", about: "The column that says how many bytes", value: ({ column }) => column },
      {
        key: "bytes",
        title: "bytes",
        about: "The sum of rows whose time is in the range",
        num: true,
        unit: "bytes",
        value: ({ bytes: sum }) => sum,
        text: ({ bytes: sum }) => bytes(sum),
      },
      { key: "count", title: "count", num: true, value: ({ count }) => count, text: ({ count }) => exact(count) },
      {
        key: "mean",
        title: "mean",
        num: true,
        unit: "bytes",
        value: ({ mean }) => Math.round(mean),
        text: ({ mean }) => bytes(mean),
      },
      {
        key: "most",
        title: "most",
        num: true,
        unit: "bytes",
        value: ({ most }) => most,
        text: ({ most }) => bytes(most),
      },
    ];
  }

  /** @param {""|"thread"} amounts */
  #choose(amounts) {
    this.context.state.set({ amounts });
    this.redraw();
  }

  /** @param {RangeAmounts} answer */
  draw(answer) {
    this.answer = answer;
    const { amounts } = this.context.view;
    for (const button of this.choice.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.amounts === amounts));
    const byThread = amounts === "thread";
    const rows = byThread ? answer.threads : answer.names;
    const rest = restWords(
      byThread ? answer.threads_rest : answer.names_rest,
      (many) => plural(many, "line"),
      (count) => plural(count, "row"),
    );
    const several = new Set(rows.map(({ stream }) => stream)).size > 1;
    const words =
      rows.length === 0
        ? "No row of this range says how many bytes."
        : `${plural(rows.length, "line")}${rest}.${several ? " Streams can have the same bytes: what a call wrote is a request later." : ""}`;
    this.table.show(rows, words);
  }

  /** Draws the rows in another order. */
  redraw() {
    if (this.answer) this.draw(this.answer);
  }

  /** @param {RangeAmount} row */
  #sql({ stream, column, name, tid }) {
    const { over, context } = this;
    if (!over) return;
    const ofThread = tid === undefined ? "" : ` and tid = ${tid}`;
    const call = tid === undefined && column === "result" ? ` and call = '${name.replaceAll("'", "''")}'` : "";
    this.toSql(
      `select * from ${sqlTable(context.info.streams, stream)}\n` +
        `where ${sqlRange(over)} and ${sqlName(column)} > 0${ofThread}${call}${this.sqlMarked}\norder by ${sqlName(column)} desc limit 1000`,
    );
  }
}
