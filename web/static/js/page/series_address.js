// The address of a series and the numbers that are shown of it, with a version, so that links made by this release open in later
// ones. Pure.

/** The version that is written. */
export const SERIES_VERSION = 1;
/** Charts below each other that are shown at most. */
export const MOST_CHARTS = 8;

/**
 * @param {string} id
 * @param {string[]} [keys] the numbers that are shown; the usual ones if none
 */
export function seriesAddress(id, keys = []) {
  const params = new URLSearchParams({ v: String(SERIES_VERSION) });
  for (const key of keys) params.append("number", key);
  return `/series/${encodeURIComponent(id)}${keys.length > 0 ? `?${params}` : ""}`;
}

/**
 * The numbers of an address, at most as many as are shown.
 * @param {string} search
 * @returns {{keys: string[], newer: boolean}} `newer`: the link is from a later release
 */
export function readSeries(search) {
  const params = new URLSearchParams(search);
  const keys = [...new Set(params.getAll("number"))].filter((key) => key.length > 0 && key.length <= 512);
  return { keys: keys.slice(0, MOST_CHARTS), newer: Number(params.get("v") ?? 1) > SERIES_VERSION };
}
