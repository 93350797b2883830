// A window of time that is zoomed and moved, in which nothing of the page is known. Pure.

/** The shortest window, nanoseconds. */
export const LEAST_SPAN_NS = 200;

/**
 * A window within `[0, whole]`, of at least {@link LEAST_SPAN_NS} where there is so much.
 * @param {number} start
 * @param {number} end
 * @param {number} whole
 */
export function within(start, end, whole) {
  const all = Math.max(1, whole);
  const span = Math.max(Math.min(LEAST_SPAN_NS, all), Math.min(all, end - start));
  const from = Math.max(0, Math.min(all - span, start));
  return { start: from, end: from + span };
}

/**
 * The window after zooming by `factor` (below 1 shows less) around a moment that stays where it is.
 * @param {{start: number, end: number}} shown
 * @param {number} factor
 * @param {number} anchor
 * @param {number} whole
 */
export function zoomed(shown, factor, anchor, whole) {
  const span = shown.end - shown.start;
  const wanted = Math.max(Math.min(LEAST_SPAN_NS, whole), Math.min(whole, span * factor));
  const real = wanted / span;
  return within(anchor - (anchor - shown.start) * real, anchor + (shown.end - anchor) * real, whole);
}

/**
 * The window moved by a part of itself.
 * @param {{start: number, end: number}} shown
 * @param {number} screens
 * @param {number} whole
 */
export function panned(shown, screens, whole) {
  const by = (shown.end - shown.start) * screens;
  return within(shown.start + by, shown.end + by, whole);
}
