// Which columns of a stream are worth a facet, and what is told of one. Pure.

import { exact, plural } from "../../lib/format.js";

/** @import { Facet, Facets, ColumnHead } from "../../../../api.js" */

/** How many columns are open before anybody has chosen. */
const FIRST_OPEN = 6;
/** From how many values on numbers are drawn as bars. */
export const FEW_VALUES = 12;
/** How many rows a first answer looks at, and how much more each next one. */
const FIRST_ROWS = 2_000_000;
const MORE = 8;

/**
 * The columns that can have a facet: a moment is selected above the tabs.
 * @param {ColumnHead[]} columns
 */
export function facetColumns(columns) {
  return columns.filter(({ display }, i) => i > 0 && display !== "time_ns");
}

/**
 * The columns that are open where the address names none: the event's own first, then who and where.
 * @param {ColumnHead[]} columns of {@link facetColumns}
 * @param {number} common how many of them all streams have
 */
export function firstOpen(columns, common = 4) {
  const own = columns.slice(common).filter(({ display }) => display !== "hex");
  const who = columns.slice(0, common).filter(({ name }) => name === "comm" || name === "cpu");
  return [...own.slice(0, FIRST_OPEN - who.length), ...who].map(({ name }) => name);
}

/**
 * How many rows the next question looks at; null for all of them.
 * @param {Facets|null} answer the last one
 */
export function nextRows(answer) {
  if (!answer) return FIRST_ROWS;
  const next = answer.looked_at * MORE;
  return next * 2 >= answer.total ? null : next;
}

/**
 * What the counts are of.
 * @param {Facets} answer
 */
export function countedText({ rows, looked_at: lookedAt, total }) {
  if (lookedAt >= total) return `${plural(rows, "row")}`;
  return `So far ${plural(rows, "row")}: ${exact(lookedAt)} of ${exact(total)} were looked at, spread over the range`;
}

/**
 * What is not among the values that are shown.
 * @param {Facet} facet
 * @param {number} shown
 */
export function restText({ distinct, found, left_out: leftOut, column }, shown) {
  const what = column.type === "stack" ? "function" : "value";
  const texts = [];
  if (found > shown) texts.push(`${exact(found - shown)} more of ${plural(found, what)}`);
  if (leftOut > 0)
    texts.push(`${plural(leftOut, "row")} with values beyond the first ${exact(distinct)}, which are not told apart`);
  return texts.join("; ");
}

/**
 * The bars of a facet with their bounds as texts, which no digit is lost of.
 * @param {Facet} facet
 */
export function barsOf({ bars }) {
  return bars.map(({ low, high, rows }) => ({ low: String(low), high: String(high), rows }));
}

/**
 * Whether a facet is drawn as bars before its values.
 * @param {Facet} facet
 */
export function hasBars({ bars, distinct, left_out: leftOut }) {
  return bars.length > 1 && (distinct > FEW_VALUES || leftOut > 0);
}

/**
 * The range of numbers that a drag over bars selects, which takes bars whole.
 * @param {{low: number|string, high: number|string}[]} bars
 * @param {number} from a share of the width
 * @param {number} to
 */
export function draggedRange(bars, from, to) {
  const at = (/** @type {number} */ share) =>
    bars[Math.max(0, Math.min(bars.length - 1, Math.floor(share * bars.length)))];
  const [first, last] = from <= to ? [at(from), at(to)] : [at(to), at(from)];
  return { low: String(first.low), high: String(last.high) };
}

/**
 * Which shares of the width a range covers.
 * @param {{low: number|string, high: number|string}[]} bars
 * @param {{low: string, high: string}} range
 */
export function coveredShare(bars, range) {
  const [low, high] = [BigInt(range.low), BigInt(range.high)];
  const inside = bars
    .map((bar, i) => ({ bar, i }))
    .filter(({ bar }) => BigInt(bar.high) >= low && BigInt(bar.low) <= high);
  if (inside.length === 0) return null;
  return { from: inside[0].i / bars.length, to: (inside[inside.length - 1].i + 1) / bars.length };
}

/**
 * A whole number that a person typed, as text; null for what is none.
 * @param {string} text
 */
export function typedNumber(text) {
  const trimmed = text.trim().replaceAll(/[,_\s]/g, "");
  const match = /^(-?)(0[xX][0-9a-fA-F]{1,16}|\d{1,20})$/.exec(trimmed);
  if (!match) return null;
  const size = BigInt(match[2]);
  return String(match[1] ? -size : size);
}
