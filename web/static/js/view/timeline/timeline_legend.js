// Which names the timeline's colours stand for: the most frequent of what is in sight.

import { category } from "../../lib/color.js";
import { h } from "../../lib/dom.js";
import { exact, plural } from "../../lib/format.js";
import { binsIn } from "./timeline_decode.js";

const SHOWN = 7;

/**
 * Rows by name over all tracks, the most frequent first. Pure.
 * @param {{start: number, end: number, width: number, names: string[], tracks: import("./timeline_decode.js").TrackBins[]}} data
 * @param {{start: number, end: number}} [shown] only of this window
 * @returns {Array<[string, number]>}
 */
export function namesByRows(data, shown = data) {
  const sums = new Float64Array(data.names.length);
  for (const track of data.tracks) {
    const [first, behind] = binsIn(track, data, shown);
    for (let i = first; i < behind; i += 1) sums[track.name[i]] += track.counts[i];
  }
  return [...sums.entries()]
    .filter(([, rows]) => rows > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([i, rows]) => [data.names[i], rows]);
}

/**
 * The legend's entries. A bin has the colour of its most frequent name, so counts are of such bins.
 * @param {Parameters<typeof namesByRows>[0]} data
 * @param {{start: number, end: number}} shown
 * @returns {HTMLElement[]}
 */
export function legend(data, shown) {
  const all = namesByRows(data, shown);
  const entries = all.slice(0, SHOWN).map(([name, rows]) =>
    h("span", {
      class: "legend-entry mono",
      title: `${name || "Rows whose name is not known"}: the most frequent name in bins with ${exact(rows)} rows`,
      data: { cat: String(category(name)) },
      text: name || "no name",
    }),
  );
  return all.length > SHOWN
    ? [...entries, h("span", { class: "quiet", text: plural(all.length - SHOWN, "more name") })]
    : entries;
}
