// Rows of a stored capture, a page at a time, as the table comes to need them.

import { get, isAborted } from "../../lib/api.js";
import { Emitter } from "../../lib/emitter.js";
import { settled } from "../../lib/dom.js";

const PAGE_ROWS = 200;
const MOST_PAGES = 80;

/** @import { TableColumn, TableRow } from "../../lib/virtual_table.js" */
/** @typedef {{stream: number, filter: string, sort: string, order: string, then: string, pairs: string, neighbours: string, start: number|null, end: number|null}} Query */

/**
 * Sends `rows` when there are new ones, with whether they are the first of a query; `error` with what went wrong.
 * @extends {Emitter<{rows: {first: boolean}, error: unknown}>}
 */
export class RowSource extends Emitter {
  /** @type {Map<number, TableRow[]>} */
  #pages = new Map();
  /** @type {Map<number, AbortController>} */
  #asked = new Map();
  #wanted = { first: 0, last: 0 };
  #fetch = settled(40, () => this.#load());

  /**
   * @param {string} id of the capture
   */
  constructor(id) {
    super();
    this.id = id;
    /** @type {Query|null} */
    this.query = null;
    this.count = 0;
    this.total = 0;
    /** @type {TableColumn[]} */
    this.columns = [];
  }

  /**
   * Begins again with another query; what is shown stays until its first page is there.
   * @param {Query} query
   * @param {number} near a row of the first page that is needed
   */
  async reset(query, near = 0) {
    this.query = query;
    this.#drop();
    await this.#page(Math.max(0, Math.floor(near / PAGE_ROWS)), true);
  }

  #drop() {
    for (const controller of this.#asked.values()) controller.abort();
    this.#asked.clear();
  }

  /**
   * Cells of a row, or nothing while they are on their way.
   * @param {number} index
   */
  row(index) {
    return this.#pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS];
  }

  /**
   * Says which rows are to be seen, `last` not included.
   * @param {number} first
   * @param {number} last
   */
  need(first, last) {
    this.#wanted = { first, last };
    for (let page = Math.floor(first / PAGE_ROWS); page * PAGE_ROWS < last; page += 1) {
      if (!this.#pages.has(page)) return this.#fetch();
    }
  }

  #load() {
    if (!this.query) return;
    const from = Math.floor(this.#wanted.first / PAGE_ROWS);
    const to = Math.floor(Math.max(this.#wanted.first, this.#wanted.last - 1) / PAGE_ROWS);
    // Pages that were scrolled past are not worth their work.
    for (const [page, controller] of this.#asked) {
      if (page < from - 1 || page > to + 1) {
        controller.abort();
        this.#asked.delete(page);
      }
    }
    for (let page = from; page <= to; page += 1)
      if (!this.#pages.has(page) && !this.#asked.has(page)) this.#page(page, false);
  }

  /**
   * @param {number} page
   * @param {boolean} first
   */
  async #page(page, first) {
    const controller = new AbortController();
    const query = this.query;
    this.#asked.set(page, controller);
    try {
      const answer = await get(
        "/api/captures/{id}/rows",
        { id: this.id, ...query, offset: page * PAGE_ROWS, limit: PAGE_ROWS },
        controller.signal,
      );
      if (query !== this.query) return;
      if (first) this.#pages.clear();
      // Beside its cells a row has its number in the stream, and the line that the kernel would print, where that is known.
      this.#keep(
        page,
        answer.rows.map((row, i) =>
          Object.assign(row, { text: answer.texts?.[i], number: answer.numbers?.[i] ?? answer.offset + i }),
        ),
      );
      this.count = answer.matched;
      this.total = answer.total;
      this.columns = answer.columns;
      this.emit("rows", { first });
    } catch (error) {
      if (!isAborted(error) && query === this.query) this.emit("error", error);
    } finally {
      if (this.#asked.get(page) === controller) this.#asked.delete(page);
    }
  }

  /**
   * @param {number} page
   * @param {TableRow[]} rows
   */
  #keep(page, rows) {
    this.#pages.delete(page);
    this.#pages.set(page, rows);
    // A map keeps the order in which things were put in, so the first is the one that was not asked for the longest.
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > MOST_PAGES) this.#pages.delete(oldest);
  }
}
