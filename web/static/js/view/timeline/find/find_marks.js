// What was found, put together from answers to parts of a search, and counted. Pure.

import { exact, plural } from "../../../lib/format.js";

/** @import { FoundHit, FoundRows } from "../../../../../api.js" */

/**
 * What was found so far.
 * @typedef {object} Found
 * @property {number} start
 * @property {number} end
 * @property {number} columns
 * @property {Float64Array} counts by column
 * @property {Map<number, {name: string, rows: number}>} streams
 * @property {Map<string, Uint8Array>} tracks by the key of a row of the tree, 1 for columns with something, over its length
 * @property {Map<string, Uint8Array>} cpus by the key of a CPU, 1 for columns with the time of something
 * @property {Map<string, number[]>} long by the key of a row of the tree, begins and ends of what is long, by turns
 * @property {number} hits
 * @property {number} leftOut hits on tracks that are not marked
 * @property {number} longLeftOut hits that are long and have no place in `long`
 * @property {number} lookedAt
 * @property {number} rows
 * @property {boolean} isAll
 */

/**
 * Nothing found yet, of what an answer is of.
 * @param {FoundRows} answer
 * @returns {Found}
 */
export function nothingFound({ start, end, columns, rows }) {
  const counts = new Float64Array(columns);
  const [streams, tracks, cpus, long] = [new Map(), new Map(), new Map(), new Map()];
  const none = { hits: 0, leftOut: 0, longLeftOut: 0, lookedAt: 0 };
  return { start, end, columns, counts, streams, tracks, cpus, long, ...none, rows, isAll: false };
}

/**
 * Adds an answer.
 * @param {Found} found
 * @param {FoundRows} answer
 * @param {(stream: number) => string} nameOf what a stream's rows in the tree are called after
 */
export function addFound(found, answer, nameOf) {
  for (const [i, column] of answer.marked.entries()) {
    if (column < found.columns) found.counts[column] += answer.counts[i];
    found.hits += answer.counts[i];
  }
  for (const { stream, name, rows } of answer.streams)
    found.streams.set(stream, { name, rows: (found.streams.get(stream)?.rows ?? 0) + rows });
  for (const { key, of_stream: stream, runs, long } of answer.tracks) {
    const name = treeKey(key, stream, nameOf);
    mark(found.tracks, name, runs, found.columns);
    if (long.length > 0) found.long.set(name, [...(found.long.get(name) ?? []), ...long]);
  }
  for (const { cpu, runs } of answer.cpus) mark(found.cpus, `cpu:${cpu}`, runs, found.columns);
  found.leftOut += answer.left_out;
  found.longLeftOut += answer.long_left_out;
  found.lookedAt += answer.looked_at;
  found.rows = answer.rows;
  found.isAll = answer.next === null;
}

/**
 * @param {Map<string, Uint8Array>} marks
 * @param {string} key
 * @param {number[]} runs
 * @param {number} columns
 */
function mark(marks, key, runs, columns) {
  const marked = marks.get(key) ?? new Uint8Array(columns);
  marks.set(key, marked);
  for (let i = 0; i + 1 < runs.length; i += 2) marked.fill(1, runs[i], runs[i] + runs[i + 1]);
}

/**
 * The key of a row of the tree.
 * @param {string} key
 * @param {number|null} stream
 * @param {(stream: number) => string} nameOf
 */
export function treeKey(key, stream, nameOf) {
  return stream === null ? key : `${nameOf(stream)}:${key}`;
}

/**
 * Which of all that were found a row is, from 1; null where that is not known.
 * @param {Found|null} found
 * @param {FoundHit} row
 */
export function numberOf(found, { column, before }) {
  if (!found?.isAll || before === null) return null;
  let sum = before + 1;
  for (let i = 0; i < column && i < found.columns; i += 1) sum += found.counts[i];
  return sum;
}

/**
 * What was found, in words.
 * @param {Found|null} found
 * @param {FoundHit|null} row
 */
export function foundWords(found, row) {
  if (!found) return "";
  const { hits, isAll, lookedAt, rows } = found;
  const part = Math.floor((lookedAt / Math.max(1, rows)) * 100);
  if (!isAll) return `${exact(hits)} so far, ${part} % of the rows looked at`;
  if (hits === 0) return "Nothing found";
  const number = row && numberOf(found, row);
  return number ? `${exact(number)} of ${exact(hits)}` : `${exact(hits)} found`;
}

/**
 * How many were found in each stream, in words.
 * @param {Found|null} found
 */
export function streamWords(found) {
  if (!found || found.streams.size === 0) return "";
  const all = [...found.streams.values()].sort((a, b) => b.rows - a.rows);
  const said = all.slice(0, 4).map(({ name, rows }) => `${name} ${exact(rows)}`);
  const long = found.longLeftOut > 0 ? `${exact(found.longLeftOut)} of them marked where they begin only` : "";
  return [...said, all.length > 4 ? `${plural(all.length - 4, "more stream")}` : "", long].filter(Boolean).join(", ");
}

/**
 * Runs of pixels that long rows take.
 * @param {number[]} long begins and ends, by turns
 * @param {(time: number) => number} place
 * @param {{left: number, right: number}} sight
 * @param {number} least pixels of a mark
 * @returns {[left: number, right: number][]}
 */
export function longInSight(long, place, sight, least) {
  /** @type {[number, number][]} */
  const runs = [];
  for (let i = 0; i + 1 < long.length; i += 2) {
    const [left, right] = [place(long[i]), place(long[i + 1])];
    if (right >= sight.left && left <= sight.right)
      runs.push([Math.max(left, sight.left - least), Math.min(Math.max(right, left + least), sight.right + least)]);
  }
  return runs;
}

/**
 * Runs of pixels in which something was found. What is in adjacent columns is one.
 * @param {(column: number) => boolean} isMarked
 * @param {{start: number, end: number, columns: number}} found
 * @param {(time: number) => number} place
 * @param {{left: number, right: number}} sight
 * @param {number} least pixels of a mark
 * @returns {[left: number, right: number][]}
 */
export function runsInSight(isMarked, { start, end, columns }, place, sight, least) {
  /** @type {[number, number][]} */
  const runs = [];
  const each = (end - start) / columns;
  const [scale, zero] = [(place(end) - place(start)) / columns, place(start)];
  if (!(each > 0)) return runs;
  const first = Math.max(0, Math.floor((sight.left - zero) / scale) - 1);
  const last = Math.min(columns, Math.ceil((sight.right - zero) / scale) + 1);
  for (let column = first; column < last; column += 1) {
    if (!isMarked(column)) continue;
    const left = zero + column * scale;
    const right = left + least;
    const before = runs.at(-1);
    if (before && (left <= before[1] + 0.5 || (column > first && isMarked(column - 1))))
      before[1] = Math.max(before[1], right);
    else runs.push([left, right]);
  }
  return runs;
}
