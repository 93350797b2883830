// A key number of a series over time: a point for each run with its error, marks of deployments, and the baseline.

import { h, s } from "../lib/dom.js";
import { plural, ticks, wall } from "../lib/format.js";
import { keyText, keyValue, pointsOf } from "../lib/series_words.js";

/** @import { MarkItem, RunItem, SeriesKey } from "../../../api.js" */

const HEIGHT = 160;
const LEFT = 76;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 22;
/** A day in nanoseconds. */
const DAY = 86_400e9;

/**
 * A moment as the axis has it: as fine as the span needs.
 * @param {number} time
 * @param {number} span
 */
function timeLabel(time, span) {
  if (span > 2 * DAY) return wall(time).slice(0, 10);
  return span > DAY / 12 ? wall(time).slice(5, 16) : wall(time).slice(11, 19);
}

/**
 * @typedef {object} SeriesChartOf
 * @property {SeriesKey} key
 * @property {number} at its place among the numbers of a run
 * @property {RunItem[]} runs the last first
 * @property {MarkItem[]} marks
 * @property {string|null} baseline
 * @property {(run: RunItem) => void} open
 */

/** The chart of one number. */
export class SeriesChart {
  /** @param {SeriesChartOf} of */
  constructor(of) {
    this.of = of;
    this.points = pointsOf(of.runs, of.at);
    this.at = -1;
    this.width = 0;
    this.readout = h("p", { class: "series-readout small", role: "status" });
    this.svg = s("svg", {
      class: "series-svg",
      tabindex: "0",
      role: "img",
      "aria-label": `${keyText(of.key)} of ${plural(this.points.length, "run")}. Arrow keys walk through the runs, Enter opens one.`,
    });
    this.element = h(
      "figure",
      { class: "series-chart" },
      h("figcaption", { text: keyText(of.key) }),
      this.svg,
      this.readout,
    );
    this.svg.addEventListener("pointermove", (event) =>
      this.#go(this.#nearest(/** @type {PointerEvent} */ (event).offsetX)),
    );
    this.svg.addEventListener("pointerleave", () => this.#go(-1));
    this.svg.addEventListener("click", () => this.#open());
    this.svg.addEventListener("keydown", (event) => this.#key(/** @type {KeyboardEvent} */ (event)));
    new ResizeObserver(() => this.#draw()).observe(this.element);
    this.#tell();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.points.length - 1;
    const to = { ArrowLeft: Math.max(0, this.at - 1), ArrowRight: Math.min(last, this.at + 1), Home: 0, End: last }[
      event.key
    ];
    if (to !== undefined) this.#go(to);
    else if (event.key === "Enter") this.#open();
    else if (event.key === "Escape") this.#go(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #open() {
    const point = this.points[this.at];
    if (point) this.of.open(point.run);
  }

  /** @param {number} at */
  #go(at) {
    if (at === this.at) return;
    this.at = at;
    this.#tell();
    this.#draw(true);
  }

  #tell() {
    const { key } = this.of;
    const point = this.points[this.at];
    if (!point) {
      const missing = this.points.filter(({ value }) => value === null).length;
      this.readout.textContent = missing > 0 ? `${plural(missing, "run")} without this number.` : "";
      return;
    }
    const number = point.run.numbers[this.of.at];
    const parts = [
      wall(point.time),
      point.value === null ? "no such number" : keyValue(point.value, key),
      number?.error ? `± ${keyValue(number.error, key)}` : "",
      number?.name ?? "",
      point.run.lost > 0 || point.run.lost_at_least ? "rows were lost" : "",
      point.run.title,
    ];
    this.readout.textContent = parts.filter(Boolean).join(" · ");
  }

  #scales() {
    const { points, of, width } = this;
    const times = [...points.map(({ time }) => time), ...of.marks.map((mark) => Number(mark.time_unix_ns))];
    let [first, last] = [Math.min(...times), Math.max(...times)];
    if (!(last > first)) [first, last] = [first - 1e9, last + 1e9];
    const values = points.flatMap(({ least, most }) => (least === null || most === null ? [] : [least, most]));
    const top = Math.max(...values, 0);
    const bottom = Math.min(...values, 0);
    const span = top - bottom || 1;
    return {
      first,
      last,
      bottom,
      top: bottom + span * 1.05,
      x: (/** @type {number} */ time) => LEFT + ((time - first) / (last - first)) * (width - LEFT - RIGHT),
      y: (/** @type {number} */ value) => TOP + (1 - (value - bottom) / (span * 1.05)) * (HEIGHT - TOP - BOTTOM),
    };
  }

  /** @param {number} x */
  #nearest(x) {
    const scale = this.#scales();
    let best = -1;
    this.points.forEach(({ time }, at) => {
      if (best < 0 || Math.abs(scale.x(time) - x) < Math.abs(scale.x(this.points[best].time) - x)) best = at;
    });
    return best;
  }

