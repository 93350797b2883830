// What can stand at a place of a filter: a column, an operator, a value, a word between conditions. Pure.

import { pieces } from "./filter_text.js";

/** @import { TableColumn } from "./virtual_table.js" */
/**
 * @typedef {object} FilterPlace
 * @property {"column"|"operator"|"value"|"open"|"next"|"and"|"join"|"frame"} wants
 * @property {string} prefix what is typed of it already; of a text without its quote
 * @property {number} start where that begins
 * @property {string} column that an operator or a value belongs to; empty for the functions of stacks
 * @property {string} operator before a value
 */

const JOINS = ["&&", "||", "and", "or"];
const COMPARED = ["==", "!=", "<", "<=", ">", ">=", "&", "~", "!~", "contains", "matches"];

/** What is offered of a number and of a text: what is put in, and what it says. */
const NUMBER_OPERATORS = [
  ["==", "equal"],
  ["!=", "not equal"],
  [">", "greater"],
  [">=", "greater or equal"],
  ["<", "less"],
  ["<=", "less or equal"],
  ["in (", "one of several"],
  ["between", "from one number to another"],
  ["&", "has a bit of"],
];
const TEXT_OPERATORS = [
  ["==", "equal"],
  ["!=", "not equal"],
  ["contains", "has this in it"],
  ["~", 'begins or ends so: "ssh*"'],
  ["in (", "one of several"],
  ["matches", "a regular expression"],
  ["not in (", "none of several"],
];

/**
 * What the filter wants before the caret.
 * @param {string} text
 * @param {number} caret
 * @returns {FilterPlace}
 */
export function filterPlace(text, caret) {
  const before = text.slice(0, caret);
  const all = pieces(before);
  const last = all.at(-1);
  const touches = last !== undefined && last.at + last.text.length === before.length;
  const quote = touches ? /^(["'])(.*)$/s.exec(last.text) : null;
  const isOpenText = quote !== null && !(quote[2].endsWith(quote[1]) && !/(?:^|[^\\])\\(?:\\\\)*.$/s.test(quote[2]));
  const isWord = touches && /^-?[\w.]/.test(last.text);
  const partial = isOpenText || isWord ? all.pop() : undefined;
  /** @type {FilterPlace} */
  const place = {
    wants: "column",
    prefix: partial ? (isOpenText ? (quote?.[2] ?? "") : partial.text) : "",
    start: partial ? partial.at : caret,
    column: "",
    operator: "",
  };
  for (const { text: piece } of all) step(place, piece);
  return place;
}

/**
 * @param {FilterPlace} place
 * @param {string} piece
 */
function step(place, piece) {
  switch (place.wants) {
    case "column":
      if (["(", "!", "not"].includes(piece)) return;
      if (piece === "has") place.wants = "frame";
      else Object.assign(place, { wants: "operator", column: piece });
      return;
    case "frame":
      if (piece === "frame") Object.assign(place, { wants: "value", column: "", operator: "has stack frame" });
      return;
    case "operator":
      if (piece === "in") Object.assign(place, { wants: "open", operator: "in" });
      else if (piece === "between" || COMPARED.includes(piece))
        Object.assign(place, { wants: "value", operator: piece });
      return;
    case "open":
      place.wants = "value";
      return;
    case "value":
      place.wants = place.operator === "in" ? "next" : place.operator === "between" ? "and" : "join";
      return;
    case "and":
      Object.assign(place, { wants: "value", operator: "to" });
      return;
    case "next":
      place.wants = piece === "," ? "value" : "join";
      return;
    default:
      if (JOINS.includes(piece)) Object.assign(place, { wants: "column", column: "", operator: "" });
  }
}

/**
 * @typedef {object} Offer
 * @property {string} label
 * @property {string} insert in place of what is typed of it
 * @property {string} detail
 */

/**
 * What is offered at a place, but for values, which have to be asked for.
 * @param {FilterPlace} place
 * @param {TableColumn[]} columns
 * @param {(name: string) => boolean} canName whether a filter can name a column
 * @returns {Offer[]}
 */
export function offers(place, columns, canName) {
  const { wants, prefix } = place;
  const typed = prefix.toLowerCase();
  const begins = (/** @type {string} */ word) => word.toLowerCase().startsWith(typed);
  if (wants === "column") {
    const named = columns.filter(({ name, type }) => type !== "stack" && canName(name));
    const first = named.filter(({ name }) => begins(name));
    const then = named.filter(({ name }) => !begins(name) && name.toLowerCase().includes(typed));
    const frames = columns.some(({ type }) => type === "stack") && begins("has stack frame");
    return [
      ...[...first, ...then].map((column) => ({
        label: column.name,
        insert: `${column.name} `,
        detail: kindOf(column),
      })),
      ...(frames ? [{ label: "has stack frame", insert: "has stack frame ", detail: "a function in the stack" }] : []),
    ];
  }
  if (wants === "frame") return [{ label: "stack frame", insert: "stack frame ", detail: "a function in the stack" }];
  if (wants === "operator") {
    const column = columns.find(({ name }) => name === place.column);
    const all = column?.type === "text" ? TEXT_OPERATORS : NUMBER_OPERATORS;
    return all
      .filter(([word]) => begins(word))
      .map(([word, detail]) => ({ label: word, insert: word.endsWith("(") ? word : `${word} `, detail }));
  }
  /** @type {Record<string, [word: string, detail: string][]>} */
  const words = {
    open: [["(", "values, comma-separated"]],
    next: [
      [",", "one more"],
      [")", "no more"],
    ],
    and: [["and", "the greater number"]],
    join: [
      ["&&", "and also"],
      ["||", "or"],
    ],
  };
  const word = (/** @type {[string, string]} */ [label, detail]) => ({
    label,
    insert: label === "(" ? label : `${label} `,
    detail,
  });
  return (words[wants] ?? []).filter(([label]) => begins(label)).map(word);
}

/** @param {TableColumn} column */
function kindOf({ type, display }) {
  if (display === "time_ns") return "moment, ns from the start";
  if (display === "duration_ns") return "duration, ns";
  return type === "text" ? "text" : "number";
}

/**
 * Whether values that occur can be offered at a place: a part of a text or a pattern is something else.
 * @param {FilterPlace} place
 */
export function wantsValues({ wants, operator }) {
  return wants === "value" && !["contains", "matches", "&", "to"].includes(operator);
}

/**
 * The filter with something in place of what was typed of it, and where the caret is then.
 * @param {string} text
 * @param {number} caret
 * @param {FilterPlace} place
 * @param {string} insert
 */
export function filledFilter(text, caret, place, insert) {
  const isClose = /^[,)]/.test(insert);
  const typed = text.slice(0, place.start);
  const before = isClose ? typed.trimEnd() : typed;
  // Operators and values stand apart from what is before them, but for what is in parentheses.
  const space = before === "" || /[\s(!]$/.test(before) || isClose ? "" : " ";
  const head = before + space + insert;
  return { text: head + text.slice(caret).trimStart(), caret: head.length };
}
