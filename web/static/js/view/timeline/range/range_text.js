// Tables of the range's panel as text: sorted, with tabs, with commas; and queries over the same range in SQL. Pure.

import { sqlRange, sqlText } from "../../../lib/sql_words.js";
import { csvText } from "../../../lib/csv.js";

/**
 * A column of a table.
 * @template R
 * @typedef {object} RangeColumn
 * @property {string} key names it in the address
 * @property {string} title
 * @property {string} [about] what it says, where the title does not
 * @property {boolean} [num] whether it is a number, aligned at the right and sorted from the greatest
 * @property {(row: R) => number|string} value what is sorted, copied and exported: exact, without a unit
 * @property {(row: R) => string} [text] how it is written; else as it is
 * @property {string} [unit] of `value`, for the heading of what is copied
 */

/**
 * Which column is sorted by, and how: `key` from the least, `-key` from the greatest.
 * @template R
 * @param {RangeColumn<R>[]} columns
 * @param {string} ranked
 * @returns {{column: RangeColumn<R>, down: boolean}|null} null where rows are as they came
 */
export function ranking(columns, ranked) {
  const down = ranked.startsWith("-");
  const column = columns.find(({ key }) => key === (down ? ranked.slice(1) : ranked));
  return column ? { column, down } : null;
}

/**
 * Rows in the order of a column; equal ones as they came.
 * @template R
 * @param {R[]} rows
 * @param {RangeColumn<R>[]} columns
 * @param {string} ranked
 */
export function sorted(rows, columns, ranked) {
  const by = ranking(columns, ranked);
  if (!by) return rows;
  const { value } = by.column;
  const compare = (/** @type {number|string} */ a, /** @type {number|string} */ b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  return rows.toSorted((a, b) => (by.down ? -1 : 1) * compare(value(a), value(b)));
}

/**
 * What a click on a heading sorts by: numbers from the greatest, texts from the least, and then the other way.
 * @template R
 * @param {RangeColumn<R>} column
 * @param {string} ranked
 */
export function turned({ key, num }, ranked) {
  const [first, second] = num ? [`-${key}`, key] : [key, `-${key}`];
  return ranked === first ? second : first;
}

/** @param {{title: string, unit?: string}} column */
const heading = ({ title, unit }) => (unit ? `${title} (${unit})` : title);

/**
 * Rows with tabs between columns, for a spreadsheet. Blanks take the place of what would end a cell.
 * @template R
 * @param {RangeColumn<R>[]} columns
 * @param {R[]} rows
 */
export function tabbed(columns, rows) {
  const line = (/** @type {(number|string)[]} */ cells) =>
    cells.map((cell) => String(cell).replace(/[\t\r\n]/g, " ")).join("\t");
  return [line(columns.map(heading)), ...rows.map((row) => line(columns.map(({ value }) => value(row))))].join("\n");
}

/**
 * Rows as RFC 4180 has them. A text that a spreadsheet would take for a formula gets an apostrophe before it.
 * @template R
 * @param {RangeColumn<R>[]} columns
 * @param {R[]} rows
 */
export function commaed(columns, rows) {
  return csvText([columns.map(heading), ...rows.map((row) => columns.map(({ value }) => value(row)))]);
}

/**
 * The query for the functions of samples in a range, as the table of them has it: own where a function is the innermost of a
 * stack, total where it is in it at all.
 * @param {{start: number, end: number}} range
 * @param {{unit: string, marked: string, by: "own"|"total"}} what `marked`: the condition that a row is of marked tracks
 */
export function sqlFunctions(range, { unit, marked, by }) {
  return (
    "with sampled as materialized (\n  select stack, sum(weight) as weight from samples\n" +
    `  where ${sqlRange(range)} and unit = ${sqlText(unit)}${marked}\n  group by stack\n)\n` +
    "select f.function, sum(f.is_own * sampled.weight) as own, sum(sampled.weight) as total\n" +
    "from sampled join (select id, function, min(depth) = 0 as is_own from stacks group by id, function) f\n" +
    `  on f.id = sampled.stack\ngroup by f.function order by ${by} desc limit 1000`
  );
}

/**
 * How the address names the slices whose histogram is open. Streams have numbers of their own in each capture, so it has their
 * names.
 * @param {string} stream
 * @param {string} name
 */
export const openedSlices = (stream, name) => `${stream}/${name}`.slice(0, 256);
