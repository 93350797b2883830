// Paints tracks into pixels: strips of states, each with its own colour and pattern so that they are told apart without colour; slices;
// what is narrower than a pixel as shares of its height. Columns are numbered from the capture's start, so that a part of a
// picture that is painted later fits what was painted before.

import { CATEGORIES, category, pixel } from "../../lib/color.js";
import { SHARES, firstPiece } from "./track_decode.js";
import { paintTicks } from "./binned_draw.js";
import { SUMMED, SUMMED_LANES, TrackSummary } from "./track_summary.js";

/** @import { TrackPieces } from "./track_decode.js" */
/** @import { BinnedTrack } from "./binned_tracks.js" */
/** @import { ShownRow } from "./track_draw.js" */
/** @import { Lane } from "./track_tree.js" */
/** @import { TrackLabel } from "../../../../api.js" */

/**
 * How each state is drawn: colour, share of the height, pattern. What is not listed is drawn as `other`.
 * @type {Record<string, {color: string, tall: number, pattern: "solid"|"slanted"|"upright"|"dotted", stacks: number}>}
 */
export const STATES = {
  running: { color: "--state-running", tall: 1, pattern: "solid", stacks: 0 },
  runnable: { color: "--state-runnable", tall: 1, pattern: "slanted", stacks: 1 },
  preempted: { color: "--state-runnable", tall: 1, pattern: "slanted", stacks: 2 },
  uninterruptible: { color: "--state-blocked", tall: 0.65, pattern: "upright", stacks: 3 },
  sleeping: { color: "--state-sleeping", tall: 0.16, pattern: "solid", stacks: 9 },
  idle: { color: "--state-sleeping", tall: 0.16, pattern: "dotted", stacks: 9 },
  other: { color: "--state-other", tall: 0.4, pattern: "dotted", stacks: 4 },
};

/**
 * @typedef {object} Look how something is drawn
 * @property {number} color as a pixel
 * @property {number} tall share of the height
 * @property {string} pattern
 * @property {number} stacks what has less is below
 */
/**
 * @typedef {object} LaneData what is on the tracks
 * @property {{get(id: string): TrackPieces|undefined}} pieces
 * @property {Map<string, BinnedTrack>} binned samples, instants and counters
 */

/** What is wider than so many columns is filled by the browser, the rest pixel by pixel. */
const NARROW = 12;
/**
 * Begins of columns that are a rounding of numbers away belong to the column: the same row must not begin in one of two columns, as
 * it is counted from here or from there.
 */
const NEAR = 1e-3;

/** Pixels in which a row is painted. */
export class Paint {
  /**
   * @param {number} columns
   * @param {number} rows the most that a row has
   * @param {number} ratio pixels of the device to one of the page
   * @param {Record<string, string>} colors
   */
  constructor(columns, rows, ratio, colors) {
    this.ratio = ratio;
    this.columns = columns;
    this.rows = rows;
    this.image = new ImageData(columns, rows);
    this.out = new Uint32Array(this.image.data.buffer);
    this.background = pixel(colors["--bg"]);
    /** Nanoseconds of a column. */
    this.perColumn = 1;
    /** The number of the first column, from the capture's start. */
    this.first = 0;
    /** @type {Record<string, Look>} */
    this.states = Object.fromEntries(
      Object.entries(STATES).map(([name, state]) => [name, { ...state, color: pixel(colors[state.color]) }]),
    );
    this.palette = Array.from({ length: CATEGORIES }, (_one, i) => pixel(colors[`--cat-${i}`]));
    /** @type {WeakMap<TrackLabel[], Map<string, Look[]>>} */
    this.looks = new WeakMap();
  }

  /** When the first column begins. */
  get start() {
    return this.first * this.perColumn;
  }

