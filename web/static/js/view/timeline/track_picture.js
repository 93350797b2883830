// Pictures of the rows of a pane, kept from frame to frame. Each is drawn where its time is now, scaled if need be, and painted anew when it
// is no longer as it should be: as many rows as a frame has time for, in turn. So panning and zooming never wait for
// all rows to be painted.

import { AXIS } from "./timeline_axis.js";
import { SUMMED_LANES } from "./track_summary.js";
import { Paint, paintRow } from "./track_paint.js";

/** @import { Canvas } from "../../lib/canvas.js" */
/** @import { Pane } from "../../lib/time_fold.js" */
/** @import { BinnedTrack } from "./binned_tracks.js" */
/** @import { KnownTracks } from "./known_tracks.js" */
/** @import { ShownRow } from "./track_draw.js" */

/** Milliseconds of a frame in which rows are painted anew. */
const MOST_MS = 3;
/** What of a pane's width is painted to its left and right as well, so that it is there when time moves. */
const BESIDE = 0.25;
/** Two scales are the same while time moves if they differ by less than this part of a column over the whole picture. */
const SAME_COLUMN = 0.01;

/**
 * @typedef {object} Sight what a pane shows
 * @property {Pane} shown
 * @property {ShownRow[]} rows in sight
 * @property {number} scroll
 * @property {{pieces: KnownTracks, binned: Map<string, BinnedTrack>}} data
 */
/**
 * @typedef {object} Painted the picture of a row, and of what it was painted
 * @property {OffscreenCanvasRenderingContext2D} context
 * @property {number} tall pixels of the device
 * @property {string} form what else its look depends on
 * @property {unknown[]} sources data of its lanes
 * @property {number} first the number of its first column, from the capture's start
 * @property {number} perColumn nanoseconds
 */
/** What a picture needs: nothing; to be painted when there is time, the sooner the less it has of what is in sight; at once. */
const GOOD = 0;
const OLD = 1;
const GAPPED = 2;
const WRONG = 3;

/** Pictures of the rows of one pane. */
export class TrackPictures {
  /** @type {Paint|null} */
  #paint = null;
  /** @type {Record<string, string>|null} */
  #colors = null;
  /** @type {Map<string, Painted>} */
  #painted = new Map();
  /** @type {OffscreenCanvasRenderingContext2D[]} */
  #spare = [];
  /** The row after the last one that was painted anew: each has its turn. */
  #turn = 0;
  #shown = { start: NaN, end: NaN };

  /**
   * Draws all rows, and brings as many up to date as there is time for. Says whether there are more.
   * @param {Canvas} canvas
   * @param {Sight} sight
   */
  draw(canvas, sight) {
    const { shown, rows, scroll } = sight;
    const { ratio, context: ctx } = canvas;
    const left = Math.round(shown.left * ratio);
    const wide = Math.max(1, Math.round(shown.right * ratio) - left);
    const paint = this.#fit(canvas, wide, rows);
    const isMoving = shown.start !== this.#shown.start || shown.end !== this.#shown.end;
    this.#shown = { start: shown.start, end: shown.end };
    this.#scale(paint, shown, wide, isMoving);
    const isMore = this.#renew(paint, sight, wide);
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, Math.round(AXIS * ratio), wide, canvas.element.height);
    ctx.clip();
    ctx.imageSmoothingEnabled = false;
    for (const row of rows) {
      const painted = this.#painted.get(keyOf(row));
      if (!painted) continue;
      const scale = painted.perColumn / paint.perColumn;
      const x = Math.round(left + painted.first * scale - this.#firstOf(paint, shown));
      const y = Math.round((AXIS + row.top - scroll) * ratio);
      ctx.drawImage(painted.context.canvas, x, y, Math.round(paint.columns * scale), painted.context.canvas.height);
    }
    ctx.restore();
    // What is drawn while time moves may be a rounding away from what is drawn when it stands still.
    return isMore || isMoving;
  }

