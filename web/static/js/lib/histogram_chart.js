// A histogram as a table with bars: every number can be read, selected and copied.

import { headed } from "./amount.js";
import { h } from "./dom.js";
import { exact, percent } from "./format.js";
import { bucket } from "./map_words.js";

/** @import { Bucket, HistogramView } from "../../../api.js" */

/**
 * Adjacent buckets of powers of two that are empty are left out by the server; a gap is shown where one is.
 * @param {Bucket|undefined} before
 * @param {Bucket} after
 */
function gap(before, after) {
  return before && String(before.high) !== String(after.low);
}

/**
 * @param {Bucket} one
 * @param {number} most
 * @param {number} total
 * @param {number} cumulated
 * @param {(low: string, high: string) => string} label
 */
function row(one, most, total, cumulated, label) {
  const [low, high] = [String(one.low), String(one.high)];
  const bar = h("span", { class: "bar" });
  bar.style.width = `${(one.count / most) * 100}%`;
  return h(
    "tr",
    {},
    h("th", {
      scope: "row",
      class: "num mono",
      title: `from ${exact(low)} to below ${exact(high)}`,
      text: label(low, high),
    }),
    h("td", { class: "bar-cell" }, bar),
    h("td", { class: "num", text: exact(one.count) }),
    h("td", { class: "num quiet", text: percent(one.count, total) }),
    h("td", { class: "num quiet", text: percent(cumulated, total) }),
  );
}

/**
 * The chart.
 * @param {Pick<HistogramView, "buckets"|"total"|"unit">} view
 * @param {(low: string, high: string) => string} [label] how buckets are written, with their unit; else as limits in the view's unit
 * @returns {HTMLElement}
 */
export function histogramChart({ buckets, total, unit }, label = undefined) {
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  let cumulated = 0;
  const rows = buckets.flatMap((one, i) => {
    cumulated += one.count;
    const missing =
      gap(buckets[i - 1], one) && h("tr", { class: "gap" }, h("td", { colspan: "5", class: "quiet", text: "⋮ empty" }));
    return [missing, row(one, most, total, cumulated, label ?? bucket)].filter(Boolean);
  });
  const heads = [
    [label ? "Bucket" : headed("Bucket", unit), "num"],
    ["", ""],
    ["Count", "num"],
    ["Share", "num"],
    ["Cumulative", "num"],
  ];
  return h(
    "table",
    { class: "list histogram" },
    h("thead", {}, h("tr", {}, ...heads.map(([text, kind]) => h("th", { scope: "col", class: kind, text })))),
    h("tbody", {}, ...rows),
  );
}
