// The Events tab: the rows of one stream, live while the capture runs, all of them afterwards.

import { h, put, settled } from "../../lib/dom.js";
import { isHeading } from "../first_view.js";
import { get } from "../../lib/api.js";
import { cell as cellText, columnHeading, exact, moment, plural, wall } from "../../lib/format.js";
import { bind } from "../../lib/keys.js";
import { PanelView } from "../panel_view.js";
import { LEAST_WIDTH, MOST_WIDTH, chosenColumns, sortedBy, tableColumns, writeColumns } from "./column_list.js";
import { RowBuffer } from "./row_buffer.js";
import { RowDetails } from "./row_details.js";
import { readThen } from "./row_orders.js";
import { timeAt } from "./row_place.js";
import { RowSource } from "./row_source.js";
import { missingWords, noRowsWords } from "./unshown_words.js";
import { VirtualTable } from "../../lib/virtual_table.js";

/** @import { TableCell, TableColumn, TableRow } from "../../lib/virtual_table.js" */

const LIVE_ROWS = 5000;
/** At how many places of the table times are known while they are scrolled by. */
const TIME_MARKS = 400;
const QUERY = ["stream", "filter", "sort", "order", "then", "pairs", "neighbours", "start", "end"];
const PARTS = [...QUERY, "facets", "columns", "groupby"];

/** What another stream begins with: its columns are others. */
const AS_USUAL = { sort: "", order: /** @type {const} */ ("asc"), then: "", columns: "", pairs: "", neighbours: "" };

