// Keys and limits of maps as people read them. Pure.

import { cell, exact } from "./format.js";

/** @type {[size: bigint, unit: string][]} */
const BINARY = [
  [1n << 60n, "E"],
  [1n << 50n, "P"],
  [1n << 40n, "T"],
  [1n << 30n, "G"],
  [1n << 20n, "M"],
  [1n << 10n, "K"],
];
const NO_LOW = -(1n << 63n);
const NO_HIGH = (1n << 63n) - 1n;

/** @typedef {number|string} Limit of a bucket; a string where a number would be rounded */

/**
 * A limit of a bucket: `512`, `4K`, `1M`; powers of 1024 only where nothing is lost by it.
 * @param {Limit} value
 */
export function limit(value) {
  const number = BigInt(value);
  if (number <= NO_LOW) return "−∞";
  if (number >= NO_HIGH) return "∞";
  const size = number < 0n ? -number : number;
  const fits = BINARY.find(([unit]) => size >= unit && size % unit === 0n);
  return fits ? `${number / fits[0]}${fits[1]}` : exact(String(number));
}

/**
 * A bucket from `low` until before `high`: `[4, 8)`, `0`, `[64, ∞)`.
 * @param {Limit} low
 * @param {Limit} high
 */
export function bucket(low, high) {
  const from = BigInt(low);
  const to = BigInt(high);
  if (from + 1n === to) return limit(low);
  return `${from <= NO_LOW ? "(" : "["}${limit(low)}, ${limit(high)})`;
}

/** @typedef {number|string|null|{top: string}} KeyPart */

/**
 * A key's parts as one text.
 * @param {KeyPart[]} parts
 */
export function keyText(parts) {
  return parts.length === 0 ? "all" : parts.map((part) => cell(part, { display: "text" }) || "–").join(", ");
}

/** Kinds of maps in words. */
export const KINDS = {
  histogram: "histogram",
  time_series: "time series",
  stats: "statistics",
  count: "count",
  sum: "sum",
  min: "minimum",
  max: "maximum",
  average: "average",
  value: "values",
};

/**
 * What is shown, in words.
 * @type {Record<string, string>}
 */
export const SHOWS = {
  histogram: "Histogram",
  heatmap: "Heat map",
  table: "Table",
  series: "Over time",
  flame: "Flame graph",
};
