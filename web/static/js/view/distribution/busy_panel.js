// How busy CPUs or devices were over time.

import { events } from "../../kind/events.js";
import { states } from "../../kind/states.js";
import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { duration, exact, percent, plural } from "../../lib/format.js";
import { HeatChart } from "../../lib/heat_chart.js";
import { shadeLimits } from "../../lib/heat_shades.js";
import { mayRecord } from "../../lib/commands.js";
import { csvText } from "../../lib/csv.js";
import { svgOverTime } from "../../lib/svg_file.js";
import { shares } from "./spread_model.js";

/** @import { Stream, Utilisation } from "../../../../api.js" */
/** @import { HeatSelection } from "../../lib/heat_chart.js" */

const COLUMN = 4;
/** The source that each needs, and how a capture gets it. */
const SOURCES = [
  { name: "cpu occupation", what: "CPUs", source: "thread states", kind: states },
  {
    name: "block requests",
    what: "devices",
    source: "the tracepoints block:block_rq_issue and block:block_rq_complete",
    kind: events,
  },
];

/**
 * The streams whose rows say what CPUs or devices did.
 * @param {Stream[]} streams
 */
export const busyStreams = (streams) =>
  streams.filter(
    ({ row, columns, rows }) =>
      rows > 0 &&
      ((row === "state" && !columns.some(({ name }) => name === "waker_tid" || name === "skaddr")) ||
        (row === "slice" && columns.some(({ name }) => name === "dev" || name === "irq" || name === "vec"))),
  );

