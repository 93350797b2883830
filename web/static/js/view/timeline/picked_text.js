// What is picked, as the address has it: the stream of a state or slice, the row of the tree, which of its lanes there, and when.
// Pure.

/** @import { Lane, TreeRow } from "./track_tree.js" */

/** In place of a stream: the lane is no track of one. */
const NONE = "-";

/**
 * Which of the lanes of its stream in the row a lane is.
 * @param {TreeRow} row
 * @param {Lane} lane
 */
function laneOf({ lanes }, { id, number }) {
  return lanes.filter((one) => one.number === number).findIndex((one) => one.id === id);
}

/**
 * As a text.
 * @param {TreeRow} row
 * @param {Lane} lane
 * @param {number} time
 */
export function pickedText(row, lane, time) {
  const stream = lane.number < 0 ? NONE : String(lane.number);
  return `${stream}/${row.key}/${laneOf(row, lane)}@${time}`;
}

/**
 * The other way; null for what is not in the tree.
 * @param {string} text
 * @param {TreeRow[]} tree
 * @returns {{row: TreeRow, lane: Lane, time: number}|null}
 */
export function pickedOf(text, tree) {
  const [, stream, key, number, time] = /^(\d+|-)\/(.+)\/(\d+)@(-?\d{1,16})$/.exec(text) ?? [];
  if (stream === undefined) return null;
  const row = tree.find((one) => one.kind === "tracks" && one.key === key);
  const of = stream === NONE ? -1 : Number(stream);
  const lane = row?.lanes.filter((one) => one.number === of)[Number(number)];
  return row && lane ? { row, lane, time: Number(time) } : null;
}
