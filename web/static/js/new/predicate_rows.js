// Conditions as rows of a form, and as the predicate language. Pure.

import { quoted, unquoted } from "../lib/quoted_text.js";

/** @typedef {[kind: "operator"|"text"|"number"|"word", text: string]} Token */
/** @typedef {{field: string, op: string, value: string}} Row */

/** What can be asked of a number: what is chosen, and how it is written. */
export const NUMBER_OPERATORS = [
  ["==", "="],
  ["!=", "≠"],
  ["<", "<"],
  ["<=", "≤"],
  [">", ">"],
  [">=", "≥"],
  ["&", "has a bit of"],
];
/** What can be asked of a text. The last three are patterns of the operator `~`. */
export const TEXT_OPERATORS = [
  ["==", "is"],
  ["!=", "is not"],
  ["begins", "begins with"],
  ["contains", "contains"],
  ["ends", "ends with"],
];

const NUMBER = /^-?(?:0[xX][0-9a-fA-F]+|\d+|\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|min|m|h|B|[KMGT]iB|[kKMGT]B))$/;

/**
 * A row as text; empty where it is not complete.
 * @param {Row} row
 * @param {boolean} isText whether its field holds text
 */
export function rowText(row, isText) {
  if (!row.field) return "";
  if (!isText) return row.value.trim() ? `${row.field} ${row.op} ${row.value.trim()}` : "";
  /** @type {Record<string, string>} */
  const patterns = { begins: `${row.value}*`, contains: `*${row.value}*`, ends: `*${row.value}` };
  const pattern = patterns[row.op];
  if (pattern !== undefined) return row.value ? `${row.field} ~ ${quoted(pattern)}` : "";
  return `${row.field} ${row.op} ${quoted(row.value)}`;
}

/**
 * Rows as one predicate; those that are not complete are left out.
 * @param {Row[]} rows
 * @param {"all"|"any"} join
 * @param {(field: string) => boolean} isText
 */
export function predicateText(rows, join, isText) {
  return rows
    .map((row) => rowText(row, isText(row.field)))
    .filter(Boolean)
    .join(join === "all" ? " && " : " || ");
}

const TOKEN =
  /\s*(?:(&&|\|\||==|!=|<=|>=|!~|[<>&~])|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(-?0[xX][0-9a-fA-F]+|-?\d+(?:\.\d+)?[A-Za-zµμ]*)|([A-Za-z_][\w.]*(?:\[\d+\])?)|(.))/gy;

/**
 * @param {string} text
 * @returns {Token[]|null}
 */
function tokens(text) {
  /** @type {Token[]} */
  const found = [];
  for (const match of text.trim().matchAll(TOKEN)) {
    const [, operator, string, number, word, other] = match;
    if (other !== undefined) return null;
    if (word === "and" || word === "or") found.push(["operator", word === "and" ? "&&" : "||"]);
    else if (word === "not") return null;
    else
      found.push(
        operator ? ["operator", operator] : string ? ["text", string] : number ? ["number", number] : ["word", word],
      );
  }
  return found;
}

/**
 * What a text in quotes says; null where a field of a form would hide a part of it.
 * @param {string} literal
 */
const seen = (literal) => (/\\u/.test(literal) ? null : unquoted(literal));

/**
 * The rows that say what `text` says; null where rows cannot: parentheses, negation, `&&` beside `||`.
 * @param {string} text
 * @returns {{join: "all"|"any", rows: Row[]}|null}
 */
export function rowsOf(text) {
  const found = tokens(text);
  if (!found || found.length % 4 !== 3) return text.trim() === "" ? { join: "all", rows: [] } : null;
  const rows = [];
  const joins = new Set();
  for (let i = 0; i < found.length; i += 4) {
    const [field, operator, value, join] = found.slice(i, i + 4);
    if (field[0] !== "word" || operator[0] !== "operator" || (join && !["&&", "||"].includes(join[1]))) return null;
    if (join) joins.add(join[1]);
    const row =
      value[0] === "text" ? textRow(field[1], operator[1], seen(value[1])) : numberRow(field[1], operator[1], ...value);
    if (!row) return null;
    rows.push(row);
  }
  if (joins.size > 1) return null;
  return { join: joins.has("||") ? "any" : "all", rows };
}

/**
 * @param {string} field
 * @param {string} op
 * @param {Token[0]} kind
 * @param {string} value
 * @returns {Row|null}
 */
function numberRow(field, op, kind, value) {
  return kind === "number" && NUMBER.test(value) && NUMBER_OPERATORS.some(([known]) => known === op)
    ? { field, op, value }
    : null;
}

/**
 * @param {string} field
 * @param {string} op
 * @param {string|null} value
 * @returns {Row|null}
 */
function textRow(field, op, value) {
  if (value === null) return null;
  if (op === "==" || op === "!=") return { field, op, value };
  if (op !== "~") return null;
  const [first, last] = [value.startsWith("*"), value.endsWith("*") && value.length > 1];
  const inner = value.slice(first ? 1 : 0, last ? -1 : undefined);
  if (!inner || inner.includes("*")) return null;
  return { field, op: first && last ? "contains" : last ? "begins" : first ? "ends" : "==", value: inner };
}
