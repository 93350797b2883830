// Single rows by time and value: where they are few, each is a dot that opens its row.

import { Latest, get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { duration, exact, plural } from "../../lib/format.js";
import { showError } from "../../lib/notice.js";
import { csvText } from "../../lib/csv.js";
import { svgOverTime } from "../../lib/svg_file.js";
import { RowDetails } from "../table/row_details.js";
import { ScatterChart } from "./scatter_chart.js";
import { conditionOf, leftOut, limitsText, valueText } from "./spread_model.js";

/** @import { Scatter } from "../../../../api.js" */

/** The panel. */
export class ScatterPanel {
  #latest = new Latest();

  /** @param {import("./distribution_view.js").DistributionView} owner */
  constructor(owner) {
    this.owner = owner;
    this.axis = owner.choice(
      "How values are placed",
      [
        ["log", "Values by powers"],
        ["linear", "Values in proportion"],
      ],
      (buckets) => owner.context.state.set({ buckets: buckets === "linear" ? buckets : "log", steps: null }),
    );
    this.choices = [this.axis];
    this.drawn = ["buckets", "steps"];
    /** @type {Scatter|null} */
    this.answer = null;
    this.chart = new ScatterChart({
      at: (dot) => owner.read(dot === null ? "" : this.#words(dot)),
      chosen: (dot) => this.#open(dot),
      preview: (box) => owner.read(box ? this.#boxWords(box) : ""),
      select: (box) => owner.only(this.#selected(box)),
    });
    this.details = new RowDetails(owner.context, () => {
      this.details.close();
      this.chart.canvas.focus();
    });
    this.many = h("div");
    this.element = h(
      "div",
      { class: "spread-single" },
      h("div", { class: "spread-heat" }, this.many, this.chart.element),
      this.details.element,
    );
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.details.open) return;
      event.stopPropagation();
      this.details.close();
      this.chart.canvas.focus();
    });
  }

  /** Writes what is chosen. */
  drawChoices() {
    this.axis.value = this.owner.scale.scale;
  }

  /** Asks for them. */
  load() {
    const { owner } = this;
    const query = { id: owner.context.id, ...owner.query };
    this.details.close();
    return owner.ask(
      "Reading single rows",
      (signal) => get("/api/captures/{id}/distribution/scatter", query, signal),
      (answer) => this.#show(answer),
    );
  }

  /** Draws it as the address says now. */
  redraw() {
    if (this.answer) this.#show(this.answer);
  }

  /** @param {Scatter} answer */
  #show(answer) {
    this.answer = answer;
    const isFew = answer.rows.length > 0;
    this.owner.say([`${plural(answer.shown, "row")}`, leftOut(answer)].filter(Boolean).join(" · "));
    this.chart.element.hidden = !isFew;
    put(this.many);
    if (answer.shown === 0) this.owner.empty(this.owner.nothing);
    else if (!isFew) this.#tooMany(answer);
    else {
      const { scale } = this.owner.scale;
      this.chart.show({
        window: { start: answer.start, end: answer.end },
        times: answer.times,
        values: answer.values.map(Number),
        isLog: scale === "log",
        text: (value) => valueText(value, answer),
      });
    }
  }

  /** @param {Scatter} answer */
  #tooMany({ shown, most }) {
    const { state } = this.owner.context;
    put(
      this.many,
      h(
        "div",
        { class: "empty" },
        h("p", {
          text: `These are ${plural(shown, "row")}; up to ${exact(most)} are drawn one by one. Select a range, a filter or limits of values.`,
        }),
        h(
          "p",
          {},
          h("button", {
            type: "button",
            text: "Show them as a heat map",
            on: { click: () => state.set({ spread: "heat" }) },
          }),
        ),
      ),
    );
  }

  /** @param {number} dot */
  #words(dot) {
    const { answer } = this;
    if (!answer) return "";
    return `${duration(answer.times[dot])}, ${valueText(answer.values[dot], answer)}: row ${exact(answer.rows[dot] + 1)}`;
  }

  /** @param {import("./scatter_chart.js").DotBox} box */
  #boxWords({ start, end, low, high }) {
    const values = this.answer ? limitsText({ low: String(low), high: String(high) }, this.answer) : "";
    return `${duration(start)} to ${duration(end)}, ${values}`;
  }

  /** @param {import("./scatter_chart.js").DotBox} box */
  #selected({ start, end, low, high }) {
    const column = this.answer?.column ?? "";
    return { range: { start, end }, condition: conditionOf(column, { low: String(low), high: String(high) }), column };
  }

  /** @param {number} dot */
  async #open(dot) {
    const { answer, owner } = this;
    if (!answer) return;
    const number = answer.rows[dot];
    owner.actions({}, number);
    owner.read(this.#words(dot));
    const { start, end, filter } = owner.context.view;
    const query = { id: owner.context.id, stream: owner.query.stream, start, end, filter, offset: number, limit: 1 };
    try {
      const page = await this.#latest.run((signal) => get("/api/captures/{id}/rows", query, signal));
      if (!page) return;
      const row = /** @type {import("../../lib/virtual_table.js").TableRow} */ (page.rows[0]);
      if (page.texts?.[0]) row.text = page.texts[0];
      this.details.show(number, row, page.columns);
    } catch (error) {
      showError(owner.problem, error, () => void this.#open(dot));
    }
  }

  /** What is shown as lines of a table. */
  get csv() {
    const { answer } = this;
    if (!answer || answer.rows.length === 0) return null;
    const line = (/** @type {number} */ row, /** @type {number} */ i) => [
      row + 1,
      answer.times[i],
      String(answer.values[i]),
    ];
    return csvText([["row", "time (ns)", answer.column], ...answer.rows.map(line)]);
  }

  /** The same as a picture. */
  get svg() {
    return this.answer && !this.chart.element.hidden ? svgOverTime(this.chart.svg, this.owner.title) : null;
  }
}
