// When the row at a place of a table is, by the times of rows at places that are evenly spread. Pure.

/**
 * @param {number[]} times of rows from the first to the last, evenly spread
 * @param {number} count of rows
 * @param {number} index of a row
 * @returns {number|null} nanoseconds from the capture's start
 */
export function timeAt(times, count, index) {
  if (times.length < 2 || count < 1) return null;
  const place = (Math.max(0, Math.min(count - 1, index)) / Math.max(1, count - 1)) * (times.length - 1);
  const before = Math.min(times.length - 2, Math.floor(place));
  return Math.round(times[before] + (times[before + 1] - times[before]) * (place - before));
}
