// What counters were in the range.

import { h, put } from "../../../lib/dom.js";
import { bytes, count, duration, exact, plural } from "../../../lib/format.js";
import { RangeAsk, restWords } from "./range_ask.js";
import { RangeTable } from "./range_table.js";
import { sqlRange, sqlTable } from "../../../lib/sql_words.js";

/** @import { RangeCounter, RangeCounters } from "../../../../../api.js" */
/** @import { RangeParts } from "./range_tabs.js" */

/**
 * @param {number} value
 * @param {string} unit
 */
function written(value, unit) {
  if (unit === "ns") return duration(value);
  if (unit === "bytes") return value < 0 ? `−${bytes(-value)}` : bytes(value);
  return Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** @extends {RangeAsk<"/api/captures/{id}/range/counters">} */
export class CountersTab extends RangeAsk {
  /** @param {RangeParts} parts */
  constructor(parts) {
    super(parts, "/api/captures/{id}/range/counters", "Reading counters");
    /** @type {RangeCounters|null} */
    this.answer = null;
    /**
     * @param {"least"|"mean"|"most"|"first"|"last"|"change"} key
     * @param {string} [about]
     * @returns {import("./range_text.js").RangeColumn<RangeCounter>}
     */
    const number = (key, about) => ({
      key,
      title: key,
      about,
      num: true,
      value: (row) => row[key],
      text: (row) => written(row[key], row.unit),
    });
    /** @type {RangeTable<RangeCounter>} */
    this.table = new RangeTable({
      context: this.context,
      name: "Counters",
      usual: "counter",
      columns: [
        { key: "counter", title: "counter", value: ({ name }) => name },
        {
          key: "kind",
          title: "a reading is",
          about: "A value that was read at a moment, or what was counted since the reading before",
          value: ({ is_gauge: isGauge }) => (isGauge ? "a value" : "a count"),
        },
        { key: "unit", title: "unit", value: ({ unit }) => unit },
        {
          key: "readings",
          title: "readings",
          num: true,
          value: ({ count: readings }) => readings,
          text: ({ count: readings }) => exact(readings),
        },
        number("least"),
        number("mean", "The mean of the readings"),
        number("most"),
        number("first"),
        number("last"),
        number("change", "Of values the last less the first, of counts their sum"),
      ],
      actions: [
        {
          text: "Table",
          title: "Show the readings of this stream",
          run: ({ stream }) => this.context.state.set({ tab: "events", stream, filter: "", row: null }),
        },
      ],
      buttons: [
        h("button", {
          type: "button",
          text: "SQL",
          title: "The readings as a query",
          on: { click: () => this.#sql() },
        }),
      ],
    });
    put(this.body, this.table.element);
  }

  /** @param {RangeCounters} answer */
  draw(answer) {
    this.answer = answer;
    const rest = restWords(
      answer.rest,
      (many) => plural(many, "counter"),
      (rows) => plural(rows, "reading"),
    );
    const whole = this.over?.rows ? " Counters are of no track: all are shown." : "";
    const words =
      answer.counters.length === 0
        ? "No counter was read in this range."
        : `${plural(answer.counters.length, "counter")}${rest}.${whole}`;
    this.table.show(answer.counters, words);
  }

  /** Draws the rows in another order. */
  redraw() {
    this.table.draw();
  }

  #sql() {
    const { over, answer, context } = this;
    const stream = answer?.counters[0]?.stream;
    if (!over || stream === undefined) return;
    this.toSql(`select * from ${sqlTable(context.info.streams, stream)}\nwhere ${sqlRange(over)}\nlimit 1000`);
  }
}
