// A table of two sides, line by line: of one number there, here, the difference and the ratio, of the others how much they changed.

import { h, put } from "../../lib/dom.js";
import { TAKES_NO_CONDITION, withCondition } from "../../lib/filter_text.js";
import { note } from "../../lib/notice.js";
import { countsSvg } from "./against_histogram.js";
import {
  PER,
  WAY_MARKS,
  comparedText,
  differenceText,
  lineName,
  ratioText,
  readVersus,
  shortChange,
  tableWords,
  turnedVersus,
  valueTitle,
  wayOfValue,
  worthText,
} from "./against_model.js";

/** @import { AgainstLine, AgainstMeasure, AgainstTable, AgainstValue } from "../../../../api.js" */
/** @typedef {import("../../page/capture_context.js").CaptureContext} CaptureContext */

/** @type {[by: import("./against_model.js").By, text: string, title: string][]} */
const HEADS = [
  ["there", "There", "On the other side"],
  ["here", "Here", "On this side"],
  ["difference", "Difference", "Here less there; its error by chance is shown on hover"],
  ["ratio", "Ratio", "Here divided by there"],
];

/** The table with what is said above it. */
export class AgainstPanel {
  /**
   * @param {CaptureContext} context
   * @param {object} parts
   * @param {string} parts.noun what a line is
   * @param {string} parts.label of the table
   * @param {(line: AgainstLine) => Partial<import("../../page/url_state.js").ViewParts>} [parts.inner] shows the lines within one
   * @param {boolean} [parts.filters] whether the condition of a line can be taken into the filter
   * @param {() => number|null} [parts.stream] the stream that conditions are of
   */
  constructor(context, parts) {
    this.context = context;
    this.parts = parts;
    /** @type {AgainstTable|null} */
    this.table = null;
    /** The line whose histograms are shown. */
    this.chosen = "";
    this.words = h("p", { class: "grow", role: "status" });
    this.per = h(
      "select",
      {
        "aria-label": "By what amounts are compared",
        on: { change: () => context.state.set({ per: /** @type {keyof typeof PER} */ (this.per.value) }) },
      },
      ...Object.entries(PER).map(([value, text]) => h("option", { value, text })),
    );
    this.above = h("div");
    this.cautions = h("ul", { class: "against-cautions small" });
    this.body = h("div", {
      class: "against-lines scroll-x",
      tabindex: "-1",
      on: { keydown: (event) => this.#key(event) },
    });
    this.beside = h("div", { class: "against-beside" });
    this.element = h(
      "div",
      { class: "against", hidden: true },
      h("div", { class: "row against-bar" }, this.words, this.per),
      this.cautions,
      this.above,
      h("div", { class: "against-view" }, this.body, this.beside),
    );
  }

  /**
   * Asks for the table in the place of what a view shows alone.
   * @param {import("../panel_view.js").PanelView} owner
   * @param {string} what is being done, in words
   * @param {(signal: AbortSignal) => Promise<AgainstTable>} ask
   */
  load(owner, what, ask) {
    this.per.value = this.context.view.per || "time";
    /** @param {AbortSignal} signal */
    const asked = async (signal) => {
      try {
        return await ask(signal);
      } catch (error) {
        // What was compared before is no answer to this.
        if (!signal.aborted) this.clear();
        throw error;
      }
    };
    return owner.ask(what, asked, (table) => this.show(table));
  }

  /** Nothing is shown that is not so any more. */
  clear() {
    this.table = null;
    put(this.words);
    put(this.cautions);
    put(this.body);
    put(this.beside);
  }

  /** @param {AgainstTable} table */
  show(table) {
    this.table = table;
    this.words.textContent = tableWords(table, this.parts.noun);
    put(this.cautions, ...table.cautions.map((text) => h("li", { text })));
    if (table.compared === 0) {
      put(this.body, h("p", { class: "empty", text: "Neither side has anything of it in its range and filter." }));
      put(this.beside);
      return;
    }
    this.#draw(table);
  }

  /** @param {AgainstTable} table */
  #draw(table) {
    const versus = readVersus(this.context.view.versus, table.measures.length);
    put(
      this.body,
      h(
        "table",
        { class: "list against-table", "aria-label": this.parts.label },
        h("thead", {}, ...this.#heads(table, versus)),
        h("tbody", {}, ...table.lines.map((line) => this.#line(line, table, versus.measure))),
      ),
    );
    this.#drawBeside(table);
  }

  /**
   * @param {AgainstTable} table
   * @param {ReturnType<typeof readVersus>} versus
   */
  #heads({ keys, measures, normalised }, versus) {
    const { state } = this.context;
    const name = keys.map(({ name: key }) => key).join(" · ") || "rows";
    const suffix = (/** @type {AgainstMeasure} */ { kind }) =>
      kind === "amount" ? { time: " a second", total: ", share", none: "" }[normalised] : "";
    const sort = (/** @type {typeof HEADS[number]} */ [by, text, title]) => {
      const isSorted = versus.by === by;
      return h(
        "th",
        {
          scope: "col",
          class: "num",
          title,
          "aria-sort": isSorted ? (versus.descending ? "descending" : "ascending") : "none",
        },
        h(
          "button",
          {
            type: "button",
            class: "vt-sort",
            on: { click: () => state.set({ versus: turnedVersus(versus, versus.measure, by) }) },
          },
          text,
          h("span", { "aria-hidden": "true", text: isSorted ? (versus.descending ? " ↓" : " ↑") : "" }),
        ),
      );
    };
    const folded = (/** @type {number} */ at) =>
      h(
        "th",
        { scope: "col", rowspan: "2", class: "num" },
        h("button", {
          type: "button",
          class: "vt-sort",
          title: `Both sides of ${measures[at].name}, and the difference`,
          text: measures[at].name,
          on: { click: () => state.set({ versus: at === 0 ? "" : String(at) }) },
        }),
      );
    const group = (/** @type {AgainstMeasure} */ measure) =>
      h("th", { scope: "colgroup", colspan: "5", class: "against-group" }, `${measure.name}${suffix(measure)}`);
    return [
      h(
        "tr",
        {},
        h("th", { scope: "col", rowspan: "2", class: "against-name", text: name }),
        ...measures.map((measure, at) => (at === versus.measure ? group(measure) : folded(at))),
        h("th", { scope: "col", rowspan: "2", "aria-label": "Actions" }),
      ),
      h("tr", {}, ...HEADS.map(sort), h("th", { scope: "col", text: "What it is worth" })),
    ];
  }

  /**
   * @param {AgainstLine} line
   * @param {AgainstTable} table
   * @param {number} open
   */
  #line(line, table, open) {
    const name = lineName(line, table.keys);
    const cells = line.values.flatMap((value, at) =>
      at === open
        ? this.#openCells(value, table.measures[at], table)
        : [this.#foldedCell(value, table.measures[at], table)],
    );
    return h(
      "tr",
      { class: name === this.chosen ? "is-current" : "", data: { name } },
      h("th", { scope: "row", class: "against-name cut mono", title: name }, this.#name(line, name)),
      ...cells,
      h("td", {}, this.#only(line, name)),
    );
  }

  /**
   * @param {AgainstLine} line
   * @param {string} name
   */
  #name(line, name) {
    const { inner } = this.parts;
    const press = () => {
      if (line.has_inner && inner) this.context.state.set(inner(line));
      else this.#choose(name);
    };
    const badge = line.only && h("span", { class: "against-only small", text: ` only ${line.only}` });
    const title = line.has_inner ? `Calls within ${name}` : line.histogram ? `How values of ${name} are spread` : name;
    const button = h("button", { type: "button", class: "plain", title, text: name, on: { click: press } });
    return h("span", {}, button, line.has_inner && " ›", badge);
  }

  /**
   * @param {AgainstValue} value
   * @param {AgainstMeasure} measure
   * @param {AgainstTable} table
   */
  #openCells(value, measure, table) {
    const title = valueTitle(value, measure, table);
    const way = wayOfValue(value);
    const cell = (/** @type {string} */ text, /** @type {string} */ more = "") =>
      h("td", { class: `num mono ${more}`, title, text });
    return [
      cell(comparedText(value.by_there, measure, table.normalised)),
      cell(comparedText(value.by_here, measure, table.normalised)),
      cell(`${WAY_MARKS[way]}${differenceText(value, measure, table.normalised)}`, `against-${way}`),
      cell(ratioText(value), `against-${way}`),
      h("td", { class: `against-worth against-${way}`, title, text: worthText(value, measure) }),
    ];
  }

  /**
   * @param {AgainstValue} value
   * @param {AgainstMeasure} measure
   * @param {AgainstTable} table
   */
  #foldedCell(value, measure, table) {
    const way = wayOfValue(value);
    return h("td", {
      class: `num mono against-${way}`,
      title: valueTitle(value, measure, table),
      text: `${WAY_MARKS[way]}${shortChange(value)}`,
    });
  }

  /**
   * What makes the rows of a line the only ones in all views.
   * @param {AgainstLine} line
   * @param {string} name
   */
  #only(line, name) {
    if (!this.parts.filters || line.filter === "") return null;
    const take = () => {
      const both = withCondition(this.context.view.filter, line.filter);
      const stream = this.parts.stream?.() ?? this.context.view.stream;
      if (both === null) note(TAKES_NO_CONDITION, { stop: true });
      else this.context.state.set({ filter: both, stream, row: null });
    };
    return h("button", {
      type: "button",
      class: "plain",
      text: "Only",
      title: `Show only rows of ${name}, in all views`,
      "aria-label": `Only ${name}`,
      on: { click: take },
    });
  }

