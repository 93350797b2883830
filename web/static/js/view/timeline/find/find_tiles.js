// What was found in windows of time, as finely as they have pixels: in tiles of a fixed number of columns that last a power of two
// of nanoseconds, so that a window that is moved asks for what is new only. Pure but for the asking.

import { addFound, nothingFound } from "./find_marks.js";

/** @import { FoundRows } from "../../../../../api.js" */
/** @import { Found } from "./find_marks.js" */

/** Columns of a tile. */
export const TILE_COLUMNS = 1024;
/** As many tiles as one request takes. */
const MOST_AT_ONCE = 4;
/** Tiles that are kept; the one that was drawn longest ago goes first. */
const MOST_KEPT = 64;

/**
 * The tiles that a window needs.
 * @param {{start: number, end: number}} shown
 * @param {number} pixels
 * @returns {{column: number, first: number, last: number}} `column`: nanoseconds of a column; the numbers of the first and last tile
 */
export function tilesOf({ start, end }, pixels) {
  const column = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, end - start) / Math.max(1, pixels))));
  const span = column * TILE_COLUMNS;
  return {
    column,
    first: Math.floor(start / span),
    last: Math.max(Math.floor(start / span), Math.ceil(end / span) - 1),
  };
}

/**
 * A part of what was found: the columns of one tile.
 * @param {Found} found
 * @param {number} at which of its tiles
 * @param {number} column nanoseconds
 * @returns {Found}
 */
export function tileOf(found, at, column) {
  const [from, to] = [at * TILE_COLUMNS, (at + 1) * TILE_COLUMNS];
  const cut = (/** @type {Map<string, Uint8Array>} */ marks) =>
    new Map(
      [...marks]
        .map(([key, marked]) => /** @type {const} */ ([key, marked.slice(from, to)]))
        .filter(([, marked]) => marked.includes(1)),
    );
  const start = found.start + from * column;
  return {
    ...found,
    start,
    end: start + TILE_COLUMNS * column,
    columns: TILE_COLUMNS,
    counts: found.counts.slice(from, to),
    tracks: cut(found.tracks),
    cpus: cut(found.cpus),
  };
}

/** The tiles that there are of one search. */
export class FoundTiles {
  /** @type {Map<string, Found>} */
  #kept = new Map();

  /**
   * @param {(stream: number) => string} nameOf what a stream's rows in the tree are called after
   */
  constructor(nameOf) {
    this.nameOf = nameOf;
  }

  /** Forgets all: something else is looked for, or the capture has grown. */
  clear() {
    this.#kept.clear();
  }

  /**
   * The tiles of a window that are there, and stretches of time of which there is none.
   * @param {ReturnType<typeof tilesOf>} wanted
   * @returns {{there: Found[], missing: {start: number, end: number}[]}}
   */
  at({ column, first, last }) {
    const span = column * TILE_COLUMNS;
    /** @type {Found[]} */
    const there = [];
    /** @type {{start: number, end: number}[]} */
    const missing = [];
    for (let number = first; number <= last; number += 1) {
      const key = `${column}:${number}`;
      const tile = this.#kept.get(key);
      if (tile) {
        // Used again: it is the last to go.
        this.#kept.delete(key);
        this.#kept.set(key, tile);
        there.push(tile);
      } else if (missing.at(-1)?.end === number * span) missing[missing.length - 1].end += span;
      else missing.push({ start: number * span, end: (number + 1) * span });
    }
    return { there, missing };
  }

  /**
   * Asks for the tiles of a window that are not there.
   * @param {ReturnType<typeof tilesOf>} wanted
   * @param {(range: {start: number, end: number, columns: number}, take: (part: FoundRows) => void) => Promise<boolean>} ask
   *   part by part; whether it came to the end
   */
  async fill(wanted, ask) {
    const { column } = wanted;
    const span = column * TILE_COLUMNS;
    for (const { start, end } of this.at(wanted).missing) {
      for (let from = start; from < end; from += MOST_AT_ONCE * span) {
        const to = Math.min(end, from + MOST_AT_ONCE * span);
        /** @type {Found|null} */
        let found = null;
        const take = (/** @type {FoundRows} */ part) => {
          found ??= nothingFound(part);
          addFound(found, part, this.nameOf);
        };
        if (!(await ask({ start: from, end: to, columns: (to - from) / column }, take)) || !found) return;
        for (let at = 0; at < (to - from) / span; at += 1)
          this.#keep(`${column}:${from / span + at}`, tileOf(found, at, column));
      }
    }
  }

  /**
   * @param {string} key
   * @param {Found} tile
   */
  #keep(key, tile) {
    this.#kept.set(key, tile);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break;
      this.#kept.delete(oldest);
    }
  }
}
