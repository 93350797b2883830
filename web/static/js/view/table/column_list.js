// Which columns of a table are shown, in which order, how wide, and how their cells are written; as text for the address. Pure.

import { columnHeading, cell as cellText, moment, wall } from "../../lib/format.js";
import { readThen } from "./row_orders.js";

/** @import { TableCell, TableColumn } from "../../lib/virtual_table.js" */
/** @typedef {{name: string, pinned: boolean, width: number, format: string}} ShownColumn `width` in pixels, 0 for what is usual */

/** The narrowest and the widest that a column is made, in pixels. */
export const LEAST_WIDTH = 40;
export const MOST_WIDTH = 2000;

/** Formats by their names in addresses, which exports know too. */
/** @type {Record<string, {title: string, unit: string, digits?: number}>} */
export const FORMATS = {
  dec: { title: "decimal", unit: "" },
  hex: { title: "hexadecimal", unit: "" },
  ns: { title: "nanoseconds", unit: "ns", digits: 0 },
  us: { title: "microseconds", unit: "µs", digits: 3 },
  ms: { title: "milliseconds", unit: "ms", digits: 6 },
  s: { title: "seconds", unit: "s", digits: 9 },
  dur: { title: "duration in the unit that fits", unit: "" },
  wall: { title: "wall time", unit: "" },
};

/**
 * The formats that a column's cells can have besides the usual one.
 * @param {TableColumn} column
 */
export function formatsOf({ type, display }) {
  if (type !== "u64" && type !== "i64") return [];
  if (display === "time_ns") return ["ns", "us", "ms", "wall"];
  if (display === "duration_ns") return ["ns", "us", "ms", "s", "dec", "hex"];
  return display === "hex" ? ["dec"] : ["hex", "dur", "us", "ms", "s"];
}

/** @param {string} name */
const escaped = (name) => name.replace(/[\\,|]/g, "\\$&");

/**
 * @param {ShownColumn[]} columns
 */
export function writeColumns(columns) {
  return columns
    .map(({ name, pinned, width, format }) => {
      const how = [pinned && "p", width > 0 && `w${Math.round(width)}`, format && `f${format}`].filter(Boolean);
      return escaped(name) + (how.length > 0 ? `|${how.join(".")}` : "");
    })
    .join(",");
}

/**
 * @param {string} text
 * @returns {ShownColumn[]}
 */
export function readColumns(text) {
  return (text.match(/(?:\\.|[^,\\])+/gs) ?? []).map((part) => {
    const [, name = "", how = ""] = /^((?:\\.|[^|\\])*)(?:\|(.*))?$/s.exec(part) ?? [];
    const words = how.split(".");
    const width = Number(/^\d{1,4}$/.exec(words.find((word) => word.startsWith("w"))?.slice(1) ?? "")?.[0] ?? 0);
    const format = words.find((word) => word.startsWith("f"))?.slice(1) ?? "";
    return {
      name: name.replace(/\\(.)/gs, "$1"),
      pinned: words.includes("p"),
      width: width === 0 ? 0 : Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, width)),
      format: Object.hasOwn(FORMATS, format) ? format : "",
    };
  });
}

/**
 * All columns as they are where the address says nothing.
 * @param {TableColumn[]} all
 * @returns {ShownColumn[]}
 */
export function usualColumns(all) {
  return all.map(({ name }) => ({ name, pinned: false, width: 0, format: "" }));
}

/**
 * What is shown of a table: those that the address names and the table has, else all. Columns of neighbours are there because they
 * were asked for, so they are shown even if the address does not name them.
 * @param {TableColumn[]} all
 * @param {string} text
 * @param {number} own how many columns the stream itself has
 */
export function chosenColumns(all, text, own = all.length) {
  const names = new Set(all.map(({ name }) => name));
  const chosen = readColumns(text).filter(({ name }) => names.delete(name));
  if (chosen.length === 0) return usualColumns(all);
  const added = all.slice(own).filter(({ name }) => names.has(name));
  return [...chosen, ...usualColumns(added)];
}

