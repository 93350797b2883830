// The view of a capture is its address. Everything that changes what is shown is here, with a version, so that links
// made by this release open in later ones.

import { IS_SAVED } from "../lib/api.js";
import { Emitter } from "../lib/emitter.js";
import { TRACKS_CHARS } from "../lib/sql_track.js";
import { placeAddress } from "./saved_place.js";

/** The version that is written. */
export const VERSION = 3;
/** Browsers refuse more than about 100 replacements of an address in 30 seconds; zooming makes many more. */
const WRITES_AT_ONCE = 20;
const MS_PER_WRITE = 400;

/**
 * `UPGRADERS[n]` turns the parameters of version `n` into those of `n + 1`, beginning with 1.
 * @type {Record<number, (params: Record<string, string>) => Record<string, string>>}
 */
const UPGRADERS = {
  // The first stream and the first map were what a link showed that named none; now it is what the capture is for.
  1: (params) => ({ stream: "0", ...(params.tab === "maps" ? { map: "0" } : {}), ...params }),
  // The tracks of a timeline were those of CPUs where a link named none; now they are what the capture has.
  2: (params) => ({ group: "cpu", ...params }),
};

/**
 * A part of a view: what it is usually, and how it is read and written.
 * @template T
 * @typedef {{fallback: T, read: (value: string) => T, write: (value: T) => string}} Part
 */

/** @returns {Part<string>} */
const text = (fallback = "", most = 1024) => ({
  fallback,
  read: (value) => (value.length <= most ? value : fallback),
  write: String,
});
/**
 * @template {string} T
 * @param {...T} values
 * @returns {Part<T>}
 */
const oneOf = (...values) => ({
  fallback: values[0],
  read: (value) => values.find((one) => one === value) ?? values[0],
  write: String,
});
/**
 * @template {number|null} T
 * @param {T} fallback
 * @param {number} [least]
 * @returns {Part<number|T>}
 */
const whole = (fallback, least = 0) => ({
  fallback,
  read: (value) =>
    /^-?\d{1,16}$/.test(value) && Number(value) >= least && Number.isSafeInteger(Number(value))
      ? Number(value)
      : fallback,
  write: (value) => String(Math.round(Number(value))),
});
/** @returns {Part<boolean>} */
const flag = () => ({ fallback: false, read: (value) => value === "1", write: (value) => (value ? "1" : "0") });
/**
 * @param {RegExp} shape
 * @returns {Part<string>}
 */
const pattern = (shape) => ({ fallback: "", read: (value) => (shape.test(value) ? value : ""), write: String });

/** All parts of a view, in the order in which they are written. Times are nanoseconds from the capture's start. */
const PARTS = {
  // Which tabs a capture has follows from the table of views.
  tab: pattern(/^[a-z]{1,16}$/),
  start: whole(null),
  end: whole(null),
  stream: whole(null),
  filter: text(),
  sort: text("", 256),
  order: oneOf("asc", "desc"),
  then: text("", 1024),
  columns: text("", 4096),
  pairs: text("", 1024),
  neighbours: text("", 1024),
  groupby: text("", 1024),
  measures: text("", 2048),
  grouporder: pattern(/^-?\d{1,2}$/),
  groupshow: oneOf("", "bars", "lines", "heat"),
  row: whole(null),
  facets: text("", 4096),
  group: oneOf("", "cpu", "thread", "tree"),
  turned: text("", 4096),
  pins: text("", 2048),
  hidden: text("", 4096),
  moved: text("", 4096),
  tall: text("", 2048),
  down: whole(0),
  fold: flag(),
  beside: whole(null, -Number.MAX_SAFE_INTEGER),
  name: text("", 256),
  picked: text("", 256),
  path: pattern(/^tid:\d{1,10}$/),
  panel: pattern(/^[a-z]{1,16}$/),
  over: pattern(/^(marked|row:.{1,200})$/),
  ranked: pattern(/^-?[a-z0-9]{1,16}$/),
  opened: text("", 256),
  amounts: oneOf("", "thread"),
  from: whole(null),
  to: whole(null),
  focus: pattern(/^[0-9a-f]{16}$/),
  search: text(),
  invert: flag(),
  by: oneOf("process", "thread", "comm", "cpu", "container", "source", "none"),
  transforms: text("", 4096),
  shape: oneOf("", "flame", "icicle"),
  colors: oneOf("kind", "module", "package"),
  between: text("", 4096),
  against: pattern(/^(self|[0-9a-f]{16}(,[0-9a-f]{16}){0,14})$/),
  againststart: whole(null),
  againstend: whole(null),
  againstfilter: text("", 1024),
  // Whether rows of the other side match the filter of this one, whatever that is.
  againstsame: flag(),
  // By what amounts are compared: flame graphs by shares and tables by time if nothing is said.
  per: oneOf("", "total", "time", "none"),
  versus: pattern(/^-?\d{1,2}(\.(there|here|difference|ratio))?$/),
  inway: text("", 4096),
  swapped: flag(),
  unit: text("", 512),
  flame: oneOf("graph", "functions", "tree", "between", "time"),
  top: oneOf("own", "total"),
  code: text("", 4096),
  at: pattern(/^\d{1,10}-[0-9a-f]{1,16}$/),
  source: pattern(/^@\d{1,4}$/),
  map: whole(null),
  show: oneOf("", "histogram", "heatmap", "table", "series"),
  snapshot: whole(null, 1),
  key: pattern(/^[0-9a-f]{16}$/),
  calls: oneOf("tree", "functions", "chart"),
  open: pattern(/^\d{1,15}(\.\d{1,15}){0,63}$/),
  call: whole(null),
  func: text("", 256),
  thread: whole(null),
  longer: whole(0),
  rank: oneOf("total", "self", "calls", "average", "median", "p99", "longest", "name"),
  turn: flag(),
  part: oneOf("", "cpu", "thread", "irq"),
  lanes: oneOf("thread", "cpu"),
  callsby: oneOf("call", "process", "thread", "process_call", "thread_call"),
  callorder: oneOf("time", "bytes"),
  sql: text("", 8000),
  result: oneOf("table", "chart"),
  tracks: text("", TRACKS_CHARS),
  note: pattern(/^[0-9a-f]{16}$/),
  notes: flag(),
  span: pattern(/^-?\d{1,16}~-?\d{1,16}$/),
  find: text(),
  hit: pattern(/^\d{1,5}\.\d{1,15}@-?\d{1,16}$/),
  spans: text("", 4096),
  spread: oneOf("histogram", "heat", "offsets", "busy", "single"),
  column: text("", 256),
  buckets: oneOf("log", "linear"),
  steps: whole(null),
  low: pattern(/^-?\d{1,20}$/),
  high: pattern(/^-?\d{1,20}$/),
  split: text("", 256),
  parts: whole(5, 1),
  laid: oneOf("over", "beside"),
  curve: oneOf("rows", "log", "share", "cumulative"),
  shades: oneOf("log", "linear", "rank"),
  period: whole(null, 1000),
};

