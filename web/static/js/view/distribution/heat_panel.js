// Rows by time and value, or by second and the offset in it, as a heat map that is drawn in parts while it is counted.

import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { duration, exact, percent, plural } from "../../lib/format.js";
import { HeatChart } from "../../lib/heat_chart.js";
import { SHADE_SCALES, shadeLimits } from "../../lib/heat_shades.js";
import { csvText } from "../../lib/csv.js";
import { otherSide } from "../against/against_model.js";
import { svgOverTime } from "../../lib/svg_file.js";
import { conditionOf, joinHeat, leftOut, limitsText, valueText } from "./spread_model.js";

/** @import { HeatMap, HeatPair } from "../../../../api.js" */
/** @import { HeatCell, HeatSelection } from "../../lib/heat_chart.js" */
/** @import { ShadeScale } from "../../lib/heat_shades.js" */

/** Periods that offsets are shown in, nanoseconds. */
const PERIODS = [1e6, 1e7, 1e8, 1e9, 1e10, 6e10];
const SECOND = 1e9;
/** Rows of offsets. */
const OFFSETS = 50;
/** A column is about so many pixels wide. */
const COLUMN = 3;
/** The finest buckets of a power of two and of equal width that a heat map has. */
const MOST_BITS = 4;
const MOST_ROWS = 200;

