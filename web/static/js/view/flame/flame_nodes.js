// What is known of a flame graph's nodes without any of the others: they are in preorder, with their depths. Pure.

/** Bits of `match`: the node's own name, something that was cut away above it. */
export const MATCH_SELF = 1;
/** See {@link MATCH_SELF}. */
export const MATCH_BELOW = 2;

/**
 * For each node in preorder the index of its parent; -1 for the root.
 * @param {number[]} depths
 */
export function parentsOf(depths) {
  /** @type {number[]} */
  const last = [];
  return depths.map((depth, i) => {
    last[depth] = i;
    return depth === 0 ? -1 : (last[depth - 1] ?? -1);
  });
}
