// The Distribution tab: how the values of a column are spread, as a histogram, over time, within seconds, or one by one; and how
// busy CPUs and devices were. What is selected here is the range and the filter of all tabs.

import { h, put } from "../../lib/dom.js";
import { TAKES_NO_CONDITION, withCondition } from "../../lib/filter_text.js";
import { bind } from "../../lib/keys.js";
import { note } from "../../lib/notice.js";
import { saveText } from "../../lib/save_text.js";
import { isStack } from "../first_view.js";
import { AGAINST_PARTS } from "../against/against_model.js";
import { PanelView } from "../panel_view.js";
import { BusyPanel, busyStreams } from "./busy_panel.js";
import { HeatPanel } from "./heat_panel.js";
import { HistogramPanel } from "./histogram_panel.js";
import { ScatterPanel } from "./scatter_panel.js";
import { firstSpread, numbersOf, shownStreams, typedLimit } from "./spread_model.js";

/** @import { CaptureContext } from "../../page/capture_context.js" */
/** @typedef {{range?: {start: number, end: number}, condition?: string, column?: string}} Chosen what was selected in a picture */
/** @typedef {"histogram"|"heat"|"offsets"|"busy"|"single"} Form */
/**
 * @typedef {object} SpreadPanel
 * @property {HTMLElement} element
 * @property {HTMLSelectElement[]} choices of its own
 * @property {() => void} drawChoices writes what is chosen
 * @property {string[]} drawn parts of the address that say how it looks, and not what is asked for
 * @property {() => Promise<void>} load asks for what it shows
 * @property {() => void} redraw shows it as the address says now
 * @property {string|null} csv
 * @property {string|null} svg
 */

const QUERY = [
  ...["stream", "filter", "start", "end", "spread", "column", "buckets", "steps", "low", "high"],
  ...["split", "parts", "laid", "curve", "shades", "period"],
  ...AGAINST_PARTS,
];
/** @type {Record<Form, string>} */
const FORMS = {
  histogram: "Histogram",
  heat: "Over time",
  offsets: "Offset in the second",
  busy: "Utilisation",
  single: "Single rows",
};
/** Buckets that can be chosen. */
const SCALES = [
  ["log 0", "powers of two"],
  ...[1, 2, 3, 4, 5, 6].map((bits) => [`log ${bits}`, `${2 ** bits} buckets a power of two`]),
  ...[20, 60, 200, 1000].map((many) => [`linear ${many}`, `of equal width, up to ${many}`]),
];
const USUAL = { log: 2, linear: 60 };

/** The tab. */
export class DistributionView extends PanelView {
  /** @type {Map<Form, SpreadPanel>} */
  #panels = new Map();
  /** What was selected before, to go back to. */
  #before = /** @type {{start: number|null, end: number|null, filter: string}[]} */ ([]);
  /** What the actions are about. */
  #chosen = /** @type {Chosen|null} */ (null);
  #row = /** @type {number|null} */ (null);

