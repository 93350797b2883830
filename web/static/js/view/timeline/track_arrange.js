// In which order the rows of the tree are, which of them are hidden, and how high they are. All of it is in the address. Pure.

/** @import { Lane, TreeRow } from "./track_tree.js" */

const SEPARATOR = ",";

/**
 * Keys of rows as one text. A key can be a text of an event: separators in it are escaped.
 * @param {Iterable<string>} keys
 */
export function packKeys(keys) {
  return [...keys].map((key) => key.replace(/[%,=]/g, encodeURIComponent)).join(SEPARATOR);
}

/**
 * The other way; what is no key is left out.
 * @param {string} text
 * @returns {string[]}
 */
export function unpackKeys(text) {
  return text.split(SEPARATOR).flatMap((part) => {
    try {
      return part === "" ? [] : [decodeURIComponent(part)];
    } catch {
      return [];
    }
  });
}

/** How high rows can be: one low lane, what fits usually, everything at twice the height. */
export const SIZES = /** @type {const} */ (["low", "usual", "high"]);
/** @typedef {typeof SIZES[number]} Size */

/**
 * Heights that are not the usual ones, by key, as one text.
 * @param {Map<string, Size>} sizes
 */
export function packSizes(sizes) {
  return [...sizes]
    .filter(([, size]) => size !== "usual")
    .map(([key, size]) => `${packKeys([key])}=${size}`)
    .join(SEPARATOR);
}

/**
 * The other way.
 * @param {string} text
 * @returns {Map<string, Size>}
 */
export function unpackSizes(text) {
  const parts = text.split(SEPARATOR).flatMap((part) => {
    const [key, name] = part.split("=");
    const size = SIZES.find((one) => one === name);
    return size ? unpackKeys(key).map((one) => /** @type {[string, Size]} */ ([one, size])) : [];
  });
  return new Map(parts);
}

/**
 * The tree with the listed rows first among those of their group, in the order of the list.
 * @param {TreeRow[]} tree
 * @param {string[]} order keys
 */
export function ordered(tree, order) {
  if (order.length === 0) return tree;
  const places = new Map(order.map((key, place) => [key, place]));
  /** @type {Map<string, TreeRow[]>} */
  const within = new Map();
  for (const row of tree) {
    const siblings = within.get(row.parent);
    if (siblings) siblings.push(row);
    else within.set(row.parent, [row]);
  }
  const place = (/** @type {TreeRow} */ { key }) => places.get(key) ?? order.length;
  for (const siblings of within.values()) siblings.sort((a, b) => place(a) - place(b));
  return (within.get("") ?? []).flatMap((row) =>
    row.kind === "group" ? [row, ...(within.get(row.key) ?? [])] : [row],
  );
}

/**
 * The order after a row was put in the place of another one of its group; the same list where that is none.
 * @param {TreeRow[]} tree in its order
 * @param {string[]} order
 * @param {string} key of the row
 * @param {string} target of the row whose place it takes
 */
export function movedTo(tree, order, key, target) {
  const row = tree.find((one) => one.key === key);
  const siblings = tree.filter(({ parent }) => parent === row?.parent).map((one) => one.key);
  const [from, to] = [siblings.indexOf(key), siblings.indexOf(target)];
  if (!row || from < 0 || to < 0 || from === to) return order;
  siblings.splice(to, 0, ...siblings.splice(from, 1));
  // As few as needed: those in front of the moved ones, and those that were listed before.
  const last = siblings.findLastIndex((one, i) => i <= Math.max(from, to) || order.includes(one));
  return [...order.filter((one) => !siblings.includes(one)), ...siblings.slice(0, last + 1)];
}

/**
 * The order after a row was moved up or down by one among those that are shown; the same list where it is at the end.
 * @param {TreeRow[]} tree in its order
 * @param {string[]} order
 * @param {string} key
 * @param {number} by -1 or 1
 * @param {(row: TreeRow) => boolean} isShown
 */
export function movedBy(tree, order, key, by, isShown) {
  const row = tree.find((one) => one.key === key);
  const siblings = tree.filter((one) => one.parent === row?.parent && (one.key === key || isShown(one)));
  const target = siblings[siblings.findIndex((one) => one.key === key) + by];
  return target ? movedTo(tree, order, key, target.key) : order;
}

/** Pixels. */
const GROUP_HEIGHT = 24;
const SUMMARY_HEIGHT = 34;
const LEAST_HEIGHT = 24;
const ROW_PAD = 4;
const LOW_PAD = 2;
/** Pixels of a line of notes. */
export const NOTE_LINE = 16;
/** @type {Record<Lane["row"], number>} */
const HEIGHTS = { state: 16, slice: 14, tick: 9, counter: 28, rows: 44, note: 3 * NOTE_LINE };
const LOW_HEIGHT = 14;
/** Lanes that are shown at the usual height. */
const USUAL_LANES = 6;

/** @typedef {{lane: Lane, top: number, height: number}} LanePlace where a lane is, from the top of its row */

/**
 * Where the lanes of a row are, how high the row is, and how many of its lanes have no place at this height.
 * @param {TreeRow} row
 * @param {Size} size
 * @param {boolean} isOpen
 * @returns {{places: LanePlace[], height: number, more: number}}
 */
export function placesOf(row, size, isOpen) {
  if (row.kind === "group") {
    // Only states and slices are summed.
    const isSummed = row.lanes.some((lane) => lane.row === "state" || lane.row === "slice");
    const closed = !isSummed
      ? GROUP_HEIGHT
      : size === "high"
        ? 2 * SUMMARY_HEIGHT
        : size === "low"
          ? GROUP_HEIGHT
          : SUMMARY_HEIGHT;
    return { places: [], height: isOpen ? GROUP_HEIGHT : closed, more: 0 };
  }
  if (size === "low") {
    const [lane] = row.lanes;
    return {
      places: [{ lane, top: LOW_PAD, height: LOW_HEIGHT }],
      height: LOW_HEIGHT + 2 * LOW_PAD,
      more: row.lanes.length - 1,
    };
  }
  const lanes = size === "high" ? row.lanes : row.lanes.slice(0, USUAL_LANES);
  let top = ROW_PAD;
  const places = lanes.map((lane) => {
    const height = HEIGHTS[lane.row] * (size === "high" ? 2 : 1);
    top += height;
    return { lane, top: top - height, height: height - 1 };
  });
  return { places, height: Math.max(LEAST_HEIGHT, top + ROW_PAD), more: row.lanes.length - lanes.length };
}
