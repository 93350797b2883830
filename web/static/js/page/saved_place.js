// Where a file is opened: an investigation at one of its blocks, or a view. The place is the part of the address behind `#`, so that
// Back leads from a view to where it was opened. Pure.

/** `#BLOCK`, `#BLOCK?VIEW` or `#?VIEW`; what is something else in the page, such as a heading, is no place. */
const PLACE = /^#?([0-9a-f]{16})?(?:\?(.*))?$/s;

/**
 * @typedef {object} SavedPlace
 * @property {string} block of the investigation; empty for none
 * @property {string|null} view the query of the view's address; null where none is open
 */

/**
 * The place that an address names; null where it names none of a file's.
 * @param {string} hash with or without `#`
 * @returns {SavedPlace|null}
 */
export function readPlace(hash) {
  const found = PLACE.exec(hash);
  return found && { block: found[1] ?? "", view: found[2] ?? null };
}

/**
 * The address of a place.
 * @param {string} block empty for none
 * @param {string|null} [view] its query, with or without `?`; null for the page of the investigation
 */
export const placeAddress = (block, view = null) =>
  view === null ? `#${block}` : `#${block}?${view.replace(/^\?/, "")}`;

/**
 * Whether another address shows something else than what is open, so that the file has to be opened anew.
 * @param {SavedPlace|null} open
 * @param {SavedPlace|null} wanted
 */
export const isElsewhere = (open, wanted) =>
  wanted !== null && (wanted.view !== (open?.view ?? null) || (wanted.view !== null && wanted.block !== open?.block));
