// What a page that was saved as a file answers in the place of the server: what the server had answered when it was saved, rows sorted
// and searched here, tables of two sides sorted here, and flame graphs zoomed here. Pure.

import { LINES, resorted } from "./saved_against.js";
import { focused, focusedDifference } from "./saved_flame.js";
import { arranged } from "./saved_rows.js";

/** @import { AgainstTable, RowsPage } from "../../../api.js" */

/**
 * @typedef {object} SavedAnswer
 * @property {string} address path and query that was asked for
 * @property {"json"|"bytes"|"refused"} type what it is; `refused` are the words in which the server refused
 * @property {string} gzip what was answered, compressed, in base64
 */
/**
 * @typedef {object} SavedView a view of a capture in a file
 * @property {string|null} block of the investigation that has it; null where the file is of this view
 * @property {string} capture its id
 * @property {string} title of the capture
 * @property {string} view the query of its address
 * @property {string[]} tabs what was saved
 * @property {string[]} left_out what is not in the file of it, in sentences
 * @property {number[]} answers which of the file's
 */
/**
 * @typedef {object} SavedFile what a file holds, as `http/saved` of the console writes it
 * @property {number} version of this form
 * @property {string|null} from the address of the page; null where it is not known
 * @property {number} saved_unix_ms
 * @property {string[]} left_out what is not in it, in sentences
 * @property {{id: string, pictures: {block: string, why: string}[], answers: number[]}|null} investigation with the blocks whose view
 *   is only a picture; null where the file is of a capture
 * @property {SavedView[]} views
 * @property {SavedAnswer[]} answers each once
 */
/** @typedef {{path: string, params: Map<string, string>}} Asked */

/** The version of {@link SavedFile} that this release reads. */
export const SAVED_VERSION = 2;
/** Parameters that only say how large the place on the screen is. */
const LOOK = new Set(["width", "columns", "bins", "marks", "limit_tracks", "limit_lanes"]);
/** Of rows, what is done here. */
const ARRANGE = new Set(["sort", "order", "then", "offset", "limit", "filter", "start", "end"]);
/** Of a flame graph, what is done here. */
const FOCUS = new Set(["focus", "search", "width"]);

/**
 * An address taken apart: without what a share's page puts before it.
 * @param {string} address
 * @returns {Asked}
 */
export function readAddress(address) {
  const [path, query = ""] = address.split("?");
  return { path: path.replace(/^\/s\/[0-9a-f]{16}(?=\/)/, ""), params: new Map(new URLSearchParams(query)) };
}

/**
 * One text for addresses that ask for the same.
 * @param {Asked} asked
 * @param {Set<string>} [without] parameters that do not matter
 */
