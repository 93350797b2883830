// Numbers of two captures in words: how they are written, how much they changed, and what that is worth. Pure.

import { amount } from "./amount.js";
import { count, duration, exact } from "./format.js";

/** @import { ComparedNumber, DifferenceVerdict, MeasuredNumber } from "../../../api.js" */

/** @type {Record<string, string>} */
const WHATS = {
  count: "count",
  rate: "a second",
  p50: "median (p50)",
  p90: "p90",
  p99: "p99",
  most: "greatest",
};

/** @type {Record<DifferenceVerdict, string>} */
const VERDICTS = {
  beyond_chance: "more than chance",
  within_chance: "within chance",
  too_few: "too few rows to tell",
  lost_rows: "lost rows can explain it",
  untested: "",
};

/** @param {string} what */
export const whatText = (what) => WHATS[what] ?? what;

/** @param {DifferenceVerdict} verdict */
export const verdictText = (verdict) => VERDICTS[verdict] ?? verdict;

/**
 * A value of a column, or a number of rows.
 * @param {number} value
 * @param {{display?: string, unit?: string}|null} column none for a number of rows
 */
export function valueText(value, column) {
  if (column?.display === "duration_ns") return duration(value);
  if (column?.unit && !["values", "hits", "samples"].includes(column.unit))
    return amount(Math.round(value), column.unit);
  return count(Math.abs(value) < 10 ? Math.round(value * 100) / 100 : Math.round(value));
}

/**
 * A number with every digit, its error, and between what it can be with what was lost.
 * @param {MeasuredNumber} number
 */
export function exactNumber({ value, error, least, most }) {
  const digits = (/** @type {number} */ one) =>
    exact(Math.abs(one) < 100 ? Math.round(one * 1e6) / 1e6 : Math.round(one));
  const parts = [digits(value)];
  if (error !== null) parts.push(`± ${digits(error)}`);
  if (least !== value || most !== value)
    parts.push(
      `with the lost rows from ${least === null ? "any value" : digits(least)} to ${most === null ? "any value" : digits(most)}`,
    );
  return parts.join(", ");
}

/**
 * How much more it is, in percent of what it was: `+12 %`, `−3.1 %`, `new`, `gone`.
 * @param {number} a
 * @param {number} b
 */
export function changeText(a, b) {
  if (a === b) return "0 %";
  if (a === 0) return "new";
  if (b === 0) return "gone";
  const percent = ((b - a) / Math.abs(a)) * 100;
  const size = Math.abs(percent);
  const digits = size < 9.95 ? 1 : 0;
  const text = size >= 1000 ? `${count(Math.round(size))} %` : `${size.toFixed(digits)} %`;
  return `${percent < 0 ? "−" : "+"}${text}`;
}

/**
 * Whether it became more, less, or neither that could be told.
 * @param {Pick<ComparedNumber, "difference"|"verdict">} number
 * @returns {"more"|"less"|"same"}
 */
export function wayOf({ difference, verdict }) {
  if (verdict !== "beyond_chance") return "same";
  return difference > 0 ? "more" : "less";
}
