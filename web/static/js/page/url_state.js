// The view of a capture is its address. Everything that changes what is shown is here, with a version, so that links
// made by this release open in later ones.

import { TRACKS_CHARS } from "../lib/sql_track.js";

/** The version that is written. */
export const VERSION = 2;
/** Browsers refuse more than about 100 replacements of an address in 30 seconds; zooming makes many more. */
const WRITES_AT_ONCE = 20;
const MS_PER_WRITE = 400;

/** `UPGRADERS[n]` turns the parameters of version `n` into those of `n + 1`, beginning with 1. */
const UPGRADERS = {
  // The first stream and the first map were what a link showed that named none; now it is what the capture is for.
  1: (params) => ({ stream: "0", ...(params.tab === "maps" ? { map: "0" } : {}), ...params }),
};

const text = (fallback = "", most = 1024) => ({
  fallback,
  read: (value) => (value.length <= most ? value : fallback),
  write: String,
});
const oneOf = (...values) => ({
  fallback: values[0],
  read: (value) => (values.includes(value) ? value : values[0]),
  write: String,
});
const whole = (fallback, least = 0) => ({
  fallback,
  read: (value) =>
    /^-?\d{1,16}$/.test(value) && Number(value) >= least && Number.isSafeInteger(Number(value))
      ? Number(value)
      : fallback,
  write: (value) => String(Math.round(value)),
});
const flag = () => ({ fallback: false, read: (value) => value === "1", write: (value) => (value ? "1" : "0") });
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
  row: whole(null),
  group: oneOf("cpu", "thread"),
  from: whole(null),
  to: whole(null),
  focus: pattern(/^[0-9a-f]{16}$/),
  search: text(),
  invert: flag(),
  by: oneOf("process", "none"),
  flame: oneOf("graph", "functions"),
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
  sql: text("", 8000),
  result: oneOf("table", "chart"),
  tracks: text("", TRACKS_CHARS),
};

/** The view of an address without parameters. */
export function emptyView() {
  return Object.fromEntries(Object.entries(PARTS).map(([name, part]) => [name, part.fallback]));
}

/**
 * The view in a query string. What is missing or wrong gets its usual value.
 * @param {string} search with or without `?`
 * @returns {{view: object, newer: boolean}} `newer`: the link is from a later release and may say more than is shown
 */
export function parseView(search) {
  let params = Object.fromEntries(new URLSearchParams(search));
  // Links without a version are typed by hand.
  const version = /^[1-9]\d{0,3}$/.test(params.v ?? "") ? Number(params.v) : VERSION;
  for (let step = version; step < VERSION; step += 1) params = UPGRADERS[step](params);
  const view = emptyView();
  for (const [name, part] of Object.entries(PARTS)) {
    if (Object.hasOwn(params, name)) view[name] = part.read(params[name]);
  }
  for (const [start, end] of [
    ["start", "end"],
    ["from", "to"],
  ]) {
    if (view[start] === null || view[end] === null || view[start] >= view[end]) {
      view[start] = null;
      view[end] = null;
    }
  }
  return { view, newer: version > VERSION };
}

/**
 * The query string of a view, with `?`. Parts with their usual value are left out.
 * @param {object} view
 */
export function formatView(view) {
  const params = new URLSearchParams({ v: String(VERSION) });
  for (const [name, part] of Object.entries(PARTS)) {
    const value = view[name];
    if (value !== null && value !== undefined && value !== part.fallback) params.set(name, part.write(value));
  }
  return `?${params}`;
}

/** A view that tells who listens which of its parts changed, and keeps the address up to date. */
export class ViewState extends EventTarget {
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
   * Changes parts of the view. Sends `change` with `detail.parts`, a set of the names that have other values now.
   * @param {object} patch
   */
  set(patch) {
    const parts = new Set(Object.keys(patch).filter((name) => this.view[name] !== patch[name]));
    if (parts.size === 0) return;
    Object.assign(this.view, patch);
    this.#write();
    this.dispatchEvent(new CustomEvent("change", { detail: { parts } }));
  }

  /** The address of this view, for a link. */
  address() {
    return `${location.pathname}${formatView(this.view)}`;
  }

  #write() {
    clearTimeout(this.#timer);
    const write = () => {
      this.#spent = Math.max(this.#spent, performance.now()) + MS_PER_WRITE;
      history.replaceState(null, "", this.address());
    };
    const wait = Math.max(0, this.#spent - (WRITES_AT_ONCE - 1) * MS_PER_WRITE - performance.now());
    if (wait === 0) write();
    else this.#timer = setTimeout(write, wait);
  }
}
