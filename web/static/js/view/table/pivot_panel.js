// Rows in groups, in the place of the table of rows: a table, bars, lines over time, or a heat map; and the query that asks the same.

import { h, put } from "../../lib/dom.js";
import { cell as cellText, columnHeading, count, duration } from "../../lib/format.js";
import { LinesChart } from "../../lib/lines_chart.js";
import { get } from "../../lib/api.js";
import { TAKES_NO_CONDITION, withCondition } from "../../lib/filter_text.js";
import { readNames, writeNames } from "../../lib/name_list.js";
import { note } from "../../lib/notice.js";
import { VirtualTable } from "../../lib/virtual_table.js";
import { AGAINST_PARTS, otherTable } from "../against/against_model.js";
import { AgainstPanel } from "../against/against_panel.js";
import { PanelView } from "../panel_view.js";
import { PivotHeat } from "./pivot_heat.js";
import {
  MOST_KEYS,
  MOST_MEASURES,
  barWidths,
  firstKeys,
  measureName,
  pivotColumn,
  pivotSql,
  pivotText,
  readMeasures,
  waysOf,
  writeMeasures,
} from "./pivot_model.js";

/** @import { Pivot } from "../../../../api.js" */
/** @import { TableColumn } from "../../lib/virtual_table.js" */

const PARTS = ["stream", "filter", "start", "end", "groupby", "measures", "grouporder", "groupshow", ...AGAINST_PARTS];
/** How many lines are asked for, and how many bins of time. */
const LINES = 1000;
const BINS = 200;
const MOST_BARS = 100;
/** How many groups are drawn as lines; more cannot be told apart. */
const MOST_LINES = 12;
/** The forms, with their words. */
const FORMS = /** @type {const} */ ([
  ["", "Table"],
  ["bars", "Bars"],
  ["lines", "Over time"],
  ["heat", "Heat map"],
]);