  /**
   * Takes other pixels where the size or the colours are others.
   * @param {Canvas} canvas
   * @param {number} wide
   * @param {ShownRow[]} rows
   */
  #fit({ ratio, colors }, wide, rows) {
    const columns = wide + 2 * Math.ceil(wide * BESIDE);
    const tall = rows.reduce((most, { height }) => Math.max(most, tallOf(height, ratio)), 1);
    const known = this.#paint;
    const isSame = known && known.columns === columns && known.ratio === ratio && this.#colors === colors;
    if (isSame && known.rows >= tall) return known;
    const paint = new Paint(columns, tall, ratio, colors);
    if (isSame) paint.perColumn = known.perColumn;
    else this.#forget(new Set());
    this.#paint = paint;
    this.#colors = colors;
    return paint;
  }

  /**
   * @param {Paint} paint
   * @param {Pane} shown
   * @param {number} wide
   * @param {boolean} isMoving
   */
  #scale(paint, { start, end }, wide, isMoving) {
    const perColumn = (end - start) / wide;
    const isSame = Math.abs(perColumn / paint.perColumn - 1) * paint.columns < SAME_COLUMN;
    if (!isSame || !isMoving) paint.perColumn = perColumn;
  }

  /**
   * The number of the first column in sight.
   * @param {Paint} paint
   * @param {Pane} shown
   */
  #firstOf({ perColumn }, { start }) {
    return Math.round(start / perColumn);
  }

  /**
   * Paints rows that are not as they should be, until there is no more time for it. Says whether there are more.
   * @param {Paint} paint
   * @param {Sight} sight
   * @param {number} wide
   */
  #renew(paint, sight, wide) {
    const begin = performance.now();
    const first = this.#firstOf(paint, sight.shown);
    const found = sight.rows.map((shown) => ({ shown, state: this.#stateOf(shown, sight.data, paint, first, wide) }));
    this.#forget(new Set(sight.rows.map(keyOf)));
    const isLater = (/** @type {ShownRow} */ { top }) => top >= this.#turn;
    const bad = found
      .filter(({ state }) => state !== GOOD)
      .sort((a, b) => b.state - a.state || Number(isLater(b.shown)) - Number(isLater(a.shown)));
    let left = bad.length;
    for (const { shown, state } of bad) {
      const isLate = left < bad.length && performance.now() - begin > MOST_MS;
      if (isLate && state !== WRONG) break;
      this.#paintAnew(paint, shown, sight.data, first - Math.floor((paint.columns - wide) / 2));
      if (state !== WRONG) this.#turn = shown.top + 1;
      left -= 1;
    }
    return left > 0;
  }

  /**
   * @param {ShownRow} shown
   * @param {Sight["data"]} data
   * @param {Paint} paint
   * @param {number} first
   * @param {number} wide
   */
  #stateOf(shown, data, paint, first, wide) {
    const painted = this.#painted.get(keyOf(shown));
    if (!painted || painted.form !== formOf(shown) || painted.tall !== tallOf(shown.height, paint.ratio)) return WRONG;
    const scale = painted.perColumn / paint.perColumn;
    const left = painted.first * scale - first;
    const right = left + paint.columns * scale - wide;
    if (left > 0 || right < 0) return GAPPED;
    const sources = sourcesOf(shown, data);
    const isSame = sources.length === painted.sources.length && sources.every((one, i) => one === painted.sources[i]);
    // What moves on is painted before its end comes into sight.
    const isFar = Math.min(-left, right) * 3 >= (paint.columns - wide) / 2;
    return isSame && scale === 1 && isFar ? GOOD : OLD;
  }

  /**
   * @param {Paint} paint
   * @param {ShownRow} shown
   * @param {Sight["data"]} data
   * @param {number} first
   */
  #paintAnew(paint, shown, data, first) {
    const tall = tallOf(shown.height, paint.ratio);
    const before = this.#painted.get(keyOf(shown));
    const context = before?.context ?? this.#spare.pop() ?? context2d();
    const { canvas } = context;
    if (canvas.width !== paint.columns || canvas.height !== tall)
      Object.assign(canvas, { width: paint.columns, height: tall });
    paint.first = first;
    paint.clear(tall);
    paintRow(paint, shown, data);
    context.putImageData(paint.image, 0, 0, 0, 0, paint.columns, tall);
    const of = { form: formOf(shown), sources: sourcesOf(shown, data) };
    this.#painted.set(keyOf(shown), { context, tall, first, perColumn: paint.perColumn, ...of });
  }

  /**
   * Lets go of rows.
   * @param {Set<string>} kept those of which it does not
   */
  #forget(kept) {
    for (const [key, { context }] of this.#painted) {
      if (kept.has(key)) continue;
      this.#painted.delete(key);
      this.#spare.push(context);
    }
  }
}

function context2d() {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  if (!context) throw new Error("the browser has no more canvases");
  return context;
}

/**
 * @param {number} height
 * @param {number} ratio
 */
const tallOf = (height, ratio) => Math.max(1, Math.round(height * ratio));

/** @param {ShownRow} shown */
const keyOf = ({ row, isPinned }) => `${isPinned ? "pinned " : ""}${row.key}`;

/** @param {ShownRow} shown */
const formOf = ({ row, isOpen, size, places }) => `${row.kind} ${isOpen} ${size} ${places.length}`;

/**
 * What a row is painted of: each is another one when something else is to be seen.
 * @param {ShownRow} shown
 * @param {Sight["data"]} data
 */
function sourcesOf({ row, isOpen, places }, { pieces, binned }) {
  const lanes = row.kind === "group" && !isOpen ? row.lanes.slice(0, SUMMED_LANES) : places.map(({ lane }) => lane);
  return lanes.map(({ id }) => pieces.stamp(id) ?? binned.get(id)?.data);
}
