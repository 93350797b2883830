// Results of SQL as tracks of the timeline: which columns say when, what kind of track they make, what is in it, what the
// address holds of it. Pure.

/** The most tracks beside each other. */
export const MOST_TRACKS = 4;
/** The most characters that the address holds of all tracks. */
export const TRACKS_CHARS = 12_000;
/** The kinds of tracks, with their words. */
export const KINDS = { instants: "Instants", slices: "Slices", counters: "Counter" };
/** The longest name of a track. */
export const NAME_CHARS = 60;
/** Slices at the same time lie below each other in so many rows; what is more lies in the last. */
export const LANES = 4;
/** Lines of a counter that can still be told apart. */
const LINES = 6;

const TIME = /^(time|ts|timestamp|start|begin|at|first)(_ns)?$|_(time|ts|start|begin|at)(_ns)?$/i;
const END = /^(end|until|to|last)(_ns)?$|_(end|until)(_ns)?$/i;
const DURATION =
  /^(dur|duration|took|elapsed|length|gap|latency|wait|span)(_ns)?$|_(dur|duration|took|latency|gap|wait|span)(_ns)?$/i;
/** Numbers that tell who and not how much. */
export const WHO = /(^|[._])(cpu|pid|tid|tgid|uid|gid|id|fd|nr|irq|parent|stack|frame|prio|state|flags|mode)$/i;

/** @typedef {{name: string, type: string, display: string}} Column */
/** @typedef {"instants"|"slices"|"counters"} Kind */
/** @typedef {(number|string|null|{top: string})[]} Row */

/** @param {{type: string}} column */
const isNumeric = ({ type }) => type === "i64" || type === "f64";

/**
 * Which columns of a result say when, until when, how long, how much and who; -1 for none.
 * @param {Column[]} columns
 */
export function rolesOf(columns) {
  /** @param {(column: Column) => boolean} fits */
  const first = (fits) => columns.findIndex((column) => isNumeric(column) && fits(column));
  const typed = first(({ name, display }) => display === "time_ns" && !END.test(name));
  const time = typed >= 0 ? typed : first(({ name, display }) => display !== "duration_ns" && TIME.test(name));
  /** @param {(column: Column) => boolean} fits */
  const other = (fits) => columns.findIndex((column, i) => i !== time && isNumeric(column) && fits(column));
  const length = other(({ name, display }) => display === "duration_ns" || DURATION.test(name));
  const end = other(({ name }) => END.test(name));
  const value = columns.findIndex(
    (column, i) =>
      i !== time && i !== end && isNumeric(column) && column.display === "decimal" && !WHO.test(column.name),
  );
  return {
    time,
    length,
    end,
    value: value >= 0 ? value : length,
    label: columns.findIndex(({ type }) => type === "text"),
  };
}

/**
 * The kinds that a result can be shown as, the most telling first; none without a time.
 * @param {Column[]} columns
 * @returns {("instants"|"slices"|"counters")[]}
 */
export function kindsOf(columns) {
  const { time, length, end, value } = rolesOf(columns);
  if (time < 0) return [];
  /** @type {Kind[]} */
  const slices = length >= 0 || end >= 0 ? ["slices"] : [];
  /** @type {Kind[]} */
  const counters = value >= 0 ? ["counters"] : [];
  const amounts = columns.filter((column, i) => i !== time && i !== end && isNumeric(column) && !WHO.test(column.name));
  // Rows with many numbers are events; with one they are what it was over time.
  return amounts.length === 1 ? [...slices, ...counters, "instants"] : [...slices, "instants", ...counters];
}

/**
 * A result as it is drawn: ascending by time.
 * @param {{columns: Column[], rows: Row[]}} answer
 * @param {"instants"|"slices"|"counters"} kind
 * @returns {{kind: Kind, n: number, skipped: number, starts: Float64Array, ends: Float64Array, values: Float64Array,
 *   labels: Int32Array, lanes: Uint8Array, names: string[], more: number, least: number, most: number, rows: Row[]}} `skipped`:
 *   rows without a time; `more`: lines that a counter has beside those shown; `rows`: those that are drawn, as they came
 */
export function trackOf({ columns, rows }, kind) {
  const roles = rolesOf(columns);
  /**
   * @param {Row} row
   * @param {number} column
   */
  const at = (row, column) =>
    column < 0 || row[column] === null || row[column] === undefined ? NaN : Number(row[column]);
  /** @param {Row} row */
  const until = (row) => {
    const start = at(row, roles.time);
    if (kind !== "slices") return start;
    const end = roles.length >= 0 ? start + at(row, roles.length) : at(row, roles.end);
    return end >= start ? end : start;
  };
  /** @param {Row} row */
  const wanted = (row) =>
    Number.isFinite(at(row, roles.time)) && (kind !== "counters" || Number.isFinite(at(row, roles.value)));
  const kept = rows.filter(wanted).sort((a, b) => at(a, roles.time) - at(b, roles.time));
  const label = labelling(kept, kind, roles, columns);
  const shown = kept.filter((row) => label.index(row) >= 0);
  /** @param {(row: Row) => number} value */
  const column = (value) => Float64Array.from(shown, value);
  const track = {
    kind,
    n: shown.length,
    skipped: rows.length - kept.length,
    starts: column((row) => at(row, roles.time)),
    ends: column(until),
    values: column((row) => at(row, roles.value)),
    labels: Int32Array.from(shown, label.index),
    names: label.names,
    more: label.more,
    least: 0,
    most: 0,
    rows: shown,
  };
  for (const value of track.values) {
    track.least = Math.min(track.least, value || 0);
    track.most = Math.max(track.most, value || 0);
  }
  return { ...track, lanes: kind === "slices" ? lanesOf(track) : new Uint8Array(track.n) };
}

