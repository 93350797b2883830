// Columns and the histogram of how long rows took.

import { h } from "../../../lib/dom.js";
import { duration, exact, percent } from "../../../lib/format.js";
import { histogramChart } from "../../../lib/histogram_chart.js";

/** @import { RangeDurations } from "../../../../../api.js" */

/** @typedef {{durations: RangeDurations}} Took */

/**
 * Whether it is known of any row how long it took.
 * @param {Pick<RangeDurations, "count"|"without">} durations
 */
export const isKnown = ({ count, without }) => count > without;

/**
 * Columns of how long rows took. Means and percentiles are of whole rows, times of their parts within the range.
 * @template {Took} R
 * @param {() => number} span of the range, nanoseconds
 * @returns {import("./range_text.js").RangeColumn<R>[]}
 */
export function durationColumns(span) {
  /**
   * @param {"mean"|"p50"|"p90"|"p99"|"longest"} key
   * @param {string} about
   */
  const length = (key, about) => ({
    key,
    title: key,
    about,
    num: true,
    unit: "ns",
    value: (/** @type {R} */ { durations }) => (key === "mean" ? Math.round(durations.mean) : durations[key]),
    text: (/** @type {R} */ { durations }) => (isKnown(durations) ? duration(durations[key]) : ""),
  });
  return [
    {
      key: "count",
      title: "count",
      about:
        "How many are in the range, or reach into it; in parentheses those of unknown length, which are in no mean",
      num: true,
      value: ({ durations }) => durations.count,
      text: ({ durations: { count, without } }) => exact(count) + (without > 0 ? ` (${exact(without)})` : ""),
    },
    {
      key: "total",
      title: "total",
      about: "How long they took within the range",
      num: true,
      unit: "ns",
      value: ({ durations }) => durations.time,
      text: ({ durations }) => duration(durations.time),
    },
    {
      key: "share",
      title: "of range",
      about: "Total by the length of the range; several at once are more than all of it",
      num: true,
      unit: "%",
      value: ({ durations }) => Number(((100 * durations.time) / span()).toPrecision(4)),
      text: ({ durations }) => percent(durations.time, span()),
    },
    length("mean", "The mean of whole ones, also where they reach out of the range"),
    length("p50", "Half of them take no longer (to 1 %)"),
    length("p90", "90 % take no longer (to 1 %)"),
    length("p99", "99 % take no longer (to 1 %)"),
    length("longest", "The longest, exactly"),
  ];
}

/**
 * How long rows took, by powers of two.
 * @param {RangeDurations} durations
 */
export function durationHistogram({ buckets, count, without }) {
  const shown = buckets.map(([low, number]) => ({ low, high: low === 0 ? 1 : 2 * low, count: number }));
  const label = (/** @type {string} */ low, /** @type {string} */ high) =>
    `${low === "0" ? "0" : duration(Number(low))} to ${duration(Number(high))}`;
  const chart = histogramChart({ buckets: shown, total: count - without, unit: "nanoseconds" }, label);
  return h("div", { class: "range-histogram" }, chart);
}
