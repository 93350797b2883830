// The functions that samples of the range found most often, and the way to their flame graph.

import { h, put } from "../../../lib/dom.js";
import { amount } from "../../../lib/amount.js";
import { plural } from "../../../lib/format.js";
import { note } from "../../../lib/notice.js";
import { functionTable } from "../../flame/flame_functions.js";
import { RangeAsk } from "./range_ask.js";
import { commaed, sqlFunctions, tabbed } from "./range_text.js";
import { copyRows, saveText } from "../../../lib/save_text.js";

/** @import { SampledFunctions } from "../../../../../api.js" */
/** @import { RangeOver } from "./range_over.js" */
/** @import { RangeParts } from "./range_tabs.js" */

/** Weights of stacks that the table of samples has in SQL. */
const OF_SAMPLES = new Set(["", "samples", "nanoseconds", "bytes"]);
/** @type {import("./range_text.js").RangeColumn<SampledFunctions["functions"][number]>[]} */
const COLUMNS = [
  { key: "function", title: "function", value: ({ name }) => name },
  { key: "own", title: "own", value: ({ own }) => own },
  { key: "total", title: "total", value: ({ total }) => total },
];

/** @extends {RangeAsk<"/api/captures/{id}/flame/functions">} */
export class SamplesTab extends RangeAsk {
  /** @param {RangeParts} parts */
  constructor(parts) {
    super(parts, "/api/captures/{id}/flame/functions", "Counting functions");
    this.words = h("span", { class: "quiet" });
    this.place = h("div", { class: "flame-functions" });
    const open = h("button", {
      type: "button",
      text: "Flame graph",
      title: "The flame graph of this range and these tracks",
      on: { click: () => this.#open({ flame: "graph" }) },
    });
    /** @type {SampledFunctions|null} */
    this.answer = null;
    const copy = h("button", {
      type: "button",
      text: "Copy",
      title: "Copy these functions with tabs between the columns",
      on: { click: () => void this.#copy() },
    });
    const save = h("button", {
      type: "button",
      text: "CSV",
      title: "Save these functions as a file with commas",
      on: { click: () => this.#save() },
    });
    const sql = h("button", {
      type: "button",
      text: "SQL",
      title: "These functions as a query",
      on: { click: () => this.#sql() },
    });
    const bar = h("div", { class: "range-bar" }, this.words, h("span", { class: "grow" }), open, sql, copy, save);
    put(this.body, bar, this.place);
  }

  /** The filter of rows and the tracks of the range. */
  get #filter() {
    const { filter } = this.context.view;
    const marked = this.over?.filter ?? "";
    return filter && marked ? `(${filter}) && (${marked})` : filter || marked;
  }

  /**
   * What is asked for.
   * @param {RangeOver} over
   */
  query({ start, end }) {
    const { top, unit } = this.context.view;
    return { start, end, filter: this.#filter, sort: top, unit };
  }

  /** @param {Partial<import("../../../page/url_state.js").ViewParts>} more */
  #open(more) {
    this.context.state.set({ tab: "flame", filter: this.#filter, focus: "", ...more });
  }

  #sql() {
    const { answer, over } = this;
    if (!answer || !over) return;
    const { filter, top, unit } = this.context.view;
    if (!OF_SAMPLES.has(unit)) {
      note(
        "Queries add up what samples count themselves: choose that in the tab Flame graph, where it says what is counted.",
      );
      return;
    }
    if (filter) note("The query has no filter of rows: write its condition beside that of the range.");
    this.toSql(sqlFunctions(over, { unit: answer.unit, marked: this.sqlMarked, by: top }));
  }

  async #copy() {
    if (!this.answer) return;
    const { functions } = this.answer;
    await copyRows(tabbed(COLUMNS, functions), functions.length, "function");
  }

  #save() {
    if (this.answer)
      saveText(`functions-${this.over?.start}-${this.over?.end}.csv`, commaed(COLUMNS, this.answer.functions));
  }

  /** @param {SampledFunctions} answer */
  draw(answer) {
    this.answer = answer;
    const { state, view } = this.context;
    const left = answer.total - answer.functions.length;
    const unsure = this.over?.rows && !this.over.filter ? "; of all tracks, as samples cannot be told by these" : "";
    this.words.textContent =
      `${amount(answer.samples, answer.unit)}${left > 0 ? `; ${plural(left, "more function")}` : ""}${unsure}` +
      (view.filter ? "; only rows that match the filter" : "");
    put(
      this.place,
      functionTable(answer, {
        top: view.top,
        hasStacks: true,
        sort: (to) => {
          state.set({ top: to });
          if (this.over) void this.show(this.over);
        },
        find: (name) => this.#open({ flame: "graph", search: name }),
        between: (name) => this.#open({ flame: "between", between: name }),
        open: (name) => this.#open({ flame: "functions", code: name, at: "" }),
      }),
    );
  }
}