/**
 * Names of rows as small numbers. A counter without a text has one line, and of many lines the largest are shown.
 * @param {Row[]} rows
 * @param {Kind} kind
 * @param {{label: number, value: number}} roles
 * @param {Column[]} columns
 * @returns {{names: string[], index: (row: Row) => number, more: number}}
 */
function labelling(rows, kind, { label, value }, columns) {
  /** @param {Row} row */
  const text = (row) => (label < 0 ? "" : String(row[label] ?? "–"));
  if (kind === "counters" && label < 0) return { names: [columns[value].name], index: () => 0, more: 0 };
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const row of rows) sums.set(text(row), (sums.get(text(row)) ?? 0) + Math.abs(Number(row[value]) || 0));
  const all = [...sums.keys()];
  const names = kind === "counters" ? all.sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0)).slice(0, LINES) : all;
  const places = new Map(names.map((name, i) => [name, i]));
  return { names, index: (row) => places.get(text(row)) ?? -1, more: all.length - names.length };
}

/**
 * Puts slices that overlap below each other.
 * @param {{starts: Float64Array, ends: Float64Array}} track
 */
function lanesOf({ starts, ends }) {
  const free = new Float64Array(LANES).fill(-Infinity);
  return Uint8Array.from(starts, (start, i) => {
    const lane = free.findIndex((end) => end <= start);
    const found = lane < 0 ? LANES - 1 : lane;
    free[found] = Math.max(free[found], ends[i]);
    return found;
  });
}

/**
 * The row at a moment: of slices one that lasts then, of a counter the last before it, else the nearest within `reach`.
 * @param {ReturnType<typeof trackOf>} track
 * @param {number} time
 * @param {number} reach nanoseconds
 * @param {number} [lane] of slices, the row that they are in, if it counts
 * @returns {number} -1 for none
 */
export function rowAt(track, time, reach, lane) {
  const after = firstAfter(track.starts, time);
  if (track.kind === "counters") return after - 1;
  if (track.kind === "slices")
    for (let i = after - 1; i >= 0 && i > after - 1000; i -= 1)
      if (track.ends[i] >= time && (lane === undefined || track.lanes[i] === lane)) return i;
  const near = [after - 1, after].filter(
    (i) => i >= 0 && i < track.n && Math.min(Math.abs(track.starts[i] - time), Math.abs(track.ends[i] - time)) <= reach,
  );
  return near.sort((a, b) => Math.abs(track.starts[a] - time) - Math.abs(track.starts[b] - time))[0] ?? -1;
}

/**
 * In how many rows below each other slices lie.
 * @param {{lanes: Uint8Array}} track
 */
export function laneCount({ lanes }) {
  return lanes.reduce((most, lane) => Math.max(most, lane), 0) + 1;
}

/**
 * How many of the ascending numbers are not above `value`.
 * @param {Float64Array} sorted
 * @param {number} value
 */
export function firstAfter(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A query for the rows of a result that lie in a window. The condition is on the result, so that it means the same for every
 * query; SQLite hands it on to the tables where that changes nothing.
 * @param {string} sql
 * @param {Column[]} columns of its result
 * @param {"instants"|"slices"|"counters"} kind
 * @param {{start: number, end: number}} window
 */
export function windowed(sql, columns, kind, { start, end }) {
  const { time, length, end: until } = rolesOf(columns);
  /** @param {number} i */
  const name = (i) => `"${columns[i].name.replaceAll('"', '""')}"`;
  const inner = sql.trim().replace(/(;\s*)+$/, "");
  const last = kind === "slices" ? (length >= 0 ? `${name(time)} + ${name(length)}` : name(until)) : name(time);
  return `select * from (\n${inner}\n) where ${name(time)} <= ${Math.ceil(end)} and ${last} >= ${Math.floor(start)}`;
}

/**
 * The tracks in the address; what is wrong is left out.
 * @param {string} text
 * @returns {{name: string, sql: string, kind: string}[]} `kind` is empty where it is chosen by the result
 */
export function readTracks(text) {
  try {
    /** @type {unknown[]} */
    const list = JSON.parse(text || "[]");
    return list
      .filter((one) => Array.isArray(one))
      .slice(0, MOST_TRACKS)
      .filter(([name, sql]) => typeof name === "string" && typeof sql === "string" && sql.trim() !== "")
      .map(([name, sql, kind]) => ({
        name: name.slice(0, NAME_CHARS),
        sql,
        kind: Object.hasOwn(KINDS, kind) ? kind : "",
      }));
  } catch {
    return [];
  }
}

/**
 * Tracks as the address holds them.
 * @param {{name: string, sql: string, kind: string}[]} tracks
 * @returns {string}
 */
export function writeTracks(tracks) {
  return tracks.length === 0
    ? ""
    : JSON.stringify(tracks.map(({ name, sql, kind }) => (kind ? [name, sql, kind] : [name, sql])));
}

/**
 * The tracks with another one, or why there is no room for it.
 * @param {string} text the tracks in the address
 * @param {{name: string, sql: string, kind: string}} track
 * @returns {{text?: string, problem?: string}}
 */
export function withTrack(text, track) {
  const tracks = readTracks(text);
  if (tracks.length >= MOST_TRACKS)
    return { problem: `The timeline has ${MOST_TRACKS} tracks of queries already. Remove one there first.` };
  const all = writeTracks([...tracks, track]);
  if (all.length > TRACKS_CHARS)
    return {
      problem: "The queries of all tracks together are too long for a link. Shorten this one, or remove a track.",
    };
  return { text: all };
}
