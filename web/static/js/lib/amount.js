// Numbers with what they count, as the API's `unit` says it. Pure.

import { bytes, count, duration, exact, plural } from "./format.js";

/**
 * Units of time, as nanoseconds.
 * @type {Record<string, number>}
 */
const TIMES = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };
/** @type {Record<string, string>} */
const SIGNS = { nanoseconds: "ns", microseconds: "µs", milliseconds: "ms", seconds: "s", bytes: "bytes" };

/**
 * So many samples, so much time, so many bytes.
 * @param {number} value
 * @param {string} unit `samples`, `hits`, `nanoseconds`, …, `bytes`, or `values` where nobody knows
 */
export function amount(value, unit) {
  if (TIMES[unit]) return duration(Number(value) * TIMES[unit]);
  if (unit === "bytes") return bytes(value);
  return unit === "values" || !unit ? exact(value) : plural(value, unit.replace(/s$/, ""));
}

/**
 * The same in few letters, for a column of them.
 * @param {number} value
 * @param {string} unit
 */
export function shortAmount(value, unit) {
  return TIMES[unit] || unit === "bytes" ? amount(value, unit) : count(value);
}

/**
 * What a unit is written as; empty where numbers are only counted.
 * @param {string} unit
 */
export const sign = (unit) => SIGNS[unit] ?? "";

/**
 * A heading with its unit: `total (µs)`; as it is where the numbers are only counted.
 * @param {string} name
 * @param {string} unit
 */
export function headed(name, unit) {
  return SIGNS[unit] && !name.endsWith(`(${SIGNS[unit]})`) ? `${name} (${SIGNS[unit]})` : name;
}
