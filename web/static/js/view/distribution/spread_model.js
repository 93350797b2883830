// What a distribution is of, and what a part of it means: the stream and the column, words for values, conditions for what was
// selected, parts of a heat map put together. Pure.

import { bytes, cell, duration, exact, moment } from "../../lib/format.js";

/** @import { ColumnHead, Distribution, HeatMap, ShownCell, Stream, Utilisation } from "../../../../api.js" */

/** @typedef {Pick<Distribution, "column"|"display"|"unit">} ShownValues which values are shown */
/** @typedef {string} Whole a whole number, exact whatever its size */
/** @typedef {{low: Whole, high: Whole}} Limits from a value until before another */

/** Units of times, as nanoseconds. */
const TIMES = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };
/** Rows that took time, then samples with a weight, then the rest. */
const INTEREST = ["slice", "state", "counter", "sample", "instant"];
/** Columns that every stream begins with. */
const COMMON = 5;

/** @param {{type?: string}} column */
export const isNumber = ({ type }) => type === "u64" || type === "i64";

/**
 * The streams that can be shown: those with rows.
 * @param {Stream[]} streams
 */
export const shownStreams = (streams) =>
  streams.filter(({ columns, rows, name }) => columns.length > 0 && rows > 0 && !name.startsWith("heading:"));

/**
 * The stream that is shown first: what took time before what only happened.
 * @param {Stream[]} streams
 */
export function firstSpread(streams) {
  const rank = (/** @type {Stream} */ { row, columns }) => {
    const of = INTEREST.indexOf(row);
    const own = columns.slice(COMMON).some(isNumber);
    return (of < 0 ? INTEREST.length : of) + (own ? 0 : INTEREST.length);
  };
  return shownStreams(streams).toSorted((a, b) => rank(a) - rank(b))[0];
}

/**
 * The columns of numbers of a stream, its own before those that all have.
 * @param {ColumnHead[]} columns
 */
export function numbersOf(columns) {
  const at = columns.map((column, i) => ({ column, i })).filter(({ column }) => isNumber(column));
  return [...at.filter(({ i }) => i >= COMMON), ...at.filter(({ i }) => i < COMMON)].map(({ column }) => column);
}

/**
 * A value as people read it.
 * @param {ShownCell|number|string} value
 * @param {Pick<ShownValues, "display"|"unit">} of
 */
export function valueText(value, { display, unit }) {
  if (value === null || typeof value === "object") return cell(value, {});
  if (display === "time_ns") return `${moment(typeof value === "number" ? Math.round(value) : value)} s`;
  const scale = TIMES[/** @type {keyof typeof TIMES} */ (unit)];
  if (scale) return duration(Number(value) * scale);
  if (unit === "bytes") return bytes(Number(value));
  if (display === "hex") return cell(typeof value === "number" ? Math.round(value) : value, { display });
  return typeof value === "number" && !Number.isInteger(value) ? exact(Number(value.toPrecision(6))) : exact(value);
}

/**
 * The limits of buckets from one to another.
 * @param {[ShownCell, ShownCell][]} buckets
 * @param {number} first
 * @param {number} last
 * @returns {Limits}
 */
export const limitsOf = (buckets, first, last) => ({ low: String(buckets[first][0]), high: String(buckets[last][1]) });

/**
 * Limits in words: `4 µs to 8 µs`, or the only value.
 * @param {Limits} limits
 * @param {Pick<ShownValues, "display"|"unit">} of
 */
export function limitsText({ low, high }, of) {
  return BigInt(low) + 1n === BigInt(high)
    ? valueText(low, of)
    : `${valueText(low, of)} to below ${valueText(high, of)}`;
}

/**
 * The condition that rows with values in limits satisfy.
 * @param {string} column
 * @param {Limits} limits
 */
export function conditionOf(column, { low, high }) {
  const last = String(BigInt(high) - 1n);
  return last === low ? `${column} == ${low}` : `${column} between ${low} and ${last}`;
}

/**
 * A number that was typed, with or without a unit: `4096`, `1.5 ms`, `64K`, `10MiB`. Empty for nothing, null for nonsense.
 * @param {string} typed
 * @param {Pick<ShownValues, "unit">} of
 * @returns {string|null}
 */
