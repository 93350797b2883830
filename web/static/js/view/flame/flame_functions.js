// The functions of sampled stacks as a table, in place of the flame graph.

import { shortAmount } from "../../lib/amount.js";
import { category } from "../../lib/color.js";
import { h } from "../../lib/dom.js";
import { KINDS } from "./flame_model.js";
import { exact, percent } from "../../lib/format.js";

/** @typedef {"own"|"total"} Order */

/**
 * The table.
 * @param {import("../../../../api.js").SampledFunctions} answer
 * @param {{top: Order, hasStacks: boolean, sort: (to: Order) => void, find: (name: string) => void, between: (name: string) => void,
 *   open: (name: string) => void, noted?: (name: string) => string, notes?: (name: string) => void}} with `hasStacks`: of samples, not calls; `sort` orders by a column; `find` looks for a function in the graph; `between` shows its
 *   callers and callees; `open` its instructions; `noted` tells the notes on it in words, `notes` shows them
 * @returns {HTMLElement}
 */
export function functionTable(
  { unit, samples, functions },
  { top, hasStacks, sort, find, between, open, noted, notes },
) {
  if (functions.length === 0) return h("p", { class: "empty", text: "No function in this range, filter and search." });
  /**
   * @param {Order} name
   * @param {string} text
   * @param {string} title
   */
  const column = (name, text, title) =>
    h(
      "th",
      { scope: "col", class: "num", "aria-sort": top === name ? "descending" : "none", title },
      h(
        "button",
        { type: "button", class: "vt-sort", on: { click: () => sort(name) } },
        text,
        h("span", { "aria-hidden": "true", text: top === name ? " ↓" : "" }),
      ),
    );
  const head = h(
    "tr",
    {},
    column("own", "Own", "In the function itself"),
    column("total", "Total", "In the function or in what it called"),
    h("th", { scope: "col", class: "bar-head", text: top === "own" ? "Share of own" : "Share of total" }),
    h("th", { scope: "col", text: "Function" }),
    h("th", { scope: "col", text: "" }),
    h("th", { scope: "col", text: "" }),
  );
  /** @param {number} value */
  const number = (value) =>
    h("td", {
      class: "num mono",
      title: `${exact(value)} ${unit}, ${percent(value, samples)} of all`,
      text: `${shortAmount(value, unit)}  ${percent(value, samples)}`,
    });
  // Calls have no instructions, and where no sample ended there is nothing to show at any.
  const sampled = unit === "samples";
  /** @param {import("../../../../api.js").SampledFunction} row */
  const named = (row) => {
    const opens = sampled && row.own > 0;
    const about = {
      title: opens ? `Instructions of ${row.name}` : `Find ${row.name} in the graph`,
      on: { click: () => (opens ? open : find)(row.name) },
    };
    return h("button", {
      type: "button",
      class: "plain call-name",
      data: { cat: String(category(row.name)) },
      text: row.name,
      ...about,
    });
  };
  /** @param {import("../../../../api.js").SampledFunction} row */
  const line = (row) =>
    h(
      "tr",
      {},
      number(row.own),
      number(row.total),
      h("td", { class: "bar-cell" }, bar(row[top], samples)),
      h("td", { class: "cut mono" }, named(row)),
      h("td", { class: "quiet", text: KINDS[row.kind] ?? "" }),
      h(
        "td",
        {},
        hasStacks &&
          h("button", {
            type: "button",
            class: "plain",
            "aria-label": `Find ${row.name} in the graph`,
            title: `Find ${row.name} in the graph`,
            text: "graph",
            on: { click: () => find(row.name) },
          }),
        " ",
        hasStacks &&
          h("button", {
            type: "button",
            class: "plain",
            "aria-label": `Callers and callees of ${row.name}`,
            title: `Callers and callees of ${row.name}`,
            text: "callers",
            on: { click: () => between(row.name) },
          }),
        " ",
        noted?.(row.name) &&
          h("button", {
            type: "button",
            class: "plain",
            "aria-label": `Notes on ${row.name}`,
            title: noted?.(row.name),
            text: "notes",
            on: { click: () => notes?.(row.name) },
          }),
      ),
    );
  return h("table", { class: "list calls-table" }, h("thead", {}, head), h("tbody", {}, ...functions.map(line)));
}

/**
 * @param {number} value
 * @param {number} whole
 */
function bar(value, whole) {
  const drawn = h("span", { class: "bar" });
  drawn.style.width = `${whole > 0 ? Math.max(0.5, (value / whole) * 100) : 0}%`;
  return drawn;
}
