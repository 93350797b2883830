// The Counts tab: what was counted as a table, and below it how each event went over time.

import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { bytes, count, duration, exact, plural } from "../../lib/format.js";
import { LinesChart } from "../../lib/lines_chart.js";
import { PanelView } from "../panel_view.js";

/** @import { CountView, Counted } from "../../../../api.js" */
/** @typedef {import("../../lib/lines_chart.js").LinesView["lines"]} Lines */

/** Moments of a line at most: about as many as there are pixels. */
const POINTS = 800;
/** Lines of one chart: more cannot be told apart. */
const LINES = 12;

/** @param {number} value */
const number = (value) => (value >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(3))));

/**
 * What the values of an event's lines are, behind its name.
 * @param {Counted} one
 */
function lineWords({ is_clock: isClock, range, unit }) {
  if (isClock) return " CPUs in use";
  if (range !== null) return unit === "bytes" ? "" : ` ${unit}`;
  if (unit === "ns") return " % of the time";
  return unit === "bytes" ? " bytes per second" : " per second";
}

/** The tab. */
export class CountsView extends PanelView {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, ["start", "end"]);
    /** @type {Map<string, LinesChart>} */
    this.charts = new Map();
    this.readout = h("p", { class: "readout mono", "aria-live": "polite" });
    this.body = h("div", { class: "counts" });
    put(panel, h("div", { class: "panel-bar" }, this.readout), this.problem, this.body);
  }

  /** Reads the counts. */
  load() {
    const query = { ...this.context.range, bins: POINTS };
    return this.ask(
      "Reading the counts",
      (signal) => get("/api/captures/{id}/counts", { id: this.context.id, ...query }, signal),
      (view) => this.#draw(view),
    );
  }

  /** @param {CountView} view */
  #draw(view) {
    if (view.counts.length === 0) {
      put(this.body);
      this.empty(
        this.context.info.running ? "The first interval has not ended yet." : "Nothing was counted in this range.",
      );
      return;
    }
    const charts = this.#charts(view);
    put(
      this.body,
      this.#table(view.counts),
      view.left_out > 0 &&
        h("p", { class: "quiet small", text: `${plural(view.left_out, "row")} of other events and CPUs not shown` }),
      view.joined > 1 &&
        h("p", { class: "quiet small", text: `Each point stands for ${plural(view.joined, "interval")}.` }),
      ...charts.map(({ title, chart, more }) => h("section", {}, title, chart.element, more)),
    );
    // A chart takes its size from the page.
    for (const { chart, shown } of charts) chart.show(shown);
  }

  /**
   * A chart for each event that was counted, with a line for each CPU or thread.
   * @param {CountView} view
   */
  #charts(view) {
    const at = view.at.map((time) => ({ time }));
    /** @type {Map<string, Lines>} */
    const events = new Map();
    for (const line of view.lines) {
      const of = view.counts[line.of];
      const lines = events.get(of.event) ?? [];
      lines.push({
        key: [of.scope],
        values: line.values.map((value) => (value === null ? null : Number(value.toPrecision(4)))),
      });
      events.set(of.event, lines);
    }
    return [...events].map(([event, lines]) => {
      const chart = this.charts.get(event) ?? this.#newChart();
      this.charts.set(event, chart);
      const one = view.counts.find((counted) => counted.event === event && counted.counted);
      const title = h(
        "h3",
        { class: "counts-title" },
        h("code", { text: event }),
        h("span", { class: "quiet small", text: one ? lineWords(one) : "" }),
      );
      const more =
        lines.length > LINES && h("p", { class: "quiet small", text: `${plural(lines.length - LINES, "more line")}` });
      const format = one?.unit === "bytes" ? bytes : undefined;
      return { title, chart, shown: { at, lines: lines.slice(0, LINES), format }, more };
    });
  }

  #newChart() {
    return new LinesChart({
      readout: (text) => {
        this.readout.textContent = text;
      },
    });
  }

  /** @param {Counted[]} counts */
  #table(counts) {
    const scoped = counts.some(({ scope }) => scope !== "all");
    const shared = counts.some(({ share }) => share !== null);
    const gauges = counts.some(({ range }) => range !== null);
    /**
     * @param {string} name
     * @param {boolean} [num]
     */
    const head = (name, num) => h("th", { scope: "col", class: num ? "num" : "", text: name });
    /** @param {Counted} one */
    const value = ({ counted, is_clock: isClock, unit, value: number, state }) => {
      if (!counted) return h("td", { class: "num quiet", text: state ? "not supported" : "not counted" });
      if (isClock || unit === "ns")
        return h("td", { class: "num mono", title: `${exact(number)} ns`, text: duration(number) });
      return unit === "bytes"
        ? h("td", { class: "num mono", title: `${exact(number)} bytes`, text: bytes(number) })
        : h("td", { class: "num mono", text: exact(number) });
    };
    /** @param {Counted} one */
    const derived = ({ derived: it, range, unit, state }) => {
      if (range) {
        const words = unit === "bytes" ? bytes : exact;
        return h("td", { class: "mono", text: `${words(range.least)} to ${words(range.most)}` });
      }
      return h("td", {
        class: it ? "mono" : "quiet",
        text: it ? `${number(it.value)} ${it.unit}` : state.replace(/^not supported: /, ""),
      });
    };
    /** @param {Counted} one */
    const line = (one) =>
      h(
        "tr",
        {},
        scoped && h("td", { class: "mono", text: one.scope }),
        value(one),
        h("td", {}, h("code", { text: one.event })),
        derived(one),
        shared && h("td", { class: "num", text: one.share === null ? "" : `${number(one.share * 100)} %` }),
      );
    return h(
      "table",
      { class: "list counts-table" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          scoped && head("Scope"),
          head(gauges ? "Count or last value" : "Count", true),
          head("Event"),
          head(gauges ? "Ratio, rate or range" : "Ratio or rate"),
          shared && head("Time counted", true),
        ),
      ),
      h("tbody", {}, ...counts.map(line)),
    );
  }
}
