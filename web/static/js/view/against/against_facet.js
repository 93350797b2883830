// The values of a column on two sides, in the place of those of one: there, here, and how much they changed.

import { h, put } from "../../lib/dom.js";
import { TAKES_NO_CONDITION, withCondition } from "../../lib/filter_text.js";
import { exact } from "../../lib/format.js";
import { note } from "../../lib/notice.js";
import { WAY_MARKS, comparedText, lineName, shortChange, tableWords, valueTitle, wayOfValue } from "./against_model.js";

/** @import { AgainstLine, AgainstTable } from "../../../../api.js" */

/** How many values are shown. */
const SHOWN = 20;

/** The list. */
export class AgainstFacet {
  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    this.context = context;
    this.words = h("p", { class: "facet-rest quiet small" });
    this.list = h("ul", { class: "facet-values" });
    this.element = h("div", { class: "against-facet", hidden: true }, this.words, this.list);
  }

  /** @param {string} text */
  say(text) {
    this.words.textContent = text;
    put(this.list);
  }

  /** @param {AgainstTable} table */
  show(table) {
    const left = table.compared - Math.min(SHOWN, table.lines.length);
    this.words.textContent = `${tableWords({ ...table, lines: table.lines.slice(0, table.compared) }, "value")}${left > 0 ? ` · ${exact(left)} more in Group` : ""}`;
    put(this.list, ...table.lines.slice(0, SHOWN).map((line) => this.#value(line, table)));
  }

  /**
   * @param {AgainstLine} line
   * @param {AgainstTable} table
   */
  #value(line, table) {
    const name = lineName(line, table.keys);
    const [value] = line.values;
    const [measure] = table.measures;
    const way = wayOfValue(value);
    const numbers = `${comparedText(value.by_there, measure, table.normalised)} → ${comparedText(value.by_here, measure, table.normalised)}`;
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "facet-value against-value",
          title: `${name}\n${valueTitle(value, measure, table)}. Click: only these`,
          on: { click: () => this.#only(line) },
        },
        h("span", { class: "cut mono", text: name }),
        h("span", { class: "num small quiet", text: numbers }),
        h("span", { class: `num small against-${way}`, text: `${WAY_MARKS[way]}${shortChange(value)}` }),
      ),
    );
  }

  /** @param {AgainstLine} line */
  #only(line) {
    const both = line.filter === "" ? null : withCondition(this.context.view.filter, line.filter);
    if (both === null) note(line.filter ? TAKES_NO_CONDITION : "A filter cannot say this value.", { stop: true });
    else this.context.setFilter(both);
  }
}