  /**
   * How rows of each name look in a lane.
   * @param {TrackLabel[]} labels which may have become more
   * @param {Lane} lane
   */
  look(labels, lane) {
    const kind = `${lane.row} ${lane.of}`;
    const known = this.looks.get(labels) ?? new Map();
    this.looks.set(labels, known);
    /** @type {Look[]} */
    const looks = known.get(kind) ?? [];
    for (let i = looks.length; i < labels.length; i += 1) looks.push(this.#lookOf(labels[i], lane));
    known.set(kind, looks);
    return looks;
  }

  /**
   * @param {TrackLabel} label
   * @param {Lane} lane
   * @returns {Look}
   */
  #lookOf({ text, tid }, lane) {
    if (lane.row === "state" && lane.of === "thread") return this.states[text] ?? this.states.other;
    if (lane.row === "state" && lane.of === "cpu" && tid === 0) return this.states.idle;
    return { color: this.palette[category(text)], tall: 1, pattern: "solid", stacks: 0 };
  }

  /**
   * Empties some rows of pixels.
   * @param {number} rows
   */
  clear(rows) {
    this.out.fill(this.background, 0, rows * this.columns);
  }

  /**
   * Fills columns from the bottom of a lane up.
   * @param {number} from
   * @param {number} until
   * @param {number} bottom
   * @param {number} tall
   * @param {Look} look
   */
  fill(from, until, bottom, tall, { color, pattern }) {
    const { out, columns, ratio } = this;
    const left = Math.max(0, from);
    const right = Math.min(columns, until);
    const low = Math.min(this.rows, bottom);
    const high = Math.max(0, bottom - tall);
    if (pattern === "solid") {
      for (let line = high * columns; line < low * columns; line += columns)
        if (right - left > NARROW) out.fill(color, line + left, line + right);
        else for (let x = line + left; x < line + right; x += 1) out[x] = color;
      return;
    }
    const step = Math.max(2, Math.round(2 * ratio));
    // A pattern stays where its time is.
    const phase = ((this.first % (2 * step)) + 2 * step) % (2 * step);
    for (let y = high; y < low; y += 1) {
      const line = y * columns;
      const above = bottom - y;
      if (pattern === "dotted" && above % 2 === 0) continue;
      const slant = pattern === "slanted" ? 2 * step * tall - above : 0;
      for (let x = left; x < right; x += 1) if ((x + phase + slant) % (2 * step) < step) out[line + x] = color;
    }
  }
}

/**
 * Paints a row.
 * @param {Paint} paint
 * @param {ShownRow} shown
 * @param {LaneData} data
 */
export function paintRow(paint, shown, data) {
  if (shown.row.kind === "group" && !shown.isOpen) paintSummary(paint, shown, data);
  for (const { lane, top, height } of shown.places) {
    const bottom = Math.round((top + height) * paint.ratio);
    const tall = Math.max(1, Math.round(height * paint.ratio));
    const pieces = data.pieces.get(lane.id);
    const binned = data.binned.get(lane.id);
    if (pieces) paintLane(paint, lane, pieces, bottom, tall);
    else if (binned && lane.row === "tick") paintTicks(paint, binned, bottom, tall);
  }
}

/**
 * Of a closed group, how many of its tracks do what, one over the other; as high as most of them do at once.
 * @param {Paint} paint
 * @param {ShownRow} shown
 * @param {LaneData} data
 */
function paintSummary(paint, { row, height }, { pieces: known }) {
  const summary = new TrackSummary(paint.start, paint.perColumn, paint.columns);
  const lanes = row.lanes.slice(0, SUMMED_LANES);
  for (const lane of lanes) {
    const pieces = known.get(lane.id);
    if (pieces) summary.add(pieces, lane);
  }
  const { most } = summary;
  if (most === 0) return;
  const bottom = Math.round((height - 4) * paint.ratio);
  const scale = ((height - 8) * paint.ratio) / Math.max(1, Math.ceil(most - 0.005));
  const looks = SUMMED.map((name) => paint.states[name]);
  if (lanes[0].row === "slice") looks[0] = { ...looks[0], color: paint.palette[category(lanes[0].stream)] };
  for (let x = 0; x < paint.columns; x += 1) {
    let sum = 0;
    for (let kind = 0; kind < looks.length; kind += 1) {
      const share = summary.sums[kind][x];
      // What there is at all is seen.
      if (share <= 0) continue;
      const low = bottom - Math.round(sum * scale);
      sum += share;
      paint.fill(x, x + 1, low, Math.max(1, low - bottom + Math.round(sum * scale)), looks[kind]);
    }
  }
}

