// Facets beside the table of rows: of each column the most frequent values with their rows, and how numbers spread. A click takes
// a value into the filter, whose text says the same.

import { Latest, get } from "../../lib/api.js";
import { closest, h, put, s, settled } from "../../lib/dom.js";
import { isCondition } from "../../lib/filter_kind.js";
import { canName, literalKey, ranged, saidOf, toggled, without } from "../../lib/filter_text.js";
import { cell as cellText, columnHeading, count, exact } from "../../lib/format.js";
import { readNames, writeNames } from "../../lib/name_list.js";
import { isFilterProblem, note, showError } from "../../lib/notice.js";
import { AGAINST_PARTS, otherTable } from "../against/against_model.js";
import { AgainstFacet } from "../against/against_facet.js";
import {
  barsOf,
  countedText,
  coveredShare,
  draggedRange,
  facetColumns,
  firstOpen,
  hasBars,
  nextRows,
  restText,
  typedNumber,
} from "./facets_model.js";

/** @import { AgainstTable, ColumnHead, Facet, FacetValue, Facets } from "../../../../api.js" */

/** How many values are shown at first, and when more are wanted. */
const FEW = 5;
const MANY = 100;
const PARTS = ["stream", "filter", "start", "end", "facets", ...AGAINST_PARTS];

/** The panel. */
export class FacetsPanel {
  #latest = new Latest();
  /** @type {Map<string, Latest>} what is asked of one column alone */
  #alone = new Map();
  /** @type {Map<string, FacetSection>} */
  #sections = new Map();

  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    this.context = context;
    this.said = h("p", { class: "facets-said quiet small", role: "status" });
    this.problem = h("div");
    this.list = h("div", { class: "facets-list" });
    this.element = h(
      "aside",
      { class: "facets", "aria-label": "Values of columns", on: { keydown: (event) => this.#key(event) } },
      this.said,
      this.problem,
      this.list,
    );
    this.stale = true;
    context.state.on("change", ({ parts }) => {
      if (PARTS.some((part) => parts.has(part))) this.expire();
    });
  }

  /** Whether it is to be seen. */
  get open() {
    return this.context.view.facets !== "" && this.element.isConnected && !this.element.closest("[hidden]");
  }

  /** What it shows is no longer so. */
  expire() {
    this.stale = true;
    if (this.open) void this.load();
  }

  get #columns() {
    return facetColumns(this.context.stream?.columns ?? []);
  }

  /** The columns that are open, by name. */
  get #opened() {
    const { facets } = this.context.view;
    return facets === "*" ? firstOpen(this.#columns) : readNames(facets);
  }