  /** @param {string} name */
  #choose(name) {
    this.chosen = this.chosen === name ? "" : name;
    for (const row of this.body.querySelectorAll("tbody tr"))
      if (row instanceof HTMLElement) row.classList.toggle("is-current", row.dataset.name === this.chosen);
    if (this.table) this.#drawBeside(this.table);
  }

  /** @param {AgainstTable} table */
  #drawBeside(table) {
    const spread = table.lines.filter(({ histogram }) => histogram);
    const line = spread.find((one) => lineName(one, table.keys) === this.chosen) ?? spread[0];
    this.beside.hidden = !line?.histogram;
    if (!line?.histogram) return;
    const [measure] = table.measures.filter(({ unit }) => unit === "nanoseconds").concat(table.measures);
    put(
      this.beside,
      h("h3", { text: `How values are spread: ${lineName(line, table.keys)}` }),
      countsSvg(line.histogram, this.parts.noun === "key" ? this.unit : measure.unit),
    );
  }

  /** What limits of buckets count, where that is not what the measures do. */
  unit = "values";

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    const buttons = [...this.body.querySelectorAll("tbody .against-name button")];
    const at = buttons.findIndex((button) => button === document.activeElement);
    if (at < 0) return;
    const next = buttons[Math.min(buttons.length - 1, Math.max(0, at + step))];
    if (next instanceof HTMLElement) next.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}
