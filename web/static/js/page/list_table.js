// A table of a list, which scrolls sideways where the window is narrow.

import { h } from "../lib/dom.js";

/**
 * A cell for a title that people wrote, which is cut where it is longer than the table is wide: what can be done stays in sight.
 * @param {string} title
 * @param {string|null} href
 * @param {...import("../lib/dom.js").Child} below
 */
export function titleCell(title, href, ...below) {
  return h("td", { class: "wide", title }, href === null ? title : h("a", { href, text: title }), ...below);
}

/** @typedef {[text: string, isNumber?: boolean]} Head of a column */

/**
 * @param {Head[]} heads
 * @param {HTMLElement[]} rows
 */
export function listTable(heads, rows) {
  return h(
    "div",
    { class: "scroll-x", tabindex: "0" },
    h(
      "table",
      { class: "list" },
      h(
        "thead",
        {},
        h("tr", {}, ...heads.map(([text, isNumber]) => h("th", { scope: "col", class: isNumber ? "num" : "", text }))),
      ),
      h("tbody", {}, ...rows),
    ),
  );
}
