// What the tabs of a range have in common: the server is asked once for each range and choice of tracks, what is superseded is
// given up, and what goes wrong is told in the tab.

import { Latest, get } from "../../../lib/api.js";
import { h, put } from "../../../lib/dom.js";
import { note, showError, waitFor } from "../../../lib/notice.js";

/** @import { Answers } from "../../../../../api.js" */
/** @import { RangeOver } from "./range_over.js" */
/** @import { RangeParts } from "./range_tabs.js" */

/**
 * A tab that shows what one route answers.
 * @template {keyof Answers["GET"]} Path
 */
export class RangeAsk {
  #latest = new Latest();
  #asked = "";

  /**
   * @param {RangeParts} parts
   * @param {Path} path
   * @param {string} doing what the line of progress says
   */
  constructor(parts, path, doing) {
    this.parts = parts;
    this.context = parts.context;
    this.path = path;
    this.doing = doing;
    this.problem = h("div");
    this.body = h("div");
    this.element = h("div", { class: "range-tab" }, this.problem, this.body);
    /** @type {RangeOver|null} */
    this.over = null;
  }

  /**
   * What is asked for besides the range and its tracks.
   * @param {RangeOver} over
   * @returns {Record<string, unknown>}
   */
  query({ start, end, tracks }) {
    return { start, end, tracks };
  }

  /**
   * Shows what the server answered.
   * @param {Answers["GET"][Path]} _answer
   */
  draw(_answer) {}

  /** Draws what is there anew: it is sorted in another way. */
  redraw() {}

  /**
   * Asks for a range, if it is not the one that is shown.
   * @param {RangeOver} over
   */
  async show(over) {
    this.over = over;
    const query = this.query(over);
    const { end_ns, streams } = this.context.info;
    // A stream that was removed and computed again has the number that it had.
    const asked = JSON.stringify([query, end_ns, streams.map(({ rows, rule }) => (rule ? rows : 0))]);
    if (asked === this.#asked) {
      this.redraw();
      return;
    }
    this.#asked = asked;
    this.element.classList.add("is-waiting");
    try {
      const answer = await waitFor(
        this.doing,
        this.#latest.run((signal) => get(this.path, { id: this.context.id, ...query }, signal)),
        () => this.#cancel(over),
      );
      if (answer === undefined) return;
      put(this.problem);
      this.draw(answer);
      this.element.classList.remove("is-waiting");
    } catch (error) {
      this.#asked = "";
      put(this.body);
      this.element.classList.remove("is-waiting");
      showError(this.problem, error, () => void this.show(over));
    }
  }

  /**
   * The person does not wait any more.
   * @param {RangeOver} over
   */
  #cancel(over) {
    this.hide();
    const again = h("button", { type: "button", text: "Read it", on: { click: () => void this.show(over) } });
    put(this.problem, h("p", {}, "Given up. ", again));
  }

  /** Gives up what is under way. */
  hide() {
    this.#latest.cancel();
    if (this.element.classList.contains("is-waiting")) this.#asked = "";
    this.element.classList.remove("is-waiting");
  }

  /**
   * Goes to the rows of a stream that a filter finds, of the range and of the tracks that it is over.
   * @param {number} stream
   * @param {string} filter
   * @param {{sort?: string, order?: "asc"|"desc"}} [order]
   */
  toTable(stream, filter, { sort = "", order = "desc" } = {}) {
    const marked = this.marked(this.over?.filter ?? "", " || ");
    if (this.over?.rows && marked === "")
      note("The table cannot be filtered by these tracks: it shows the rows of all.");
    const both = filter && marked ? `${filter} && (${marked})` : filter || marked;
    this.context.state.set({ tab: "events", stream, filter: both, sort, order, row: null });
  }

  /**
   * The condition that rows are of marked tracks, as this tab's rows are.
   * @param {string} condition that the thread or the CPU of a row is marked
   * @param {string} _or between its terms
   */
  marked(condition, _or) {
    return condition;
  }

  /** The same as a part of a query. */
  get sqlMarked() {
    const found = /^ and \((.*)\)$/.exec(this.over?.sql ?? "");
    return found ? ` and (${this.marked(found[1], " or ")})` : "";
  }

  /**
   * Opens a query.
   * @param {string} sql
   */
  toSql(sql) {
    if (this.over?.rows && this.over.sql === "") note("The query cannot name these tracks: it reads the rows of all.");
    this.context.state.set({ tab: "sql", sql });
  }

  /**
   * Selects a moment of a track, and says so where there is none.
   * @param {string} key
   * @param {number} stream
   * @param {number} time
   */
  async toTrack(key, stream, time) {
    if (await this.parts.pick(key, stream, time)) return;
    note("The tree has no track of it. “Table” shows its rows.");
  }
}

/**
 * What has no line in a table, in words; empty where nothing is left out.
 * @param {{lines: number, rows: number, has_further: boolean}} rest
 * @param {(lines: number) => string} lines
 * @param {(rows: number) => string} rows
 */
export function restWords(rest, lines, rows) {
  if (rest.rows === 0) return "";
  const least = rest.has_further ? "at least " : "";
  return `; ${least}${lines(Math.max(rest.lines, rest.has_further ? 1 : 0))} more with ${rows(rest.rows)} not shown`;
}
