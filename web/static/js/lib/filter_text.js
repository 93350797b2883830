// Filters of rows as text: which are conditions, what they say of each column, and the same with more or less said. The grammar
// is that of server/capture/src/predicate.rs. Pure.

import { isCondition } from "./filter_kind.js";
import { quoted, unquoted } from "./quoted_text.js";

/** @typedef {{column: string, kind: "is"|"not"|"between"|"known"|"missing"|"frame"|"noframe", values: string[]}} Term */
/**
 * @typedef {object} Said what a filter says of a column
 * @property {Set<string>} only keys of values of which a row has one
 * @property {Set<string>} never keys of values that a row has not
 * @property {{low: string, high: string}|null} range
 */

const LITERAL = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?(?:0[xX][0-9a-fA-F]+|\d+)`;
const NAME = String.raw`(?:args\.)?[A-Za-z_]\w*(?:\[\d+\])?`;
const COMPARED = new RegExp(`^(${NAME})\\s*(==|!=)\\s*(${LITERAL})$`);
const LISTED = new RegExp(`^(${NAME})\\s+(not\\s+)?in\\s*\\(\\s*((?:${LITERAL})(?:\\s*,\\s*(?:${LITERAL}))*)\\s*\\)$`);
const BETWEEN = new RegExp(`^(${NAME})\\s+between\\s*(${LITERAL})\\s*and\\s*(${LITERAL})$`);
const FRAME = new RegExp(`^(!|not\\s)?\\s*has\\s+stack\\s+frame\\s*(${LITERAL})$`);
const KNOWN = new RegExp(`^(${NAME})\\s*(!?~)\\s*(["'])\\*\\3$`);

/**
 * Whether a filter can name a column.
 * @param {string} name
 */
export function canName(name) {
  return new RegExp(`^${NAME}$`).test(name) && !["and", "or", "not"].includes(name);
}

/**
 * A literal as a key that is equal for equal values, however they are written.
 * @param {string} literal
 */
export function literalKey(literal) {
  if (/^["']/.test(literal)) return `"${unquoted(literal) ?? literal}`;
  const negative = literal.startsWith("-");
  const size = BigInt(negative ? literal.slice(1) : literal);
  return String(negative ? -size : size);
}

/** @param {string} key */
function literalOf(key) {
  return key.startsWith('"') ? quoted(key.slice(1)) : key;
}

/**
 * Pieces of a condition: texts in quotes, words, signs.
 * @param {string} text
 */
export function pieces(text) {
  const shape = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[\wµμ.[\]]+|&&|\|\||==|!=|<=|>=|!~|\S/gs;
  return [...text.matchAll(shape)].map((match) => ({ text: match[0], at: match.index }));
}

/**
 * The parts of a condition that all must hold; null where one of several is enough, or the parentheses do not fit.
 * @param {string} text
 * @returns {string[]|null}
 */
export function parts(text) {
  const found = [];
  let depth = 0;
  let from = 0;
  let between = false;
  for (const { text: piece, at } of pieces(text)) {
    if (piece === "(") depth += 1;
    else if (piece === ")") depth -= 1;
    else if (piece === "between") between = true;
    else if (depth === 0 && piece === "and" && between) between = false;
    else if (depth === 0 && (piece === "&&" || piece === "and")) {
      found.push(text.slice(from, at));
      from = at + piece.length;
    } else if (depth === 0 && (piece === "||" || piece === "or")) return null;
    else if (piece === "and") between = false;
    if (depth < 0) return null;
  }
  if (depth !== 0) return null;
  found.push(text.slice(from));
  return found.map((part) => part.trim()).filter(Boolean);
}

/**
 * What is within parentheses that enclose all of a text.
 * @param {string} text
 * @returns {string}
 */
function bare(text) {
  const trimmed = text.trim();
  if (!trimmed.startsWith("(") || !trimmed.endsWith(")")) return trimmed;
  let depth = 0;
  for (const { text: piece, at } of pieces(trimmed)) {
    if (piece === "(") depth += 1;
    if (piece === ")") depth -= 1;
    if (depth === 0 && at < trimmed.length - 1) return trimmed;
  }
  return bare(trimmed.slice(1, -1));
}

/** @param {string} list of literals */
const literals = (list) => list.match(new RegExp(LITERAL, "g")) ?? [];

/**
 * What a part says, where it is what facets write.
 * @param {string} part
 * @returns {Term|null}
 */
export function termOf(part) {
  const text = bare(part);
  const negated = /^(?:!|not\s)\s*\((.*)\)$/s.exec(text);
  if (negated) {
    const inner = termOf(negated[1]);
    /** @type {Record<string, Term["kind"]>} */
    const opposite = { is: "not", not: "is", known: "missing", missing: "known", frame: "noframe" };
    return inner && opposite[inner.kind] ? { ...inner, kind: opposite[inner.kind] } : null;
  }
  const frame = FRAME.exec(text);
  if (frame) return { column: "", kind: frame[1] ? "noframe" : "frame", values: [literalKey(frame[2])] };
  const known = KNOWN.exec(text);
  if (known) return { column: known[1], kind: known[2] === "~" ? "known" : "missing", values: [] };
  const compared = COMPARED.exec(text);
  if (compared)
    return { column: compared[1], kind: compared[2] === "==" ? "is" : "not", values: [literalKey(compared[3])] };
  const listed = LISTED.exec(text);
  if (listed) return { column: listed[1], kind: listed[2] ? "not" : "is", values: literals(listed[3]).map(literalKey) };
  const between = BETWEEN.exec(text);
  return between && { column: between[1], kind: "between", values: [between[2], between[3]].map(literalKey) };
}

/** @param {Term} term */
function termText({ column, kind, values }) {
  const [first, ...more] = values.map(literalOf);
  if (kind === "frame") return `has stack frame ${first}`;
  if (kind === "noframe") return `!(has stack frame ${first})`;
  if (kind === "known") return `${column} ~ "*"`;
  if (kind === "missing") return `${column} !~ "*"`;
  if (kind === "between") return `${column} between ${first} and ${more[0]}`;
  const list = `(${[first, ...more].join(", ")})`;
  if (more.length > 0) return `${column} ${kind === "not" ? "not in" : "in"} ${list}`;
  return `${column} ${kind === "not" ? "!=" : "=="} ${first}`;
}

/**
 * The parts of a filter, of which one is all of it where it cannot be divided.
 * @param {string} text
 */
function dividedParts(text) {
  if (text.trim() === "") return [];
  return parts(text) ?? [`(${text.trim()})`];
}

/**
 * What a filter says of a column by values; of stacks the column is empty.
 * @param {string} text
 * @param {string} column
 * @returns {Said}
 */
export function saidOf(text, column) {
  /** @type {Said} */
  const said = { only: new Set(), never: new Set(), range: null };
  if (!isCondition(text)) return said;
  for (const part of dividedParts(text)) {
    const term = termOf(part);
    if (term?.column !== column) continue;
    if (term.kind === "is" || term.kind === "frame") term.values.forEach((key) => said.only.add(key));
    else if (term.kind === "not" || term.kind === "noframe") term.values.forEach((key) => said.never.add(key));
    else if (term.kind === "between") said.range = { low: term.values[0], high: term.values[1] };
    else (term.kind === "missing" ? said.only : said.never).add("");
  }
  return said;
}

/**
 * A filter without what it says of a column by values.
 * @param {string} text
 * @param {string} column
 */
export function without(text, column) {
  if (!isCondition(text)) return text;
  return dividedParts(text)
    .filter((part) => termOf(part)?.column !== column)
    .join(" && ");
}

/**
 * A filter with other terms of a column; they stand where the first of those before them stood.
 * @param {string} text
 * @param {string} column
 * @param {Term[]} terms
 */
function withTerms(text, column, terms) {
  const all = dividedParts(text);
  const at = all.findIndex((part) => termOf(part)?.column === column);
  const others = all.filter((part) => termOf(part)?.column !== column);
  others.splice(at < 0 ? others.length : at, 0, ...terms.map(termText));
  return others.join(" && ");
}

/**
 * @param {string} column
 * @param {Said} said
 * @returns {Term[]}
 */
function termsOf(column, { only, never, range }) {
  /** @type {Term[]} */
  const terms = [];
  const values = (/** @type {Set<string>} */ keys) => [...keys].filter((key) => key !== "");
  if (column === "") {
    for (const key of only) terms.push({ column, kind: "frame", values: [key] });
    for (const key of never) terms.push({ column, kind: "noframe", values: [key] });
    return terms;
  }
  if (values(only).length > 0) terms.push({ column, kind: "is", values: values(only) });
  if (values(never).length > 0) terms.push({ column, kind: "not", values: values(never) });
  if (only.has("")) terms.push({ column, kind: "missing", values: [] });
  if (never.has("")) terms.push({ column, kind: "known", values: [] });
  if (range) terms.push({ column, kind: "between", values: [range.low, range.high] });
  return terms;
}

/**
 * The filter after a value was included or excluded, or is so no more. A row has one value in a column, so rows without any are
 * not wanted together with values.
 * @param {string} text
 * @param {string} column empty for stacks
 * @param {string} literal of the value; empty for rows that have none
 * @param {"only"|"never"} way
 */
export function toggled(text, column, literal, way) {
  const said = saidOf(text, column);
  const key = literal === "" ? "" : literalKey(literal);
  const was = said[way].delete(key);
  said.only.delete(key);
  said.never.delete(key);
  if (!was) said[way].add(key);
  if (way === "only" && !was && column !== "") {
    if (key === "") said.only = new Set([""]);
    else said.only.delete("");
  }
  return withTerms(text, column, termsOf(column, said));
}

/**
 * The filter with another range of a column, or with none.
 * @param {string} text
 * @param {string} column
 * @param {{low: string, high: string}|null} range
 */
export function ranged(text, column, range) {
  return withTerms(text, column, termsOf(column, { ...saidOf(text, column), range }));
}

/** Said where a filter cannot be given a condition. */
export const TAKES_NO_CONDITION = "The filter looks for text, so no condition can be added to it.";

/**
 * A filter with one more condition. What it says of the same column before is replaced, so that selecting within what is selected
 * does not make it longer; null where it looks for text and takes no condition.
 * @param {string} filter
 * @param {string} condition
 * @param {string} [column] of which it is
 * @returns {string|null}
 */
export function withCondition(filter, condition, column = "") {
  if (filter.trim() === "" || condition === "") return filter.trim() === "" ? condition : filter;
  if (!isCondition(filter)) return null;
  const known = parts(filter);
  const added = parts(condition) ?? [condition];
  if (known && added.every((part) => known.includes(part))) return filter;
  const rest = known === null ? `(${filter})` : column ? without(filter, column) : filter;
  return rest ? `${rest} && ${condition}` : condition;
}
