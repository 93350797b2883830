// Groups of rows: what they are by and what is told of each as text for the address, and the same in SQL. Pure.

import { exact } from "../../lib/format.js";
import { readNames, writeNames } from "../../lib/name_list.js";
import { sqlName, sqlRange, sqlTable } from "../../lib/sql_words.js";
import { NoSql, filterSql } from "./filter_sql.js";

/** @import { Pivot, PivotColumn, PivotSeries } from "../../../../api.js" */
/** @import { TableColumn } from "../../lib/virtual_table.js" */
/** @typedef {{way: string, column: string}} Measure a value of a group: how, and of which column; of none for the count */

/** The most columns that rows are grouped by, and the most values. */
export const MOST_KEYS = 4;
export const MOST_MEASURES = 12;
/** The value that is of no column. */
const ROWS = "count";
/** What can be told of a column of numbers, and of any column. */
const OF_NUMBERS = ["sum", "mean", "min", "max", "p50", "p90", "p95", "p99", "p99.9"];
const OF_ALL = ["distinct", "first", "last"];

/**
 * What can be told of a column.
 * @param {TableColumn} column
 */
export function waysOf({ type, display }) {
  const isNumber = type === "u64" || type === "i64";
  return isNumber && display !== "time_ns" ? [...OF_NUMBERS, ...OF_ALL] : isNumber ? ["min", "max", ...OF_ALL] : OF_ALL;
}

/**
 * @param {string} text of the address
 * @returns {Measure[]}
 */
export function readMeasures(text) {
  const found = readNames(text).map((part) => {
    const [, way = part, column = ""] = /^([^:]*):(.*)$/s.exec(part) ?? [];
    return { way, column };
  });
  return found.length > 0 ? found : [{ way: ROWS, column: "" }];
}

/** @param {Measure[]} measures */
export function writeMeasures(measures) {
  const text = writeNames(measures.map(({ way, column }) => (way === ROWS ? ROWS : `${way}:${column}`)));
  return text === ROWS ? "" : text;
}

/**
 * What a value is called.
 * @param {Measure} measure
 */
export function measureName({ way, column }) {
  return way === ROWS ? "rows" : `${way}(${column})`;
}

/**
 * The columns of the first grouping: who.
 * @param {TableColumn[]} columns
 */
export function firstKeys(columns) {
  const named = columns.find(({ name }) => name === "comm") ?? columns[1] ?? columns[0];
  return named ? [named.name] : [];
}

/**
 * Where lines are cut, and what is in none of them.
 * @param {Pivot} pivot
 */
export function pivotText({ rows, groups, lines, columns, left_out: leftOut }) {
  const shown = lines.length < groups ? `${exact(lines.length)} of ${exact(groups)} groups` : `${exact(groups)} groups`;
  const beyond = leftOut > 0 ? `; ${exact(leftOut)} rows in further groups are not told apart` : "";
  // Several values are of the same column.
  const lacking = new Map(columns.filter(({ without }) => without > 0).map((told) => [columnOf(told), told.without]));
  const without = [...lacking].map(([column, count]) => `; ${exact(count)} have no ${column}`).join("");
  return `${groups === 1 ? "1 group" : shown} of ${exact(rows)} rows${beyond}${without}`;
}

/**
 * The column that a value is of: `bytes` of `sum(bytes)`.
 * @param {Pick<PivotColumn, "name">} told
 */
const columnOf = ({ name }) => name.slice(name.indexOf("(") + 1, -1);

/**
 * The widths of bars, in percent of the longest.
 * @param {(number|string|null)[]} values
 */
export function barWidths(values) {
  const sizes = values.map((value) => Math.max(0, Number(value ?? 0)));
  const most = Math.max(...sizes, 0);
  return sizes.map((size) => (most > 0 ? (100 * size) / most : 0));
}

/**
 * @typedef {object} Grouping
 * @property {string[]} by
 * @property {Measure[]} measures
 * @property {number} sort the number of a column of the answer
 * @property {boolean} descending
 * @property {number} limit
 * @property {string} filter
 * @property {{start: number, end: number}|null} range
 */

/**
 * The query that asks the same.
 * @param {{name: string, columns: TableColumn[]}[]} streams
 * @param {number} stream
 * @param {Grouping} grouping
 * @returns {{sql: string, problem: string}} `problem`: what of the filter SQL cannot say; then the query has none
 */
