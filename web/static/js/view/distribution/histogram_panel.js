// The histogram of a column: all rows or by values of another column, over or beside each other, with percentiles and a table.

import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { cell, exact, percent, plural } from "../../lib/format.js";
import { histogramChart } from "../../lib/histogram_chart.js";
import { csvText } from "../../lib/csv.js";
import { svgOf } from "../../lib/svg_file.js";
import { HistogramPlot } from "./histogram_plot.js";
import { conditionOf, curveOf, leftOut, limitsOf, limitsText, spreadLines, valueText } from "./spread_model.js";

/** @import { Distribution, DistributionGroup } from "../../../../api.js" */

/** @type {Record<"rows"|"log"|"share"|"cumulative", string>} */
const CURVES = { rows: "Rows", log: "Rows, by powers", share: "Shares", cumulative: "Cumulative" };

/** The panel. */
export class HistogramPanel {
  /** @param {import("./distribution_view.js").DistributionView} owner */
  constructor(owner) {
    this.owner = owner;
    /** @type {Distribution|null} */
    this.answer = null;
    /** @type {HistogramPlot[]} */
    this.plots = [];
    const { state } = owner.context;
    this.curve = owner.choice("What is drawn", Object.entries(CURVES), (curve) =>
      state.set({ curve: /** @type {keyof typeof CURVES} */ (curve) }),
    );
    this.split = owner.choice("Told apart by", [], (split) => state.set({ split }));
    this.parts = owner.choice(
      "How many values",
      Array.from({ length: 10 }, (_one, i) => [String(i + 1), `${i + 1} most frequent`]),
      (parts) => state.set({ parts: Number(parts) }),
    );
    this.laid = owner.choice(
      "Where groups are",
      [
        ["over", "over each other"],
        ["beside", "beside each other"],
      ],
      (laid) => state.set({ laid: laid === "beside" ? laid : "over" }),
    );
    this.drawn = ["curve", "laid"];
    this.choices = [this.curve, this.split, this.parts, this.laid];
    this.place = h("div", { class: "plots" });
    this.table = h("div", { class: "spread-table" });
    this.element = h("div", { class: "spread-histogram" }, this.place, this.table);
  }

  /** What rows are told apart by: what the address says, or for counters which of them it is. */
  get by() {
    const { split } = this.owner.context.view;
    if (split === "-") return "";
    if (split) return split;
    const { stream } = this.owner;
    return stream?.row === "counter" ? (stream.columns.find(({ name }) => name === "event")?.name ?? "") : "";
  }

  /** Writes what is chosen. */
  drawChoices() {
    const { curve, parts, laid } = this.owner.context.view;
    const columns = this.owner.stream?.columns ?? [];
    put(
      this.split,
      h("option", { value: "-", text: "all rows together" }),
      ...columns
        .filter(({ name }) => name !== "time" && name !== this.owner.column)
        .map(({ name }) => h("option", { value: name, text: `by ${name}` })),
    );
    this.curve.value = curve;
    this.split.value = this.by || "-";
    this.parts.value = String(parts);
    this.laid.value = laid;
    this.parts.hidden = this.by === "";
    this.laid.hidden = this.by === "";
  }

  /** Asks for it. */
  load() {
    const { owner } = this;
    const { view, id } = owner.context;
    const query = { id, ...owner.query, ...owner.scale, by: this.by, groups: view.parts };
    return owner.ask(
      "Counting values",
      (signal) => get("/api/captures/{id}/distribution", query, signal),
      (answer) => this.#show(answer),
    );
  }

  /** Draws it as the address says now. */
  redraw() {
    if (this.answer) this.#show(this.answer);
  }

