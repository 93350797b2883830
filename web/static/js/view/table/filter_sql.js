// A filter of rows as a condition in SQL, or why SQL cannot say it. Pure.

import { inColumn } from "../../lib/filter_amount.js";
import { isCondition } from "../../lib/filter_kind.js";
import { pieces } from "../../lib/filter_text.js";
import { unquoted } from "../../lib/quoted_text.js";
import { sqlName, sqlText } from "../../lib/sql_words.js";

/** @import { TableColumn } from "../../lib/virtual_table.js" */

/** What SQL cannot say, in words. */
export class NoSql extends Error {}

/**
 * The condition; empty where all rows match.
 * @param {string} filter
 * @param {TableColumn[]} columns of the stream
 * @returns {string}
 */
export function filterSql(filter, columns) {
  if (filter.trim() === "") return "";
  if (!isCondition(filter)) throw new NoSql("SQL has no search for text in all columns");
  const reader = new Reader(filter, columns);
  const sql = reader.any();
  if (reader.next !== undefined) throw new NoSql(`the filter cannot be read at ${reader.next}`);
  return sql;
}

/** Characters that mean something in `glob`. */
const globbed = (/** @type {string} */ text) => text.replace(/[[*?]/g, "[$&]");

/** Reads a condition as the server does. */
class Reader {
  /**
   * @param {string} filter
   * @param {TableColumn[]} columns
   */
  constructor(filter, columns) {
    this.pieces = pieces(filter).map(({ text }) => text);
    this.names = new Set(columns.map(({ name }) => name));
    this.columns = columns;
    /** The column that values are compared with. */
    this.column = columns[0];
    this.stacks = columns.filter(({ type }) => type === "stack").map(({ name }) => name);
    this.at = 0;
  }

  /** @returns {string|undefined} */
  get next() {
    return this.pieces[this.at];
  }

  /** @param {...string} words */
  take(...words) {
    if (!words.includes(this.next ?? "")) return false;
    this.at += 1;
    return true;
  }

  /** @param {string} word */
  must(word) {
    if (!this.take(word)) throw new NoSql(`the filter cannot be read at ${this.next ?? "its end"}`);
  }

  /** @returns {string} */
  any() {
    const parts = [this.all()];
    while (this.take("||", "or")) parts.push(this.all());
    return parts.length > 1 ? parts.map((part) => `(${part})`).join(" or ") : parts[0];
  }

  /** @returns {string} */
  all() {
    const parts = [this.one()];
    while (this.take("&&", "and")) parts.push(this.one());
    return parts.length > 1 ? parts.map((part) => `(${part})`).join(" and ") : parts[0];
  }

  /** @returns {string} */
  one() {
    // What is missing satisfies no comparison, and so it does satisfy the opposite.
    if (this.take("!", "not")) return `not coalesce(${this.one()}, 0)`;
    if (!this.take("(")) return this.comparison();
    const inner = this.any();
    this.must(")");
    // As in C: the bits that are set beside zero.
    if (/ & -?\d+\) <> 0$/.test(inner) && (this.next === "==" || this.next === "!=")) {
      const isEqual = this.take("==");
      if (!isEqual) this.must("!=");
      this.must("0");
      return isEqual ? `not coalesce(${inner}, 0)` : inner;
    }
    return inner;
  }

  /** @returns {string} */
  comparison() {
    if (this.next === "has" && this.pieces[this.at + 1] === "stack") {
      this.at += 3;
      return this.frame(this.text());
    }
    const name = this.next ?? "";
    const own = name.replace(/^args\./, "");
    const known = this.names.has(name) ? name : own;
    const field = sqlName(known);
    const column = this.columns.find((one) => one.name === known);
    if (!column) throw new NoSql(`there is no column ${name}`);
    this.column = column;
    this.at += 1;
    const isNot = this.take("not");
    const said = this.compared(field);
    return isNot ? `not coalesce(${said}, 0)` : said;
  }

  /**
   * @param {string} field
   * @returns {string}
   */
  compared(field) {
    const sign = this.next ?? "";
    this.at += 1;
    switch (sign) {
      case "==":
        return `${field} = ${this.value()}`;
      case "!=":
        return `${field} <> ${this.value()}`;
      case "<":
      case "<=":
      case ">":
      case ">=":
        return `${field} ${sign} ${this.value()}`;
      case "&":
        return `(${field} & ${this.value()}) <> 0`;
      case "~":
        return this.pattern(field, this.text());
      case "!~":
        return `not coalesce(${this.pattern(field, this.text())}, 0)`;
      case "contains":
        return `instr(${field}, ${sqlText(this.text())}) > 0`;
      case "in":
        return this.list(field);
      case "between": {
        const low = this.value();
        this.must("and");
        return `${field} between ${low} and ${this.value()}`;
      }
      case "matches":
        throw new NoSql("SQL has no regular expressions");
      default:
        throw new NoSql(`the filter cannot be read at ${sign || "its end"}`);
    }
  }

  /** @param {string} field */
  list(field) {
    this.must("(");
    const values = [this.value()];
    while (this.take(",")) values.push(this.value());
    this.must(")");
    return `${field} in (${values.join(", ")})`;
  }

  /**
   * @param {string} field
   * @param {string} text
   */
  pattern(field, text) {
    const [first, last] = [text.startsWith("*"), text.length > 1 && text.endsWith("*")];
    if (!first && !last) return `${field} = ${sqlText(text)}`;
    const inner = globbed(text.slice(first ? 1 : 0, last ? -1 : undefined));
    return `${field} glob ${sqlText(`${first ? "*" : ""}${inner}${last ? "*" : ""}`)}`;
  }

  /** @param {string} name */
  frame(name) {
    const [first, last] = [name.startsWith("*"), name.length > 1 && name.endsWith("*")];
    const inner = globbed(name.slice(first ? 1 : 0, last ? -1 : undefined));
    // Functions stand in one text with ; between them.
    const pattern = sqlText(`*${first ? "" : ";"}${inner}${last ? "" : ";"}*`);
    if (this.stacks.length === 0) throw new NoSql("the rows have no stacks");
    const parts = this.stacks.map((column) => `coalesce(';' || stack(${sqlName(column)}) || ';', '') glob ${pattern}`);
    return parts.length > 1 ? `(${parts.join(" or ")})` : parts[0];
  }

  /** @returns {string} */
  text() {
    const piece = this.next ?? "";
    const text = /^["']/.test(piece) ? unquoted(piece) : null;
    if (text === null) throw new NoSql(`the filter cannot be read at ${piece || "its end"}`);
    this.at += 1;
    return text;
  }

  /** @returns {string} */
  value() {
    if (/^["']/.test(this.next ?? "")) return sqlText(this.text());
    const isNegative = this.take("-");
    const piece = this.next ?? "";
    const amount = inColumn(piece, this.pieces[this.at + 1] ?? "", this.column);
    if (amount) {
      this.at += amount.pieces;
      if (amount.number === null) throw new NoSql(`${piece} is no number of ${this.column.name}`);
      return String(isNegative ? -amount.number : amount.number);
    }
    if (!/^(0[xX][0-9a-fA-F]+|\d+)$/.test(piece)) throw new NoSql(`the filter cannot be read at ${piece || "its end"}`);
    this.at += 1;
    // Numbers from 2^63 on are those with the same bits.
    return String(isNegative ? -BigInt(piece) : BigInt.asIntN(64, BigInt(piece)));
  }
}