/** @typedef {{[Name in keyof typeof PARTS]: (typeof PARTS)[Name]["fallback"]}} ViewParts what a view shows */
const ALL = /** @type {[name: keyof ViewParts, part: Part<any>][]} */ (Object.entries(PARTS));

/** The view of an address without parameters. */
export function emptyView() {
  return /** @type {ViewParts} */ (Object.fromEntries(ALL.map(([name, part]) => [name, part.fallback])));
}

/**
 * The view in a query string. What is missing or wrong gets its usual value.
 * @param {string} search with or without `?`
 * @returns {{view: ViewParts, newer: boolean}} `newer`: the link is from a later release and may say more than is shown
 */
export function parseView(search) {
  let params = Object.fromEntries(new URLSearchParams(search));
  // Links without a version are typed by hand.
  const version = /^[1-9]\d{0,3}$/.test(params.v ?? "") ? Number(params.v) : VERSION;
  for (let step = version; step < VERSION; step += 1) params = UPGRADERS[step](params);
  const view = emptyView();
  for (const [name, part] of ALL)
    if (Object.hasOwn(params, name)) Object.assign(view, { [name]: part.read(params[name]) });
  const { start, end, from, to } = view;
  if (start === null || end === null || start >= end) Object.assign(view, { start: null, end: null });
  if (from === null || to === null || from >= to) Object.assign(view, { from: null, to: null });
  return { view, newer: version > VERSION };
}

/**
 * The query string of a view, with `?`. Parts with their usual value are left out.
 * @param {ViewParts} view
 */
export function formatView(view) {
  const params = new URLSearchParams({ v: String(VERSION) });
  for (const [name, part] of ALL) {
    const value = view[name];
    if (value !== null && value !== undefined && value !== part.fallback) params.set(name, part.write(value));
  }
  return `?${params}`;
}

/** The block of a file's investigation whose view is shown; empty where there is none. */
let fileBlock = "";

/**
 * Says at which block of a file's investigation the view is.
 * @param {string} block
 */
export function standAt(block) {
  fileBlock = block;
}

/**
 * A view that tells who listens which of its parts changed, and keeps the address up to date.
 * @extends {Emitter<{change: {parts: Set<string>}}>}
 */
export class ViewState extends Emitter {
  #timer = 0;
  /** When the writes so far would have been spread evenly. */
  #spent = -Infinity;

  /** @param {string} search */
  constructor(search) {
    super();
    const { view, newer } = parseView(search);
    this.view = view;
    this.newer = newer;
  }

  /**
   * Changes parts of the view. Sends `change` with `parts`, a set of the names that have other values now.
   * @param {Partial<ViewParts>} patch
   */
  set(patch) {
    const names = /** @type {(keyof ViewParts)[]} */ (Object.keys(patch));
    const parts = new Set(names.filter((name) => this.view[name] !== patch[name]));
    if (parts.size === 0) return;
    Object.assign(this.view, patch);
    this.#write();
    this.emit("change", { parts });
  }

  /** The address of this view, for a link. */
  address() {
    return this.addressWith({});
  }

  /**
   * The address of this view with other parts.
   * @param {Partial<ViewParts>} patch
   */
  addressWith(patch) {
    return `${location.pathname}${formatView({ ...this.view, ...patch })}`;
  }

  #write() {
    clearTimeout(this.#timer);
    const write = () => {
      this.#spent = Math.max(this.#spent, performance.now()) + MS_PER_WRITE;
      // The address of a file stays that of the file.
      history.replaceState(null, "", IS_SAVED ? placeAddress(fileBlock, formatView(this.view)) : this.address());
    };
    const wait = Math.max(0, this.#spent - (WRITES_AT_ONCE - 1) * MS_PER_WRITE - performance.now());
    if (wait === 0) write();
    else this.#timer = setTimeout(write, wait);
  }
}