  /** @param {boolean} [again] whether something but the width is another */
  #draw(again = false) {
    const width = Math.max(240, Math.round(this.element.clientWidth));
    if (width === this.width && !again) return;
    this.width = width;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("width", String(width));
    this.svg.setAttribute("height", String(HEIGHT));
    this.svg.replaceChildren(
      ...this.#axes(),
      ...this.#marks(),
      ...this.#baseline(),
      ...this.#line(),
      ...this.#cursor(),
    );
  }

  #axes() {
    const { first, last, bottom, top, x, y } = this.#scales();
    const { at } = ticks(bottom, top, 4);
    const across = at.map((value) =>
      s(
        "g",
        {},
        s("line", { class: "series-grid", x1: LEFT, x2: this.width - RIGHT, y1: y(value), y2: y(value) }),
        s("text", {
          class: "series-label",
          x: LEFT - 6,
          y: y(value) + 4,
          "text-anchor": "end",
          text: keyValue(value, this.of.key),
        }),
      ),
    );
    const text = (/** @type {number} */ time) => timeLabel(time, last - first);
    const many = Math.max(2, Math.min(6, Math.floor((this.width - LEFT) / 120)));
    const times = Array.from({ length: many }, (_, i) => first + ((last - first) * i) / (many - 1));
    // Of a short time several have the same words: the first and the last one stay.
    const isNew = (/** @type {number} */ i) =>
      i === many - 1 || (text(times[i]) !== text(times[i - 1]) && text(times[i]) !== text(last));
    const below = times
      .map((time, i) =>
        s("text", {
          class: "series-label",
          x: x(time),
          y: HEIGHT - 6,
          "text-anchor": i === 0 ? "start" : i === many - 1 ? "end" : "middle",
          text: text(time),
        }),
      )
      .filter((_, i) => i === 0 || isNew(i));
    return [...across, ...below];
  }

  #marks() {
    const { x } = this.#scales();
    return this.of.marks.map((mark, i) => {
      const at = x(Number(mark.time_unix_ns));
      return s(
        "g",
        { class: "series-mark" },
        s("line", { x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }),
        s("text", { class: "series-label", x: at + 3, y: TOP + 8, text: String(i + 1) }),
        s("title", { text: `${wall(mark.time_unix_ns)}: ${mark.text}` }),
      );
    });
  }

  #baseline() {
    const { x, y } = this.#scales();
    const point = this.points.find(({ run }) => run.id === this.of.baseline);
    if (!point || point.value === null) return [];
    const at = y(point.value);
    return [s("line", { class: "series-baseline", x1: x(point.time), x2: this.width - RIGHT, y1: at, y2: at })];
  }

  #line() {
    const { x, y } = this.#scales();
    let path = "";
    let isOpen = false;
    for (const { time, value } of this.points) {
      if (value === null) {
        isOpen = false;
        continue;
      }
      path += `${isOpen ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
      isOpen = true;
    }
    const dots = this.points.flatMap(({ run, time, value, least, most }) => {
      if (value === null || least === null || most === null) return [];
      const lossy = run.lost > 0 || run.lost_at_least;
      return [
        s("line", { class: "series-error", x1: x(time), x2: x(time), y1: y(least), y2: y(most) }),
        s("circle", { class: `series-dot${lossy ? " is-lossy" : ""}`, cx: x(time), cy: y(value), r: lossy ? 4.5 : 3 }),
      ];
    });
    return [s("path", { class: "series-line", d: path }), ...dots];
  }

  #cursor() {
    const point = this.points[this.at];
    if (!point) return [];
    const at = this.#scales().x(point.time);
    return [s("line", { class: "series-cursor", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM })];
  }
}
