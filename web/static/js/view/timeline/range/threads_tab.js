// What threads did in the range: each state of each thread with time, share, count and the longest.

import { h, put } from "../../../lib/dom.js";
import { duration, exact, percent, plural } from "../../../lib/format.js";
import { RangeAsk, restWords } from "./range_ask.js";
import { RangeTable } from "./range_table.js";
import { sqlInside, sqlRange, sqlTable } from "../../../lib/sql_words.js";

/** @import { RangeThreads, RangeThread, RangeState } from "../../../../../api.js" */
/** @import { RangeParts } from "./range_tabs.js" */

/** @typedef {{thread: RangeThread, state: RangeState, name: string, order: number}} Line */

/** States as they are asked about: who ran, who waited for a CPU, who for a disk, who slept. */
const ORDER = ["running", "runnable", "preempted", "uninterruptible", "sleeping", "idle"];

/** @extends {RangeAsk<"/api/captures/{id}/range/threads">} */
export class ThreadsTab extends RangeAsk {
  /** @param {RangeParts} parts */
  constructor(parts) {
    super(parts, "/api/captures/{id}/range/threads", "Reading the states of threads");
    this.span = 1;
    /** @type {RangeTable<Line>} */
    this.table = new RangeTable({
      context: this.context,
      name: "States by thread",
      columns: this.#columns(),
      usual: "state",
      actions: [
        {
          text: "Longest",
          title: "Go to the longest of this state",
          run: ({ thread, state }) => void this.toTrack(thread.key, thread.stream, state.at),
        },
        {
          text: "Table",
          title: "Show the rows of this state and thread",
          run: ({ thread, name }) => this.toTable(thread.stream, `${ofThread(thread)} && state == "${name}"`),
          when: ({ name }) => /^[\w .-]+$/.test(name),
        },
        {
          text: "Flame graph",
          title: "Show the samples of this thread in the range",
          run: ({ thread }) => this.context.state.set({ tab: "flame", filter: ofThread(thread), focus: "" }),
          when: () => this.context.hasStacks,
        },
      ],
      buttons: [
        h("button", { type: "button", text: "SQL", title: "The same as a query", on: { click: () => this.#sql() } }),
      ],
    });
    put(this.body, this.table.element);
    /** @type {RangeThreads|null} */
    this.answer = null;
  }

  /** @returns {import("./range_text.js").RangeColumn<Line>[]} */
  #columns() {
    return [
      { key: "thread", title: "thread", value: ({ thread }) => title(thread) },
      {
        key: "pid",
        title: "process",
        num: true,
        value: ({ thread }) => thread.pid,
        text: ({ thread }) => String(thread.pid),
      },
      { key: "state", title: "state", value: ({ order, name }) => `${order} ${name}`, text: ({ name }) => name },
      {
        key: "time",
        title: "time",
        about: "Within the range",
        num: true,
        unit: "ns",
        value: ({ state }) => state.time,
        text: ({ state }) => duration(state.time),
      },
      {
        key: "share",
        title: "of range",
        num: true,
        unit: "%",
        value: ({ state }) => Number(((100 * state.time) / this.span).toPrecision(4)),
        text: ({ state }) => percent(state.time, this.span),
      },
      {
        key: "count",
        title: "count",
        about: "How many times, also where it began before the range or ended after it",
        num: true,
        value: ({ state }) => state.count,
        text: ({ state }) => exact(state.count),
      },
      {
        key: "longest",
        title: "longest",
        about: "Exactly, also where it reaches out of the range",
        num: true,
        unit: "ns",
        value: ({ state }) => state.longest,
        text: ({ state }) => duration(state.longest),
      },
    ];
  }

  /** @param {RangeThreads} answer */
  draw(answer) {
    this.answer = answer;
    this.span = Math.max(1, answer.end - answer.start);
    const order = (/** @type {string} */ name) => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);
    const rank = (/** @type {string} */ name) => (ORDER.includes(name) ? order(name) : ORDER.length + 1);
    const lines = answer.threads.flatMap((thread) =>
      thread.states.map((state) => {
        const name = answer.states[state.state];
        return { thread, state, name, order: rank(name) };
      }),
    );
    // In one state those that were longest in it come first.
    lines.sort((a, b) => b.state.time - a.state.time);
    const rest = restWords(
      answer.rest,
      (many) => plural(many, "thread"),
      (rows) => plural(rows, "state"),
    );
    const words =
      lines.length === 0
        ? "No thread has a state in this range."
        : `States of ${plural(answer.threads.length, "thread")}${rest}`;
    this.table.show(lines, words);
  }

  /** Draws the rows in another order. */
  redraw() {
    this.table.draw();
  }

  #sql() {
    const { over, answer, context } = this;
    const stream = answer?.threads[0]?.stream ?? context.info.streams.find(({ row }) => row === "state")?.index;
    if (!over || stream === undefined) return;
    const row = { duration: "duration_ns" };
    this.toSql(
      `select comm, tid, state, count(*) as count, sum(${sqlInside(over, row)}) as time_ns, max(duration_ns) as longest_ns\n` +
        `from ${sqlTable(context.info.streams, stream)}\nwhere ${sqlRange(over, row)}${this.sqlMarked}\n` +
        "group by tid, state order by time_ns desc limit 1000",
    );
  }
}

/** @param {RangeThread} thread */
function title({ key, name }) {
  const [kind, number] = key.split(":");
  return kind === "idle" ? `idle of CPU ${number}` : `${name || "thread"} tid ${number}`;
}

/** @param {RangeThread} thread */
function ofThread({ key }) {
  const [kind, number] = key.split(":");
  return kind === "idle" ? `tid == 0 && cpu == ${number}` : `tid == ${number}`;
}
