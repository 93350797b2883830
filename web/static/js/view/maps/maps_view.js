// The Maps tab: what a script keeps in its maps, by kind: histogram, heat map, table, lines, flame graph.

import { amount, headed, sign } from "../../lib/amount.js";
import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { cell, duration, exact, plural } from "../../lib/format.js";
import { HeatChart } from "../../lib/heat_chart.js";
import { shadeLimits } from "../../lib/heat_shades.js";
import { histogramChart } from "../../lib/histogram_chart.js";
import { LinesChart } from "../../lib/lines_chart.js";
import { KINDS, SHOWS, bucket, keyText, limit } from "../../lib/map_words.js";
import { arrangeMaps, firstShow, isScratch } from "../first_view.js";
import { AGAINST_PARTS, otherTable } from "../against/against_model.js";
import { AgainstPanel } from "../against/against_panel.js";
import { PanelView } from "../panel_view.js";

/** @import { At, ShownCell, HeatView, HistogramView, MapInfo, MapTable, SeriesView } from "../../../../api.js" */
/** @typedef {MapInfo["views"][number]} Show */
/**
 * @typedef {{show: "histogram", view: HistogramView} | {show: "heatmap", view: HeatView} | {show: "table", view: MapTable}
 *   | {show: "series", view: SeriesView} | {show: "", view: null}} Drawn what is shown of a map
 */

/** Rows that a table shows at first, and more of them with each press. */
const PAGE = 200;
const QUERY = ["map", "show", "snapshot", "key", "start", "end", ...AGAINST_PARTS];