/** The panel. */
export class PivotPanel extends PanelView {
  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    const element = h("div", { class: "pivot" });
    super(context, element, PARTS);
    this.element = element;
    /** @type {Pivot|null} */
    this.answer = null;
    this.keys = h("div", { class: "pivot-row", role: "group", "aria-label": "Group by" });
    this.told = h("div", { class: "pivot-row", role: "group", "aria-label": "Values of each group" });
    this.counted = h("span", { class: "quiet", role: "status" });
    this.pointed = h("span", { class: "quiet readout" });
    this.ways = h("span", { class: "segments", role: "group", "aria-label": "Show groups as" });
    const sql = h("button", { type: "button", text: "To SQL", on: { click: () => this.#toSql() } });
    this.bar = h(
      "div",
      { class: "pivot-row" },
      this.ways,
      this.counted,
      h("span", { class: "grow" }),
      this.pointed,
      sql,
    );
    this.table = new VirtualTable({
      label: "Groups",
      sort: (name) => this.#sort(name),
      open: (index) => this.#open(index),
    });
    this.bars = h("ul", { class: "pivot-bars" });
    this.chart = new LinesChart({ readout: (text) => (this.pointed.textContent = text) });
    this.heat = new PivotHeat({
      readout: (text) => (this.pointed.textContent = text),
      open: (group, range) => this.#open(group, range),
      select: (range) => this.context.select(range),
    });
    this.against = new AgainstPanel(context, { noun: "group", label: "Groups of both sides", filters: true });
    put(element, this.keys, this.told, this.bar, this.problem, ...this.#forms, this.against.element);
  }

  /** Only rows that match the filter are counted. */
  get takesFilter() {
    return true;
  }

  /** @returns {TableColumn[]} */
  get #columns() {
    return this.context.stream?.columns ?? [];
  }

  /** The columns that rows are grouped by: those that the stream has. */
  get #by() {
    const { groupby } = this.context.view;
    const names = new Set(this.#columns.map(({ name }) => name));
    if (groupby === "*") return firstKeys(this.#columns);
    return readNames(groupby).filter((name) => names.has(name));
  }

  get #measures() {
    const names = new Set(this.#columns.map(({ name }) => name));
    const found = readMeasures(this.context.view.measures).filter(({ column }) => column === "" || names.has(column));
    return found.length > 0 ? found : readMeasures("");
  }

  /** By which column of the answer lines are sorted, and which way. */
  get #order() {
    const [, turn = "", at = ""] = /^(-?)(\d+)$/.exec(this.context.view.grouporder) ?? [];
    const columns = this.#by.length + this.#measures.length;
    return at !== "" && Number(at) < columns
      ? { sort: Number(at), descending: turn === "-" }
      : { sort: this.#by.length, descending: true };
  }

  get #show() {
    return this.context.view.groupshow;
  }

  /** Asks for the groups. */
  load() {
    this.#drawChoices();
    const { filter, start, end } = this.context.view;
    const { sort, descending } = this.#order;
    const stream = this.context.info.streams.indexOf(this.context.stream);
    const asked = { stream, filter, start, end, by: writeNames(this.#by), values: writeMeasures(this.#measures) };
    const isCompared = this.context.view.against !== "";
    this.against.element.hidden = !isCompared;
    this.bar.hidden = isCompared;
    if (isCompared) {
      for (const form of this.#forms) form.hidden = true;
      const query = { id: this.context.id, ...asked, ...otherTable(this.context.view) };
      void this.against.load(this, "Comparing groups", (signal) =>
        get("/api/captures/{id}/pivot/compare", query, signal),
      );
      return;
    }
    const query = {
      id: this.context.id,
      ...asked,
      ...{
        sort,
        order: descending ? "desc" : "asc",
        limit: LINES,
        bins: ["lines", "heat"].includes(this.#show) ? BINS : 0,
      },
    };
    void this.ask(
      "Grouping rows",
      (signal) => get("/api/captures/{id}/pivot", query, signal),
      (answer) => {
        this.answer = answer;
        this.#draw();
      },
    );
  }

  get #forms() {
    return [this.table.element, this.bars, this.chart.element, this.heat.element];
  }

  #drawChoices() {
    const [by, measures] = [this.#by, this.#measures];
    const columns = this.#columns;
    const keys = by.map((name) =>
      this.#chip(name, `Do not group by ${name}`, () => this.#setKeys(by.filter((other) => other !== name))),
    );
    const free = columns.filter(({ name }) => !by.includes(name));
    put(
      this.keys,
      h("span", { class: "quiet", text: "by" }),
      ...keys,
      by.length < MOST_KEYS &&
        this.#adder(
          "Group by one more column",
          free.map(({ name }) => [name, name]),
          (name) => this.#setKeys([...by, name]),
        ),
    );
    const told = measures.map((measure, i) =>
      this.#chip(measureName(measure), `Do not tell ${measureName(measure)}`, () =>
        this.#setMeasures(measures.filter((_, other) => other !== i)),
      ),
    );
    const names = new Set(measures.map(measureName));
    const offered = [{ way: "count", column: "" }]
      .concat(columns.flatMap((column) => waysOf(column).map((way) => ({ way, column: column.name }))))
      .filter((measure) => !names.has(measureName(measure)));
    put(
      this.told,
      h("span", { class: "quiet", text: "with" }),
      ...told,
      measures.length < MOST_MEASURES &&
        this.#adder(
          "Tell one more value",
          offered.map((measure, i) => [String(i), measureName(measure)]),
          (i) => this.#setMeasures([...measures, offered[Number(i)]]),
        ),
    );
    put(
      this.ways,
      ...FORMS.map(([name, text]) =>
        h("button", {
          type: "button",
          "aria-pressed": String(this.#show === name),
          text,
          on: { click: () => this.context.state.set({ groupshow: name }) },
        }),
      ),
    );
  }

  /**
   * @param {string} text
   * @param {string} label
   * @param {() => void} remove
   */
  #chip(text, label, remove) {
    return h(
      "span",
      { class: "pivot-chip mono" },
      text,
      h("button", {
        type: "button",
        class: "plain",
        "aria-label": label,
        title: label,
        text: "×",
        on: { click: remove },
      }),
    );
  }

  /**
   * @param {string} label
   * @param {string[][]} options values and texts
   * @param {(value: string) => void} add
   */
  #adder(label, options, add) {
    const select = h(
      "select",
      { "aria-label": label },
      h("option", { value: "", text: "add…" }),
      ...options.map(([value, text]) => h("option", { value, text })),
    );
    select.addEventListener("change", () => select.value !== "" && add(select.value));
    return select;
  }

  /** @param {string[]} by */
  #setKeys(by) {
    // Without any column all rows are one group; the address must not say that there are no groups.
    this.context.state.set({ groupby: by.length > 0 ? writeNames(by) : ",", grouporder: "" });
  }