/** The tab. */
export class EventsView extends PanelView {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, PARTS);
    context.on("info", () => this.#drawStreams());
    /** @type {RowBuffer[]|null} */
    this.live = null;
    /** @type {{atEnd: boolean, time: number|null}|null} Where the live rows were when the stored ones took their place. */
    this.keep = null;
    this.follow = true;
    this.source = new RowSource(context.id);
    this.bar = h("div", { class: "panel-bar" });
    this.streams = h("span", { class: "segments", role: "group", "aria-label": "Stream" });
    this.counted = h("span", { class: "quiet", role: "status" });
    this.resume = h("button", { type: "button", hidden: true, on: { click: () => this.#resume() } });
    this.facetsButton = h("button", {
      type: "button",
      "aria-pressed": "false",
      text: "Values",
      title: "The most frequent values of each column",
      on: { click: () => this.#turnFacets() },
    });
    /** @type {import("./facets_panel.js").FacetsPanel|null} */
    this.facets = null;
    this.columnsButton = h("button", {
      type: "button",
      text: "Columns",
      title: "Which columns are shown, in which order, and how they are written",
      on: { click: () => this.#chooseColumns() },
    });
    this.pairsButton = h("button", {
      type: "button",
      text: "Pairs",
      title: "The row before and the row after with the same key: how long ago, and what it has",
      on: { click: () => this.#choosePairs() },
    });
    this.groupButton = h("button", {
      type: "button",
      text: "Group",
      title: "Rows in groups by the values of columns, with counts, sums and percentiles",
      on: { click: () => this.#turnGroups() },
    });
    /** @type {import("./pivot_panel.js").PivotPanel|null} */
    this.groups = null;
    this.saveButton = h("button", {
      type: "button",
      text: "Save",
      title: "Save what the table shows as CSV, NDJSON or Markdown",
      on: { click: () => this.#save() },
    });
    const grow = h("span", { class: "grow" });
    put(
      this.bar,
      this.facetsButton,
      this.groupButton,
      this.columnsButton,
      this.pairsButton,
      this.saveButton,
      this.streams,
      this.counted,
      grow,
      this.resume,
    );
    this.table = new VirtualTable({
      label: "Events",
      sort: (name, more) => this.#sort(name, more),
      resize: (index, pixels) => this.#resize(index, pixels),
      reorder: (index, by) => this.#reorder(index, by),
      move: (index) => this.#moved(index),
      open: (index) => this.#open(index),
      scrolled: () => this.#scrolled(),
      title: (value, column) => this.#title(value, column),
    });
    this.details = new RowDetails(context, () => this.#closeDetails());
    /** The note whose row was opened, so that one that was closed stays closed. */
    this.openedNote = "";
    context.notes.on("change", () => this.visible && this.#openNoted());
    context.state.on("change", ({ parts }) => {
      if (!parts.has("note")) return;
      this.openedNote = "";
      if (this.visible && !this.stale) this.#openNoted();
    });
    /** The time at the scroll bar's place, while it is moved. */
    this.when = h("div", { class: "events-when mono", "aria-hidden": "true", hidden: true });
    this.hideWhen = settled(1000, () => (this.when.hidden = true));
    /** @type {{query: unknown, times: number[]}} */
    this.marks = { query: null, times: [] };
    this.body = h("div", { class: "events-body" }, this.table.element, this.when, this.details.element);
    put(panel, this.bar, this.problem, this.body);
    this.source.on("rows", ({ first }) => this.#rows(first));
    this.source.on("error", (error) => this.failed(error));
    context.on("colors", () => this.table.redraw());
    this.#startKeys();
    this.setRunning(context.info.running);
  }

  #startKeys() {
    const here = () => this.visible;
    bind("events.group", () => this.#turnGroups(), { when: here });
    bind("events.choose", () => this.#chooseColumns(), { when: here });
    bind("events.facets", () => this.#turnFacets(), { when: here });
    bind("events.close", () => this.#closeDetails(), { when: () => here() && this.details.open });
  }

  /** Only rows that match the filter are shown. */
  get takesFilter() {
    return true;
  }

  /** The tab is in sight. */
  show() {
    super.show();
    this.table.redraw();
    void this.#drawFacets();
    void this.#drawGroups();
    if (!this.stale) this.#openNoted();
  }

  /** The tab is not in sight. */
  hide() {
    super.hide();
    this.groups?.hide();
  }

  /** Rows come by themselves while it runs. */
  grown() {
    this.facets?.expire();
    this.groups?.grown();
  }

  #turnGroups() {
    this.context.state.set({ groupby: this.context.view.groupby === "" ? "*" : "" });
  }

  /** Shows groups in the place of rows where the address says so. */
  async #drawGroups() {
    const isOpen = () => this.context.view.groupby !== "";
    this.groupButton.setAttribute("aria-pressed", String(isOpen()));
    if (isOpen() && !this.groups) {
      const { makeGroups } = await import("./row_tools.js");
      this.groups ??= makeGroups(this.context);
      this.body.insertBefore(this.groups.element, this.details.element);
    }
    if (!this.groups) return;
    this.groups.element.hidden = !isOpen();
    this.table.element.hidden = isOpen();
    if (isOpen() && this.visible) this.groups.show();
    else this.groups.hide();
  }

  async #choosePairs() {
    const { choosePairs } = await import("./row_tools.js");
    const chosen = await choosePairs(this.context.stream?.columns ?? [], this.context.view);
    if (!chosen) return;
    const { sort, then } = this.context.view;
    // What is sorted by intervals has none without pairs.
    const isSorted = chosen.pairs === "" && /since_previous|until_next/.test(`${sort},${then}`);
    this.context.state.set({ ...chosen, ...(isSorted ? { sort: "", then: "", order: "asc" } : {}), row: null });
  }

  #turnFacets() {
    this.context.state.set({ facets: this.context.view.facets === "" ? "*" : "" });
  }

  /** Shows the values of columns where the address says so; what they need is loaded then. */
  async #drawFacets() {
    const isOpen = this.context.view.facets !== "";
    this.facetsButton.setAttribute("aria-pressed", String(isOpen));
    if (isOpen && !this.facets) {
      const { makeFacets } = await import("./row_tools.js");
      this.facets ??= makeFacets(this.context);
      this.body.prepend(this.facets.element);
    }
    if (!this.facets) return;
    this.facets.element.hidden = this.context.view.facets === "";
    if (this.facets.open && this.facets.stale) void this.facets.load();
  }

  /**
   * Switches between live rows and stored ones.
   * @param {boolean} running
   */
  setRunning(running) {
    if (running && !this.live) {
      this.live = this.context.info.streams.map(() => new RowBuffer(LIVE_ROWS));
      this.#useLive();
    } else if (!running && this.live) {
      this.#ended();
    }
    if (!running) this.resume.hidden = true;
    this.#drawStreams();
  }

  #useLive() {
    this.follow = true;
    this.details.close();
    this.table.parts.sort = undefined;
    this.table.source = this.live?.[this.context.info.streams.indexOf(this.context.stream)] ?? new RowBuffer(1);
    this.#drawColumns();
    this.table.changed();
    this.#tellLive();
  }

  /** Stored rows take the place of the live ones at the same row, so that nothing jumps. */
  #ended() {
    const buffer = this.table.source;
    const current = buffer.row(Math.floor(this.table.scroll.top / 24));
    this.keep = { atEnd: this.follow, time: current ? Number(current[0]) : null };
    this.live = null;
    this.table.parts.sort = (name, more) => this.#sort(name, more);
    this.expire();
  }

  /**
   * Rows of a running capture.
   * @param {{stream: number, rows: TableRow[], not_shown: number}} message
   */
  liveRows({ stream, rows, not_shown }) {
    const buffer = this.live?.[stream];
    if (!buffer) return;
    buffer.push(rows, not_shown);
    if (this.table.source !== buffer) return;
    this.table.changed();
    if (this.follow) this.table.toEnd();
    this.#tellLive();
  }

  /** What the table shows of a running capture. */
  get #buffer() {
    return this.table.source instanceof RowBuffer ? this.table.source : null;
  }

  #tellLive() {
    const buffer = this.#buffer;
    if (!buffer) return;
    this.counted.textContent = buffer.missing
      ? `${plural(buffer.count, "newest row")}; ${missingWords(buffer.missing, this.context.info.flight !== null)}`
      : plural(buffer.count, "row");
    this.resume.hidden = this.follow;
    this.resume.textContent = `Follow (${plural(buffer.waiting, "new row")})`;
  }

  #scrolled() {
    this.#tellWhen();
    if (!this.live) return;
    if (this.follow && !this.table.atEnd) {
      this.follow = false;
      this.#buffer?.freeze();
      this.#tellLive();
    } else if (!this.follow && this.table.atEnd) {
      this.#resume();
    }
  }

  /** Tells beside the scroll bar when the row at the top is, or what it has in the column that rows are sorted by. */
  #tellWhen() {
    const { table, when } = this;
    const { source, scroll } = table;
    const index = Math.floor(scroll.top / 24);
    const text = this.#placeText(index, source.row(index), source.count);
    if (text === "") return;
    when.textContent = text;
    when.hidden = false;
    const place = scroll.top / Math.max(1, scroll.total - scroll.viewport);
    const { offsetTop, offsetLeft, clientHeight, clientWidth } = table.element;
    when.style.top = `${offsetTop + 24 + place * Math.max(0, clientHeight - 24 - when.offsetHeight)}px`;
    when.style.left = `${offsetLeft + clientWidth - when.offsetWidth - 6}px`;
    this.hideWhen();
  }

  /**
   * @param {number} index
   * @param {TableRow|undefined} row
   * @param {number} count
   */
  #placeText(index, row, count) {
    const { sort } = this.context.view;
    const all = this.#all;
    const at = Math.max(0, sort ? all.findIndex(({ name }) => name === sort) : 0);
    if (row)
      return at === 0 ? `${moment(Number(row[0]))} s` : `${columnHeading(all[at])} ${cellText(row[at], all[at])}`;
    if (at > 0 || this.live) return "";
    void this.#loadMarks();
    const time = timeAt(this.marks.query === this.source.query ? this.marks.times : [], count, index);
    return time === null ? "" : `≈ ${moment(time)} s`;
  }

  /** Asks when rows at some places are, once for what is shown. */
  async #loadMarks() {
    const { query } = this.source;
    if (this.marks.query === query || !query) return;
    this.marks = { query, times: [] };
    try {
      const { times } = await get("/api/captures/{id}/rows/times", {
        id: this.context.id,
        ...query,
        marks: TIME_MARKS,
      });
      if (this.marks.query !== query) return;
      this.marks.times = times;
      if (!this.when.hidden) this.#tellWhen();
    } catch {
      // Rows tell their own times when they are there.
    }
  }

  async #save() {
    const { saveRows } = await import("./row_tools.js");
    const { id, view, info, stream } = this.context;
    const name = `${stream?.name ?? "rows"}-${id}`.replace(/[^\w.-]+/g, "_");
    if (view.groupby !== "" && this.groups) {
      const { columns, rows } = this.groups.seen();
      saveRows({ name: `groups-${name}`, columns, count: rows.length, address: "", rows });
      return;
    }
    const { filter, sort, order, then, pairs, start, end, neighbours } = view;
    const asked = {
      format: "rows",
      stream: info.streams.indexOf(stream),
      filter,
      sort,
      order,
      then,
      pairs,
      neighbours,
      start,
      end,
    };
    const parts = Object.entries(asked).filter(([, value]) => value !== null && value !== "");
    const query = new URLSearchParams(parts.map(([key, value]) => [key, String(value)]));
    const count = this.live ? (stream?.rows ?? 0) : this.source.count;
    saveRows({ name, columns: this.table.columns, count, address: `${this.context.path}/export?${query}`, rows: [] });
  }

  #resume() {
    this.follow = true;
    this.#buffer?.thaw();
    this.table.changed();
    this.table.toEnd();
    this.#tellLive();
  }

  /**
   * Another stream, order, range or filter.
   * @param {Set<string>} parts
   */
  changed(parts) {
    if (parts.has("groupby")) void this.#drawGroups();
    if (parts.has("facets")) void this.#drawFacets();
    if (parts.has("columns") && !parts.has("stream")) this.#drawColumns();
    if (!QUERY.some((part) => parts.has(part))) return;
    if (parts.has("stream")) this.#drawStreams();
    if (this.live) {
      if (parts.has("stream")) this.#useLive();
      return;
    }
    this.expire();
  }

  #drawStreams() {
    const { streams } = this.context.info;
    // What a script only says is under Output; it is no table.
    const shown = streams
      .map((stream, i) => ({ stream, i }))
      // Nor is what was removed; what is computed has no rows that come one by one.
      .filter(({ stream }) => stream.columns.length > 0 && !(this.live && stream.rule))
      .filter(({ stream }) => !isHeading(stream) || stream === this.context.stream);
    put(
      this.streams,
      ...(shown.length > 1
        ? shown.map(({ stream, i }) =>
            h("button", {
              type: "button",
              class: "mono",
              "aria-pressed": String(stream === this.context.stream),
              text: stream.name,
              title: plural(stream.rows, "row"),
              on: { click: () => this.context.state.set({ stream: i, ...AS_USUAL, row: null }) },
            }),
          )
        : []),
    );
  }

  /** Reads the rows around the one that is shown. */
  load() {
    if (this.live) return;
    this.stale = false;
    const { filter, sort, order, then, pairs, neighbours, start, end, row } = this.context.view;
    const stream = this.context.info.streams.indexOf(this.context.stream);
    if (stream < 0) {
      this.counted.textContent = "";
      this.empty("This capture ended before its first stream was made. Its Info tab says why.");
      return;
    }
    const near = this.keep?.atEnd ? Math.max(0, this.context.stream.rows - 50) : (row ?? 0);
    const sorted = { sort, order: sort || order === "desc" ? order : "", then };
    this.source.reset({ stream, filter, ...sorted, pairs, neighbours, start, end }, near);
  }

  /** @param {boolean} first */
  #rows(first) {
    const { source, table } = this;
    if (first) {
      const { row } = this.context.view;
      table.source = source;
      this.#drawColumns();
      this.answered();
      if (source.count === 0) this.empty(this.#emptyText());
      table.changed();
      this.#placeFirst(row);
    } else {
      table.changed();
    }
    this.counted.textContent =
      source.count === source.total
        ? plural(source.total, "row")
        : `${exact(source.count)} of ${plural(source.total, "row")}`;
    this.#openNoted();
    if (this.details.open) this.#moved(table.row);
  }

  /** Opens the row that the selected note is tied to. */
  #openNoted() {
    const on = this.context.notes.one(this.context.view.note)?.on;
    const { row } = this.context.view;
    if (on?.kind !== "row" || row === null || this.openedNote === this.context.view.note) return;
    if (this.source.row(row)?.number !== on.row) return;
    this.openedNote = this.context.view.note;
    this.table.go(row, "middle");
    this.#open(row);
  }

  /** @param {number|null} row */
  #placeFirst(row) {
    const { table, keep } = this;
    this.keep = null;
    if (keep?.atEnd) table.toEnd();
    else if (keep?.time) this.#goToTime(keep.time);
    else if (row !== null) table.go(row, "middle");
    else {
      table.row = Math.min(table.row, table.source.count - 1);
      table.scroll.show(0, "top");
      table.element.scrollTop = table.scroll.settle();
      table.redraw();
    }
  }

  /**
   * Rows are in the order of time, so a share of the time is about the same share of the rows.
   * @param {number} time
   */
  #goToTime(time) {
    this.table.scroll.show(Math.floor((time / this.context.duration) * this.source.count), "top");
    this.table.element.scrollTop = this.table.scroll.settle();
    this.table.redraw();
  }

  #emptyText() {
    const { filter, start } = this.context.view;
    if (filter) return "No rows match the filter in this range.";
    return start === null ? noRowsWords(this.context) : "No rows in the selected range.";
  }

  /** All columns of what the table shows. */
  get #all() {
    return this.live ? (this.context.stream?.columns ?? []) : this.source.columns;
  }

  /** How many of them the stream itself has. */
  get #own() {
    return this.context.stream?.columns.length ?? 0;
  }

  #drawColumns() {
    const { columns, sort, order, then } = this.context.view;
    const chosen = chosenColumns(this.#all, columns, this.#own);
    const time = this.#all[0]?.name ?? "";
    const first = { name: sort || time, descending: order === "desc" };
    const orders = this.live || (!sort && !then && order === "asc") ? [] : [first, ...readThen(then)];
    this.table.setColumns(tableColumns(this.#all, chosen, Number(this.context.info.started_unix_ns)), orders);
    this.columnsButton.setAttribute("aria-pressed", String(columns !== ""));
    this.pairsButton.setAttribute("aria-pressed", String(this.context.view.pairs !== ""));
    // They are told of rows that are stored.
    this.pairsButton.disabled = this.live !== null;
  }

  async #chooseColumns() {
    const { chooseColumns } = await import("./row_tools.js");
    const columns = await chooseColumns(this.#all, this.context.view.columns, this.#own);
    if (columns !== undefined) this.context.state.set({ columns });
  }

  /**
   * Changes what is shown of the columns, in the order in which they are shown.
   * @param {(chosen: import("./column_list.js").ShownColumn[]) => void} change
   */
  #changeColumns(change) {
    const chosen = chosenColumns(this.#all, this.context.view.columns, this.#own);
    const shown = this.table.columns.flatMap(({ name }) => chosen.find((one) => one.name === name) ?? []);
    change(shown);
    this.context.state.set({ columns: writeColumns(shown) });
  }

  /**
   * @param {number} index
   * @param {number} pixels
   */
  #resize(index, pixels) {
    this.#changeColumns((shown) => {
      shown[index].width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, Math.round(pixels)));
    });
  }

  /**
   * @param {number} index
   * @param {number} by
   */
  #reorder(index, by) {
    this.#changeColumns((shown) => {
      const [moved] = shown.splice(index, 1);
      shown.splice(index + by, 0, moved);
      // It stays where it was put: among those at the left, or not.
      moved.pinned = shown[index + by + 1]?.pinned ?? false;
    });
  }

  /**
   * @param {string} name
   * @param {boolean} more after the columns that rows are sorted by already
   */
  #sort(name, more) {
    const { sort, order, then } = this.context.view;
    const time = this.#all[0]?.name ?? "";
    const { order: turned, ...sorted } = sortedBy({ sort, order, then }, name, time, more);
    this.context.state.set({ ...sorted, order: turned === "desc" ? "desc" : "asc", row: null });
  }

  /** @param {number} index */
  #moved(index) {
    if (this.details.open) this.details.show(index, this.table.source.row(index), this.#all);
    if (!this.live) this.context.state.set({ row: index >= 0 ? index : null });
  }

  /** @param {number} index */
  #open(index) {
    if (index < 0) return;
    if (this.live) {
      this.follow = false;
      this.#buffer?.freeze();
      this.#tellLive();
    }
    this.details.show(index, this.table.source.row(index), this.#all);
  }

  #closeDetails() {
    this.details.close();
    this.table.element.focus();
  }

  /**
   * @param {TableCell|undefined} value
   * @param {TableColumn} column
   */
  #title(value, column) {
    if (value === null || value === undefined) return "missing: it could not be read";
    if (typeof value === "object") return `${value.top} (${plural(value.depth ?? 0, "frame")})`;
    if (column.display === "time_ns")
      return `${moment(value)} s, ${wall(Number(this.context.info.started_unix_ns) + Number(value), true)}`;
    return typeof value === "number" ? exact(value) : String(value);
  }
}