export function typedLimit(typed, { unit }) {
  const text = typed.trim().replaceAll(",", "");
  if (text === "") return "";
  if (/^-?\d{1,20}$/.test(text)) return text;
  const [, number, word] = /^(-?\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|[KMGT](?:i?B)?|B)?$/i.exec(text) ?? [];
  if (number === undefined) return null;
  const scale = TIMES[/** @type {keyof typeof TIMES} */ (unit)];
  const times = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }[(word ?? "").toLowerCase()];
  if (times !== undefined) return scale ? String(Math.round((Number(number) * times) / scale)) : null;
  const power = { K: 1, M: 2, G: 3, T: 4 }[(word ?? "").charAt(0).toUpperCase()] ?? 0;
  const value = Number(number) * 1024 ** power;
  return Number.isSafeInteger(Math.round(value)) ? String(Math.round(value)) : null;
}

/**
 * Several parts of a heat map as one: buckets that any of them has, cells added up.
 * @typedef {object} HeatWhole
 * @property {HeatMap} head the first part, for what all have in common
 * @property {[Whole, Whole][]} buckets
 * @property {Float64Array} values column by column
 * @property {{rows: number, without: number, below: number, above: number, lookedAt: number}} sums
 */

/**
 * @param {HeatMap[]} parts
 * @returns {HeatWhole}
 */
export function joinHeat(parts) {
  const [head] = parts;
  /** @type {Map<string, [Whole, Whole]>} */
  const known = new Map();
  for (const { buckets } of parts)
    for (const [low, high] of buckets) known.set(String(low), [String(low), String(high)]);
  const buckets = [...known.values()].toSorted(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1));
  const places = new Map(buckets.map(([low], i) => [low, i]));
  const values = new Float64Array(head.columns * buckets.length);
  for (const part of parts) {
    const rows = part.buckets.map(([low]) => places.get(String(low)) ?? 0);
    part.cells.count.forEach((count, i) => {
      values[part.cells.column[i] * buckets.length + rows[part.cells.row[i]]] += count;
    });
  }
  const sum = (/** @type {(part: HeatMap) => number} */ of) => parts.reduce((all, part) => all + of(part), 0);
  return {
    head,
    buckets,
    values,
    sums: {
      rows: sum(({ rows }) => rows),
      without: sum(({ without }) => without),
      below: sum(({ below }) => below),
      above: sum(({ above }) => above),
      lookedAt: sum(({ looked_at: rows }) => rows),
    },
  };
}

/**
 * What is not in a picture, in words; nothing if all rows are.
 * @param {{without: number, below: number, above: number}} counts
 */
export function leftOut({ without, below, above }) {
  const parts = [
    without > 0 && `${exact(without)} without a value`,
    below > 0 && `${exact(below)} below the lower limit`,
    above > 0 && `${exact(above)} above the upper limit`,
  ].filter(Boolean);
  return parts.length > 0 ? `not shown: ${parts.join(", ")}` : "";
}

/**
 * Shares of the time that CPUs or devices were busy, column by column; NaN where it is not known.
 * @param {Utilisation} answer
 */
export function shares({ columns, keys, busy, known, step, start, end, tells_idle: tellsIdle }) {
  const values = new Float64Array(columns * keys.length).fill(tellsIdle ? NaN : 0);
  const at = (/** @type {number} */ column, /** @type {number} */ row) => column * keys.length + row;
  known.count.forEach((_count, i) => {
    values[at(known.column[i], known.row[i])] = 0;
  });
  busy.count.forEach((count, i) => {
    const from = start + busy.column[i] * step;
    const wide = Math.max(1, Math.min(step, end - from));
    values[at(busy.column[i], busy.row[i])] = Math.min(1, count / wide);
  });
  return values;
}

/**
 * Counts of a histogram as they are drawn: as they are, as shares of their group, or of what is not greater.
 * @param {number[]} counts
 * @param {"rows"|"log"|"share"|"cumulative"} curve
 */
export function curveOf(counts, curve) {
  const all = Math.max(
    1,
    counts.reduce((a, b) => a + b, 0),
  );
  if (curve === "log") return counts.map((count) => Math.log10(1 + count));
  if (curve === "share") return counts.map((count) => count / all);
  if (curve === "rows") return counts;
  let sum = 0;
  return counts.map((count) => {
    sum += count;
    return sum / all;
  });
}

/**
 * A histogram as lines of a table: a line for each bucket, a column for each group.
 * @param {Distribution} answer
 * @param {string[]} names of the groups
 */
export function spreadLines({ column, buckets, all, groups }, names) {
  return [
    [`${column} from`, `${column} to below`, "rows", ...names],
    ...buckets.map(([low, high], i) => [
      String(low),
      String(high),
      all.counts[i],
      ...groups.map(({ counts }) => counts[i]),
    ]),
  ];
}
