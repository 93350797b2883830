// What a capture is for: which tab, which map and which stream a link shows that does not say. Pure.

import { kindOf } from "../kind/table.js";
import { sourcesOf } from "../lib/spec.js";

/** @import { Recorded } from "../lib/spec.js" */
/** @typedef {{name: string, columns: {name: string, type?: string}[]}} Named */
/** @typedef {Named & {kind: string}} StreamHead a stream as far as it is looked at */

/** The views that a script's header can ask for. */
const ASKED = ["table", "histogram", "heatmap", "flame", "timeline"];
/** Last columns of the streams of maps that add up: what `count()`, `sum()`, `hist()` and the others keep. */
const ADDED_UP = [
  ["low", "high", "count"],
  ["begin", "value"],
  ["count", "average", "total"],
  ["count"],
  ["sum"],
  ["min"],
  ["max"],
  ["average"],
];
/** Columns that every stream begins with; a map has the number of its snapshot after them. */
const COMMON = 5;

/**
 * The line `// view: …` in the comments that a script begins with; empty where there is none, or another word.
 * @param {string} text
 */
export function askedView(text) {
  const head = text.split("\n").map((line) => line.trim());
  const end = head.findIndex((line) => line !== "" && !line.startsWith("//") && !line.startsWith("#!"));
  const line = head
    .slice(0, end < 0 ? head.length : end)
    .map((one) => /^\/\/\s*view:\s*(\w+)\s*$/.exec(one))
    .find(Boolean);
  return line && ASKED.includes(line[1]) ? line[1] : "";
}

/**
 * Whether a stream holds what a map was when it was read.
 * @param {{name: string, kind?: string}} stream
 */
export const isMap = (stream) => stream.kind === "map" || stream.name.startsWith("@");

/**
 * Whether a stream is what a script only says: headings of its tables.
 * @param {{name: string}} stream
 */
export const isHeading = (stream) => stream.name.startsWith("heading:");

/** @param {{name: string}} column */
const isKey = ({ name }) => /^key\d*(\.|$)/.test(name);

/**
 * The columns of a map that are no key.
 * @param {Named} stream
 */
function values(stream) {
  return stream.columns
    .slice(COMMON + 1)
    .filter((column) => !isKey(column))
    .map(({ name }) => name);
}

/** @param {Named} stream */
const addsUp = (stream) => ADDED_UP.some((names) => names.join() === values(stream).join());
/** @param {Named} stream */
const isHistogram = (stream) => values(stream).join() === ADDED_UP[0].join();
/**
 * Whether its rows were recorded, and not computed from others; a stream without columns is not there any more, or not yet.
 * @param {{rule?: string, columns: unknown[]}} stream
 */
export const isRecorded = (stream) => !stream.rule && stream.columns.length > 0;
/** @param {{type?: string}} column */
export const isStack = (column) => column.type === "stack";
/** @param {StreamHead} stream */
const keyedByStacks = (stream) =>
  isMap(stream) && stream.columns.slice(COMMON + 1).some((column) => isStack(column) && isKey(column));
/** @param {StreamHead} stream */
const hasStacks = (stream) => keyedByStacks(stream) || (!isMap(stream) && stream.columns.some(isStack));

/**
 * Whether a map is only where a script puts something for later: single values that it takes out again and never prints.
 * @param {Named} stream
 * @param {string} text of the script
 */
export function isScratch(stream, text) {
  if (addsUp(stream)) return false;
  const code = text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, "");
  const name = stream.name.replace(/[^\w@]/g, "");
  /** @param {string} verbs */
  const used = (verbs) => new RegExp(`\\b(${verbs})\\s*\\(\\s*${name}(?![\\w])`).test(code);
  return used("delete|clear|zero") && !used("print");
}

/**
 * What a map must be to be shown as what is asked for.
 * @type {Record<string, (stream: StreamHead) => boolean>}
 */
const FITS = { histogram: isHistogram, heatmap: isHistogram, flame: keyedByStacks };

/**
 * How well a map fits what is asked for; the less, the better.
 * @param {StreamHead} stream
 * @param {string} text
 * @param {string} asked
 */
function rank(stream, text, asked) {
  if (isScratch(stream, text)) return 3;
  const fits = FITS[asked] ?? (() => true);
  return (fits(stream) ? 0 : 1) + (addsUp(stream) ? 0 : 0.5);
}

/**
 * The maps of a script in the order in which they are of interest, and those that held nothing whenever they were read.
 * @template {{n: number, snapshots: number}} MapHead
 * @param {MapHead[]} maps as the API lists them
 * @param {StreamHead[]} streams of the capture
 * @param {string} text of the script
 */
export function arrangeMaps(maps, streams, text) {
  const asked = askedView(text);
  /** @param {MapHead} map */
  const held = (map) => (map.snapshots > 0 ? 0 : 1);
  /** @param {MapHead} map */
  const at = (map) => rank(streams[map.n], text, asked);
  const sorted = maps
    .filter(({ n }) => streams[n])
    .toSorted((a, b) => Number(at(a) === 3) - Number(at(b) === 3) || held(a) - held(b) || at(a) - at(b));
  return {
    shown: sorted.filter((map) => map.snapshots > 0),
    empty: sorted.filter((map) => map.snapshots === 0),
    first: sorted[0],
  };
}

/**
 * Which of its views a map shows first.
 * @param {string[]} views that it has, the usual one first; not the flame graph, which is a tab
 * @param {string} text of the script
 */
export function firstShow(views, text) {
  const asked = askedView(text);
  return views.includes(asked) ? asked : views[0];
}

/**
 * The stream that the table shows first: rows before headings, and in a script what it prints before what it keeps.
 * @param {StreamHead[]} streams
 * @returns {number} its index
 */
export function firstStream(streams) {
  const rows = streams.findIndex((one) => !isHeading(one) && !isMap(one));
  return Math.max(0, rows >= 0 ? rows : streams.findIndex((one) => !isHeading(one)));
}

/**
 * The tab that a link without one shows.
 * @param {{spec: Recorded, streams: StreamHead[]}} info of the capture
 * @returns {string}
 */
export function firstTab({ spec, streams }) {
  const [{ method }] = sourcesOf(spec);
  const known = kindOf(method);
  if (known?.kind.tab) return known.kind.tab;
  const text = known?.kind.scriptText?.(known.spec);
  if (text === undefined)
    return streams.some(({ name, kind }) => name === "function_graph" && kind === "events") ? "calls" : "events";
  const asked = askedView(text);
  const results = streams.filter((stream) => isMap(stream) && !isScratch(stream, text));
  if (asked === "timeline") return "timeline";
  if (asked === "flame" && streams.some(hasStacks)) return "flame";
  if (results.length === 0)
    return asked === "table" && streams.some((stream) => !isMap(stream) && !isHeading(stream)) ? "events" : "output";
  // Without a word of the script: counts by stack are a flame graph, as the first of what fits a map says.
  const best = results.toSorted((a, b) => rank(a, text, asked) - rank(b, text, asked))[0];
  return asked === "" && keyedByStacks(best) && addsUp(best) && !isHistogram(best) ? "flame" : "maps";
}
