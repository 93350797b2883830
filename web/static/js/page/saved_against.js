// A table of two sides that was saved, sorted without the server: by the rules of `server/views/src/against/mod.rs`. Pure.

import { exact } from "../lib/format.js";

/** @import { AgainstLine, AgainstTable, AgainstValue, ShownCell } from "../../../api.js" */

/** Of a request for such a table, what is done here. */
export const LINES = new Set(["lines_by", "lines"]);

/**
 * The table with its lines in another order; null where the file cannot tell.
 * @param {AgainstTable} table all lines of the file, in any order
 * @param {Map<string, string>} asked
 * @returns {AgainstTable|null}
 */
export function resorted(table, asked) {
  const [found, turn, at = "0", by] =
    /^(-?)(\d{1,3})(?:\.(there|here|difference|ratio))?$/.exec(asked.get("lines_by") || "0") ?? [];
  const measure = Number(at);
  if (found === undefined || measure >= table.measures.length) return null;
  const isCut = table.lines.length < table.compared;
  const names = namesOf(table.lines);
  const usual = by === undefined;
  const order = usual ? byChange : byNumber(/** @type {By} */ (by), turn === "-");
  const lines = table.lines
    .map((line, i) => ({ line, name: names[i], value: line.values[measure] }))
    .toSorted((a, b) => order(a.value, b.value) || comparedNames(a.name, b.name))
    .map(({ line }) => line);
  const told = lines.slice(0, Number(asked.get("lines") ?? lines.length));
  // The usual order of the first measure is the one by which lines were cut.
  if (!isCut || (usual && measure === 0)) return { ...table, lines: told };
  const words = `This file has ${exact(lines.length)} of ${exact(table.compared)} lines, those that changed most: others may belong before these.`;
  return { ...table, lines: told, cautions: [...table.cautions, words] };
}

/** @typedef {"there"|"here"|"difference"|"ratio"} By */
/** @typedef {(a: AgainstValue, b: AgainstValue) => number} Order */

/**
 * Those that changed by more than chance, and then those that changed most.
 * @type {Order}
 */
function byChange(a, b) {
  const beyond = (/** @type {AgainstValue} */ { verdict }) => Number(verdict === "beyond_chance");
  const size = (/** @type {AgainstValue} */ { difference }) => (difference === null ? -1 : Math.abs(difference));
  return beyond(b) - beyond(a) || comparedNumbers(size(b), size(a));
}

/**
 * By a number; what has none is last.
 * @param {By} by
 * @param {boolean} descending
 * @returns {Order}
 */
function byNumber(by, descending) {
  return (left, right) => {
    const [a, b] = [numberOf(left, by), numberOf(right, by)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return descending ? comparedNumbers(b, a) : comparedNumbers(a, b);
  };
}

/**
 * @param {AgainstValue} value
 * @param {By} by
 */
function numberOf({ by_here: here, by_there: there, difference }, by) {
  if (by === "here") return here;
  if (by === "there") return there;
  if (by === "difference") return difference;
  if (here === null || there === null || (here === 0 && there === 0)) return null;
  return there === 0 ? Infinity : here / there;
}

/**
 * The order of all numbers, in which −0 is before 0.
 * @param {number} a
 * @param {number} b
 */
function comparedNumbers(a, b) {
  if (a !== b) return a < b ? -1 : 1;
  return Number(Object.is(b, -0)) - Number(Object.is(a, -0));
}

/**
 * What lines are told apart by, as code points. Numbers beyond 2^53 come as text: a column has either numbers or texts.
 * @param {AgainstLine[]} lines
 */
function namesOf(lines) {
  const ofNumbers = (lines[0]?.key ?? []).map((_cell, at) => lines.some(({ key }) => typeof key[at] === "number"));
  const part = (/** @type {ShownCell} */ cell, /** @type {number} */ at) => {
    if (cell === null) return "-";
    if (typeof cell === "object") return `s${cell.top}`;
    return `${typeof cell === "number" || (ofNumbers[at] && /^-?\d+$/.test(cell)) ? "n" : "t"}${cell}`;
  };
  return lines.map(({ key }) => Array.from(key.map(part).join("\0"), (letter) => letter.codePointAt(0) ?? 0));
}

/**
 * @param {number[]} a
 * @param {number[]} b
 */
function comparedNames(a, b) {
  const at = a.findIndex((letter, i) => letter !== b[i]);
  if (at < 0) return a.length - b.length;
  return at < b.length ? a[at] - b[at] : 1;
}