export function pivotSql(streams, stream, { by, measures, sort, descending, limit, filter, range }) {
  const keys = by.map(sqlName);
  const over = keys.length > 0 ? `partition by ${keys.join(", ")} ` : "";
  /** @type {string[]} */
  const windows = [];
  const told = measures.map(({ way, column }) => {
    const name = sqlName(column);
    const percent = /^p(.+)$/.exec(way)?.[1];
    const neighbour = { first: "asc", last: "desc" }[way];
    if (neighbour) {
      const window = sqlName(`${way} of ${column}`);
      windows.push(`first_value(${name}) over (${over}order by time ${neighbour}) as ${window}`);
      return `max(${window})`;
    }
    if (percent) return `percentile(${name}, ${percent})`;
    return { count: "count(*)", mean: `avg(${name})`, distinct: `count(distinct ${name})` }[way] ?? `${way}(${name})`;
  });
  let problem = "";
  let condition = "";
  try {
    condition = filterSql(filter, streams[stream].columns);
  } catch (error) {
    if (!(error instanceof NoSql)) throw error;
    problem = error.message;
  }
  const all = [range ? sqlRange(range) : "", condition].filter(Boolean);
  const where = all.length > 1 ? all.map((part) => `(${part})`).join(" and ") : (all[0] ?? "");
  const table = sqlTable(streams, stream);
  const columns = [...keys, ...told.map((sql, i) => `${sql} as ${sqlName(measureName(measures[i]))}`)];
  const from =
    windows.length > 0
      ? `(select *, ${windows.join(", ")}\n  from ${table}${where ? `\n  where ${where}` : ""})`
      : `${table}${where ? `\nwhere ${where}` : ""}`;
  const lines = [
    `select ${columns.join(", ")}`,
    `from ${from}`,
    keys.length > 0 ? `group by ${keys.join(", ")}` : "",
    `order by ${sort + 1} ${descending ? "desc" : "asc"}`,
    `limit ${limit}`,
  ];
  return { sql: lines.filter(Boolean).join("\n"), problem };
}

/**
 * Groups over time as the cells of a heat map: columns of time, the first group on top. Where a group has no value there is
 * nothing, which 0 and numbers below it differ from: all are moved by `shift` so that each has a shade. Of numbers below 0 shades are
 * by rank.
 * @param {PivotSeries} series
 * @param {string[]} names
 */
export function heatOf({ start, end, lines }, names) {
  const bins = lines[0]?.length ?? 0;
  const at = (/** @type {number} */ bin) => start + ((end - start) * bin) / bins;
  const columns = Array.from({ length: bins }, (_one, bin) => ({ from: at(bin), to: at(bin + 1) }));
  const upwards = lines.toReversed();
  const numbers = columns.flatMap((_column, bin) => upwards.map((line) => line[bin] ?? null));
  const known = /** @type {number[]} */ (numbers.filter((number) => number !== null));
  const whole = known.every(Number.isInteger);
  const least = known.reduce((a, b) => Math.min(a, b), Infinity);
  const most = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const unit = whole ? 1 : (most - Math.min(least, 0)) / 100 || 1;
  const shift = least > 0 || known.length === 0 ? 0 : unit - least;
  return {
    window: { start, end },
    columns,
    rows: names.toReversed().map((label) => ({ label })),
    values: numbers.map((number) => (number === null ? 0 : number + shift)),
    shift,
    whole,
    scale: /** @type {"log"|"rank"} */ (least < 0 ? "rank" : "log"),
  };
}

/**
 * A column of the answer for the table.
 * @param {PivotColumn} column
 * @returns {TableColumn}
 */
export function pivotColumn({ name, type, display, is_rough: isRough }) {
  const heading = isRough ? `${name} ≈` : name;
  // Numbers of rows have their thousands apart; numbers that are names, such as a process, have not.
  const isCount = name === "rows" || name.startsWith("distinct(");
  if ((type !== "f64" && !isCount) || display !== "decimal") return { name, type, display, heading };
  // A mean has more digits than anybody reads.
  const show = (/** @type {import("../../lib/virtual_table.js").TableCell} */ cell) =>
    cell === null ? "" : exact(Number(Number(cell).toPrecision(6)));
  return { name, type, display, heading, show };
}
