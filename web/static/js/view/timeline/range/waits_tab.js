// How long threads waited for a CPU after they were woken, and who woke them.

import { h, put } from "../../../lib/dom.js";
import { duration, exact, plural } from "../../../lib/format.js";
import { durationColumns, durationHistogram } from "./duration_columns.js";
import { RangeAsk, restWords } from "./range_ask.js";
import { RangeTable } from "./range_table.js";
import { sqlInside, sqlRange, sqlTable } from "../../../lib/sql_words.js";

/** @import { RangeWait, RangeWaits } from "../../../../../api.js" */
/** @import { RangeParts } from "./range_tabs.js" */

/** @extends {RangeAsk<"/api/captures/{id}/range/waits">} */
export class WaitsTab extends RangeAsk {
  /** @param {RangeParts} parts */
  constructor(parts) {
    super(parts, "/api/captures/{id}/range/waits", "Reading how long threads waited for a CPU");
    this.span = 1;
    /** @type {RangeWaits|null} */
    this.answer = null;
    /** @type {RangeTable<RangeWait>} */
    this.table = new RangeTable({
      context: this.context,
      name: "Run-queue latency by thread",
      usual: "-total",
      columns: [
        { key: "thread", title: "thread", value: ({ key, name }) => `${name} ${key.replace(":", " ")}` },
        ...durationColumns(() => this.span),
        { key: "waker", title: "woken most often by", value: wakers },
      ],
      more: ({ durations }) => durationHistogram(durations),
      id: ({ key }) => key,
      actions: [
        {
          text: "Longest",
          title: "Go to the longest wait, in the thread's states",
          run: ({ key, durations }) => void this.#toWait(key, durations.at),
        },
        {
          text: "Table",
          title: "Show the rows of this thread",
          run: ({ key, stream }) => this.toTable(stream, key.replace(":", " == "), { sort: "duration_ns" }),
          when: ({ key }) => key.startsWith("tid:"),
        },
      ],
      buttons: [
        h("button", { type: "button", text: "SQL", title: "The same as a query", on: { click: () => this.#sql() } }),
      ],
    });
    this.whole = h("details", { class: "range-whole" });
    put(this.body, this.whole, this.table.element);
  }

  /** @param {RangeWaits} answer */
  draw(answer) {
    this.answer = answer;
    this.span = Math.max(1, answer.end - answer.start);
    const { all } = answer;
    const rest = restWords(
      answer.rest,
      (many) => plural(many, "thread"),
      (rows) => plural(rows, "wait"),
    );
    const words =
      all.count === 0
        ? "No thread waited for a CPU in this range."
        : `${plural(answer.threads.length, "thread")}${rest}. A thread opens its histogram.`;
    this.whole.hidden = all.count === 0;
    put(
      this.whole,
      h("summary", {
        text:
          `All threads: ${plural(all.count, "wait")}, p50 ${duration(all.p50)}, p90 ${duration(all.p90)}, ` +
          `p99 ${duration(all.p99)}, the longest ${duration(all.longest)}`,
      }),
      durationHistogram(all),
    );
    this.table.show(answer.threads, words);
  }

  /** Draws the rows in another order. */
  redraw() {
    this.table.draw();
  }

  /**
   * The stream of latencies has no tracks in the tree: the thread's states have the same wait.
   * @param {string} key
   * @param {number} time
   */
  async #toWait(key, time) {
    const states = this.context.info.streams.find(
      ({ name, rule, row }) => row === "state" && rule && name === "thread states",
    );
    await this.toTrack(key, states?.index ?? -1, time);
  }

  #sql() {
    const { over, answer, context } = this;
    const stream = answer?.threads[0]?.stream;
    if (!over || stream === undefined) return;
    const row = { duration: "duration_ns" };
    this.toSql(
      `select comm, tid, count(*) as count, sum(${sqlInside(over, row)}) as total_ns, avg(duration_ns) as mean_ns,\n` +
        "  percentile(duration_ns, 50) as p50_ns, percentile(duration_ns, 99) as p99_ns, max(duration_ns) as longest_ns\n" +
        `from ${sqlTable(context.info.streams, stream)}\nwhere ${sqlRange(over, row)}${this.sqlMarked}\n` +
        "group by tid order by total_ns desc limit 1000",
    );
  }
}

/** @param {RangeWait} wait */
function wakers({ wakers: list, by_others: others }) {
  const told = list.map(
    ({ tid, name, count }) => `${tid === 0 ? "an interrupt while idle" : `${name} ${tid}`}: ${exact(count)}`,
  );
  return [...told, ...(others > 0 ? [`others: ${exact(others)}`] : [])].join(", ");
}