  /** Asks for the values of all open columns, first of some rows and then of all. */
  async load() {
    this.stale = false;
    this.#drawSections();
    const opened = this.#columns.map(({ name }) => name).filter((name) => this.#opened.includes(name));
    const { filter } = this.context.view;
    if (opened.length === 0) {
      this.#latest.cancel();
      this.said.textContent = "Open a column to see its values.";
      return;
    }
    if (this.context.view.against !== "") {
      await this.#loadAgainst(opened);
      return;
    }
    // Counts of a column are not narrowed by what the filter says of that column: else nothing could be added.
    /** @type {Map<string, string[]>} */
    const byFilter = new Map();
    for (const name of opened) {
      const section = this.#sections.get(name);
      if (section?.isAlone) {
        void this.more(section);
        continue;
      }
      const own = without(filter, this.#termColumn(name));
      byFilter.set(own, [...(byFilter.get(own) ?? []), name]);
    }
    if (byFilter.size === 0) return;
    this.said.textContent = "Counting values";
    try {
      await this.#latest.run(async (signal) => {
        /** @type {Facets|null} */
        let answer = null;
        do {
          const how = { rows: nextRows(answer), limit: FEW };
          /** @type {Facets[]} */
          const answers = await Promise.all(
            [...byFilter].map(([own, columns]) => this.#ask(own, columns, how, signal)),
          );
          if (signal.aborted) return;
          answer = answers[0];
          for (const { facets } of answers)
            facets.forEach((facet) => this.#sections.get(facet.column.name)?.show(facet));
          this.said.textContent = countedText(answer);
        } while (answer.looked_at < answer.total);
        put(this.problem);
      });
    } catch (error) {
      this.said.textContent = "";
      // What is wrong with the filter is told below it.
      if (isFilterProblem(error, filter)) put(this.problem);
      else showError(this.problem, error, () => void this.load());
    }
  }

  /**
   * Asks for the values of both sides, column by column. Columns of stacks are compared as flame graphs.
   * @param {string[]} opened
   */
  async #loadAgainst(opened) {
    const { id, view, info } = this.context;
    const { start, end, filter } = view;
    const stream = info.streams.indexOf(this.context.stream);
    this.said.textContent = "Comparing values";
    try {
      await this.#latest.run(async (signal) => {
        for (const name of opened) {
          const section = this.#sections.get(name);
          if (!section) continue;
          if (section.column.type === "stack") {
            section.sayAgainst("Stacks are compared as flame graphs.");
            continue;
          }
          const query = { id, stream, start, end, by: writeNames([name]), values: "count" };
          const own = { ...query, filter: without(filter, name), ...otherTable(view), lines_by: "", lines: MANY };
          const table = await get("/api/captures/{id}/pivot/compare", own, signal);
          if (signal.aborted) return;
          section.showAgainst(table);
        }
        this.said.textContent = "Values of both sides: those that changed by more than chance first.";
        put(this.problem);
      });
    } catch (error) {
      this.said.textContent = "";
      for (const name of opened) this.#sections.get(name)?.sayAgainst("Not compared.");
      if (isFilterProblem(error, filter)) put(this.problem);
      else showError(this.problem, error, () => void this.load());
    }
  }

  /**
   * @param {string} filter
   * @param {string[]} columns
   * @param {{rows?: number|null, limit: number, search?: string}} how
   * @param {AbortSignal} signal
   */
  #ask(filter, columns, { rows = null, limit, search = "" }, signal) {
    const { start, end } = this.context.view;
    const stream = this.context.info.streams.indexOf(this.context.stream);
    const query = {
      id: this.context.id,
      stream,
      filter,
      start,
      end,
      columns: writeNames(columns),
      limit,
      search,
      rows,
    };
    return get("/api/captures/{id}/facets", query, signal);
  }

  #drawSections() {
    const columns = this.#columns;
    const opened = this.#opened;
    const { filter } = this.context.view;
    const kept = new Map(this.#sections);
    this.#sections = new Map(
      columns.map((column) => [column.name, kept.get(column.name) ?? new FacetSection(this, column)]),
    );
    const elements = [...this.#sections.values()].map(({ element }) => element);
    if (
      elements.some((element, i) => element !== this.list.children[i]) ||
      elements.length !== this.list.children.length
    )
      put(this.list, ...elements);
    for (const section of this.#sections.values()) section.turn(opened.includes(section.column.name), filter);
  }

  /**
   * Shows a column's values, or hides them.
   * @param {string} name
   */
  turn(name) {
    const opened = this.#opened;
    const names = opened.includes(name) ? opened.filter((other) => other !== name) : [...opened, name];
    this.context.state.set({ facets: names.length > 0 ? writeNames(names) : "," });
  }

  /**
   * Asks for more of one column.
   * @param {FacetSection} section
   */
  async more(section) {
    const { name } = section.column;
    const latest = this.#alone.get(name) ?? new Latest();
    this.#alone.set(name, latest);
    const filter = without(this.context.view.filter, this.#termColumn(name));
    const how = { limit: section.limit, search: section.search };
    try {
      const answer = await latest.run((signal) => this.#ask(filter, [name], how, signal));
      if (answer) section.show(answer.facets[0]);
    } catch (error) {
      showError(this.problem, error, () => void this.more(section));
    }
  }

  /**
   * What terms of the filter call a column: those of stacks name none.
   * @param {string} name
   */
  #termColumn(name) {
    return this.context.stream?.columns.find((column) => column.name === name)?.type === "stack" ? "" : name;
  }

  /**
   * Takes a value into the filter, or out of it.
   * @param {ColumnHead} column
   * @param {string|null} literal
   * @param {"only"|"never"} way
   */
  choose(column, literal, way) {
    const { filter } = this.context.view;
    if (literal === null) return void note("A filter cannot say this value: it is no text, or too long.");
    if (!this.#takes(column, filter)) return;
    this.context.setFilter(toggled(filter, this.#termColumn(column.name), literal, way));
  }

  /**
   * Takes a range of numbers into the filter, or none.
   * @param {ColumnHead} column
   * @param {{low: string, high: string}|null} range
   */
  chooseRange(column, range) {
    const { filter } = this.context.view;
    if (this.#takes(column, filter)) this.context.setFilter(ranged(filter, column.name, range));
  }

  /**
   * @param {ColumnHead} column
   * @param {string} filter
   */
  #takes(column, filter) {
    if (column.type !== "stack" && !canName(column.name)) {
      note(`A filter cannot name the column ${column.name}.`);
      return false;
    }
    if (filter.trim() !== "" && !isCondition(filter)) {
      note("The filter is text to look for, to which no condition can be added. Clear it first.");
      return false;
    }
    return true;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const on = closest(event, ".facet-value, .facet-head");
    if (!on) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const all = [...this.element.querySelectorAll(".facet-head, .facet-value")].filter(
        (one) => one instanceof HTMLElement && one.offsetParent !== null,
      );
      const next = all[all.indexOf(on) + step];
      if (next instanceof HTMLElement) next.focus();
    } else if ((event.key === "-" || event.key === "Delete") && on.classList.contains("facet-value")) {
      on.parentElement?.querySelector(".facet-not")?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** One column of the panel. */
class FacetSection {
  /**
   * @param {FacetsPanel} panel
   * @param {ColumnHead} column
   */
  constructor(panel, column) {
    this.panel = panel;
    this.column = column;
    this.limit = FEW;
    this.search = "";
    this.filter = "";
    /** @type {Facet|null} */
    this.facet = null;
    const label = columnHeading(column);
    this.head = h(
      "button",
      { type: "button", class: "facet-head", "aria-expanded": "false", on: { click: () => panel.turn(column.name) } },
      h("span", { class: "cut", text: label, title: column.name }),
    );
    this.distinct = h("span", { class: "quiet small" });
    this.head.append(this.distinct);
    this.find = h("input", {
      type: "search",
      class: "facet-find",
      placeholder: "Search values",
      "aria-label": `Search values of ${label}`,
      on: {
        input: settled(200, () => this.#searched()),
        keydown: (event) => {
          if (event.key !== "Escape" || this.find.value === "") return;
          event.stopPropagation();
          event.preventDefault();
          this.find.value = "";
          this.#searched();
        },
      },
    });
    this.spread = h("div", { class: "facet-spread" });
    this.values = h("ul", { class: "facet-values" });
    this.rest = h("p", { class: "facet-rest quiet small" });
    this.all = h("button", { type: "button", class: "plain small", on: { click: () => this.#turnMore() } });
    this.against = new AgainstFacet(panel.context);
    this.own = [this.spread, this.find, this.values, this.rest, this.all];
    this.body = h("div", { class: "facet-body" }, ...this.own, this.against.element);
    this.element = h("section", { class: "facet", "aria-label": label }, this.head, this.body);
  }

  /**
   * @param {boolean} open
   * @param {string} filter
   */
  turn(open, filter) {
    this.head.setAttribute("aria-expanded", String(open));
    this.body.hidden = !open;
    const changed = filter !== this.filter;
    this.filter = filter;
    if (open && changed && this.facet && this.against.element.hidden) this.#draw();
  }

  #searched() {
    this.search = this.find.value.trim();
    void this.panel.more(this);
  }

  #turnMore() {
    this.limit = this.limit === FEW ? MANY : FEW;
    void this.panel.more(this);
  }

  /** Whether it is asked for by itself: more of it is shown than of others, or something is looked for in it. */
  get isAlone() {
    return this.search !== "" || this.limit !== FEW;
  }

  /** @param {Facet} facet */
  show(facet) {
    this.facet = facet;
    this.against.element.hidden = true;
    this.values.hidden = false;
    this.#draw();
  }

  /** @param {AgainstTable} table */
  showAgainst(table) {
    this.#hideOwn();
    this.distinct.textContent = count(table.compared);
    this.against.show(table);
  }

  /** @param {string} text */
  sayAgainst(text) {
    this.#hideOwn();
    this.against.say(text);
  }

  #hideOwn() {
    for (const part of this.own) part.hidden = true;
    this.against.element.hidden = false;
  }

  get #said() {
    return saidOf(this.filter, this.column.type === "stack" ? "" : this.column.name);
  }

  #draw() {
    const { facet } = this;
    if (!facet) return;
    const said = this.#said;
    this.distinct.textContent = count(facet.distinct) + (facet.left_out > 0 ? "+" : "");
    this.distinct.title = `${exact(facet.distinct)} distinct`;
    this.#drawBars(facet, said.range);
    const most = Math.max(facet.missing, ...facet.values.map(({ rows }) => rows), 1);
    const missing = facet.missing > 0 && !this.search ? [{ value: null, literal: "", rows: facet.missing }] : [];
    put(this.values, ...[...facet.values, ...missing].map((value) => this.#value(value, most, said)));
    const shown = facet.values.length;
    this.find.hidden = facet.distinct <= FEW && !this.search;
    this.rest.textContent =
      shown === 0 && missing.length === 0
        ? this.search
          ? "No value has this text."
          : "No rows."
        : restText(facet, shown);
    this.rest.hidden = this.rest.textContent === "";
    this.all.hidden = facet.found <= FEW;
    this.all.textContent = this.limit === FEW ? `Show ${facet.found > MANY ? MANY : "all"}` : `Show ${FEW}`;
  }

  /**
   * @param {{value: FacetValue["value"]|null, literal: string|null, rows: number}} one
   * @param {number} most
   * @param {import("../../lib/filter_text.js").Said} said
   */
  #value({ value, literal, rows }, most, said) {
    const text = value === null ? "missing" : cellText(value, this.column) || "empty";
    const key = literal ? literalKey(literal) : literal;
    const isOnly = key !== null && said.only.has(key);
    const isNever = key !== null && said.never.has(key);
    const words = value === null || text === "empty" ? "cut quiet" : "cut mono";
    const bar = h("span", { class: "facet-bar" });
    bar.style.width = `${(100 * rows) / most}%`;
    return h(
      "li",
      { class: isNever ? "is-never" : "" },
      h(
        "button",
        {
          type: "button",
          class: "facet-value",
          "aria-pressed": String(isOnly),
          title: `${text}\n${exact(rows)} rows. Click: only these; Shift+click or −: without these`,
          on: {
            click: (event) => this.panel.choose(this.column, literal, event.shiftKey ? "never" : "only"),
          },
        },
        bar,
        h("span", { class: words, text }),
        h("span", { class: "num small", text: count(rows) }),
      ),
      h("button", {
        type: "button",
        class: "plain facet-not",
        tabindex: "-1",
        "aria-pressed": String(isNever),
        "aria-label": `Without ${text}`,
        title: "Without these rows",
        text: "−",
        on: { click: () => this.panel.choose(this.column, literal, "never") },
      }),
    );
  }

  /**
   * @param {Facet} facet
   * @param {{low: string, high: string}|null} range
   */
  #drawBars(facet, range) {
    const bars = barsOf(facet);
    this.spread.hidden = !hasBars(facet) && !range;
    if (this.spread.hidden || bars.length === 0) return;
    const label = columnHeading(this.column);
    const written = (/** @type {number|string} */ number) => cellText(number, this.column);
    const most = Math.max(...bars.map(({ rows }) => rows), 1);
    const shade = s("rect", { class: "facet-range", y: "0", height: "40", visibility: "hidden" });
    /** @param {{from: number, to: number}|null} share */
    const shown = (share) => {
      shade.setAttribute("visibility", share ? "visible" : "hidden");
      if (!share) return;
      shade.setAttribute("x", String(share.from * bars.length));
      shade.setAttribute("width", String((share.to - share.from) * bars.length));
    };
    const drawn = s(
      "svg",
      {
        class: "facet-bars",
        viewBox: `0 0 ${bars.length} 40`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `How ${label} spreads: ${written(bars[0].low)} to ${written(bars[bars.length - 1].high)}`,
      },
      shade,
      ...bars.map(({ rows, low, high }, i) => {
        const tall = rows === 0 ? 0 : Math.max(1.5, (38 * rows) / most);
        return s(
          "g",
          {},
          s("rect", { x: String(i), y: "0", width: "1", height: "40", class: "facet-hit" }),
          s("rect", { x: String(i + 0.06), y: String(40 - tall), width: "0.88", height: String(tall) }),
          s("title", { text: `${written(low)}${low === high ? "" : ` to ${written(high)}`}: ${exact(rows)} rows` }),
        );
      }),
    );
    shown(range && coveredShare(bars, range));
    this.#drag(
      drawn,
      (from, to) => shown(coveredShare(bars, draggedRange(bars, from, to))),
      (from, to) => this.panel.chooseRange(this.column, draggedRange(bars, from, to)),
    );
    put(this.spread, drawn, this.#bounds(label, bars, range));
  }

  /**
   * @param {SVGElement} element
   * @param {(from: number, to: number) => void} preview shares of the width
   * @param {(from: number, to: number) => void} done
   */
  #drag(element, preview, done) {
    /** @type {number|null} */
    let from = null;
    const share = (/** @type {PointerEvent} */ event) => {
      const { left, width } = element.getBoundingClientRect();
      return Math.max(0, Math.min(0.999999, (event.clientX - left) / Math.max(1, width)));
    };
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = share(event);
      element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      if (from !== null) preview(from, share(event));
    });
    element.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const begun = from;
      from = null;
      done(begun, share(event));
    });
    element.addEventListener("pointercancel", () => {
      from = null;
      this.#draw();
    });
  }

  /**
   * The same as a drag does, by typing.
   * @param {string} label
   * @param {{low: number|string, high: number|string}[]} bars
   * @param {{low: string, high: string}|null} range
   */
  #bounds(label, bars, range) {
    const field = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ hint) =>
      h("input", {
        type: "text",
        class: "mono",
        "aria-label": `${label}: ${name}`,
        value,
        placeholder: hint,
        size: "8",
      });
    const low = field("from", range?.low ?? "", String(bars[0].low));
    const high = field("to", range?.high ?? "", String(bars[bars.length - 1].high));
    const apply = (/** @type {Event} */ event) => {
      event.preventDefault();
      const [least, most] = [low, high].map((input) => typedNumber(input.value || input.placeholder));
      if (least === null || most === null) return void note("A bound is a whole number, decimal or hexadecimal.");
      if (BigInt(least) > BigInt(most)) return void note("The first bound is the smaller one.");
      this.panel.chooseRange(this.column, { low: least, high: most });
    };
    return h(
      "form",
      { class: "facet-bounds", on: { submit: apply } },
      low,
      h("span", { class: "quiet", text: "to" }),
      high,
      h("button", { type: "submit", class: "plain small", text: "Set" }),
      range &&
        h("button", {
          type: "button",
          class: "plain small",
          text: "Clear",
          on: { click: () => this.panel.chooseRange(this.column, null) },
        }),
    );
  }
}
