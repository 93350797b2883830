// The matrix of who woke whom, with the rest as a row and a column. Pure.

import { plural } from "../../../lib/format.js";

/** @typedef {import("../../../../../api.js").RangeWakeups} RangeWakeups */
/** @typedef {{title: string, tid: number|null, at: number}} WakeColumn `tid` is null and `at` −1 of the rest */
/** @typedef {{title: string, tid: number|null, all: number, counts: number[]}} WakeRow */

/** @param {{tid: number, name: string}} thread */
const titled = ({ tid, name }) => (tid === 0 ? "idle CPU, in an interrupt" : `${name || "thread"} ${tid}`);

/**
 * The matrix, its rows by the counts of a column.
 * @param {Pick<RangeWakeups, "wakers"|"wakees"|"counts"|"more_wakers"|"more_wakees">} answer
 * @param {string} ranked `-N` by the Nth column, `-rest` by that of the rest, else by all
 * @returns {{columns: WakeColumn[], rows: WakeRow[], most: number}} `most` without the rest
 */
export function matrixOf({ wakers, wakees, counts, more_wakers: moreWakers, more_wakees: moreWakees }, ranked) {
  /** @type {WakeColumn[]} */
  const columns = wakees.map((thread, at) => ({ title: titled(thread), tid: thread.tid, at }));
  if (moreWakees > 0) columns.push({ title: `${plural(moreWakees, "other")}`, tid: null, at: -1 });
  /** @type {WakeRow[]} */
  const rows = wakers.map((thread) => ({
    title: titled(thread),
    tid: thread.tid,
    all: 0,
    counts: columns.map(() => 0),
  }));
  if (moreWakers > 0)
    rows.push({ title: plural(moreWakers, "other"), tid: null, all: 0, counts: columns.map(() => 0) });
  let most = 1;
  for (const [row, column, count] of counts) {
    rows[row].counts[column] = count;
    rows[row].all += count;
    if (row < wakers.length && column < wakees.length) most = Math.max(most, count);
  }
  const by = ranked === "-rest" ? columns.findIndex(({ at }) => at < 0) : Number(/^-(\d+)$/.exec(ranked)?.[1] ?? -1);
  const value = (/** @type {WakeRow} */ row) => (by >= 0 && by < columns.length ? row.counts[by] : row.all);
  return { columns, rows: rows.toSorted((a, b) => value(b) - value(a)), most };
}