/**
 * @param {Paint} paint
 * @param {Lane} lane
 * @param {TrackPieces} pieces
 * @param {number} bottom
 * @param {number} tall
 */
function paintLane(paint, lane, pieces, bottom, tall) {
  const { begins, ends, names, several, labels, unit } = pieces;
  const looks = paint.look(labels, lane);
  const scale = unit / paint.perColumn;
  const offset = pieces.start / paint.perColumn - paint.first + NEAR;
  const isSlice = lane.row === "slice";
  // What ends before the first column may be drawn as wide as one.
  for (let i = firstPiece(pieces, paint.start - paint.perColumn); i < begins.length; i += 1) {
    const from = Math.floor(offset + begins[i] * scale);
    if (from >= paint.columns) break;
    const until = Math.max(from + 1, Math.floor(offset + ends[i] * scale));
    if (until <= 0) continue;
    const at = several[i];
    if (at >= 0) {
      stack(pieces, looks, names[i], at);
      paintStack(paint, from, until, bottom, tall, isSlice ? tall * 0.25 : 1);
    } else {
      const look = looks[names[i]];
      const high = Math.max(1, Math.round(tall * look.tall));
      // Neighbours of one colour are told apart by a gap.
      const gap = isSlice && until - from > 3 ? 1 : 0;
      const low = look.tall < 0.3 ? bottom - Math.round((tall - high) / 2) : bottom;
      paint.fill(from, until - gap, low, high, look);
    }
  }
}

/**
 * @typedef {object} Stacked a name's share of several rows
 * @property {Look} look
 * @property {number} share
 */

/** What is stacked of the piece that is painted: it would be garbage for each of tens of thousands of pieces a frame. */
const stacked = {
  count: 0,
  /** @type {Stacked[]} */
  parts: Array.from({ length: SHARES }, () => ({ look: { color: 0, tall: 0, pattern: "", stacks: 0 }, share: 0 })),
};

/**
 * Finds what is stacked of several rows, from the bottom up.
 * @param {TrackPieces} pieces
 * @param {Look[]} looks
 * @param {number} name
 * @param {number} at
 */
function stack({ shares, others }, looks, name, at) {
  const { parts } = stacked;
  stacked.count = 0;
  for (let k = 0; k < SHARES; k += 1) {
    const share = shares[k][at] / 255;
    const look = looks[k === 0 ? name : others[k - 1][at]];
    if (share === 0 || !look) continue;
    const free = parts[stacked.count];
    let place = stacked.count;
    for (; place > 0 && parts[place - 1].look.stacks > look.stacks; place -= 1) parts[place] = parts[place - 1];
    parts[place] = free;
    free.look = look;
    free.share = share;
    stacked.count += 1;
  }
}

/**
 * Several rows in a column: each name has its share of the height.
 * @param {Paint} paint
 * @param {number} from
 * @param {number} until
 * @param {number} bottom
 * @param {number} tall
 * @param {number} least pixels of a share
 */
function paintStack(paint, from, until, bottom, tall, least) {
  let low = bottom;
  for (let k = 0; k < stacked.count; k += 1) {
    const { look, share } = stacked.parts[k];
    // What sleeps is a line in the middle, as it is where there is nothing else.
    if (look.stacks === 9) {
      if (stacked.count === 1)
        paint.fill(from, until, bottom - Math.round(tall * 0.42), Math.max(1, Math.round(tall * 0.16)), look);
      continue;
    }
    const high = Math.min(low - (bottom - tall), Math.max(1, Math.round(Math.max(least, tall * share))));
    paint.fill(from, until, low, high, look);
    low -= high;
  }
}
