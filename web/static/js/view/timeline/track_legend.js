// What colours and patterns of tracks stand for.

import { category } from "../../lib/color.js";
import { h } from "../../lib/dom.js";
import { plural } from "../../lib/format.js";
import { STATES } from "./track_paint.js";

/** @import { TrackList } from "../../../../api.js" */

/**
 * A line for each state that the capture has.
 * @param {TrackList|null} list
 */
export function stateLegend(list) {
  if (!list) return [];
  const states = new Set(
    list.tracks.flatMap(({ stream, top }) => {
      const { row, of } = list.streams.find((one) => one.stream === stream) ?? {};
      return row === "state" && of === "thread" ? top.map(({ name }) => list.names[name].text) : [];
    }),
  );
  const entry = (/** @type {string} */ name) => {
    return h(
      "span",
      { class: "legend-entry" },
      h("span", { class: `state-mark state-${name in STATES ? name : "other"}` }),
      ` ${name}`,
    );
  };
  const known = Object.keys(STATES).filter((name) => states.has(name));
  const others = [...states].filter((name) => !(name in STATES));
  return [...known, ...others].map(entry);
}

/** As many streams of ticks are named. */
const MOST_STREAMS = 6;

/**
 * A line for each stream whose rows are ticks. Samples have the colours of their threads.
 * @param {{name: string, row: string}[]} streams
 */
export function tickLegend(streams) {
  const entry = (/** @type {{name: string, row: string}} */ { name, row }) =>
    row === "sample"
      ? h("span", { class: "quiet", text: `${name}: ticks in the colours of threads` })
      : h("span", { class: "legend-entry mono", data: { cat: String(category(name)) }, text: name });
  const left = streams.length - MOST_STREAMS;
  const rest = left > 0 ? [h("span", { class: "quiet", text: plural(left, "more stream") })] : [];
  return [...streams.slice(0, MOST_STREAMS).map(entry), ...rest];
}
