// What a closed group shows: how many of its threads run, wait for a CPU or are blocked, moment by moment. Pure.

import { firstPiece } from "./track_decode.js";

/** @import { TrackLabel } from "../../../../api.js" */
/** @import { TrackPieces } from "./track_decode.js" */
/** @import { Lane } from "./track_tree.js" */

/** Lanes of a closed group that are summed: the busiest. */
export const SUMMED_LANES = 24;
/** What is summed, from the bottom up. What sleeps or is idle is not. */
export const SUMMED = /** @type {const} */ (["running", "runnable", "uninterruptible", "other"]);
/** @type {Record<string, number>} */
const STATES = { running: 0, runnable: 1, preempted: 1, uninterruptible: 2, sleeping: -1, idle: -1 };

/**
 * Which of {@link SUMMED} a row with a name counts for; -1 for none.
 * @param {TrackLabel} label
 * @param {Pick<Lane, "row"|"of">} lane
 */
export function summedAs({ text, tid }, { row, of }) {
  if (row !== "state") return 0;
  if (of === "cpu") return tid === 0 ? -1 : 0;
  return STATES[text] ?? 3;
}

/** Sums of some lanes, column by column. */
export class TrackSummary {
  /**
   * @param {number} start nanoseconds
   * @param {number} columnNs nanoseconds of a column
   * @param {number} columns
   */
  constructor(start, columnNs, columns) {
    this.start = start;
    this.columnNs = columnNs;
    this.columns = columns;
    /** Of each of {@link SUMMED}, how many there are on the average of a column. */
    this.sums = SUMMED.map(() => new Float32Array(columns));
  }

  /**
   * Adds what is on a lane.
   * @param {TrackPieces} pieces
   * @param {Pick<Lane, "row"|"of">} lane
   */
  add(pieces, lane) {
    const { begins, ends, names, several, shares, others, labels, unit } = pieces;
    const kinds = labels.map((label) => summedAs(label, lane));
    const scale = unit / this.columnNs;
    const offset = (pieces.start - this.start) / this.columnNs;
    for (let i = firstPiece(pieces, this.start); i < begins.length; i += 1) {
      const from = offset + begins[i] * scale;
      if (from >= this.columns) break;
      const to = offset + ends[i] * scale;
      const at = several[i];
      if (at < 0) this.#put(kinds[names[i]], from, to, 1);
      else {
        this.#put(kinds[names[i]], from, to, shares[0][at] / 255);
        for (const [other, list] of others.entries()) this.#put(kinds[list[at]], from, to, shares[other + 1][at] / 255);
      }
    }
  }

  /**
   * @param {number} kind
   * @param {number} from column
   * @param {number} to
   * @param {number} weight
   */
  #put(kind, from, to, weight) {
    const sums = this.sums[kind];
    const [left, right] = [Math.max(0, from), Math.min(this.columns, to)];
    if (!sums || weight === 0 || right <= left) return;
    const last = Math.ceil(right) - 1;
    for (let x = Math.floor(left); x <= last; x += 1) sums[x] += weight * (Math.min(right, x + 1) - Math.max(left, x));
  }

  /** The most of a column. */
  get most() {
    let most = 0;
    for (let x = 0; x < this.columns; x += 1)
      most = Math.max(
        most,
        this.sums.reduce((sum, one) => sum + one[x], 0),
      );
    return most;
  }
}

/**
 * A column in words, such as `1.5 running, 0.2 runnable`.
 * @param {TrackSummary} summary
 * @param {number} column
 * @param {boolean} isStates whether these are states, and not slices
 */
export function summaryWords({ sums }, column, isStates) {
  const parts = SUMMED.map((name, kind) => ({ name: isStates ? name : "at once", count: sums[kind][column] }));
  const words = parts.filter(({ count }) => count >= 0.005).map(({ name, count }) => `${rounded(count)} ${name}`);
  return words.join(", ");
}

/** @param {number} count */
const rounded = (count) => String(count >= 9.95 ? Math.round(count) : Math.round(count * 100) / 100);
