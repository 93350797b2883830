// What took time in the range, by name: system calls, calls of functions, spans, requests, interrupts.

import { h, put } from "../../../lib/dom.js";
import { duration, plural } from "../../../lib/format.js";
import { durationColumns, durationHistogram } from "./duration_columns.js";
import { RangeAsk, restWords } from "./range_ask.js";
import { RangeTable } from "./range_table.js";
import { sqlInside, sqlName, sqlRange, sqlTable, sqlText } from "../../../lib/sql_words.js";
import { openedSlices } from "./range_text.js";

/** @import { RangeSlice, RangeSlices } from "../../../../../api.js" */
/** @import { RangeParts } from "./range_tabs.js" */

/** @extends {RangeAsk<"/api/captures/{id}/range/slices">} */
export class SlicesTab extends RangeAsk {
  /** @param {RangeParts} parts */
  constructor(parts) {
    super(parts, "/api/captures/{id}/range/slices", "Reading what took time");
    this.span = 1;
    /** @type {RangeSlices|null} */
    this.answer = null;
    /** @type {import("./range_text.js").RangeColumn<RangeSlice>[]} */
    const [count, total, share, ...lengths] = durationColumns(() => this.span);
    /** @type {RangeTable<RangeSlice>} */
    this.table = new RangeTable({
      context: this.context,
      name: "Slices by name",
      usual: "-total",
      columns: [
        { key: "name", title: "name", value: ({ name }) => name },
        { key: "stream", title: "stream", value: ({ stream }) => this.#stream(stream) },
        count,
        total,
        {
          key: "self",
          title: "self",
          about: "Total without what is nested inside, where slices nest",
          num: true,
          unit: "ns",
          value: ({ own }) => own,
          text: ({ own }) => duration(own),
        },
        share,
        ...lengths,
      ],
      more: ({ durations }) => durationHistogram(durations),
      id: ({ stream, name }) => openedSlices(this.#stream(stream), name),
      actions: [
        {
          text: "Longest",
          title: "Go to the longest",
          run: ({ key, stream, durations }) => void this.toTrack(key, stream, durations.at),
        },
        {
          text: "Only these",
          title: "Show only these in the table of rows, those of the range",
          run: ({ stream, filter }) => this.toTable(stream, filter, { sort: this.#told(stream)?.duration }),
          when: ({ filter, name, stream }) => filter !== "" || name === this.#stream(stream),
        },
        { text: "SQL", title: "These as a query", run: (slice) => this.#sqlOf(slice) },
      ],
      buttons: [
        h("button", {
          type: "button",
          text: "SQL",
          title: "The whole table as a query",
          on: { click: () => this.#sql() },
        }),
      ],
    });
    put(this.body, this.table.element);
  }

  /** @param {number} stream */
  #stream(stream) {
    return this.context.info.streams[stream]?.name ?? "";
  }

  /** @param {number} stream */
  #told(stream) {
    return this.answer?.streams.find((one) => one.stream === stream);
  }

  /** @param {RangeSlices} answer */
  draw(answer) {
    this.answer = answer;
    this.span = Math.max(1, answer.end - answer.start);
    const rest = restWords(
      answer.rest,
      (many) => plural(many, "name"),
      (rows) => plural(rows, "slice"),
    );
    const words =
      answer.slices.length === 0
        ? "Nothing took time in this range."
        : `${plural(answer.slices.length, "name")}${rest}. A name opens its histogram.`;
    this.table.show(answer.slices, words);
  }

  /** Draws the rows in another order. */
  redraw() {
    this.table.draw();
  }

  #sql() {
    const { over, answer, context } = this;
    if (!over || !answer) return;
    const parts = answer.streams
      .filter(({ stream }) => answer.slices.some((slice) => slice.stream === stream))
      .map(({ stream, column, duration: took, is_end: isEnd }) => {
        const row = { duration: took, isEnd };
        const name = column ? sqlName(column) : sqlText(this.#stream(stream));
        return (
          `select ${sqlText(this.#stream(stream))} as stream, ${name} as name, ${sqlName(took)} as took, ` +
          `${sqlInside(over, row)} as inside\n  from ${sqlTable(context.info.streams, stream)} where ${sqlRange(over, row)}${this.sqlMarked}`
        );
      });
    if (parts.length === 0) return;
    this.toSql(
      "select stream, name, count(*) as count, sum(inside) as total_ns, avg(took) as mean_ns, percentile(took, 50) as p50_ns,\n" +
        `  percentile(took, 99) as p99_ns, max(took) as longest_ns\nfrom (${parts.join("\nunion all\n")})\n` +
        "group by stream, name order by total_ns desc limit 1000",
    );
  }

  /** @param {RangeSlice} slice */
  #sqlOf({ stream, name, filter }) {
    const { over, context } = this;
    const told = this.#told(stream);
    if (!over || !told) return;
    const row = { duration: told.duration, isEnd: told.is_end };
    // Names of rows with a number are words for it.
    const number = / == (\d+)$/.exec(filter)?.[1];
    const named = told.column && filter ? ` and ${sqlName(told.column)} = ${number ?? sqlText(name)}` : "";
    this.toSql(
      `select * from ${sqlTable(context.info.streams, stream)}\nwhere ${sqlRange(over, row)}${named}${this.sqlMarked}\n` +
        `order by ${sqlName(told.duration)} desc limit 1000`,
    );
  }
}