/** The panel; with offsets or with values. */
export class HeatPanel {
  /**
   * @param {import("./distribution_view.js").DistributionView} owner
   * @param {boolean} offsets whether rows are parts of their column's time
   */
  constructor(owner, offsets) {
    this.owner = owner;
    this.offsets = offsets;
    /** @type {import("./spread_model.js").HeatWhole|null} */
    this.whole = null;
    /** @type {HeatMap[]} */
    this.parts = [];
    const { state } = owner.context;
    this.shades = owner.choice("What shades tell", Object.entries(SHADE_SCALES), (shades) =>
      state.set({ shades: /** @type {ShadeScale} */ (shades) }),
    );
    this.period = owner.choice(
      "Length of a column",
      PERIODS.map((ns) => [String(ns), `${duration(ns)} a column`]),
      (period) => state.set({ period: Number(period) }),
    );
    this.drawn = ["shades"];
    this.choices = offsets ? [this.period, this.shades] : [this.shades];
    this.chart = new HeatChart({
      label: offsets
        ? "Heat map: a column for each period, the offset in it from bottom to top. Arrow keys walk, Shift selects from a cell on to a later one, Enter shows only its rows."
        : "Heat map: time from left to right, values from bottom to top. Arrow keys walk, Shift selects several cells, Enter shows only their rows.",
      drag: offsets ? "flow" : "box",
      at: (cell) => owner.read(cell ? this.#words({ from: cell, to: cell }) : this.#pickedWords()),
      chosen: (cell) => this.#pick(cell),
      preview: (selection) => owner.read(selection ? this.#words(selection) : ""),
      select: (selection) => owner.only(this.#selected(selection)),
    });
    /** @type {HeatCell|null} */
    this.picked = null;
    /** @type {HeatPair|null} */
    this.pair = null;
    this.legend = h("div");
    /** The other side, below this one. */
    this.there = new HeatChart({
      label: "Heat map of the other side, with the same rows, columns and shades. Arrow keys walk.",
      drag: "box",
      at: (cell) => owner.read(cell ? this.#thereWords(cell) : ""),
      chosen: (cell) => owner.read(this.#thereWords(cell)),
      preview: () => {},
      select: () => {},
    });
    /** @type {import("./spread_model.js").HeatWhole|null} */
    this.other = null;
    const side = (/** @type {string} */ text) => h("h3", { class: "spread-side", text });
    this.sides = { here: side("Here"), there: side("There") };
    this.sides.here.hidden = true;
    this.beside = h("div");
    this.element = h("div", { class: "spread-heat" }, this.sides.here, this.chart.element, this.beside, this.legend);
  }

  /** Writes what is chosen. */
  drawChoices() {
    const { shades, period } = this.owner.context.view;
    this.shades.value = shades;
    const chosen = String(period ?? SECOND);
    if (this.offsets && ![...this.period.options].some(({ value }) => value === chosen))
      this.period.append(h("option", { value: chosen, text: `${duration(Number(chosen))} a column` }));
    this.period.value = chosen;
  }

  get #axis() {
    if (this.offsets) return { period: this.owner.context.view.period ?? SECOND, rows: OFFSETS, columns: 1024 };
    const { scale, steps } = this.owner.scale;
    const most = scale === "log" ? MOST_BITS : MOST_ROWS;
    const columns = Math.max(16, Math.min(1024, Math.floor((this.element.clientWidth || 900) / COLUMN)));
    return { scale, steps: Math.min(steps, most), columns };
  }

  /** Asks for all of its parts, and draws what there is meanwhile. */
  load() {
    const { owner } = this;
    const query = { id: owner.context.id, ...owner.query, ...this.#axis };
    this.parts = [];
    this.picked = null;
    owner.actions(null);
    const isCompared = owner.context.view.against !== "" && !this.offsets;
    this.sides.here.hidden = !isCompared;
    put(this.beside, ...(isCompared ? [this.sides.there, this.there.element] : []));
    this.other = null;
    if (isCompared) return this.#loadPair(query);
    /** @param {AbortSignal} signal */
    const all = async (signal) => {
      let first = await get("/api/captures/{id}/distribution/heat", query, signal);
      let last = first;
      this.#add(first);
      while (last.next !== null) {
        // Buckets of equal width stay those of the first part.
        const limits =
          query.scale === "linear" && first.low !== null ? { low: String(first.low), high: String(first.high) } : {};
        last = await get("/api/captures/{id}/distribution/heat", { ...query, ...limits, skip: last.next }, signal);
        this.#add(last);
      }
      return first;
    };
    return owner.ask("Counting rows by time", all, () => this.#draw());
  }

  /**
   * Asks for both sides at once: one scale is for both, so neither is drawn before the other is there.
   * @param {{id: string, columns: number}} query
   */
  #loadPair(query) {
    const { context } = this.owner;
    const asked = { ...query, ...otherSide(context.view, null) };
    // What was drawn before is no answer to this.
    for (const part of [this.chart.element, this.there.element]) part.hidden = true;
    put(this.legend);
    return this.owner.ask(
      "Counting rows of both sides by time",
      (signal) => get("/api/captures/{id}/distribution/heat/compare", asked, signal),
      (pair) => this.#drawPair(pair),
    );
  }

  /** @param {HeatPair} pair */
  #drawPair(pair) {
    this.pair = pair;
    this.parts = [pair.here];
    this.other = joinHeat([pair.there]);
    const { here_ns: here, there_ns: there } = pair;
    const step = pair.here.step;
    const isAsLong = Math.abs(here - there) <= step;
    this.#draw();
    const rows = `${plural(pair.here.rows, "row")} here, ${exact(pair.there.rows)} there; one scale of shades, columns of ${duration(step)}`;
    const axes = isAsLong
      ? "times are from the start of each range: what stands below each other did not happen together"
      : `here ${duration(here)} and there ${duration(there)}: the shorter one ends earlier, and what is hatched is no time of it`;
    this.owner.say([rows, axes].join(" · "));
  }

  /** @param {HeatCell} cell */
  #thereWords({ column, row }) {
    const { other } = this;
    if (!other) return "";
    const { head, buckets, values } = other;
    const from = head.begin + column * head.step;
    const limits = { low: buckets[row][0], high: buckets[row][1] };
    const count = values[column * buckets.length + row] ?? 0;
    const rows = column < head.columns ? plural(count, "row") : "no time of that range";
    return `there, ${duration(from)} to ${duration(from + head.step)}, ${limitsText(limits, head)}: ${rows}`;
  }

  /** Draws it as the address says now. */
  redraw() {
    if (this.parts.length === 0) return;
    if (this.other && this.pair) this.#drawPair(this.pair);
    else this.#draw();
  }

  /**
   * A map as it is drawn beside another one: as many columns as the longer one has, of which those that are no time of its range
   * are not known.
   * @param {import("./spread_model.js").HeatWhole} whole
   * @param {number} count
   */
  #padded({ head, buckets, values }, count) {
    const columns = Array.from({ length: count }, (_one, i) => {
      const from = head.begin + i * head.step;
      return { from, to: from + head.step };
    });
    const all = new Float64Array(count * buckets.length).fill(NaN);
    all.set(values);
    return { columns, values: all, window: { start: columns[0].from, end: columns[count - 1].to } };
  }

  /**
   * Draws both with one scale.
   * @param {import("./spread_model.js").HeatWhole} whole
   * @param {import("./spread_model.js").HeatWhole} other
   */
  #drawBoth(whole, other) {
    const count = Math.max(whole.head.columns, other.head.columns);
    const limits = shadeLimits([...whole.values, ...other.values], this.owner.context.view.shades);
    for (const [chart, one] of /** @type {const} */ ([
      [this.chart, whole],
      [this.there, other],
    ])) {
      const rows = one.buckets.map(([low]) => ({ label: valueText(low, one.head) }));
      chart.show({ ...this.#padded(one, count), rows, limits, text: exact });
    }
    put(this.legend, this.chart.legend);
  }

  /** @param {HeatMap} part */
  #add(part) {
    this.parts.push(part);
    if (part.next !== null) {
      this.#draw();
      const looked = this.parts.reduce((sum, { looked_at: rows }) => sum + rows, 0);
      this.owner.say(`${percent(looked, part.total)} of ${plural(part.total, "row")} counted so far`);
    }
  }

  #draw() {
    const whole = joinHeat(this.parts);
    this.whole = whole;
    const { head, buckets, values, sums } = whole;
    if (this.other) {
      const isEmpty = whole.buckets.length === 0;
      for (const part of [this.chart.element, this.there.element]) part.hidden = isEmpty;
      if (isEmpty) this.owner.empty("Neither side has a row with a value in its range and filter.");
      else this.#drawBoth(whole, this.other);
      return;
    }
    this.owner.say(
      [
        `${plural(sums.rows, "row")} in the range${this.owner.context.view.filter ? " that match the filter" : ""}`,
        leftOut(sums),
      ]
        .filter(Boolean)
        .join(" · "),
    );
    if (sums.rows - sums.without - sums.below - sums.above === 0) {
      put(this.legend);
      this.chart.element.hidden = true;
      if (head === this.parts.at(-1) || this.parts.at(-1)?.next === null) this.owner.empty(this.owner.nothing);
      return;
    }
    this.chart.element.hidden = false;
    const columns = Array.from({ length: head.columns }, (_one, i) => {
      const from = head.begin + i * head.step;
      return { from, to: from + head.step };
    });
    const window = this.offsets
      ? { start: columns[0].from, end: columns[columns.length - 1].to }
      : { start: head.start, end: head.end };
    this.chart.show({
      window,
      columns,
      rows: buckets.map(([low], row) => ({
        label: valueText(low, head),
        apart: row > 0 && buckets[row - 1][1] !== low,
      })),
      values,
      limits: shadeLimits(values, this.owner.context.view.shades),
      text: exact,
    });
    put(this.legend, this.chart.legend);
  }

  /**
   * The time that cells are of.
   * @param {HeatSelection} selection
   */
  #range({ from, to }) {
    const { head, buckets } = /** @type {import("./spread_model.js").HeatWhole} */ (this.whole);
    const begin = (/** @type {number} */ column) => head.begin + column * head.step;
    if (!this.offsets) return { start: begin(from.column), end: Math.min(head.end, begin(to.column) + head.step) };
    const [low] = buckets[from.row];
    const [, high] = buckets[to.row];
    return { start: begin(from.column) + Number(low), end: begin(to.column) + Number(high) };
  }

