// Time with its long empty parts taken out, and how a window of time is divided on the screen. Pure.

/** @typedef {{start: number, end: number}} Span nanoseconds */
/** @typedef {Span & {left: number, right: number}} Pane a part of time and the pixels that show it */

/** Pixels between two parts of time. */
export const PANE_GAP = 8;
/** The most parts that are taken out: each part in sight is asked for by itself. */
export const MOST_GAPS = 7;
/** What is taken out is at least this share of the capture. */
const LEAST_SHARE = 0.02;

/** Time without some parts. */
export class TimeFold {
  /** @param {Span[]} gaps the parts, in order */
  constructor(gaps) {
    this.gaps = gaps;
  }

  /**
   * A moment in folded time; of one that is taken out, where its part was.
   * @param {number} time
   */
  fold(time) {
    let out = 0;
    for (const { start, end } of this.gaps) {
      if (time <= start) break;
      out += Math.min(time, end) - start;
    }
    return time - out;
  }

  /**
   * The other way.
   * @param {number} folded
   * @param {boolean} [late] where a part was taken out, whether its end is meant and not its start
   */
  unfold(folded, late = false) {
    let out = 0;
    for (const { start, end } of this.gaps) {
      if (folded < start - out || (folded === start - out && !late)) break;
      out += end - start;
    }
    return folded + out;
  }

  /**
   * What is left of a window.
   * @param {Span} window
   * @returns {Span[]}
   */
  parts({ start, end }) {
    const parts = [];
    let from = start;
    for (const gap of this.gaps) {
      if (gap.end <= from || gap.start >= end) continue;
      if (gap.start > from) parts.push({ start: from, end: gap.start });
      from = gap.end;
    }
    if (from < end) parts.push({ start: from, end });
    return parts;
  }
}

/**
 * The longest parts of a capture in which nothing happened.
 * @param {ArrayLike<number>} counts rows of each bin
 * @param {Span} window that the bins divide
 * @returns {Span[]}
 */
export function emptyParts(counts, { start, end }) {
  const binNs = (end - start) / counts.length;
  /** @type {Span[]} */
  const found = [];
  let from = -1;
  for (let i = 0; i <= counts.length; i += 1) {
    const isEmpty = i < counts.length && counts[i] === 0;
    if (isEmpty && from < 0) from = i;
    if (isEmpty || from < 0) continue;
    // A bin on both sides stays, so that what is next to it does not look as if it followed at once.
    const part = { start: start + (from + 1) * binNs, end: start + (i - 1) * binNs };
    if (part.end - part.start >= (end - start) * LEAST_SHARE) found.push(part);
    from = -1;
  }
  const longest = found.toSorted((a, b) => b.end - b.start - (a.end - a.start)).slice(0, MOST_GAPS);
  return longest.toSorted((a, b) => a.start - b.start);
}

/**
 * How a window is divided on the screen: by what is folded, or into two halves of which the second shows another time.
 * @param {Span} window
 * @param {{left: number, width: number, fold: TimeFold|null, beside: number|null}} parts `left`: pixels before the time begins;
 *   `beside`: how much later the second half begins than the first
 * @returns {Pane[]} at least one
 */
export function panesOf(window, { left, width, fold, beside }) {
  const wide = Math.max(1, width - left);
  if (beside !== null) {
    const half = Math.max(1, (wide - PANE_GAP) / 2);
    const { start, end } = window;
    return [
      { start, end, left, right: left + half },
      { start: start + beside, end: end + beside, left: left + half + PANE_GAP, right: left + 2 * half + PANE_GAP },
    ];
  }
  const found = fold?.parts(window) ?? [];
  const parts = found.length > 0 ? found : [window];
  const shown = parts.reduce((sum, part) => sum + part.end - part.start, 0);
  const room = Math.max(1, wide - (parts.length - 1) * PANE_GAP);
  let at = left;
  return parts.map(({ start, end }) => {
    const across = (room * (end - start)) / shown;
    at += across + PANE_GAP;
    return { start, end, left: at - across - PANE_GAP, right: at - PANE_GAP };
  });
}

/**
 * The pane that a place is in; left of it belongs to the first, and what is between two to the one before.
 * @param {Pane[]} panes
 * @param {number} x
 */
export const paneAt = (panes, x) => panes.findLast((pane) => pane.left <= x) ?? panes[0];

/**
 * The time at a place.
 * @param {Pane[]} panes
 * @param {number} x
 */
export function timeAt(panes, x) {
  const pane = paneAt(panes, x);
  const time = pane.start + ((x - pane.left) / (pane.right - pane.left)) * (pane.end - pane.start);
  return pane === panes.at(-1) ? time : Math.min(pane.end, time);
}

/**
 * The place of a moment: in the first pane that has it, else where it was taken out, else on the line of the first.
 * @param {Pane[]} panes
 * @param {number} time
 */
export function placeOf(panes, time) {
  const within = panes.find((pane) => time >= pane.start && time <= pane.end);
  const between = panes.findLast((pane, i) => time > pane.end && panes[i + 1] && time < panes[i + 1].start);
  if (!within && between) return between.right + PANE_GAP / 2;
  const pane = within ?? (time > panes[0].end ? (panes.at(-1) ?? panes[0]) : panes[0]);
  return pane.left + ((time - pane.start) / (pane.end - pane.start)) * (pane.right - pane.left);
}
