// The marks that the kernel puts before long calls. Pure.

/**
 * Longer than so many nanoseconds: the mark, and what it says.
 * @type {[least: number, mark: string, meaning: string][]}
 */
export const MARKS = [
  [1e9, "$", "longer than 1 s"],
  [1e8, "@", "longer than 100 ms"],
  [1e7, "*", "longer than 10 ms"],
  [1e6, "#", "longer than 1 ms"],
  [1e5, "!", "longer than 100 µs"],
  [1e4, "+", "longer than 10 µs"],
];

/**
 * The mark of a call, or nothing.
 * @param {number} ns how long it took
 * @returns {string}
 */
export function durationMark(ns) {
  return MARKS.find(([least]) => ns > least)?.[1] ?? "";
}

/**
 * Units of time by what they are written as, in nanoseconds.
 * @type {Record<string, number>}
 */
const UNITS = { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 };

/**
 * A length of time as a person types it, in nanoseconds: `10us`, `1.5 ms`, `2s`; without a unit it is µs. Null if it is none.
 * @param {string} text
 * @returns {number|null}
 */
export function parseDuration(text) {
  const found = /^\s*(\d{1,12}(?:[.,]\d{1,9})?)\s*(ns|us|µs|μs|ms|s)?\s*$/i.exec(text);
  if (!found) return text.trim() === "" ? 0 : null;
  const scale = UNITS[(found[2] ?? "us").toLowerCase()];
  const ns = Math.round(Number(found[1].replace(",", ".")) * scale);
  return Number.isSafeInteger(ns) ? ns : null;
}