  /** @param {HeatSelection} selection */
  #selected(selection) {
    const range = this.#range(selection);
    if (this.offsets || !this.whole) return { range };
    const { column } = this.whole.head;
    return { range, condition: conditionOf(column, this.#limits(selection)), column };
  }

  /** @param {HeatSelection} selection */
  #limits({ from, to }) {
    const { buckets } = /** @type {import("./spread_model.js").HeatWhole} */ (this.whole);
    return { low: buckets[from.row][0], high: buckets[to.row][1] };
  }

  /** @param {HeatSelection} selection */
  #words(selection) {
    if (!this.whole) return "";
    const { head, buckets, values } = this.whole;
    const { from, to } = selection;
    let rows = 0;
    for (let column = from.column; column <= to.column; column += 1) {
      // From a cell on to another one all of what is in between counts.
      const low = this.offsets && column > from.column ? 0 : from.row;
      const high = this.offsets && column < to.column ? buckets.length - 1 : to.row;
      for (let row = low; row <= high; row += 1) rows += values[column * buckets.length + row] ?? 0;
    }
    const { start, end } = this.#range(selection);
    const time = `${duration(start)} to ${duration(end)}`;
    const value = this.offsets ? duration(end - start) : limitsText(this.#limits(selection), head);
    return `${time}, ${value}: ${plural(rows, "row")}`;
  }

  #pickedWords() {
    return this.picked ? this.#words({ from: this.picked, to: this.picked }) : "";
  }

  /** @param {HeatCell} cell */
  #pick(cell) {
    this.picked = cell;
    const selection = { from: cell, to: cell };
    this.owner.read(this.#words(selection));
    this.owner.actions(this.#selected(selection));
  }

  /** What is shown as lines of a table: those cells that are not empty. */
  get csv() {
    if (!this.whole) return null;
    const { head, buckets, values } = this.whole;
    const column = this.offsets ? "offset" : head.column;
    /** @type {(number|string)[][]} */
    const lines = [["from (ns)", "to below (ns)", `${column} from`, `${column} to below`, "rows"]];
    values.forEach((count, i) => {
      const from = head.begin + Math.floor(i / buckets.length) * head.step;
      if (count > 0) lines.push([from, from + head.step, ...buckets[i % buckets.length], count]);
    });
    return csvText(lines);
  }

  /** The same as a picture. */
  get svg() {
    return this.whole && !this.chart.element.hidden ? svgOverTime(this.chart.svg, this.owner.title) : null;
  }
}
