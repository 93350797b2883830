// Rows of a stored capture, a page at a time, as the table comes to need them.

import { get, isAborted } from "../../lib/api.js";
import { settled } from "../../lib/dom.js";

const PAGE_ROWS = 200;
const MOST_PAGES = 80;

/** Sends `rows` when there are new ones, `error` with `detail`. */
export class RowSource extends EventTarget {
  #pages = new Map();
  #asked = new Map();
  #wanted = { first: 0, last: 0 };
  #fetch = settled(40, () => this.#load());

  /**
   * @param {string} path of the capture in the API
   */
  constructor(path) {
    super();
    this.path = path;
    this.query = null;
    this.count = 0;
    this.total = 0;
    this.columns = [];
    this.known = false;
  }

  /**
   * Begins again with another query; what is shown stays until its first page is there.
   * @param {{stream: number, filter: string, sort: string, order: string, start: number|null, end: number|null}} query
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

  /** Says which rows are to be seen, `last` not included. */
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

  async #page(page, first) {
    const controller = new AbortController();
    const query = this.query;
    this.#asked.set(page, controller);
    try {
      const answer = await get(
        `${this.path}/rows`,
        { ...query, offset: page * PAGE_ROWS, limit: PAGE_ROWS },
        controller.signal,
      );
      if (query !== this.query) return;
      if (first) this.#pages.clear();
      // Beside its cells a row has the line that the kernel would print, where that is known.
      answer.texts?.forEach((text, i) => {
        answer.rows[i].text = text;
      });
      this.#keep(page, answer.rows);
      Object.assign(this, { count: answer.matched, total: answer.total, columns: answer.columns, known: true });
      this.dispatchEvent(new CustomEvent("rows", { detail: { first } }));
    } catch (error) {
      if (!isAborted(error) && query === this.query) this.dispatchEvent(new CustomEvent("error", { detail: error }));
    } finally {
      if (this.#asked.get(page) === controller) this.#asked.delete(page);
    }
  }

  #keep(page, rows) {
    this.#pages.delete(page);
    this.#pages.set(page, rows);
    // A map keeps the order in which things were put in, so the first is the one that was not asked for the longest.
    if (this.#pages.size > MOST_PAGES) this.#pages.delete(this.#pages.keys().next().value);
  }
}
