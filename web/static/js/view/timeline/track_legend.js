// What colours and patterns of tracks stand for.

import { h } from "../../lib/dom.js";
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
