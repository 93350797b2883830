// The System calls tab: how often calls were made, how long they took, which failed, what they moved, and which files and sockets
// they were about, as `strace -c` and `perf trace -s` count them. Each line filters the other views.

import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { TAKES_NO_CONDITION, withCondition } from "../../lib/filter_text.js";
import { bytes, duration, exact, percent, plural } from "../../lib/format.js";
import { bind } from "../../lib/keys.js";
import { note } from "../../lib/notice.js";
import { histogramChart } from "../../lib/histogram_chart.js";
import { AGAINST_PARTS, otherTable } from "../against/against_model.js";
import { AgainstPanel } from "../against/against_panel.js";
import { PanelView } from "../panel_view.js";
import { columnsOf, errorWords, ownerWords, splitWords, withoutWords } from "./syscalls_words.js";

/** @import { SyscallLine, SyscallObject, SyscallTable, SyscallTimes } from "../../../../api.js" */
/** @typedef {import("../../page/url_state.js").ViewParts} Parts */

/** @type {[value: Parts["callsby"], text: string][]} */
const GROUPS = [
  ["call", "By call"],
  ["process", "By process"],
  ["thread", "By thread"],
  ["process_call", "By process and call"],
  ["thread_call", "By thread and call"],
];
/** @type {[value: Parts["callorder"], text: string][]} */
const ORDERS = [
  ["time", "Most time first"],
  ["bytes", "Most bytes first"],
];
/** What it depends on. */
const PARTS = ["start", "end", "filter", "callsby", "callorder", ...AGAINST_PARTS];

