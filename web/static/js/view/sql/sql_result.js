// What a result of SQL looks like as a chart and how wide its columns are. Pure.

import { WHO } from "../../lib/sql_track.js";

/** @typedef {import("../../lib/sql_track.js").Column} Column */
/** @typedef {import("../../lib/virtual_table.js").TableCell} Cell */

/** Lines beside each other that can still be told apart. */
const LINES = 12;
const MOST_CHARS = 60;
/** Bars below each other that are looked at. */
const BARS = 100;
const TIME_NAME = /(^|_)(time|start|at|first)(_ns)?$|_ns$/;

/** @param {{type: string}} column */
const isNumeric = ({ type }) => type === "i64" || type === "f64";
/** @param {Column|undefined} column */
const isMoment = (column) =>
  column !== undefined &&
  (column.display === "time_ns" || (column.display !== "duration_ns" && TIME_NAME.test(column.name)));
/** @param {Cell|undefined} cell */
const number = (cell) => (cell === null || cell === undefined ? null : Number(cell));

/**
 * Which column goes along the chart: a moment, or the first number.
 * @param {Column[]} columns
 */
function along(columns) {
  const moment = columns.findIndex((column) => isNumeric(column) && column.display === "time_ns");
  if (moment >= 0) return moment;
  const named = columns.findIndex((column) => isNumeric(column) && TIME_NAME.test(column.name));
  return named >= 0 ? named : columns.findIndex(isNumeric);
}

/**
 * A result as lines over its first moment or number: a line for each other number, or, where moments repeat and there is a
 * column of text, a line for each text. Null if that would say nothing.
 * @param {{columns: Column[], rows: Cell[][]}} answer
 * @returns {{at: {time: number}[], lines: {key: string[], values: (number|null)[]}[], plain: boolean, leftOut: number}|null}
 */
export function chartOf({ columns, rows }) {
  const x = along(columns);
  // A name with a number is no line: it is a bar.
  if (columns.some(({ type }) => type === "text") && !isMoment(columns[x])) return null;
  const ys = columns.flatMap((column, i) => (isNumeric(column) && i !== x ? [i] : []));
  if (x < 0 || ys.length === 0) return null;
  const points = rows.filter((row) => row[x] !== null);
  const moments = [...new Set(points.map((row) => Number(row[x])))].sort((a, b) => a - b);
  if (moments.length < 2) return null;
  const place = new Map(moments.map((moment, i) => [moment, i]));
  const text = columns.findIndex(({ type }) => type === "text");
  /** @type {Map<string, {key: string[], values: (number|null)[], sum: number}>} */
  const lines = new Map();
  /**
   * @param {string} key
   * @param {Cell[]} row
   * @param {number|null} value
   */
  const add = (key, row, value) => {
    const line = lines.get(key) ?? { key: [key], values: moments.map(() => null), sum: 0 };
    lines.set(key, line);
    line.values[place.get(Number(row[x])) ?? 0] = value;
    line.sum += Math.abs(value ?? 0);
  };
  const splits = text >= 0 && points.length > moments.length;
  for (const row of points) {
    if (splits) add(String(row[text] ?? "–"), row, number(row[ys[0]]));
    else for (const y of ys) add(columns[y].name, row, number(row[y]));
  }
  const all = [...lines.values()];
  const kept = splits ? all.toSorted((a, b) => b.sum - a.sum).slice(0, LINES) : all.slice(0, LINES);
  const plain = columns[x].display !== "time_ns" && !TIME_NAME.test(columns[x].name);
  return {
    at: moments.map((time) => ({ time })),
    lines: kept.map(({ key, values }) => ({ key, values })),
    plain,
    leftOut: all.length - kept.length,
  };
}

/**
 * A result as bars: a number for each text, in the order of the result. Null where there is no text or no number.
 * @param {{columns: Column[], rows: Cell[][]}} answer
 * @returns {{heading: string, value: string, most: number, inTime: boolean, leftOut: number,
 *   bars: {label: string, amount: number|null}[]}|null} `most` is the longest bar
 */
export function barsOf({ columns, rows }) {
  const numbers = columns.flatMap((column, i) => (isNumeric(column) ? [i] : []));
  const value = numbers.find((i) => !WHO.test(columns[i].name)) ?? numbers.at(-1);
  if (value === undefined || rows.length === 0 || !columns.some(({ type }) => type === "text")) return null;
  const labels = columns.flatMap((column, i) =>
    i !== value && (column.type === "text" || WHO.test(column.name)) ? [i] : [],
  );
  const bars = rows
    .slice(0, BARS)
    .map((row) => ({ label: labels.map((i) => row[i] ?? "–").join(" · "), amount: number(row[value]) }));
  return {
    heading: labels.map((i) => columns[i].name).join(" · "),
    value: columns[value].name,
    bars,
    leftOut: rows.length - bars.length,
    most: Math.max(Number.MIN_VALUE, ...bars.map(({ amount }) => Math.abs(amount ?? 0))),
    inTime: columns[value].display === "duration_ns",
  };
}

/**
 * Columns with widths after what is in them.
 * @template {{name: string}} Sized
 * @param {Sized[]} columns
 * @param {string[][]} texts of the first rows
 */
export function sized(columns, texts) {
  return columns.map((column, i) => {
    // Names of processes have a spot of colour before them.
    const spot = /(^|[._])comm$/.test(column.name) ? 2 : 0;
    const widest = Math.max(column.name.length + 3, ...texts.map((row) => row[i].length + spot));
    return { ...column, width: `${Math.min(MOST_CHARS, widest) + 3}ch` };
  });
}

/**
 * A name as it is written in a query: in double quotes where it is not a plain word.
 * @param {string} name
 */
export function written(name) {
  return /^[a-z_][a-z0-9_]*$/i.test(name) && !WORDS.has(name.toLowerCase()) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Words of SQL that fields and events are called too. */
const WORDS = new Set(
  "action add all and as case check column commit default delete desc distinct drop else end exists for from group having in index insert into is join limit not null of on or order primary select set table then to union values when where".split(
    " ",
  ),
);

/**
 * A cell as the table wants it: SQL's numbers have signs, addresses have none.
 * @param {Cell} value
 * @param {{display: string, type: string}} column
 */
export function shownCell(value, column) {
  const negative = column.display === "hex" && column.type === "i64" && /^-\d+$/.test(String(value));
  return negative ? BigInt.asUintN(64, BigInt(String(value))).toString() : value;
}
