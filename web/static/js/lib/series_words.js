// Numbers of a series in words, and the places of its chart. Pure.

import { valueText } from "./compared_words.js";
import { percent, rate } from "./format.js";

/** @import { BaselineVerdict, RunItem, SeriesKey } from "../../../api.js" */

/** @type {Record<BaselineVerdict, [sign: string, text: string]>} */
const VERDICTS = {
  better: ["✓", "better"],
  worse: ["✗", "worse"],
  higher: ["▲", "higher"],
  lower: ["▼", "lower"],
  no_difference: ["=", "no difference beyond chance"],
  too_few: ["?", "too few rows to tell"],
  lost_rows: ["?", "lost rows can explain it"],
};

/** @param {BaselineVerdict} verdict */
export const baselineText = (verdict) => VERDICTS[verdict]?.[1] ?? verdict;

/** @param {BaselineVerdict} verdict */
export const baselineSign = (verdict) => VERDICTS[verdict]?.[0] ?? "";

/** @typedef {Pick<SeriesKey, "what"|"stream"|"column"|"name">} Named */

/** @type {Record<SeriesKey["what"], (key: Named) => string>} */
const TEXTS = {
  count: ({ stream }) => `rows of ${stream}`,
  rate: ({ stream }) => `rows a second of ${stream}`,
  p50: ({ column, stream }) => `median of ${column}, ${stream}`,
  p99: ({ column, stream }) => `p99 of ${column}, ${stream}`,
  hottest_function: ({ stream }) => `share of the hottest function, ${stream}`,
  hottest_process: ({ stream }) => `share of the hottest process, ${stream}`,
  function_share: ({ name, stream }) => `share of ${name}, ${stream}`,
  process_share: ({ name, stream }) => `share of process ${name}, ${stream}`,
};

/**
 * What a key number says: `p99 of duration_ns, read`.
 * @param {Named} key
 */
export const keyText = (key) => TEXTS[key.what](key);

/** @param {Pick<SeriesKey, "what">} key */
export const isShare = ({ what }) =>
  ["hottest_function", "hottest_process", "function_share", "process_share"].includes(what);

/**
 * A value of a key number.
 * @param {number} value
 * @param {Pick<SeriesKey, "what"|"column"|"display"|"unit">} key
 */
export function keyValue(value, key) {
  if (isShare(key)) return percent(value, 1);
  if (key.what === "rate") return rate(value);
  // Of a column, or a number of rows.
  return valueText(value, key.column ? key : null);
}

/**
 * The runs of a series as the points of a chart of one number, the first run first. Where a run has no number there is a gap.
 * @param {RunItem[]} runs the last first
 * @param {number} key which number
 * @returns {{run: RunItem, time: number, value: number|null, least: number|null, most: number|null}[]}
 */
export function pointsOf(runs, key) {
  const point = (/** @type {RunItem} */ run) => {
    const number = run.numbers[key];
    const spread = number?.error ?? 0;
    return {
      run,
      time: Number(run.started_unix_ns),
      value: number ? number.value : null,
      least: number ? number.value - spread : null,
      most: number ? number.value + spread : null,
    };
  };
  return runs.map(point).toReversed();
}

/**
 * The lines of a table of runs, with a heading: as CSV has them.
 * @param {RunItem[]} runs
 * @param {SeriesKey[]} keys
 * @param {string|null} baseline
 * @returns {(number|string)[][]}
 */
export function tableLines(runs, keys, baseline) {
  const heads = ["capture", "title", "started_unix_ns", "duration_ns", "rows", "lost", "again_of", "baseline"];
  const ofKeys = keys.flatMap(({ key }) => [key, `${key} error`, `${key} name`, `${key} verdict`]);
  const line = (/** @type {RunItem} */ run) => [
    run.id,
    run.title,
    String(run.started_unix_ns),
    run.duration_ns,
    run.rows,
    run.lost,
    run.again_of ?? "",
    run.id === baseline ? "yes" : "",
    ...keys.flatMap((_key, at) => {
      const number = run.numbers[at];
      return [number?.value ?? "", number?.error ?? "", number?.name ?? "", number?.verdict ?? ""];
    }),
  ];
  return [[...heads, ...ofKeys], ...runs.map(line)];
}

/**
 * What a run is worth beside the baseline, in few words: `2 numbers worse, 1 better`; empty where there is nothing to say.
 * @param {RunItem} run
 * @param {SeriesKey[]} keys
 */
export function runVerdict(run, keys) {
  const named = (/** @type {BaselineVerdict} */ verdict) =>
    keys.filter((_key, at) => run.numbers[at]?.verdict === verdict).length;
  const [worse, better] = [named("worse"), named("better")];
  const told = run.numbers.some((number) => number !== null && number.verdict !== null);
  if (!told) return "";
  const parts = [worse > 0 && `${worse} worse`, better > 0 && `${better} better`].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "no worse, no better";
}