  /** @param {DistributionGroup} group */
  #name({ value }) {
    const column = this.owner.stream?.columns.find(({ name }) => name === this.answer?.by);
    return cell(value, column ?? {}) || (value === null ? "none" : "empty");
  }

  /** @param {Distribution} answer */
  #show(answer) {
    this.answer = answer;
    const { curve, laid } = this.owner.context.view;
    const { buckets, groups, all } = answer;
    const words = [
      `${plural(answer.rows, "row")} in the range${this.owner.context.view.filter ? " that match the filter" : ""}`,
      leftOut(answer),
      answer.more_groups > 0 && `${exact(answer.more_groups)} more values of ${answer.by}`,
      answer.is_cut && `${answer.by} has too many values to count all: a frequent one can be missing`,
    ];
    this.owner.say(words.filter(Boolean).join(" · "));
    if (all.rows === 0) {
      put(this.place);
      put(this.table);
      this.plots = [];
      this.owner.empty(this.owner.nothing);
      return;
    }
    const edges = [
      ...buckets.map(([low]) => valueText(low, answer)),
      valueText(buckets[buckets.length - 1][1], answer),
    ];
    const lines = groups.map((group, i) => ({
      name: this.#name(group),
      cat: i % 12,
      heights: curveOf(group.counts, curve),
    }));
    const whole = { name: "all", cat: null, heights: curveOf(all.counts, curve) };
    /** @type {import("./histogram_plot.js").PlotGroup[][]} */
    const drawn = lines.length === 0 ? [[whole]] : laid === "beside" ? lines.map((line) => [line]) : [[...lines]];
    const most = Math.max(
      ...drawn.flat().map(({ heights }) => heights.reduce((a, b) => Math.max(a, b), 0)),
      Number.MIN_VALUE,
    );
    if (this.plots.length !== drawn.length) {
      this.plots = drawn.map(() => this.#plot());
      put(
        this.place,
        ...this.plots.map((plot) => h("figure", {}, h("figcaption", { class: "small quiet mono cut" }), plot.element)),
      );
      this.place.classList.toggle("is-many", drawn.length > 1);
    }
    drawn.forEach((of, i) => {
      const [caption] = this.place.children[i].children;
      caption.textContent = drawn.length > 1 ? of[0].name : "";
      this.plots[i].show({ groups: of, buckets: buckets.length, most, edges, curve });
    });
    put(this.table, this.#percentiles(answer), this.#buckets(answer));
  }

  #plot() {
    return new HistogramPlot({
      label:
        "Histogram. Arrow keys walk through the buckets, Shift selects several, Enter shows only their rows. A table with all numbers is below.",
      at: (bucket) => this.owner.read(bucket === null ? "" : this.#words(bucket, bucket)),
      preview: (first, last) => this.owner.read(this.#words(first, last)),
      select: (first, last) => this.#select(first, last),
    });
  }

  /**
   * @param {number} first
   * @param {number} last
   */
  #words(first, last) {
    const { answer } = this;
    if (!answer) return "";
    const sum = (/** @type {number[]} */ counts) => counts.slice(first, last + 1).reduce((a, b) => a + b, 0);
    const below = answer.all.counts.slice(0, last + 1).reduce((a, b) => a + b, 0);
    const limits = limitsText(limitsOf(answer.buckets, first, last), answer);
    const all = `${limits}: ${plural(sum(answer.all.counts), "row")}, ${percent(sum(answer.all.counts), answer.all.rows)}; cumulative ${percent(below, answer.all.rows)}`;
    const groups = answer.groups
      .map((group) => ({ name: this.#name(group), rows: sum(group.counts) }))
      .filter(({ rows }) => rows > 0)
      .slice(0, 4);
    return groups.length > 0 ? `${all} (${groups.map(({ name, rows }) => `${name} ${exact(rows)}`).join(", ")})` : all;
  }

  /**
   * @param {number} first
   * @param {number} last
   */
  #select(first, last) {
    const { answer } = this;
    if (!answer) return;
    const { column } = answer;
    this.owner.only({ condition: conditionOf(column, limitsOf(answer.buckets, first, last)), column });
  }

  /** @param {Distribution} answer */
  #percentiles(answer) {
    const { all, groups } = answer;
    const head = (/** @type {string} */ text, num = true, title = "") =>
      h("th", { scope: "col", class: num ? "num" : "", title: title || null, text });
    const line = (/** @type {DistributionGroup} */ group, /** @type {number} */ i) => {
      const of = (/** @type {import("../../../../api.js").ShownCell} */ value) =>
        h("td", {
          class: "num mono",
          title: exact(String(value ?? "–")),
          text: group.rows > 0 ? valueText(value, answer) : "–",
        });
      const name = i < 0 ? "all rows" : this.#name(group);
      const only =
        i >= 0 && group.filter
          ? h("button", {
              type: "button",
              class: "plain mono cut",
              title: `Only rows with ${group.filter}`,
              text: name,
              on: { click: () => this.owner.only({ condition: group.filter }) },
            })
          : h("span", { class: i < 0 ? "" : "mono", text: name });
      return h(
        "tr",
        {},
        h("th", { scope: "row", class: "cut", data: i < 0 ? {} : { cat: String(i % 12) } }, only),
        h("td", { class: "num mono", text: exact(group.rows) }),
        of(group.least),
        of(group.mean),
        ...group.percentiles.map(([, value]) => of(value)),
        of(group.most),
      );
    };
    const percentiles = all.percentiles.map(([permille]) => head(`p${permille / 10}`, true, "To 1 % of the value"));
    return h(
      "table",
      { class: "list spread-percentiles" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head(answer.by || "", false),
          head("rows"),
          head("least"),
          head("mean"),
          ...percentiles,
          head("greatest"),
        ),
      ),
      h("tbody", {}, line(all, -1), ...groups.map(line)),
    );
  }

  /** @param {Distribution} answer */
  #buckets(answer) {
    const filled = answer.buckets
      .map(([low, high], i) => ({ low, high, count: answer.all.counts[i] }))
      .filter(({ count }) => count > 0);
    const label = (/** @type {string} */ low, /** @type {string} */ high) => limitsText({ low, high }, answer);
    return h(
      "details",
      { class: "spread-buckets" },
      h("summary", { text: `${plural(filled.length, "bucket")} as a table` }),
      histogramChart({ buckets: filled, total: answer.all.rows, unit: answer.unit }, label),
    );
  }

  /** What is shown as lines of a table. */
  get csv() {
    const { answer } = this;
    return (
      answer &&
      csvText(
        spreadLines(
          answer,
          answer.groups.map((group) => this.#name(group)),
        ),
      )
    );
  }

  /** The same as a picture. */
  get svg() {
    const { answer, plots } = this;
    if (!answer || plots.length === 0) return null;
    const pictures = plots.map(({ svg, plot }) => ({
      picture: svg,
      caption: plots.length > 1 ? plot.groups[0].name : "",
    }));
    return svgOf(pictures, `${answer.column}, ${plural(answer.all.rows, "row")}`);
  }
}
