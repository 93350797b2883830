// The tab SQL: a query, what it can read, and its result as a table, as lines or bars, or as a track of the timeline.

import { get, send } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { cell as cellText, duration, exact, plural } from "../../lib/format.js";
import { mayRecord } from "../../lib/commands.js";
import { LinesChart } from "../../lib/lines_chart.js";
import { errorNotice, note, noteError, showError } from "../../lib/notice.js";
import { PanelView } from "../panel_view.js";
import { barsOf, chartOf, shownCell, sized, written } from "./sql_result.js";
import { kindsOf, readTracks, withTrack } from "../../lib/sql_track.js";
import { VirtualTable } from "../../lib/virtual_table.js";

/** @import { Answers, TableInfo, Tables } from "../../../../api.js" */
/** @typedef {Answers["POST"]["/api/captures/{id}/query"]} Answer */

/** Rows whose width is looked at. */
const MEASURED = 200;
/** The longest query that a link holds. */
const LINK_CHARS = 8000;

/** The tab. */
export class SqlView extends PanelView {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel);
    /** @type {Answer|null} */
    this.answer = null;
    /** @type {Tables["examples"]} */
    this.known = [];
    /** The query that was asked last, and that whose answer is shown. */
    this.ran = "";
    this.asked = "";
    this.running = false;
    this.begun = false;
    this.editor = h("textarea", {
      class: "sql-editor mono",
      rows: "6",
      spellcheck: "false",
      autocomplete: "off",
      maxlength: "60000",
      "aria-label": "Query in SQL",
      placeholder: "select comm, count(*) as rows from … group by comm",
      on: { keydown: (event) => this.#key(event) },
    });
    this.runButton = h(
      "button",
      { type: "button", class: "primary", on: { click: () => this.#run(this.editor.value) } },
      "Run ",
      h("kbd", { text: "Ctrl+Enter" }),
    );
    this.cancelButton = h(
      "button",
      { type: "button", disabled: true, on: { click: () => this.cancel() } },
      "Cancel ",
      h("kbd", { text: "Esc" }),
    );
    this.examples = h(
      "select",
      { "aria-label": "Examples", on: { change: () => this.#example() } },
      h("option", { value: "", text: "Examples" }),
    );
    this.status = h("span", { class: "quiet readout sql-status", role: "status" });
    this.modes = h(
      "div",
      { class: "segments", role: "group", "aria-label": "Result as", hidden: true },
      ...[/** @type {const} */ (["table", "Table"]), /** @type {const} */ (["chart", "Chart"])].map(([mode, text]) =>
        h("button", {
          type: "button",
          data: { mode },
          on: {
            click: () => {
              this.context.state.set({ result: mode });
              this.#draw();
            },
          },
          text,
        }),
      ),
    );
    this.trackButton = h("button", {
      type: "button",
      hidden: true,
      title: "A track of its own in the timeline; the link holds it",
      text: "Show in the timeline",
      on: { click: () => this.#showTrack() },
    });
    this.tables = h("div", { class: "sql-tables", role: "group", "aria-label": "Tables" });
    this.result = h("div", { class: "sql-result" });
    this.table = new VirtualTable({ label: "Result" });
    this.chart = new LinesChart({
      readout: (text) => {
        this.pointed.textContent = text;
      },
    });
    this.pointed = h("span", { class: "quiet readout" });
    put(
      this.panel,
      h(
        "div",
        { class: "sql" },
        h(
          "div",
          { class: "sql-main" },
          this.editor,
          h(
            "div",
            { class: "panel-bar" },
            this.runButton,
            this.cancelButton,
            this.examples,
            mayRecord() &&
              h("button", {
                type: "button",
                text: "Keep",
                title: "By name, in the library",
                on: { click: () => this.#keep() },
              }),
            this.modes,
            this.trackButton,
            this.status,
            this.pointed,
          ),
          this.result,
        ),
        h(
          "aside",
          { class: "sql-side", "aria-label": "Tables and columns" },
          h("p", { class: "quiet small", text: "A click on a name writes it into the query, at the cursor." }),
          this.tables,
        ),
      ),
    );
    put(
      this.result,
      h("p", {
        class: "empty",
        text: "A query reads all of this capture and nothing else; the filter and the range above do not apply. Times are nanoseconds from the start.",
      }),
    );
  }

  /** The tab is in sight. */
  show() {
    this.visible = true;
    const { sql } = this.context.view;
    if (this.begun) {
      // The query of a track was opened.
      if (sql && sql !== this.ran) {
        this.editor.value = sql;
        this.#run(sql);
      }
      return;
    }
    this.begun = true;
    this.editor.value = sql;
    this.#loadTables();
    if (sql) this.#run(sql);
    else this.editor.focus();
  }

  /** A query is asked again only by whoever wrote it. */
  grown() {}

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#run(this.editor.value);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (this.running) this.cancel();
      else this.editor.blur();
    }
  }

  async #loadTables() {
    try {
      const [{ tables, examples }, kept] = await Promise.all([
        get("/api/captures/{id}/query", { id: this.context.id }),
        get("/api/library", { kind: "query" }),
      ]);
      this.known = examples;
      const own = kept.items.map(({ id, name }) => h("option", { value: `kept:${id}`, text: name }));
      put(
        this.examples,
        h("option", { value: "", text: "Examples" }),
        own.length > 0 && h("optgroup", { label: "Library" }, ...own),
        ...examples.map(({ title }, i) => h("option", { value: String(i), text: title })),
      );
      put(this.tables, ...tables.map((one, i) => this.#tableEntry(one, i === 0)));
    } catch (error) {
      showError(this.tables, error, () => this.#loadTables());
    }
  }

  /**
   * @param {TableInfo} table
   * @param {boolean} open
   */
  #tableEntry(table, open) {
    const name = table.alias ?? table.name;
    /**
     * @param {string} text
     * @param {string} title
     */
    const insert = (text, title) =>
      h("button", {
        type: "button",
        class: "plain mono",
        title,
        text,
        on: { click: () => this.#insert(written(text)) },
      });
    return h(
      "details",
      { open },
      h(
        "summary",
        { title: table.about },
        h("span", { class: "mono", text: name }),
        h("span", { class: "quiet small", text: exact(table.rows) }),
      ),
      h(
        "ul",
        {},
        h("li", {}, insert(name, `${table.about}: put the table's name into the query`)),
        ...table.columns.map((column) =>
          h(
            "li",
            {},
            insert(column.name, `${column.name}: ${column.type}`),
            h("span", {
              class: "quiet small",
              text: column.display === "decimal" || column.display === "text" ? column.type : column.display,
            }),
          ),
        ),
      ),
    );
  }

  /** @param {string} text */
  #insert(text) {
    const { selectionStart: from, selectionEnd: to, value } = this.editor;
    const before = from > 0 && /[\w")]/.test(value[from - 1]) ? " " : "";
    this.editor.setRangeText(before + text, from, to, "end");
    this.editor.focus();
  }

  async #example() {
    const id = /^kept:(\d+)$/.exec(this.examples.value)?.[1];
    if (id) return this.#kept(id);
    const example = this.known[Number(this.examples.value)];
    if (!this.examples.value || !example) return;
    this.examples.value = "";
    this.editor.value = example.sql;
    this.#run(example.sql);
    this.editor.focus();
  }

  /**
   * Runs a query of the library.
   * @param {string} id
   */
  async #kept(id) {
    this.examples.value = "";
    try {
      const { text } = await get("/api/library/{id}", { id });
      this.editor.value = text;
      this.#run(text);
      this.editor.focus();
    } catch (error) {
      noteError(error);
    }
  }

  async #keep() {
    const text = this.editor.value.trim();
    if (!text) {
      this.status.textContent = "There is no query to keep.";
      return;
    }
    const { keepThing } = await import("../../lib/keep_dialog.js");
    keepThing({ kind: "query", what: "this query", text });
  }

  /** Gives up the query. */
  cancel() {
    super.cancel();
    this.#setRunning(false);
    this.status.textContent = "Cancelled.";
  }

  /** @param {boolean} running */
  #setRunning(running) {
    this.running = running;
    this.cancelButton.disabled = !running;
    this.result.classList.toggle("is-waiting", running);
  }

  /** @param {string} text */
  #run(text) {
    const sql = text.trim();
    if (!sql) return;
    this.ran = sql;
    this.context.state.set({ sql: sql.length <= LINK_CHARS ? sql : "" });
    this.#setRunning(true);
    this.status.textContent = "Running…";
    this.ask(
      "Running the query",
      (signal) => send("POST", "/api/captures/{id}/query", { id: this.context.id }, { sql }, signal),
      (answer) => {
        this.answer = answer;
        this.asked = sql;
        this.#setRunning(false);
        this.#draw();
      },
    );
  }

  /**
   * What is wrong with a query stands where its result would.
   * @param {unknown} error
   */
  failed(error) {
    this.#setRunning(false);
    this.status.textContent = "";
    this.answer = null;
    this.modes.hidden = true;
    this.trackButton.hidden = true;
    put(this.result, errorNotice(error));
  }

  #draw() {
    const { answer } = this;
    if (!answer) return;
    const { rows, scanned, elapsed_ms: ms, truncated } = answer;
    const words = {
      rows: `only the first ${plural(rows.length, "row")}; `,
      bytes: `cut after ${plural(rows.length, "row")}, which is as much as an answer holds; `,
    };
    const cut = truncated && words[truncated];
    this.status.textContent = `${cut ?? `${exact(rows.length)} ${rows.length === 1 ? "row" : "rows"} in `}${exact(ms)} ms; ${exact(scanned.rows)} rows read${scanned.skipped ? `, ${plural(scanned.skipped, "chunk")} skipped` : ""}`;
    const lines = chartOf(answer);
    const bars = lines ? null : barsOf(answer);
    const mode = (lines ?? bars) && this.context.view.result === "chart" ? "chart" : "table";
    this.modes.hidden = !(lines ?? bars);
    this.trackButton.hidden = kindsOf(answer.columns).length === 0;
    this.pointed.textContent = "";
    for (const button of this.modes.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    if (mode === "chart" && lines) this.#drawChart(lines);
    else if (mode === "chart" && bars) this.#drawBars(bars);
    else this.#drawTable(answer);
  }

  /** @param {NonNullable<ReturnType<typeof chartOf>>} lines */
  #drawChart(lines) {
    put(
      this.result,
      h(
        "div",
        { class: "sql-chart" },
        this.chart.element,
        lines.leftOut > 0 && h("p", { class: "quiet small", text: `${plural(lines.leftOut, "more line")}` }),
      ),
    );
    // A chart takes its size from the page.
    this.chart.show(lines);
  }

  /** @param {NonNullable<ReturnType<typeof barsOf>>} drawn */
  #drawBars({ heading, value, most, bars, leftOut, inTime }) {
    const amount = inTime ? duration : exact;
    /** @param {{label: string, amount: number|null}} bar */
    const line = ({ label, amount: one }) => {
      const bar = h("span", { class: one !== null && one < 0 ? "bar is-negative" : "bar" });
      bar.style.width = `${Math.max(0.3, (Math.abs(one ?? 0) / most) * 100)}%`;
      return h(
        "tr",
        {},
        h("th", { scope: "row", class: "cut mono", title: label, text: label || "–" }),
        h("td", { class: "num mono", title: one === null ? null : exact(one), text: one === null ? "–" : amount(one) }),
        h("td", { class: "bar-cell" }, one !== null && bar),
      );
    };
    put(
      this.result,
      h(
        "div",
        { class: "sql-chart", tabindex: "0", role: "group", "aria-label": "Bars" },
        h(
          "table",
          { class: "list sql-bars" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col", text: heading }),
              h("th", { scope: "col", class: "num", text: value }),
              h("th", { scope: "col", "aria-hidden": "true" }),
            ),
          ),
          h("tbody", {}, ...bars.map(line)),
        ),
        leftOut > 0 && h("p", { class: "quiet small", text: `${plural(leftOut, "more row")}: the table has them.` }),
      ),
    );
  }

  /** Puts the query into the timeline, named by its number until somebody names it. */
  #showTrack() {
    const { state, view } = this.context;
    const { text, problem } = withTrack(view.tracks, {
      name: `Query ${readTracks(view.tracks).length + 1}`,
      sql: this.asked,
      kind: "",
    });
    if (problem) note(problem);
    else state.set({ tracks: text, tab: "timeline" });
  }

  /** @param {Answer} answer */
  #drawTable({ columns, rows }) {
    if (rows.length === 0) {
      put(this.result, h("p", { class: "empty", text: "No matching rows." }));
      return;
    }
    const shown = rows.map((row) => row.map((value, i) => shownCell(value, columns[i])));
    const texts = shown.slice(0, MEASURED).map((row) => row.map((value, i) => cellText(value, columns[i])));
    put(this.result, this.table.element);
    this.table.source = { count: shown.length, row: (index) => shown[index], need: () => {} };
    this.table.setColumns(sized(columns, texts));
    this.table.changed();
    this.table.go(0, "top");
  }
}