/** The tab. */
export class SyscallsView extends PanelView {
  /** @type {SyscallTable|null} */
  #table = null;
  /** The condition of the line whose durations are shown; that of all calls is empty. */
  #shown = "";

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, PARTS);
    this.group = this.#choice("What calls are counted by", "callsby", GROUPS);
    this.order = this.#choice("Order of lines and files", "callorder", ORDERS);
    this.said = h("p", { class: "quiet small", role: "status" });
    this.lines = h("div", { class: "syscall-lines", tabindex: "-1" });
    this.beside = h("div", { class: "syscall-beside" });
    this.against = new AgainstPanel(context, {
      noun: "line",
      label: "System calls of both sides",
      filters: true,
      stream: () => context.syscallStream?.index ?? null,
    });
    this.alone = h("div", { class: "syscall-view" }, this.lines, this.beside);
    put(
      panel,
      h("div", { class: "panel-bar" }, this.group, this.order, h("span", { class: "grow" }), this.said),
      this.problem,
      this.alone,
      this.against.element,
    );
    bind("syscalls.walk", ({ key }) => this.#walk(key === "ArrowDown" ? 1 : -1), {
      when: () => this.visible && !this.alone.hidden,
    });
  }

  get takesFilter() {
    return true;
  }

  /**
   * A list of choices that are in the address.
   * @template {"callsby"|"callorder"} Part
   * @param {string} label
   * @param {Part} part
   * @param {[value: Parts[Part], text: string][]} values
   */
  #choice(label, part, values) {
    const options = values.map(([value, text]) => h("option", { value, text }));
    const set = () => {
      const chosen = values.find(([value]) => value === list.value);
      if (chosen) this.context.state.set({ [part]: chosen[0] });
    };
    const list = h("select", { "aria-label": label, on: { change: set } }, ...options);
    return list;
  }

  load() {
    const { start, end, filter, callsby, callorder } = this.context.view;
    [this.group.value, this.order.value] = [callsby, callorder];
    const { id } = this.context;
    const isCompared = this.context.view.against !== "";
    this.alone.hidden = isCompared;
    this.order.hidden = isCompared;
    this.against.element.hidden = !isCompared;
    if (isCompared) {
      put(this.said, this.#namesWords);
      const query = { id, start, end, filter, calls_by: callsby, ...otherTable(this.context.view) };
      void this.against.load(this, "Comparing system calls", (signal) =>
        get("/api/captures/{id}/syscalls/compare", query, signal),
      );
      return;
    }
    const order = callorder === "bytes" ? 1 : null;
    void this.ask(
      "Counting system calls",
      (signal) =>
        get("/api/captures/{id}/syscalls", { id, start, end, filter, calls_by: callsby, bytes: order }, signal),
      (table) => this.#show(table),
    );
  }

  /** How processes of two recordings are matched. */
  get #namesWords() {
    return this.context.view.callsby === "call"
      ? ""
      : "Processes and threads count by their name: their numbers are others in each recording.";
  }

  /** @param {SyscallTable} table */
  #show(table) {
    this.#table = table;
    if (table.all.count === 0) {
      put(this.lines);
      put(this.beside);
      put(this.said);
      this.empty("No system call in this range and filter.");
      return;
    }
    const { all, rest } = table;
    put(
      this.said,
      `${plural(all.count, "call")}, ${duration(all.time)} in them, ${exact(all.failed)} failed, ${bytes(all.bytes)} moved. ${withoutWords(all)}${splitWords(table)}`,
      rest.rows > 0 &&
        ` ${plural(rest.rows, "call")} in ${rest.has_further ? "further" : exact(rest.lines)} lines not shown.`,
    );
    if (!table.lines.some(({ filter }) => filter === this.#shown)) this.#shown = "";
    this.#drawLines(table);
    this.#drawBeside(table);
  }

  /** @param {SyscallTable} table */
  #drawLines(table) {
    const group = this.context.view.callsby;
    const columns = columnsOf(group, table.all.running + table.all.waiting > 0);
    const head = columns.map(({ text, num, title }) => h("th", { scope: "col", class: num ? "num" : "", text, title }));
    put(
      this.lines,
      h(
        "table",
        { class: "list syscall-table", "aria-label": "System calls" },
        h("thead", {}, h("tr", {}, ...head, h("th", { scope: "col" }))),
        h("tbody", {}, ...table.lines.map((line) => this.#line(line, columns, table.all.time))),
      ),
    );
  }

  /**
   * @param {SyscallLine} line
   * @param {import("./syscalls_words.js").Column[]} columns
   * @param {number} all nanoseconds of all calls
   */
  #line(line, columns, all) {
    const choose = () => this.#choose(line.filter);
    const name = [line.call, ownerWords(line)].filter(Boolean).join(" · ");
    /** @param {import("./syscalls_words.js").Column} column */
    const cell = ({ name: column, num, cell: text, title }) => {
      if (column === "name")
        return h(
          "td",
          { class: "cut mono" },
          h("button", {
            type: "button",
            class: "plain",
            text: name,
            title: `Durations of ${name}`,
            "aria-pressed": String(line.filter === this.#shown),
            on: { click: choose },
          }),
        );
      if (column === "share") {
        const bar = h("span", { class: "bar" });
        bar.style.width = `${all > 0 ? Math.max(0.5, (line.time / all) * 100) : 0}%`;
        return h("td", { class: "bar-cell", title: percent(line.time, all) }, bar);
      }
      return h("td", { class: num ? "num mono" : "cut mono", text: text(line), title });
    };
    return h(
      "tr",
      { class: line.filter === this.#shown ? "is-current" : "", data: { filter: line.filter } },
      ...columns.map(cell),
      h("td", {}, this.#only(line.filter, name)),
    );
  }

  /**
   * What makes the rows of a line the only ones in all views.
   * @param {string} filter
   * @param {string} name
   */
  #only(filter, name) {
    if (!filter) return null;
    return h("button", {
      type: "button",
      class: "plain",
      text: "Only",
      title: `Show only rows of ${name}, in all views`,
      "aria-label": `Only ${name}`,
      on: { click: () => this.#filterBy(filter) },
    });
  }

  /**
   * All views show only rows with a condition, the table of rows those of the calls.
   * @param {string} filter
   * @param {Partial<Parts>} [more] what else changes
   */
  #filterBy(filter, more = {}) {
    const stream = this.context.syscallStream?.index ?? null;
    const both = withCondition(this.context.view.filter, filter);
    if (both === null) note(TAKES_NO_CONDITION, { stop: true });
    else this.context.state.set({ filter: both, stream, ...more });
  }

  /** @param {string} filter */
  #choose(filter) {
    this.#shown = this.#shown === filter ? "" : filter;
    for (const row of this.lines.querySelectorAll("tbody tr")) {
      if (!(row instanceof HTMLElement)) continue;
      const chosen = row.dataset.filter === this.#shown && this.#shown !== "";
      row.classList.toggle("is-current", chosen);
      row.querySelector("button")?.setAttribute("aria-pressed", String(chosen));
    }
    if (this.#table) this.#drawBeside(this.#table);
  }

  /** @param {number} by */
  #walk(by) {
    const buttons = [...this.lines.querySelectorAll("tbody td:first-child button")];
    const at = buttons.findIndex((button) => button === document.activeElement);
    const next = buttons[at < 0 ? 0 : Math.min(buttons.length - 1, Math.max(0, at + by))];
    if (next instanceof HTMLElement) next.focus();
  }

  /** @param {SyscallTable} table */
  #drawBeside(table) {
    const line = table.lines.find(({ filter }) => filter === this.#shown && filter !== "");
    const times = line ?? table.all;
    const title = line ? [line.call, ownerWords(line)].filter(Boolean).join(" · ") : "All calls";
    put(
      this.beside,
      h(
        "section",
        {},
        h("h3", { text: `Durations: ${title}` }),
        this.#histogram(times),
        line && line.errors.length > 0 && h("p", { class: "small", text: `Errors: ${errorWords(line)}` }),
        times.count > times.without &&
          h("button", {
            type: "button",
            text: `Go to the longest, ${duration(times.longest)}`,
            on: { click: () => this.#goTo(times, line?.filter ?? "") },
          }),
      ),
      h("section", {}, h("h3", { text: "Files and sockets" }), this.#files(table)),
    );
  }

  /** @param {SyscallTimes} times */
  #histogram(times) {
    const buckets = times.buckets.map(([low, count]) => ({ low, high: low === 0 ? 1 : low * 2, count }));
    return histogramChart({ buckets, total: times.count - times.without, unit: "nanoseconds" }, (low, high) =>
      Number(low) === 0 ? "0" : `${duration(Number(low))} – ${duration(Number(high))}`,
    );
  }

  /**
   * Shows the rows around a call.
   * @param {SyscallTimes} times
   * @param {string} filter
   */
  #goTo(times, filter) {
    const end = times.at + Math.max(1, times.longest);
    const start = Math.max(0, times.at);
    this.#filterBy(filter, { tab: "events", start, end });
  }

  /** @param {SyscallTable} table */
  #files({ files, files_rest: rest }) {
    if (files.length === 0)
      return h("p", {
        class: "quiet",
        text: "No call has the name of a file or socket. They are recorded with “Paths of descriptors”.",
      });
    /** @param {SyscallObject} file */
    const row = (file) =>
      h(
        "tr",
        {},
        h("td", { class: "cut mono", title: file.name, text: file.name }),
        h("td", { text: file.kind }),
        h("td", { class: "num mono", text: exact(file.count) }),
        h("td", { class: "num mono", text: file.failed ? exact(file.failed) : "" }),
        h("td", { class: "num mono", title: `${exact(file.time)} ns`, text: duration(file.time) }),
        h("td", { class: "num mono", text: file.bytes ? bytes(file.bytes) : "" }),
        h("td", {}, this.#only(file.filter, file.name)),
      );
    const heads = ["Name", "Kind", "Calls", "Errors", "Time", "Bytes", ""];
    return h(
      "div",
      {},
      h(
        "table",
        { class: "list syscall-files", "aria-label": "Files and sockets" },
        h(
          "thead",
          {},
          h("tr", {}, ...heads.map((text, at) => h("th", { scope: "col", class: at > 1 ? "num" : "", text }))),
        ),
        h("tbody", {}, ...files.map(row)),
      ),
      rest.rows > 0 && h("p", { class: "quiet small", text: `${plural(rest.rows, "call")} of others.` }),
    );
  }
}
