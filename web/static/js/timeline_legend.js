// Which names the timeline's colours stand for: the most frequent of what was got.

import { category } from "./color.js";
import { h } from "./dom.js";
import { exact, plural } from "./format.js";

const SHOWN = 7;

/**
 * Rows by name over all tracks, the most frequent first. Pure.
 * @param {{names: string[], tracks: Array<{counts: Uint32Array, name: Uint32Array}>}} data
 * @returns {Array<[string, number]>}
 */
export function namesByRows(data) {
  const sums = new Float64Array(data.names.length);
  for (const { counts, name } of data.tracks) for (let i = 0; i < counts.length; i += 1) sums[name[i]] += counts[i];
  return [...sums.entries()].filter(([, rows]) => rows > 0).sort((a, b) => b[1] - a[1]).map(([i, rows]) => [data.names[i], rows]);
}

/**
 * The legend's entries. A bin has the colour of its most frequent name, so counts are of such bins.
 * @param {Parameters<typeof namesByRows>[0]} data
 * @returns {HTMLElement[]}
 */
export function legend(data) {
  const all = namesByRows(data);
  const entries = all.slice(0, SHOWN).map(([name, rows]) => h("span", { class: "legend-entry mono", title: `${name || "Rows whose name is not known"}: the most frequent where there are ${exact(rows)} rows`, data: { cat: String(category(name)) }, text: name || "no name" }));
  return all.length > SHOWN ? [...entries, h("span", { class: "quiet", text: plural(all.length - SHOWN, "more name") })] : entries;
}