export function keyOf({ path, params }, without = new Set()) {
  const kept = [...params].filter(([name]) => !without.has(name)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${path}?${new URLSearchParams(kept)}`;
}

/** @param {Asked} asked @returns {boolean} */
const asksForRows = ({ path }) => path.endsWith("/rows");
/**
 * Whether a table of two sides is asked for.
 * @param {Asked} asked
 * @returns {boolean}
 */
const asksForSides = ({ path, params }) => path.endsWith("/compare") && params.has("lines");
/**
 * Whether stacks beside others are asked for.
 * @param {Asked} asked
 * @returns {boolean}
 */
const asksForDifference = ({ path }) => path.endsWith("/flame/compare");
/**
 * Whether a graph of stacks is asked for: of rows, of a map of a script, or beside others.
 * @param {Asked} asked
 * @returns {boolean}
 */
const asksForFlame = ({ path, params }) =>
  path.endsWith("/flame") ||
  path.endsWith("/flame/compare") ||
  (/\/maps\/\d+$/.test(path) && params.get("view") === "flame");

/** The answers of a file. */
export class SavedAnswers {
  /** @type {Map<string, SavedAnswer>} */
  #exact = new Map();
  /** The same without what only says how large something is drawn. @type {Map<string, SavedAnswer>} */
  #similar = new Map();
  /** @type {Map<string, {asked: Asked, answer: SavedAnswer}[]>} */
  #rows = new Map();
  /** @type {Map<string, SavedAnswer>} */
  #flames = new Map();
  /** Tables of two sides, in whatever order. @type {Map<string, SavedAnswer>} */
  #sides = new Map();
  /** Windows of a timeline by what is shown in them. @type {Map<string, {start: number, end: number, width: number, key: string, tracks?: string[]}[]>} */
  #windows = new Map();
  /** @type {Map<string, Promise<RowsPage>>} */
  #tables = new Map();

  /**
   * @param {SavedAnswer[]} answers
   * @param {(answer: SavedAnswer) => Promise<ArrayBuffer>} unpack
   */
  constructor(answers, unpack) {
    this.unpack = unpack;
    for (const answer of answers) this.#take(answer);
  }

  /** @param {SavedAnswer} answer */
  #take(answer) {
    const asked = readAddress(answer.address);
    this.#exact.set(keyOf(asked), answer);
    if (!this.#similar.has(keyOf(asked, LOOK))) this.#similar.set(keyOf(asked, LOOK), answer);
    if (asksForRows(asked)) grouped(this.#rows, keyOf(asked, ARRANGE), { asked, answer });
    if (asksForSides(asked)) this.#sides.set(keyOf(asked, LINES), answer);
    if (asksForFlame(asked) && !asked.params.get("focus")) {
      const key = keyOf(asked, FOCUS);
      const before = this.#flames.get(key);
      const width = (/** @type {SavedAnswer} */ one) => Number(readAddress(one.address).params.get("width"));
      if (!before || width(before) < width(answer)) this.#flames.set(key, answer);
    }
    const [start, end, width] = ["start", "end", "width"].map((name) => Number(asked.params.get(name) ?? NaN));
    if (width > 0 && end > start) {
      const tracks = asked.params.get("tracks")?.split(",");
      grouped(this.#windows, windowKey(asked), { start, end, width, key: keyOf(asked), ...(tracks ? { tracks } : {}) });
    }
  }

  /**
   * The window to ask for in the place of another one: the finest that has all of it, else what has most of it; null where there is none.
   * @template {{start: number, end: number, width: number}} W
   * @param {string} address of the window that is wanted
   * @param {W} wanted
   * @returns {W|null}
   */
  window(address, wanted) {
    const all = this.#windows.get(windowKey(readAddress(address))) ?? [];
    const pixel = (/** @type {{start: number, end: number, width: number}} */ one) => (one.end - one.start) / one.width;
    const shared = (/** @type {{start: number, end: number}} */ one) =>
      Math.min(one.end, wanted.end) - Math.max(one.start, wanted.start);
    const most = Math.max(0, ...all.map(shared));
    // A window that is a little shorter has the same: those that are asked for begin and end at whole pixels.
    const [best] = all.filter((one) => shared(one) > most * 0.98).toSorted((a, b) => pixel(a) - pixel(b));
    if (!best) return null;
    const { key: _key, ...window } = best;
    return { ...wanted, ...window };
  }

  /**
   * The answer to a request; null where the file has none.
   * @param {string} address
   * @returns {Promise<{type: SavedAnswer["type"], body: ArrayBuffer|string}|null>}
   */
  async find(address) {
    const asked = readAddress(address);
    if (asksForRows(asked)) return this.#arrange(asked);
    if (asksForSides(asked)) return this.#sort(asked);
    const exact = this.#exact.get(keyOf(asked));
    if (exact) return this.#whole(exact);
    if (asksForFlame(asked)) return this.#focus(asked);
    const similar = this.#similar.get(keyOf(asked, LOOK));
    return similar ? this.#whole(similar) : null;
  }

  /** @param {SavedAnswer} answer */
  async #whole(answer) {
    return { type: answer.type, body: await this.unpack(answer) };
  }

  /** @param {SavedAnswer} answer */
  async #json(answer) {
    return JSON.parse(new TextDecoder().decode(await this.unpack(answer)));
  }

  /** @param {Asked} asked */
  async #focus(asked) {
    const whole = this.#flames.get(keyOf(asked, FOCUS));
    if (!whole) return null;
    if (whole.type === "refused") return this.#whole(whole);
    const answer = await this.#json(whole);
    const [focus, search] = ["focus", "search"].map((name) => asked.params.get(name) ?? "");
    const graph = (asksForDifference(asked) ? focusedDifference : focused)(answer, focus, search);
    return { type: /** @type {const} */ ("json"), body: JSON.stringify(graph) };
  }

  /** @param {Asked} asked */
  async #sort(asked) {
    const saved = this.#sides.get(keyOf(asked, LINES));
    if (!saved) return null;
    if (saved.type === "refused") return this.#whole(saved);
    /** @type {AgainstTable} */
    const table = await this.#json(saved);
    const sorted = resorted(table, asked.params);
    return sorted && { type: saved.type, body: JSON.stringify(sorted) };
  }

  /** @param {Asked} asked */
  async #arrange(asked) {
    const key = keyOf(asked, ARRANGE);
    const pages = this.#rows.get(key);
    if (!pages) return null;
    if (!this.#tables.has(key)) this.#tables.set(key, this.#join(pages.map(({ answer }) => answer)));
    const table = await this.#tables.get(key);
    const saved = pages[0].asked.params;
    const page = table && arranged(table, saved, asked.params);
    return page ? { type: /** @type {const} */ ("json"), body: JSON.stringify(page) } : null;
  }

  /**
   * The pages of a table as one.
   * @param {SavedAnswer[]} pages
   * @returns {Promise<RowsPage>}
   */
  async #join(pages) {
    /** @type {RowsPage[]} */
    const read = await Promise.all(pages.map((page) => this.#json(page)));
    read.sort((a, b) => a.offset - b.offset);
    const [{ columns, total }] = read;
    /** @type {RowsPage} */
    const table = { columns, rows: [], total, matched: 0, offset: 0 };
    for (const { offset, rows, texts, numbers } of read) {
      // Pages of another length were asked for by the page itself.
      const known = table.rows.length - offset;
      if (known < 0 || known >= rows.length) continue;
      table.rows.push(...rows.slice(known));
      if (texts) table.texts = [...(table.texts ?? []), ...texts.slice(known)];
      if (numbers) table.numbers = [...(table.numbers ?? []), ...numbers.slice(known)];
    }
    table.matched = table.rows.length;
    return table;
  }
}

/** Of a request for a window, what must be the same: not which window, and not which of the tracks. */
const WINDOW = new Set([...LOOK, "start", "end", "tracks"]);

/** @param {Asked} asked */
const windowKey = (asked) => keyOf(asked, WINDOW);

/**
 * @template T
 * @param {Map<string, T[]>} map
 * @param {string} key
 * @param {T} value
 */
function grouped(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
