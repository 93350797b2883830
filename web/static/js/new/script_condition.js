// Conditions of scripts as rows of a form, and as an expression of the probe language. Pure.

import { TEXT_OPERATORS } from "./predicate_rows.js";

/** @typedef {{field: string, op: string, value: string}} ScriptRow */

/** What can be asked of a text: the language compares with no end. */
export const TEXT_TESTS = TEXT_OPERATORS.filter(([op]) => op !== "ends");

/** @param {string} text */
const quoted = (text) =>
  `"${text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r")}"`;

/** @param {string} text */
const bytesOf = (text) => new TextEncoder().encode(text).length;

/**
 * A row as an expression; empty where it is not complete.
 * @param {ScriptRow} row
 * @param {boolean} isText whether its field is a text
 */
export function scriptTest({ field, op, value }, isText) {
  if (!field) return "";
  if (!isText) {
    const number = value.trim();
    return number ? `${field} ${op} ${number}` : "";
  }
  if (op === "begins") return value ? `strncmp(${field}, ${quoted(value)}, ${bytesOf(value)}) == 0` : "";
  if (op === "contains") return value ? `strcontains(${field}, ${quoted(value)})` : "";
  return `${field} ${op} ${quoted(value)}`;
}

/**
 * Rows as one expression; those that are not complete are left out.
 * @param {ScriptRow[]} rows
 * @param {"all"|"any"} join
 * @param {(field: string) => boolean} isText
 */
export function scriptCondition(rows, join, isText) {
  return rows
    .map((row) => scriptTest(row, isText(row.field)))
    .filter(Boolean)
    .join(join === "all" ? " && " : " || ");
}

/** @type {Record<string, string>} */
const ESCAPES = { n: "\n", t: "\t", r: "\r" };

/** @param {string} inner */
function unquoted(inner) {
  return /^(?:[^\\]|\\[\\"ntr])*$/.test(inner) ? inner.replace(/\\(.)/g, (_all, c) => ESCAPES[c] ?? c) : null;
}

/**
 * The parts of an expression between `&&` or `||` that stand in no parentheses, brackets or texts.
 * @param {string} text
 * @returns {{parts: string[], join: "all"|"any"}|null} null where both are used, or it is not whole
 */
function parted(text) {
  const parts = [""];
  const joins = new Set();
  let depth = 0;
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"|&&|\|\||[\s\S]/g)) {
    if (piece === '"') return null;
    if ("([".includes(piece)) depth += 1;
    if (")]".includes(piece)) depth -= 1;
    if (depth < 0) return null;
    if (depth === 0 && (piece === "&&" || piece === "||")) {
      joins.add(piece);
      parts.push("");
    } else parts[parts.length - 1] += piece;
  }
  if (depth !== 0 || joins.size > 1) return null;
  return { parts: parts.map((part) => part.trim()), join: joins.has("||") ? "any" : "all" };
}

const TEXT = String.raw`"((?:[^"\\]|\\.)*)"`;
const BEGINS = new RegExp(String.raw`^strncmp\((.+), ${TEXT}, (\d+)\) == 0$`);
const CONTAINS = new RegExp(String.raw`^strcontains\((.+), ${TEXT}\)$`);
const EQUALS = new RegExp(String.raw`^(.+?) (==|!=) ${TEXT}$`);
const COMPARES = /^((?:->|[^=!<>&|?])+?) (==|!=|<=|>=|<|>|&) (-?\w+)$/;

/**
 * @param {string} part
 * @returns {ScriptRow|null}
 */
function rowOf(part) {
  const begins = BEGINS.exec(part);
  if (begins) {
    const value = unquoted(begins[2]);
    return value !== null && bytesOf(value) === Number(begins[3]) ? { field: begins[1], op: "begins", value } : null;
  }
  const contains = CONTAINS.exec(part);
  if (contains) {
    const value = unquoted(contains[2]);
    return value === null ? null : { field: contains[1], op: "contains", value };
  }
  const equals = EQUALS.exec(part);
  if (equals && !/[=!<>&|?]/.test(equals[1].replaceAll("->", "."))) {
    const value = unquoted(equals[3]);
    return value === null ? null : { field: equals[1], op: equals[2], value };
  }
  const compares = COMPARES.exec(part);
  return compares ? { field: compares[1].trim(), op: compares[2], value: compares[3] } : null;
}

/**
 * The rows that say what an expression says; null where rows cannot.
 * @param {string} text
 * @returns {{join: "all"|"any", rows: ScriptRow[]}|null}
 */
export function scriptRows(text) {
  if (!text.trim()) return { join: "all", rows: [] };
  const found = parted(text.trim());
  if (!found) return null;
  const rows = [];
  for (const part of found.parts) {
    const row = rowOf(part);
    if (!row) return null;
    rows.push(row);
  }
  return { join: found.join, rows };
}
