// A table of a list, which scrolls sideways where the window is narrow.

import { h } from "../lib/dom.js";

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
