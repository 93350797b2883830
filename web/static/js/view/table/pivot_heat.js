// Groups of rows as a heat map: a row for each group, time from left to right, a shade for the first value.

import { h, put } from "../../lib/dom.js";
import { duration } from "../../lib/format.js";
import { HeatChart } from "../../lib/heat_chart.js";
import { shadeLimits } from "../../lib/heat_shades.js";
import { heatOf } from "./pivot_model.js";

/** @import { PivotSeries } from "../../../../api.js" */
/** @import { HeatCell, HeatSelection } from "../../lib/heat_chart.js" */

/** The map with its legend. */
export class PivotHeat {
  /**
   * @param {object} parts
   * @param {(text: string) => void} parts.readout
   * @param {(group: number, range: {start: number, end: number}) => void} parts.open a group within a part of the time
   * @param {(range: {start: number, end: number}) => void} parts.select
   */
  constructor({ readout, open, select }) {
    /** @type {string[]} */
    this.names = [];
    /** What was added to values, so that each has a shade. */
    this.shift = 0;
    /** @type {(value: number) => string} */
    this.text = String;
    this.chart = new HeatChart({
      label:
        "Heat map of groups: time from left to right, a row for each group. Arrow keys walk, Shift selects time, Enter shows the rows of a cell.",
      drag: "columns",
      hasNames: true,
      at: (cell) => readout(cell ? this.#words(cell) : ""),
      chosen: (cell) => open(this.#group(cell), this.#range({ from: cell, to: cell })),
      preview: (selection) => readout(selection ? this.#span(this.#range(selection)) : ""),
      select: (selection) => select(this.#range(selection)),
    });
    this.legend = h("div");
    this.element = h("div", { class: "pivot-heat" }, this.chart.element, this.legend);
  }

  /**
   * Shows values over time.
   * @param {PivotSeries} series
   * @param {string[]} names of the groups, the first of them on top
   * @param {{name: string, text: (value: number) => string}} of what is told of each, and how it is written
   */
  show(series, names, { name, text }) {
    const { shift, scale, whole, ...picture } = heatOf(series, names);
    Object.assign(this, { names, text, shift });
    this.chart.show({
      ...picture,
      limits: shadeLimits(picture.values, scale, { whole }),
      text: (value) => text(value - shift),
      whole,
      nothing: "no rows",
      about: name,
    });
    put(this.legend, this.chart.legend);
  }

  /** @param {HeatCell} cell */
  #group({ row }) {
    return this.names.length - 1 - row;
  }

  /** @param {HeatSelection} selection */
  #range({ from, to }) {
    const { columns } = this.chart.picture;
    return { start: Math.floor(columns[from.column].from), end: Math.ceil(columns[to.column].to) };
  }

  /** @param {{start: number, end: number}} range */
  #span({ start, end }) {
    return `${duration(start)} to ${duration(end)}`;
  }

  /** @param {HeatCell} cell */
  #words(cell) {
    const value = this.chart.value(cell);
    return `${this.names[this.#group(cell)]}, ${this.#span(this.#range({ from: cell, to: cell }))}: ${value > 0 ? this.text(value - this.shift) : "nothing"}`;
  }
}
