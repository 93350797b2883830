// Rows of a table as a file: CSV, NDJSON, Markdown, with the columns, the order and the formats of the table. Pure.

import { cell as cellText, columnHeading } from "../../lib/format.js";

/** @import { TableCell, TableColumn } from "../../lib/virtual_table.js" */
/** @typedef {"csv"|"ndjson"|"md"} RowsFormat */

/** What a file is called at its end, and what it is. */
export const FILES = {
  csv: { title: "CSV", type: "text/csv;charset=utf-8" },
  ndjson: { title: "NDJSON", type: "application/x-ndjson" },
  md: { title: "Markdown", type: "text/markdown;charset=utf-8" },
};
/** What a spreadsheet would run: server/formats/src/csv.rs guards the same. */
const FORMULA = /^[=+\-@\t\r\n'＝＋－＠]/;

/**
 * @param {TableCell|undefined} cell
 * @param {TableColumn} column
 */
function written(cell, column) {
  return column.show && cell !== undefined ? column.show(cell) : cellText(cell, column);
}

/**
 * A field of CSV. Numbers are left alone, text that begins like a formula gets a `'`.
 * @param {string} text
 * @param {boolean} isNumber
 */
export function csvField(text, isNumber) {
  const guarded = !isNumber && FORMULA.test(text) ? `'${text}` : text;
  return guarded === "" || /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** @param {string} text */
const inTable = (text) =>
  text
    .replace(/[\\`*_{}[\]<>|#~]/g, "\\$&")
    .replace(/\s/g, " ")
    .trim();

/** @param {string} text */
const isPlainNumber = (text) => /^-?\d+(\.\d+)?$/.test(text);

/**
 * The lines before the rows; those of rows; each ends its line.
 * @param {RowsFormat} format
 * @param {TableColumn[]} columns as the table shows them
 * @returns {{head: string, line: (row: TableCell[]) => string}}
 */
export function rowsWriter(format, columns) {
  const cells = (/** @type {TableCell[]} */ row) => columns.map((column, i) => row[column.at ?? i] ?? null);
  const heads = columns.map((column) => column.heading ?? columnHeading(column));
  if (format === "csv")
    return {
      head: `${heads.map((name) => csvField(name, false)).join(",")}\r\n`,
      line: (row) => {
        const fields = cells(row).map((cell, i) => {
          if (cell === null) return "";
          const text = written(cell, columns[i]);
          return csvField(text, isPlainNumber(text));
        });
        return `${fields.join(",")}\r\n`;
      },
    };
  if (format === "md")
    return {
      head: `| ${heads.map(inTable).join(" | ")} |\n|${" --- |".repeat(columns.length)}\n`,
      line: (row) =>
        `| ${cells(row)
          .map((cell, i) => (cell === null ? "" : inTable(written(cell, columns[i]))))
          .join(" | ")} |\n`,
    };
  return {
    head: "",
    line: (row) => {
      const values = cells(row).map((cell, i) => {
        const { show, name } = columns[i];
        const value = cell === null || !show ? cell : show(cell);
        return [name, value !== null && typeof value === "object" ? value.top : value];
      });
      return `${JSON.stringify(Object.fromEntries(values))}\n`;
    },
  };
}

/** Takes text as it comes and gives whole lines. */
export class LineSplitter {
  #rest = "";

  /**
   * @param {string} text
   * @returns {string[]}
   */
  push(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines;
  }

  /** Whether what came so far ends in a line. */
  get isWhole() {
    return this.#rest === "";
  }
}
