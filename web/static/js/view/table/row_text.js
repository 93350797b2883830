// A row as text to copy: plain, JSON, Markdown. Pure.

import { cell as cellText } from "../../lib/format.js";

/** @import { TableCell, TableColumn, TableRow } from "../../lib/virtual_table.js" */
/** @import { Stack } from "../../../../api.js" */

/**
 * @param {TableCell|undefined} cell
 * @param {TableColumn} column
 */
function written(cell, column) {
  return column.show && cell !== undefined ? column.show(cell) : cellText(cell, column);
}

/**
 * Each column in a line, then the functions of the stack, innermost first.
 * @param {TableRow} row
 * @param {TableColumn[]} columns with their places in the row
 * @param {Stack|null} stack
 */
export function plainRow(row, columns, stack) {
  const width = Math.max(...columns.map(({ name }) => name.length), 0);
  const lines = columns.map((column, i) => {
    const cell = row[column.at ?? i];
    return `${column.name.padEnd(width)}  ${cell === null ? "(missing)" : written(cell, column)}`;
  });
  const frames = stack?.frames.map(({ name, module }) => `    ${name} (${module})`) ?? [];
  return [...lines, ...frames, ""].join("\n");
}

/**
 * An object with numbers as numbers; those that JSON's readers would round are texts, as they come. A stack is a list of functions.
 * @param {TableRow} row
 * @param {TableColumn[]} columns
 * @param {Stack|null} stack
 */
export function jsonRow(row, columns, stack) {
  const entries = columns.map((column, i) => {
    const cell = row[column.at ?? i] ?? null;
    const value =
      cell !== null && typeof cell === "object" ? (stack?.frames.map(({ name }) => name) ?? cell.top) : cell;
    return [column.name, value];
  });
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}

/** @param {string} text */
const inTable = (text) =>
  text
    .replace(/[\\`*_{}[\]<>|#~]/g, "\\$&")
    .replace(/\s/g, " ")
    .trim();

/**
 * A table of two columns, then the stack as a block of code.
 * @param {TableRow} row
 * @param {TableColumn[]} columns
 * @param {Stack|null} stack
 */
export function markdownRow(row, columns, stack) {
  const lines = columns.map((column, i) => {
    const cell = row[column.at ?? i];
    return `| ${inTable(column.name)} | ${cell === null ? "*missing*" : inTable(written(cell, column))} |`;
  });
  const frames = stack?.frames.map(({ name }) => name.replaceAll("```", "'''")) ?? [];
  return [
    "| column | value |",
    "| --- | --- |",
    ...lines,
    ...(frames.length > 0 ? ["", "```", ...frames, "```"] : []),
    "",
  ].join("\n");
}
