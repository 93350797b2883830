// Arrows over the tree of tracks, from what leads to something to that: where they are, which are left out, and how that is told.
// Pure.

import { plural } from "../../../lib/format.js";

/** Arrows between the same rows that are nearer to each other than so many pixels are not drawn. */
export const LEAST_GAP = 5;

/** @typedef {{time: number, from: string, to: string}} Arrow between two rows or lanes, by key or id */
/** @typedef {{x: number, from: number, to: number}} PlacedArrow pixels */
/**
 * @typedef {object} LeftOut arrows in sight that are not drawn
 * @property {number} near too near to another
 * @property {number} absent between which there are no two rows in the tree as it is shown
 */

/**
 * Where arrows are in a pane, and how many of those in it are left out.
 * @param {Arrow[]} arrows in order of time
 * @param {{start: number, end: number, left: number, right: number}} shown
 * @param {(key: string) => number|null} middleOf pixels from the top; null where it has no row
 * @returns {{drawn: PlacedArrow[]} & LeftOut}
 */
export function placedArrows(arrows, shown, middleOf) {
  const perNs = (shown.right - shown.left) / (shown.end - shown.start);
  const placed = { drawn: /** @type {PlacedArrow[]} */ ([]), near: 0, absent: 0 };
  /** @type {Map<string, number>} */
  const last = new Map();
  for (const { time, from: one, to: other } of arrows) {
    if (time < shown.start) continue;
    if (time > shown.end) break;
    const x = shown.left + (time - shown.start) * perNs;
    const [from, to] = [middleOf(one), middleOf(other)];
    const pair = `${one} ${other}`;
    if (from === null || to === null || from === to) placed.absent += 1;
    else if (x - (last.get(pair) ?? -Infinity) < LEAST_GAP) placed.near += 1;
    else {
      last.set(pair, x);
      placed.drawn.push({ x, from, to });
    }
  }
  return placed;
}

/**
 * What is left out, in words; empty for nothing.
 * @param {LeftOut} left
 */
export function leftOutWords({ near, absent }) {
  const parts = [
    near > 0 && `${plural(near, "arrow")} nearer than ${LEAST_GAP} pixels to another: zoom in`,
    absent > 0 && `${plural(absent, "arrow")} to or from what is not in the tree as it is shown`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `Not drawn: ${parts.join("; ")}`;
}