/**
 * The columns for the table: those that are pinned first.
 * @param {TableColumn[]} all
 * @param {ShownColumn[]} chosen
 * @param {number} startedNs wall time of the capture's start
 * @returns {TableColumn[]}
 */
export function tableColumns(all, chosen, startedNs) {
  const made = chosen.flatMap(({ name, pinned, width, format }) => {
    const at = all.findIndex((column) => column.name === name);
    if (at < 0) return [];
    const column = all[at];
    const fits = formatsOf(column).includes(format) ? format : "";
    return [
      {
        ...column,
        at,
        pinned,
        ...(width > 0 ? { width: `${width}px` } : {}),
        ...(fits
          ? {
              heading: formattedHeading(column, fits),
              show: (/** @type {TableCell} */ cell) => formatted(cell, column, fits, startedNs),
            }
          : {}),
      },
    ];
  });
  return [...made.filter(({ pinned }) => pinned), ...made.filter(({ pinned }) => !pinned)];
}

/**
 * @param {TableColumn} column
 * @param {string} format
 */
export function formattedHeading(column, format) {
  const { unit } = FORMATS[format];
  const name = column.display === "time_ns" ? column.name : columnHeading(column);
  return unit ? `${name}, ${unit}` : name;
}

/**
 * A cell in a format; `server/formats/src/seen.rs` writes the same.
 * @param {TableCell|undefined} cell
 * @param {TableColumn} column
 * @param {string} format one of {@link FORMATS}
 * @param {number} startedNs wall time of the capture's start
 */
export function formatted(cell, column, format, startedNs) {
  if (cell === null || cell === undefined || typeof cell === "object" || !/^-?\d+$/.test(String(cell)))
    return cellText(cell, column);
  const { digits } = FORMATS[format];
  if (format === "wall") return wall(startedNs + Number(cell), true);
  if (format === "hex") return cellText(cell, { display: "hex" });
  if (format === "dur") return cellText(cell, { display: "duration_ns" });
  return digits === undefined ? String(cell) : scaled(cell, digits);
}

/**
 * A number of nanoseconds in a larger unit, exactly.
 * @param {number|string} ns
 * @param {number} digits after the point
 */
function scaled(ns, digits) {
  if (digits === 9) return moment(ns);
  const value = BigInt(ns);
  if (digits === 0) return String(value);
  const size = value < 0n ? -value : value;
  const one = 10n ** BigInt(digits);
  return `${value < 0n ? "-" : ""}${size / one}.${String(size % one).padStart(digits, "0")}`;
}

/**
 * @typedef {object} Orders by what rows are sorted
 * @property {string} sort the first column; empty for the time
 * @property {string} order
 * @property {string} then further columns, with `-` before the name of one whose greatest come first
 */

/** @param {{name: string, descending: boolean}[]} orders */
export function writeThen(orders) {
  return orders.map(({ name, descending }) => (descending ? "-" : "") + name.replace(/[\\,]|^-/g, "\\$&")).join(",");
}

/** The most columns that rows are sorted by. */
const MOST_ORDERS = 4;

/**
 * The orders after a heading was chosen: by that column alone, or after those before it; a second time the other way round.
 * @param {Orders} orders
 * @param {string} name
 * @param {string} time the column that rows are sorted by where nothing is said
 * @param {boolean} more
 * @returns {Orders}
 */
export function sortedBy({ sort, order, then }, name, time, more) {
  const first = sort || time;
  const further = readThen(then);
  if (!more) {
    const turned = first === name && order === "asc" ? "desc" : "asc";
    return { sort: name === time && turned === "asc" ? "" : name, order: turned, then: "" };
  }
  if (first === name) return { sort: first, order: order === "asc" ? "desc" : "asc", then };
  const known = further.find((one) => one.name === name);
  if (known) known.descending = !known.descending;
  else if (further.length < MOST_ORDERS - 1) further.push({ name, descending: false });
  return { sort: first, order, then: writeThen(further) };
}