/** The panel. */
export class BusyPanel {
  /** @param {import("./distribution_view.js").DistributionView} owner */
  constructor(owner) {
    this.owner = owner;
    /** @type {HTMLSelectElement[]} */
    this.choices = [];
    /** @type {string[]} */
    this.drawn = [];
    /** @type {Utilisation|null} */
    this.answer = null;
    /** @type {Float64Array} */
    this.values = new Float64Array();
    this.chart = new HeatChart({
      label:
        "Utilisation: time from left to right, CPUs or devices from bottom to top. Arrow keys walk, Shift selects several cells, Enter shows only their rows.",
      drag: "box",
      at: (cell) => owner.read(cell ? this.#words({ from: cell, to: cell }) : ""),
      chosen: (cell) => {
        owner.read(this.#words({ from: cell, to: cell }));
        owner.actions(this.#selected({ from: cell, to: cell }));
      },
      preview: (selection) => owner.read(selection ? this.#words(selection) : ""),
      select: (selection) => owner.only(this.#selected(selection)),
    });
    this.legend = h("div");
    this.table = h("div");
    this.missing = h("div");
    this.element = h("div", { class: "spread-heat" }, this.missing, this.chart.element, this.legend, this.table);
  }

  /** There is nothing to choose. */
  drawChoices() {}

  /** Draws it again. */
  redraw() {
    if (this.answer) this.#show(this.answer);
  }

  /**
   * The stream: what is chosen if it says it, else the first that does.
   * @returns {Stream|undefined}
   */
  get stream() {
    const { info, view } = this.owner.context;
    const all = busyStreams(info.streams);
    return all.find(({ index }) => index === view.stream) ?? all[0];
  }

  /** Asks for it. */
  load() {
    const { owner, stream } = this;
    this.#drawMissing();
    if (!stream) {
      owner.stale = false;
      this.chart.element.hidden = true;
      put(this.legend);
      put(this.table);
      owner.say("");
      return Promise.resolve();
    }
    const columns = Math.max(16, Math.min(1024, Math.floor((this.element.clientWidth || 900) / COLUMN)));
    const { start, end, filter } = owner.context.view;
    // What a CPU does last goes on after its row's time.
    const range = { start: start ?? 0, end: end ?? Math.ceil(owner.context.duration) };
    const query = { id: owner.context.id, stream: stream.index, ...range, filter, columns };
    return owner.ask(
      "Adding up what was busy",
      (signal) => get("/api/captures/{id}/distribution/utilisation", query, signal),
      (answer) => this.#show(answer),
    );
  }

  #drawMissing() {
    const { info, id } = this.owner.context;
    const known = busyStreams(info.streams).map(({ name }) => name);
    const missing = SOURCES.filter(({ name }) => !known.includes(name));
    put(
      this.missing,
      ...missing.map(({ what, source, kind }) =>
        h(
          "p",
          { class: "row small" },
          h("span", {
            class: "quiet",
            text: `How busy ${what} were is computed from ${source}, which this capture does not have.`,
          }),
          mayRecord() &&
            h("a", {
              class: "button",
              href: `/new?${new URLSearchParams({ from: id, add: kind.name })}`,
              text: `Run again with ${kind === states ? "thread states" : "tracepoints"}`,
            }),
        ),
      ),
    );
  }

  /** @param {Utilisation} answer */
  #show(answer) {
    this.answer = answer;
    const { keys, columns, step, start, end } = answer;
    this.owner.say(
      [
        plural(keys.length, keys[0]?.key.startsWith("cpu:") ? "CPU" : "device"),
        answer.left_out > 0 && `${plural(answer.left_out, "row")} of further ones are left out`,
        this.owner.context.view.filter && "only rows that match the filter count as busy",
      ]
        .filter(Boolean)
        .join(" · "),
    );
    this.chart.element.hidden = keys.length === 0;
    if (keys.length === 0) {
      put(this.legend);
      put(this.table);
      this.owner.empty(this.owner.nothing);
      return;
    }
    this.values = shares(answer);
    this.chart.show({
      window: { start, end },
      columns: Array.from({ length: columns }, (_one, i) => ({
        from: start + i * step,
        to: Math.min(end, start + (i + 1) * step),
      })),
      rows: keys.map(({ key }) => ({ label: key.replace(/^cpu:/, "CPU ") })),
      values: this.values,
      limits: shadeLimits(this.values, "linear", { whole: false, most: 1 }),
      text: (value) => percent(value, 1),
      whole: false,
    });
    put(this.legend, this.chart.legend);
    this.#drawTable(answer);
  }

  /** @param {Utilisation} answer */
  #drawTable({ keys, start, end, tells_idle: tellsIdle }) {
    const head = (/** @type {string} */ text, num = true) => h("th", { scope: "col", class: num ? "num" : "", text });
    const lines = keys.map(({ key, filter, busy, known, rows }) =>
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "row" },
          h("button", {
            type: "button",
            class: "plain mono",
            title: `Only rows with ${filter}`,
            disabled: filter === "",
            text: key.replace(/^cpu:/, "CPU "),
            on: { click: () => this.owner.only({ condition: filter }) },
          }),
        ),
        h("td", { class: "num mono", text: percent(busy, tellsIdle ? known : end - start) }),
        h("td", { class: "num mono", text: duration(busy) }),
        h("td", { class: "num mono", text: exact(rows) }),
      ),
    );
    put(
      this.table,
      h(
        "table",
        { class: "list spread-percentiles" },
        h("thead", {}, h("tr", {}, head("", false), head("busy"), head("time"), head("rows"))),
        h("tbody", {}, ...lines.toReversed()),
      ),
    );
  }

  /** @param {HeatSelection} selection */
  #selected({ from, to }) {
    const { answer } = this;
    if (!answer) return {};
    const range = {
      start: answer.start + from.column * answer.step,
      end: Math.min(answer.end, answer.start + (to.column + 1) * answer.step),
    };
    const filters = answer.keys.slice(from.row, to.row + 1).map(({ filter }) => filter);
    // All of them is no condition.
    if (filters.length === answer.keys.length || filters.some((filter) => filter === "")) return { range };
    return { range, condition: filters.length > 1 ? `(${filters.join(" || ")})` : filters[0] };
  }

  /** @param {HeatSelection} selection */
  #words({ from, to }) {
    const { answer, values } = this;
    if (!answer) return "";
    let [sum, known] = [0, 0];
    for (let column = from.column; column <= to.column; column += 1)
      for (let row = from.row; row <= to.row; row += 1) {
        const value = values[column * answer.keys.length + row];
        if (Number.isNaN(value)) continue;
        sum += value;
        known += 1;
      }
    const { range } = this.#selected({ from, to });
    const names = answer.keys.slice(from.row, to.row + 1).map(({ key }) => key.replace(/^cpu:/, "CPU "));
    const who = names.length > 2 ? `${names[0]} to ${names[names.length - 1]}` : names.join(" and ");
    const busy = known > 0 ? `${percent(sum, known)} busy` : "not known";
    return `${duration(range?.start ?? 0)} to ${duration(range?.end ?? 0)}, ${who}: ${busy}`;
  }

  /** What is shown as lines of a table. */
  get csv() {
    const { answer, values } = this;
    if (!answer) return null;
    /** @type {(number|string)[][]} */
    const lines = [["from (ns)", "to below (ns)", "key", "busy"]];
    values.forEach((value, i) => {
      const from = answer.start + Math.floor(i / answer.keys.length) * answer.step;
      if (!Number.isNaN(value))
        lines.push([from, Math.min(answer.end, from + answer.step), answer.keys[i % answer.keys.length].key, value]);
    });
    return csvText(lines);
  }

  /** The same as a picture. */
  get svg() {
    return this.answer && !this.chart.element.hidden ? svgOverTime(this.chart.svg, this.owner.title) : null;
  }
}
