// The entries of the catalogue that match, a page at a time, as the table comes to need them.

import { get, isAborted } from "../lib/api.js";
import { Emitter } from "../lib/emitter.js";
import { settled } from "../lib/dom.js";

const PAGE = 200;
const MOST_PAGES = 40;

/** @import { WireItem } from "../../../api.js" */

/**
 * Sends `rows` when there are new ones, with whether they are the first of another query; `error` with what went wrong.
 * @extends {Emitter<{rows: {first: boolean}, error: unknown}>}
 */
export class CatalogSource extends Emitter {
  /** @type {Map<number, WireItem[]>} */
  #pages = new Map();
  /** @type {Map<number, AbortController>} */
  #asked = new Map();
  #wanted = [0, 0];
  #fetch = settled(40, () => this.#load());

  constructor() {
    super();
    /** @type {{q: string, kind: string, in: string}|null} */
    this.query = null;
    this.count = 0;
    /** @type {Map<string, number>} */
    this.kinds = new Map();
  }

  /**
   * Begins again; what is shown stays until the first answer is there.
   * @param {{q: string, kind: string, in: string}} query
   */
  reset(query) {
    this.query = query;
    for (const controller of this.#asked.values()) controller.abort();
    this.#asked.clear();
    return this.#page(0, true);
  }

  /**
   * The entry at a place, or nothing while it is on its way.
   * @param {number} index
   */
  entry(index) {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /**
   * Its cells.
   * @param {number} index
   */
  row(index) {
    const entry = this.entry(index);
    return (
      entry &&
      /** @type {import("../lib/virtual_table.js").TableRow} */ ([
        entry.shown ?? entry.name,
        entry.kind,
        entry.in ?? "",
        entry.note,
      ])
    );
  }

  /**
   * Says which rows are to be seen, `last` not included.
   * @param {number} first
   * @param {number} last
   */
  need(first, last) {
    this.#wanted = [first, last];
    for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1)
      if (!this.#pages.has(page)) return this.#fetch();
  }

  #load() {
    const [first, last] = this.#wanted;
    for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1)
      if (!this.#pages.has(page) && !this.#asked.has(page)) this.#page(page, false);
  }

  /**
   * @param {number} page
   * @param {boolean} first
   */
  async #page(page, first) {
    const { query } = this;
    const controller = new AbortController();
    this.#asked.set(page, controller);
    try {
      const answer = await get("/api/catalog", { ...query, offset: page * PAGE, limit: PAGE }, controller.signal);
      if (query !== this.query) return;
      if (first) this.#pages.clear();
      this.#pages.set(page, answer.items);
      const [oldest] = this.#pages.keys();
      if (this.#pages.size > MOST_PAGES) this.#pages.delete(oldest);
      this.count = answer.total;
      this.kinds = new Map(answer.kinds.map(({ kind, count }) => [kind, count]));
      this.emit("rows", { first });
    } catch (error) {
      if (!isAborted(error) && query === this.query) this.emit("error", error);
    } finally {
      if (this.#asked.get(page) === controller) this.#asked.delete(page);
    }
  }
}