/** The tab. */
export class MapsView extends PanelView {
  #rows = PAGE;

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, QUERY);
    /** @type {MapInfo[]} */
    this.maps = [];
    /** @param {string} text */
    const readout = (text) => {
      this.readout.textContent = text;
    };
    /** @type {HeatView|null} */
    this.heatView = null;
    this.heat = new HeatChart({
      label: "Heat map. Arrow keys walk through its cells, Enter shows the histogram of one read.",
      drag: "columns",
      at: (cell) => readout(this.#cellWords(cell)),
      chosen: ({ column }) =>
        context.state.set({ snapshot: this.heatView?.columns[column].snapshot ?? null, show: "histogram" }),
      preview: (selection) => readout(selection ? this.#rangeWords(selection) : ""),
      select: (selection) => context.select(this.#rangeOf(selection)),
    });
    this.lines = new LinesChart({ readout });
    this.list = h("ul", { class: "maps-list" });
    this.shows = h("div", { class: "segments", role: "group", "aria-label": "View" });
    this.moment = h("div", { class: "row" });
    this.keys = h("div", { class: "row" });
    this.readout = h("p", { class: "readout mono grow", "aria-live": "polite" });
    this.body = h("div", { class: "maps-body" });
    this.against = new AgainstPanel(context, { noun: "key", label: "The map of both sides" });
    put(
      panel,
      h(
        "div",
        { class: "maps" },
        h("nav", { "aria-label": "Maps" }, this.list),
        h(
          "div",
          { class: "maps-main" },
          h("div", { class: "panel-bar" }, this.shows, this.moment, this.keys, this.readout),
          this.problem,
          this.body,
          this.against.element,
        ),
      ),
    );
  }

  /**
   * Another map, moment or range.
   * @param {Set<string>} parts
   */
  changed(parts) {
    if (parts.has("map")) this.#rows = PAGE;
    this.expire();
  }

  /** There may be new reads; whoever looks at one of them goes on. */
  grown() {
    if (this.context.view.snapshot === null) this.expire();
    else this.stale = true;
  }

  get #arranged() {
    return arrangeMaps(this.maps, this.context.info.streams, this.context.scriptText);
  }

  get #map() {
    return this.maps.find(({ n }) => n === this.context.view.map) ?? this.#arranged.first;
  }

  /**
   * What is shown: what the address says if that fits this map.
   * @param {MapInfo} map
   */
  #shown(map) {
    const fits = map.views.filter((one) => one !== "flame");
    return fits.includes(this.context.view.show) ? this.context.view.show : firstShow(fits, this.context.scriptText);
  }

  /** Reads the list of maps, and the one that is shown; of both sides if they are compared. */
  load() {
    const isCompared = this.context.view.against !== "";
    this.against.element.hidden = !isCompared;
    this.body.hidden = isCompared;
    if (isCompared)
      return this.ask(
        "Comparing the map",
        (signal) => this.#readBoth(signal),
        (table) => this.#drawBoth(table),
      );
    return this.ask(
      "Reading the map",
      (signal) => this.#read(signal),
      (answer) => this.#draw(answer),
    );
  }

  /**
   * @param {AbortSignal} signal
   * @returns {Promise<Drawn>}
   */
  async #read(signal) {
    this.maps = (await get("/api/captures/{id}/maps", { id: this.context.id }, signal)).maps;
    const map = this.#map;
    if (!map || map.snapshots === 0) return { show: "", view: null };
    const { snapshot, key, start, end } = this.context.view;
    const show = this.#shown(map);
    const when = snapshot === null ? { start, end } : { snapshot };
    /** @type {Record<string, object>} */
    const queries = {
      histogram: { ...when, key },
      heatmap: { start, end, key },
      table: { ...when, limit: this.#rows },
      series: { start, end },
    };
    const query = { id: this.context.id, n: map.n, view: show, ...queries[show] };
    const view = await get("/api/captures/{id}/maps/{n}", query, signal);
    return /** @type {Drawn} */ ({ show, view });
  }

  /** @param {AbortSignal} signal */
  async #readBoth(signal) {
    this.maps = (await get("/api/captures/{id}/maps", { id: this.context.id }, signal)).maps;
    const map = this.#map;
    // The list is there to choose another one, whatever becomes of this.
    this.#drawList();
    put(this.shows);
    put(this.moment);
    put(this.keys);
    this.readout.textContent = "";
    this.against.clear();
    if (!map) return null;
    const { start, end } = this.context.view;
    const query = { id: this.context.id, n: map.n, start, end, ...otherTable(this.context.view) };
    return get("/api/captures/{id}/maps/{n}/compare", query, signal);
  }

  /** @param {import("../../../../api.js").AgainstTable|null} table */
  #drawBoth(table) {
    if (!table) {
      this.empty("This script keeps nothing in maps. A map is a name with @: @[comm] = count();");
      return;
    }
    this.against.unit = this.#map?.unit ?? "values";
    this.against.per.value = this.context.view.per || "time";
    this.against.show(table);
  }

  /** @param {Drawn} drawn */
  #draw(drawn) {
    const map = this.#map;
    this.#drawList();
    this.readout.textContent = "";
    put(this.shows, ...(map ? map.views.map((one) => this.#showButton(map, one, drawn.show)) : []));
    const ofOne = drawn.show === "histogram" || drawn.show === "table" ? drawn.view : null;
    put(this.moment, ...(map && ofOne?.at?.snapshot ? this.#moments(map, ofOne.at, ofOne.since) : []));
    put(this.keys, drawn.show === "histogram" && drawn.view.keys.length > 1 && this.#keyChoice(drawn.view));
    if (!map || !drawn.view) {
      put(this.body);
      this.empty(
        map ? this.#held(map) : "This script keeps nothing in maps. A map is a name with @: @[comm] = count();",
      );
      return;
    }
    if (drawn.show === "histogram") this.#histogram(drawn.view);
    else if (drawn.show === "heatmap") this.#heat(drawn.view);
    else if (drawn.show === "table") this.#table(drawn.view);
    else this.#lines(drawn.view);
  }

  /**
   * What is said of a map that has nothing.
   * @param {MapInfo} map
   */
  #held({ name, n }) {
    if (this.context.info.running) return `${name} is empty so far.`;
    const scratch = isScratch(this.context.info.streams[n], this.context.scriptText)
      ? " (scratch space of the script)"
      : "";
    return `${name} held nothing when it was read${scratch}.`;
  }

  #drawList() {
    const { shown, empty } = this.#arranged;
    const chosen = this.#map;
    /** @param {MapInfo} map */
    const entry = (map) =>
      h(
        "li",
        {},
        h(
          "button",
          {
            type: "button",
            class: "map-entry",
            "aria-pressed": String(map === chosen),
            on: { click: () => this.context.state.set({ map: map.n, show: "", snapshot: null, key: "" }) },
          },
          h("code", { text: map.name }),
          h("span", {
            class: "quiet small",
            text: `${KINDS[map.kind]}${map.views.includes("flame") ? " by stack" : ""}`,
          }),
        ),
      );
    // What is folded away stays in reach; what is shown now is never hidden.
    const open = empty.some((map) => map === chosen) || this.list.querySelector("details")?.open;
    const held = this.context.info.running ? "empty so far" : "held nothing when read";
    put(
      this.list,
      ...shown.map(entry),
      empty.length > 0 &&
        h(
          "li",
          {},
          h(
            "details",
            { class: "maps-empty", open },
            h("summary", { class: "quiet small", text: `${plural(empty.length, "map")} ${held}` }),
            h("ul", { class: "maps-list" }, ...empty.map(entry)),
          ),
        ),
    );
  }

  /**
   * @param {MapInfo} map
   * @param {string} one
   * @param {string} shown
   */
  #showButton(map, one, shown) {
    // Frames need the room and the keys of their own tab.
    const click =
      one === "flame"
        ? () => this.context.state.set({ tab: "flame", source: `@${map.n}` })
        : () =>
            this.context.state.set({ show: /** @type {import("../../page/url_state.js").ViewParts["show"]} */ (one) });
    return h("button", {
      type: "button",
      "aria-pressed": String(one === shown),
      text: SHOWS[one] ?? one,
      on: { click },
    });
  }

  /**
   * When it was read, and the ways to other readings.
   * @param {MapInfo} map
   * @param {At} at
   * @param {At|null} since
   */
  #moments(map, at, since) {
    // Of a range: what came in between the readings that are nearest to it.
    if (this.context.view.snapshot === null && this.context.range.start !== null) {
      return [
        h("span", {
          class: "quiet",
          text: since
            ? `added between the reads at ${duration(since.time)} and ${duration(at.time)}`
            : `until the read at ${duration(at.time)}`,
        }),
      ];
    }
    /** @param {number} by */
    const step = (by) =>
      h("button", {
        type: "button",
        text: by < 0 ? "‹" : "›",
        "aria-label": by < 0 ? "Earlier" : "Later",
        disabled: by < 0 ? at.snapshot <= 1 : at.snapshot >= map.last,
        on: { click: () => this.context.state.set({ snapshot: at.snapshot + by }) },
      });
    const latest =
      this.context.view.snapshot !== null &&
      h("button", {
        type: "button",
        class: "plain",
        text: this.context.range.start === null ? "Last" : "The range",
        on: { click: () => this.context.state.set({ snapshot: null }) },
      });
    if (map.snapshots < 2) return [h("span", { class: "quiet", text: `read at ${duration(at.time)}` })];
    return [
      step(-1),
      h("span", { class: "quiet", text: `read at ${duration(at.time)}, ${exact(at.snapshot)} of ${exact(map.last)}` }),
      step(1),
      latest,
    ];
  }

  /** @param {HistogramView} view */
  #keyChoice({ keys, more_keys: more }) {
    const options = [
      h("option", { value: "", text: "All keys together" }),
      ...keys.map(({ id, key, total }) => h("option", { value: id, text: `${keyText(key)} (${exact(total)})` })),
    ];
    if (more) options.push(h("option", { disabled: true, text: plural(more, "more key") }));
    const select = h(
      "select",
      { "aria-label": "Key", on: { change: () => this.context.state.set({ key: select.value }) } },
      ...options,
    );
    select.value = this.context.view.key;
    return select;
  }

  /** @param {HistogramView} view */
  #histogram(view) {
    put(
      this.body,
      view.buckets.length
        ? histogramChart(view)
        : h("p", { class: "empty", text: this.#nothing("Nothing was counted.") }),
      h("p", { class: "quiet small", text: plural(view.total, "value") }),
    );
  }

  /** @param {HeatView} view */
  #heat(view) {
    if (view.columns.length === 0) {
      put(this.body, h("p", { class: "empty", text: this.#nothing("Nothing was counted.") }));
      return;
    }
    const words = h("div", { class: "quiet small" });
    put(this.body, this.heat.element, words);
    const { start, end } = this.context.range;
    const { buckets } = view;
    const apart = (/** @type {number} */ row) => row > 0 && String(buckets[row - 1][1]) !== String(buckets[row][0]);
    const values = view.columns.flatMap(({ counts }) => counts);
    this.heatView = view;
    this.heat.show({
      window: { start: start ?? 0, end: end ?? this.context.duration },
      columns: view.columns.map(({ from, time }) => ({ from, to: time })),
      rows: buckets.map(([low], row) => ({ label: limit(String(low)), apart: apart(row) })),
      values,
      limits: shadeLimits(values, "log"),
      text: exact,
    });
    const reads = view.snapshots_per_column > 1 ? plural(view.snapshots_per_column, "read") : "read";
    const unit = sign(view.unit);
    put(
      words,
      `Values per ${reads}, most in a cell: ${exact(view.most)}${unit && `, buckets in ${unit}`}`,
      this.heat.legend,
    );
  }

  /** @param {import("../../lib/heat_chart.js").HeatCell|null} cell */
  #cellWords(cell) {
    if (!cell || !this.heatView) return "";
    const column = this.heatView.columns[cell.column];
    const [low, high] = this.heatView.buckets[cell.row];
    return `${duration(Math.max(0, column.from))} to ${duration(column.time)}, ${bucket(String(low), String(high))}: ${plural(column.counts[cell.row], "value")}`;
  }

  /** @param {import("../../lib/heat_chart.js").HeatSelection} selection */
  #rangeOf({ from, to }) {
    const columns = this.heatView?.columns ?? [];
    return { start: columns[from.column].from, end: columns[to.column].time };
  }

  /** @param {import("../../lib/heat_chart.js").HeatSelection} selection */
  #rangeWords(selection) {
    const { start, end } = this.#rangeOf(selection);
    return `${duration(Math.max(0, start))} to ${duration(end)}: ${duration(end - start)}`;
  }

  /**
   * Why a view is empty.
   * @param {string} words
   */
  #nothing(words) {
    return this.context.range.start === null || this.context.view.snapshot !== null
      ? words
      : "The map got no values in the selected range, or was not read in it. Maps are read about once a second.";
  }

  /** @param {SeriesView} view */
  #lines(view) {
    put(
      this.body,
      this.lines.element,
      view.more_keys > 0 &&
        h("p", { class: "quiet small", text: `${plural(view.more_keys, "more key")} with lower values` }),
    );
    // What adds up to a line is a number.
    const lines = view.lines.map(({ key, values }) => ({
      key,
      values: values.map((value) => (typeof value === "object" ? null : value)),
    }));
    this.lines.show({ at: view.at, lines });
  }

  /** @param {MapTable} view */
  #table({ columns, key_columns: keys, main_column: main, unit, rows, total, sum }) {
    /** @param {number} i */
    const number = (i) => i >= keys || ["u64", "i64"].includes(columns[i].type);
    // The unit is of the values; how often something was counted has none.
    /**
     * @param {{name: string}} column
     * @param {number} i
     */
    const heading = (column, i) => (i >= keys && column.name !== "count" ? headed(column.name, unit) : column.name);
    /** @param {ShownCell[]} row */
    const mainOf = (row) => (main === null ? 0 : Number(row[main]));
    const most = Math.max(1, ...rows.map((row) => mainOf(row) || 0));
    const barred = sum !== null && main !== null;
    /** @param {ShownCell[]} row */
    const bar = (row) => {
      const place = h("span", { class: "bar" });
      place.style.width = `${(Math.max(0, mainOf(row)) / most) * 100}%`;
      return h("td", { class: "bar-cell" }, mainOf(row) > 0 && place);
    };
    const head = h(
      "tr",
      {},
      ...columns.flatMap((column, i) => [
        h("th", {
          scope: "col",
          class: number(i) ? "num" : "",
          "aria-sort": i === main ? "descending" : null,
          text: heading(column, i),
        }),
        ...(barred && i === main ? [h("th", { scope: "col", class: "bar-head", "aria-hidden": "true" })] : []),
      ]),
    );
    /** @param {ShownCell[]} row */
    const line = (row) =>
      h(
        "tr",
        {},
        ...row.flatMap((value, i) => [
          h("td", {
            class: `${number(i) ? "num" : ""} mono cut`,
            title: cell(value, columns[i]),
            text: cell(value, columns[i]),
          }),
          ...(barred && i === main ? [bar(row)] : []),
        ]),
      );
    const more =
      rows.length < total &&
      h("button", {
        type: "button",
        text: `Show more of ${exact(total)}`,
        on: {
          click: () => {
            this.#rows = Math.min(1000, this.#rows + PAGE);
            this.load();
          },
        },
      });
    put(
      this.body,
      rows.length
        ? h("table", { class: "list maps-table" }, h("thead", {}, head), h("tbody", {}, ...rows.map(line)))
        : h("p", { class: "empty", text: this.#nothing("The map was empty.") }),
      h(
        "p",
        { class: "row quiet small" },
        `${plural(total, "entry", "entries")}${sum === null ? "" : `, ${amount(Number(sum), unit)} together`}`,
        more,
      ),
    );
  }
}