  /**
   * @param {CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, QUERY);
    const { state } = context;
    const form = (/** @type {Form} */ name, /** @type {string} */ text) =>
      h("button", { type: "button", data: { form: name }, text, on: { click: () => state.set({ spread: name }) } });
    this.forms = h(
      "span",
      { class: "segments", role: "group", "aria-label": "Form" },
      ...Object.entries(FORMS).map(([name, text]) => form(/** @type {Form} */ (name), text)),
    );
    this.streams = this.choice("Rows", [], (stream) => state.set({ stream: Number(stream), column: "", split: "" }));
    this.columns = this.choice("Values", [], (column) => state.set({ column }));
    this.scales = this.choice("Buckets", SCALES, (scale) => {
      const [buckets, steps] = scale.split(" ");
      state.set({ buckets: buckets === "linear" ? buckets : "log", steps: Number(steps) });
    });
    this.low = this.#limit("from", (low) => state.set({ low }));
    this.high = this.#limit("to below", (high) => state.set({ high }));
    this.own = h("span", { class: "row spread-own" });
    this.said = h("p", { class: "quiet small", role: "status" });
    this.readout = h("p", { class: "readout mono", "aria-live": "polite" });
    this.buttons = this.#makeActions();
    this.place = h("div", { class: "spread-place" });
    put(
      panel,
      h(
        "div",
        { class: "panel-bar spread-bar" },
        this.forms,
        this.streams,
        this.columns,
        this.scales,
        this.low,
        this.high,
        this.own,
      ),
      h(
        "div",
        { class: "panel-bar spread-lines" },
        this.said,
        h("span", { class: "grow" }),
        this.readout,
        this.buttons.line,
      ),
      this.problem,
      this.place,
    );
    bind("distribution.back", () => this.#back(), { when: () => this.visible && this.#before.length > 0 });
    context.on("info", () => this.visible && this.#drawBar());
  }

  /**
   * What only looks otherwise is drawn again, and not asked for.
   * @param {Set<string>} parts
   */
  changed(parts) {
    const panel = this.#panels.get(this.form);
    const own = QUERY.filter((part) => parts.has(part));
    if (!this.visible || this.stale || !panel || own.some((part) => !panel.drawn.includes(part))) {
      this.expire();
      return;
    }
    panel.drawChoices();
    panel.redraw();
  }

  /** Only rows that match the filter count. */
  get takesFilter() {
    return true;
  }

  /**
   * A choice with a name.
   * @param {string} label
   * @param {string[][]} options values and texts
   * @param {(value: string) => void} chosen
   */
  choice(label, options, chosen) {
    const select = h(
      "select",
      { "aria-label": label, title: label, on: { change: () => chosen(select.value) } },
      ...options.map(([value, text]) => h("option", { value, text })),
    );
    return select;
  }

  /**
   * A limit of values, typed with a unit or without.
   * @param {string} label
   * @param {(value: string) => void} chosen
   */
  #limit(label, chosen) {
    const input = h("input", {
      type: "text",
      class: "spread-limit mono",
      "aria-label": `Values ${label}`,
      placeholder: label,
      title: `Values ${label}: a number, or one with a unit such as 1.5 ms or 64K`,
      on: {
        change: () => {
          const value = typedLimit(input.value, { unit: this.#unit });
          input.setAttribute("aria-invalid", String(value === null));
          if (value === null) note(`${input.value} is no number, or not in the unit of the column.`, { stop: true });
          else chosen(value);
        },
      },
    });
    return input;
  }

  /**
   * The unit of the column, as far as its name and look say it.
   * @returns {import("../../../../api.js").Unit}
   */
  get #unit() {
    const column = this.stream?.columns.find(({ name }) => name === this.column);
    if (column?.display === "duration_ns" || column?.display === "time_ns") return "nanoseconds";
    const word = column?.name.split("_").at(-1) ?? "";
    /** @type {Record<string, import("../../../../api.js").Unit>} */
    const units = { ns: "nanoseconds", us: "microseconds", ms: "milliseconds", bytes: "bytes" };
    return units[word] ?? "values";
  }

  #makeActions() {
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ run) =>
      h("button", { type: "button", text, title, on: { click: run } });
    const only = button("Only these", "Their time and values become the range and the filter of all tabs", () => {
      if (this.#chosen) this.only(this.#chosen);
    });
    const rows = button("Rows", "Their rows, in the table", () => this.#goTo("events"));
    const stacks = button("Stacks", "Their stacks, in the flame graph", () => this.#goTo("flame"));
    const back = button("Back", "The selection before (Z)", () => this.#back());
    const csv = button("CSV", "Save what is shown as comma-separated values", () => this.#save("csv"));
    const svg = button("SVG", "Save the picture", () => this.#save("svg"));
    const line = h("span", { class: "row" }, only, rows, stacks, back, csv, svg);
    return { line, only, rows, stacks, back, csv, svg };
  }

  /** The form that is shown. */
  get form() {
    return this.context.view.spread;
  }

  /**
   * The stream that is shown.
   * @returns {import("../../../../api.js").Stream|undefined}
   */
  get stream() {
    const { info, view } = this.context;
    if (this.form === "busy") {
      const panel = this.#panels.get("busy");
      return panel instanceof BusyPanel ? panel.stream : undefined;
    }
    const chosen = view.stream === null ? undefined : info.streams[view.stream];
    return chosen && chosen.columns.length > 0 ? chosen : firstSpread(info.streams);
  }

  /** The column that is shown. */
  get column() {
    const columns = numbersOf(this.stream?.columns ?? []);
    const { column } = this.context.view;
    if (columns.some(({ name }) => name === column)) return column;
    const lengths = columns.find(({ display }) => display === "duration_ns");
    return (lengths ?? columns.find(({ name }) => name === "value") ?? columns[0])?.name ?? "";
  }

  /** What is asked for, whatever the form. */
  get query() {
    const { start, end, filter, low, high } = this.context.view;
    return { stream: this.stream?.index ?? 0, column: this.column, start, end, filter, low, high };
  }

  /** @returns {{scale: "log"|"linear", steps: number}} */
  get scale() {
    const { buckets, steps } = this.context.view;
    const most = buckets === "log" ? 6 : 4096;
    return { scale: buckets, steps: Math.min(steps ?? USUAL[buckets], most) };
  }

  /** What the picture is of, for its file. */
  get title() {
    return [this.context.info.title, FORMS[this.form], this.stream?.name, this.form === "busy" ? "" : this.column]
      .filter(Boolean)
      .join(", ");
  }

  /** Why there is nothing to see. */
  get nothing() {
    const { filter, start, low, high } = this.context.view;
    if (low || high) return "No row has a value within these limits.";
    if (filter) return "No rows match the filter in this range.";
    return start === null ? "This stream has no rows." : "No rows in the selected range.";
  }

  /** @returns {SpreadPanel} */
  get #panel() {
    const known = this.#panels.get(this.form);
    if (known) return known;
    const made = {
      histogram: () => new HistogramPanel(this),
      heat: () => new HeatPanel(this, false),
      offsets: () => new HeatPanel(this, true),
      busy: () => new BusyPanel(this),
      single: () => new ScatterPanel(this),
    }[this.form]();
    this.#panels.set(this.form, made);
    return made;
  }

  /** Shows what the address says. */
  load() {
    const panel = this.#panel;
    if (this.place.firstChild !== panel.element) put(this.place, panel.element);
    this.read("");
    this.actions(null);
    this.#drawBar();
    if (this.form !== "busy" && (!this.stream || this.stream.rows === 0 || this.column === "")) {
      this.stale = false;
      put(this.place);
      this.say("");
      this.empty(this.stream ? "This stream has no column of numbers." : "This capture has no rows.");
      return Promise.resolve();
    }
    return panel.load();
  }

  #drawBar() {
    const { view, info } = this.context;
    for (const button of this.forms.children)
      if (button instanceof HTMLElement) button.setAttribute("aria-pressed", String(button.dataset.form === this.form));
    const panel = this.#panel;
    const streams = this.form === "busy" ? busyStreams(info.streams) : shownStreams(info.streams);
    const option = (/** @type {{index: number, name: string}} */ { index, name }) =>
      h("option", { value: String(index), text: name });
    put(this.streams, ...streams.map(option));
    this.streams.value = String(this.stream?.index ?? "");
    put(
      this.columns,
      ...numbersOf(this.stream?.columns ?? []).map(({ name }) => h("option", { value: name, text: name })),
    );
    this.columns.value = this.column;
    const { scale, steps } = this.scale;
    const chosen = `${scale} ${steps}`;
    if (![...this.scales.options].some(({ value }) => value === chosen))
      this.scales.append(
        h("option", {
          value: chosen,
          text: scale === "log" ? `${2 ** steps} buckets a power of two` : `of equal width, up to ${steps}`,
        }),
      );
    this.scales.value = chosen;
    if (document.activeElement !== this.low) this.low.value = view.low;
    if (document.activeElement !== this.high) this.high.value = view.high;
    const hasValues = this.form !== "busy" && this.form !== "offsets";
    for (const one of [this.columns, this.low, this.high]) one.hidden = !hasValues;
    this.scales.hidden = !hasValues || this.form === "single";
    if (this.own.firstChild !== (panel.choices[0] ?? null)) put(this.own, ...panel.choices);
    panel.drawChoices();
    this.buttons.back.hidden = this.#before.length === 0;
  }

  /**
   * Says what is shown.
   * @param {string} words
   */
  say(words) {
    this.said.textContent = words;
  }

  /**
   * Says what the pointer or the cursor is on.
   * @param {string} words
   */
  read(words) {
    this.readout.textContent = words;
  }

  /**
   * Offers what can be done with what was picked; nothing for null.
   * @param {Chosen|null} chosen
   * @param {number|null} [row] the number of a single row
   */
  actions(chosen, row = null) {
    this.#chosen = chosen;
    this.#row = row;
    this.buttons.only.hidden = !chosen || row !== null;
    this.buttons.rows.hidden = !chosen;
    this.buttons.stacks.hidden = !chosen || row !== null || !this.context.hasStacks;
  }

  /**
   * The view with what was selected as its range and filter; null where the filter takes no condition.
   * @param {Chosen} chosen
   */
  #selected({ range, condition, column }) {
    const { start, end, filter } = this.context.view;
    const both = condition ? withCondition(filter, condition, column) : filter;
    if (both === null) {
      note(`${TAKES_NO_CONDITION} Only the time is selected.`, { stop: true });
    }
    const within = range && {
      start: Math.max(0, Math.floor(range.start)),
      end: Math.min(Math.ceil(this.context.duration), Math.ceil(range.end)),
    };
    return { ...(within && within.end > within.start ? within : { start, end }), filter: both ?? filter };
  }

  /**
   * Makes what was selected the range and the filter of all tabs.
   * @param {Chosen} chosen
   */
  only(chosen) {
    const { start, end, filter } = this.context.view;
    const after = this.#selected(chosen);
    if (after.start === start && after.end === end && after.filter === filter) return;
    this.#before.push({ start, end, filter });
    this.context.state.set({ ...after, stream: this.stream?.index ?? null, row: null });
  }

  #back() {
    const before = this.#before.pop();
    if (before) this.context.state.set({ ...before, row: null });
  }

  /**
   * Goes to the rows or stacks of what was picked. Samples of other streams have other columns: of these only the time is
   * selected.
   * @param {"events"|"flame"} tab
   */
  #goTo(tab) {
    const chosen = this.#chosen;
    const stream = this.stream?.index ?? null;
    if (!chosen) return;
    if (this.#row !== null) {
      this.context.state.set({ tab, stream, sort: "", order: "asc", row: this.#row });
      return;
    }
    const hasOwn = this.stream?.kind === "samples" && this.stream.columns.some(isStack);
    const of = tab !== "flame" || hasOwn ? chosen : { range: chosen.range };
    const { start, end, filter } = this.context.view;
    this.#before.push({ start, end, filter });
    this.context.state.set({ tab, stream, sort: "", order: "asc", row: null, ...this.#selected(of) });
  }

  /** @param {"csv"|"svg"} format */
  #save(format) {
    const text = this.#panel[format];
    if (!text) {
      note("There is nothing to save.");
      return;
    }
    const name = [this.form, this.stream?.name ?? "", this.column].join("-").replace(/[^\w.-]+/g, "_");
    saveText(`${name}.${format}`, text, format === "csv" ? "text/csv" : "image/svg+xml");
  }
}