  /** @param {import("./pivot_model.js").Measure[]} measures */
  #setMeasures(measures) {
    this.context.state.set({ measures: writeMeasures(measures), grouporder: "" });
  }

  /** @param {string} name */
  #sort(name) {
    const at = this.answer?.columns.findIndex((column) => column.name === name) ?? -1;
    if (at < 0) return;
    const { sort, descending } = this.#order;
    // Numbers are looked at from the greatest, names from the first.
    const turned = sort === at ? !descending : at >= this.#by.length;
    this.context.state.set({ grouporder: `${turned ? "-" : ""}${at}` });
  }

  #draw() {
    const { answer } = this;
    if (!answer) return;
    this.counted.textContent = pivotText(answer);
    if (answer.rows === 0) this.empty("No rows match the filter in this range.");
    const show = this.#show;
    this.table.element.hidden = show !== "";
    this.bars.hidden = show !== "bars";
    this.chart.element.hidden = show !== "lines";
    this.heat.element.hidden = show !== "heat";
    this.pointed.textContent = "";
    if (show === "") this.#drawTable(answer);
    else if (show === "bars") this.#drawBars(answer);
    else if (show === "lines") this.#drawLines(answer);
    else this.#drawHeat(answer);
  }

  /** @param {Pivot} answer */
  #drawTable({ columns, lines }) {
    const { sort, descending } = this.#order;
    this.table.source = { count: lines.length, row: (index) => lines[index]?.cells, need: () => {} };
    this.table.setColumns(columns.map(pivotColumn), [{ name: columns[sort]?.name ?? "", descending }]);
    this.table.changed();
  }

  /** @param {Pivot} answer */
  #drawBars({ columns, lines }) {
    const first = this.#by.length;
    const shown = lines.slice(0, MOST_BARS);
    const value = pivotColumn(columns[first]);
    const numbers = shown.map(({ cells }) => {
      const cell = cells[first];
      return typeof cell === "object" ? null : cell;
    });
    const widths = barWidths(numbers);
    const heading = h(
      "li",
      { class: "quiet small" },
      h("span", { text: columns.slice(0, first).map(columnHeading).join(", ") }),
      h("span", { text: value.heading ?? columnHeading(value) }),
    );
    put(
      this.bars,
      heading,
      ...shown.map(({ cells }, i) => {
        const name = this.#nameOf(cells, columns);
        const bar = h("span", { class: "pivot-bar" });
        bar.style.width = `${widths[i]}%`;
        return h(
          "li",
          {},
          h("button", {
            type: "button",
            class: "plain mono cut",
            text: name,
            title: `${name}: show its rows`,
            on: { click: () => this.#open(i) },
          }),
          h("span", { class: "pivot-place" }, bar),
          h("span", { class: "num", text: value.show?.(cells[first]) ?? cellText(cells[first], value) }),
        );
      }),
    );
  }

  /** @param {Pivot["columns"][number]|undefined} value */
  #format(value) {
    return value?.display === "duration_ns"
      ? (/** @type {number} */ ns) => duration(ns)
      : (/** @type {number} */ number) => count(number);
  }

  /** @param {Pivot} answer */
  #drawHeat({ columns, lines, series }) {
    const drawn = series ?? { start: 0, end: 0, lines: [] };
    const names = drawn.lines.map((_line, i) => this.#nameOf(lines[i].cells, columns));
    const value = columns[this.#by.length];
    this.heat.show(drawn, names, { name: value?.name ?? "", text: this.#format(value) });
    if (lines.length > names.length) this.counted.textContent += `; the first ${names.length} are drawn`;
  }

  /** @param {Pivot} answer */
  #drawLines({ columns, lines, series }) {
    const { start = 0, end = 0, lines: all = [] } = series ?? {};
    const drawn = all.slice(0, MOST_LINES);
    if (lines.length > drawn.length) this.counted.textContent += `; the first ${drawn.length} are drawn`;
    const bins = drawn[0]?.length ?? 0;
    const at = Array.from({ length: bins }, (_, i) => ({ time: start + ((end - start) * (i + 0.5)) / bins }));
    this.chart.show({
      at,
      lines: drawn.map((values, i) => ({ key: [this.#nameOf(lines[i].cells, columns)], values })),
      format: this.#format(columns[this.#by.length]),
    });
  }

  /**
   * @param {Pivot["lines"][number]["cells"]} cells
   * @param {Pivot["columns"]} columns
   */
  #nameOf(cells, columns) {
    const names = cells
      .slice(0, this.#by.length)
      .map((cell, i) => (cell === null ? "missing" : cellText(cell, columns[i])));
    return names.length > 0 ? names.join(", ") : "all rows";
  }

  /** The lines as they are seen, to be saved. */
  seen() {
    const columns = this.answer?.columns.map(pivotColumn) ?? [];
    return { columns, rows: this.answer?.lines.map(({ cells }) => cells) ?? [] };
  }

  /**
   * Shows the rows of a group, or those of a part of the time.
   * @param {number} index
   * @param {{start: number, end: number}|null} [range]
   */
  #open(index, range = null) {
    const line = this.answer?.lines[index];
    if (!line) return;
    if (line.condition === null)
      return void note(this.#by.length === 0 ? "These are all rows." : "No filter can say the rows of this group.");
    const both = withCondition(this.context.view.filter, line.condition);
    if (both === null) return void note(TAKES_NO_CONDITION, { stop: true });
    this.context.state.set({ ...range, filter: both, groupby: "", row: null });
  }

  #toSql() {
    const { streams } = this.context.info;
    const stream = streams.indexOf(this.context.stream);
    const { start, end } = this.context.range;
    const range = start === null || end === null ? null : { start, end };
    const grouping = {
      by: this.#by,
      measures: this.#measures,
      ...this.#order,
      limit: LINES,
      filter: this.context.view.filter,
      range,
    };
    const { sql, problem } = pivotSql(streams, stream, grouping);
    if (problem) note(`The query has no filter: ${problem}.`, { stop: true });
    this.context.state.set({ tab: "sql", sql });
  }
}
