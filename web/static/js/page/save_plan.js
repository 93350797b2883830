// Which requests a page that is saved as a file must have answers for: those of what it shows, and more of what people go on to look
// at there: other zooms of timelines, all rows, the whole flame graph. Pure.

import { addressOf } from "../lib/api.js";
import { MOST_ROWS, ROWS_AT_ONCE, asksForRows, keyOf, readAddress } from "./saved_answers.js";

/** @import { Asked } from "./saved_answers.js" */

/** Zooms of a timeline: each shows a quarter of the one before. */
const ZOOMS = 4;
const ZOOM = 4;
/** The most pixels of a window that the server draws, and of those of tracks that they begin and end at multiples of. */
const MOST_WIDTH = 8192;
const QUANTUM = 256;
/** The most tracks of a request. */
const MOST_TRACKS = 400;
/** What is no answer of a view. */
const NO_VIEW = /\/(live|export|query|text|output\/text)$/;
/** Parameters that say what a view shows. */
const SHOWN = /** @type {const} */ (["start", "end", "filter"]);

/**
 * The addresses of what a page has asked for that belong to what it shows now.
 * @param {Iterable<string>} asked in the order in which they were asked for
 * @param {string} path below which those of the capture are
 * @param {{start: number|null, end: number|null, filter: string}} view
 * @returns {string[]} each once
 */
export function addressesOf(asked, path, view) {
  /** @type {Map<string, string>} */
  const kept = new Map();
  for (const address of asked) {
    const one = readAddress(address);
    const isOfCapture = address === path || address.startsWith(`${path}/`) || address.startsWith(`${path}?`);
    if (!isOfCapture || NO_VIEW.test(one.path) || isWindow(one)) continue;
    const differs = SHOWN.some((name) => one.params.has(name) && one.params.get(name) !== String(view[name] ?? ""));
    if (!differs) kept.set(keyOf(one), address);
  }
  return [...kept.values()];
}

/**
 * Whether it is asked for a window of a timeline: of these a file has its own.
 * @param {Asked} asked
 */
const isWindow = ({ path }) => path.endsWith("/timeline") || path.endsWith("/tracks/window");

/**
 * The newest request for a window that a page has made.
 * @param {Iterable<string>} asked
 * @param {string} path of the route, below that of the capture
 */
export function newestWindow(asked, path) {
  return [...asked].findLast((address) => address.split("?")[0] === path) ?? null;
}

/**
 * Windows of a timeline of binned rows, the widest first: the whole capture, then what is shown in more and more detail.
 * @param {string} address the newest that was asked for
 * @param {number} duration of the capture
 * @returns {string[]}
 */
export function zoomsOf(address, duration) {
  const { params } = readAddress(address);
  const [path] = address.split("?");
  const shown = { start: Number(params.get("start")), end: Number(params.get("end")) };
  const width = Number(params.get("width"));
  const windows = [{ start: 0, end: Math.ceil(duration) }];
  for (let zoom = 0, parts = 1; zoom < ZOOMS; zoom += 1, parts *= ZOOM) {
    const length = (shown.end - shown.start) / parts;
    if (length < width) break;
    for (let part = 0; part < parts; part += 1)
      windows.push({
        start: Math.floor(shown.start + part * length),
        end: Math.ceil(shown.start + (part + 1) * length),
      });
  }
  return windows.map(({ start, end }) => {
    const query = new URLSearchParams([...params]);
    query.set("start", String(start));
    query.set("end", String(end));
    query.set("width", String(Math.max(1, Math.min(width, end - start))));
    return `${path}?${query}`;
  });
}

/**
 * The same for tracks of states and slices, whose pixels are powers of two of nanoseconds.
 * @param {string} address
 * @param {number} duration
 * @param {string[]} tracks of the capture
 * @returns {string[]}
 */
export function trackZoomsOf(address, duration, tracks) {
  const { params } = readAddress(address);
  const [path] = address.split("?");
  const whole = { start: 0, end: Math.ceil(duration) };
  const shown = {
    start: Math.max(0, Number(params.get("start"))),
    end: Math.min(whole.end, Number(params.get("end"))),
  };
  const width = Number(params.get("width"));
  const finest =
    2 ** Math.round(Math.log2(Math.max(1, (Number(params.get("end")) - Number(params.get("start"))) / width)));
  /** @type {{start: number, end: number, pixel: number}[]} */
  const windows = [];
  let pixel = 1;
  while ((whole.end - whole.start) / pixel > MOST_WIDTH - QUANTUM) pixel *= 2;
  windows.push({ ...whole, pixel });
  for (let zoom = 0, pixels = finest; zoom < ZOOMS && pixels >= 1; zoom += 1, pixels /= ZOOM)
    windows.push({ ...shown, pixel: pixels });
  return windows.flatMap((window) =>
    pieces(window).flatMap((piece) => chunks(tracks).map((ids) => addressOf(path, { ...piece, tracks: ids }))),
  );
}

/**
 * A range in windows that begin and end where the server's do.
 * @param {{start: number, end: number, pixel: number}} range
 */
function pieces({ start, end, pixel }) {
  const quantum = QUANTUM * pixel;
  const found = [];
  for (let at = Math.floor(start / quantum) * quantum; at < end; ) {
    const width = Math.min(MOST_WIDTH, Math.ceil((end - at) / quantum) * QUANTUM);
    found.push({ start: at, end: at + width * pixel, width });
    at += width * pixel;
  }
  return found;
}

/** @param {string[]} tracks */
function chunks(tracks) {
  const found = [];
  for (let at = 0; at < tracks.length; at += MOST_TRACKS) found.push(tracks.slice(at, at + MOST_TRACKS).join(","));
  return found;
}

/**
 * Requests for all rows of the tables that are among addresses, as many as a file holds.
 * @param {string[]} addresses
 * @param {(address: string) => number} matched how many rows a request had
 * @returns {{pages: string[], left: {rows: number, of: number}[]}} `left`: tables that a file holds only a part of
 */
export function rowPagesOf(addresses, matched) {
  /** @type {Map<string, string>} */
  const tables = new Map();
  for (const address of addresses) {
    const asked = readAddress(address);
    if (asksForRows(asked)) tables.set(keyOf(asked, new Set(["offset", "limit"])), address);
  }
  /** @type {string[]} */
  const pages = [];
  /** @type {{rows: number, of: number}[]} */
  const left = [];
  for (const address of tables.values()) {
    const [path, query = ""] = address.split("?");
    const of = matched(address);
    const rows = Math.min(of, MOST_ROWS);
    for (let offset = 0; offset < rows; offset += ROWS_AT_ONCE) {
      const params = new URLSearchParams(query);
      params.set("offset", String(offset));
      params.set("limit", String(Math.min(ROWS_AT_ONCE, rows - offset)));
      pages.push(`${path}?${params}`);
    }
    if (of > rows) left.push({ rows, of });
  }
  return { pages, left };
}

/**
 * The flame graphs among addresses, whole and as fine as the server draws them.
 * @param {string[]} addresses
 */
export function wholeFlamesOf(addresses) {
  return addresses
    .filter((address) => readAddress(address).path.endsWith("/flame"))
    .map((address) => {
      const [path, query = ""] = address.split("?");
      const params = new URLSearchParams(query);
      params.delete("focus");
      params.delete("search");
      params.set("width", String(MOST_WIDTH));
      return `${path}?${params}`;
    });
}
