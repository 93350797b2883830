// The tree of tracks within the timeline: which rows there are, what is on them, what is picked. The timeline has the canvas,
// the window of time and the scroll bar.

import { Latest, get } from "../../lib/api.js";
import { Emitter } from "../../lib/emitter.js";
import { duration } from "../../lib/format.js";
import { TrackData } from "./track_data.js";
import { pieceAt } from "./track_decode.js";
import { AXIS } from "./timeline_axis.js";
import { drawTracks, nameOf, pieceText } from "./track_draw.js";
import { lanePlaces, rowHeight, titleOf, treeOf, visibleRows } from "./track_tree.js";

/** @import { TrackList, TrackMoment } from "../../../../api.js" */
/** @import { Lane, TreeRow } from "./track_tree.js" */
/** @import { ShownRow } from "./track_draw.js" */

/** Rows beyond the sight that are asked for as well. */
const BEYOND = 300;
const LIST_SEPARATOR = ",";

/**
 * @typedef {object} Picked a row of a track that is picked
 * @property {Lane} lane
 * @property {TreeRow} row
 * @property {TrackMoment} moment
 */

/**
 * Sends `rows` when there are other rows, `data` when there is more on them, `picked` when something else is picked, `error`
 * with what went wrong.
 * @extends {Emitter<{rows: null, data: null, picked: null, error: unknown}>}
 */
export class TrackLayer extends Emitter {
  #list = new Latest();
  #moment = new Latest();

  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    this.data = new TrackData(context.id);
    this.data.on("data", () => this.emit("data", null));
    this.data.on("error", (error) => this.emit("error", error));
    /** @type {TrackList|null} */
    this.list = null;
    /** @type {TreeRow[]} */
    this.tree = [];
    /** @type {ShownRow[]} */
    this.rows = [];
    /** @type {Picked|null} */
    this.picked = null;
    /**
     * From where wakers were followed, the last one at the end.
     * @type {{row: TreeRow, lane: Lane, time: number}[]}
     */
    this.before = [];
    this.stale = true;
  }

  /** Asks which tracks there are, if that is not known. */
  async load() {
    if (!this.stale) return;
    this.stale = false;
    try {
      const list = await this.#list.run((signal) => get("/api/captures/{id}/tracks", { id: this.context.id }, signal));
      if (!list) return;
      this.list = list;
      this.tree = treeOf(list);
      this.arrange();
      this.emit("rows", null);
      if (!this.picked) this.#pickAddressed();
    } catch (error) {
      this.stale = true;
      this.emit("error", error);
    }
  }

  /** The capture has grown. */
  expire() {
    this.stale = true;
    this.data.expire();
  }

  /** Groups that are not as at first. */
  get turned() {
    return new Set(this.context.view.turned.split(LIST_SEPARATOR).filter(Boolean));
  }

  /** Rows that stand first. */
  get pinned() {
    return this.context.view.pins.split(LIST_SEPARATOR).filter(Boolean);
  }

  /** Finds out which rows are in the tree and where. */
  arrange() {
    const { turned, pinned, context } = this;
    let top = 0;
    this.rows = visibleRows(this.tree, { turned, pinned, find: context.view.name }).map((row) => {
      const height = rowHeight(row.row);
      top += height;
      return { ...row, top: top - height, height };
    });
  }

  /** Pixels of all rows. */
  get height() {
    const last = this.rows.at(-1);
    return last ? last.top + last.height : 0;
  }

  /** The time that the tracks cover. */
  get whole() {
    const { list, context } = this;
    return { start: Math.min(0, list?.start ?? 0), end: Math.max(context.duration, list?.end ?? 0) };
  }

  /**
   * Asks for what is in sight.
   * @param {{start: number, end: number}} shown
   * @param {number} pixels
   * @param {number} scroll
   * @param {number} room
   */
  want(shown, pixels, scroll, room) {
    void this.load();
    const near = this.rows.filter((row) => row.top + row.height > scroll - BEYOND && row.top < scroll + room + BEYOND);
    const tracks = near.flatMap(({ row, isOpen }) =>
      row.kind === "tracks" ? row.lanes.map(({ id }) => id) : isOpen ? [] : row.lanes.slice(0, 12).map(({ id }) => id),
    );
    if (tracks.length > 0) this.data.want(shown, pixels, this.whole, [...new Set(tracks)]);
  }

  /**
   * @param {import("../../lib/canvas.js").Canvas} canvas
   * @param {{shown: {start: number, end: number}, scroll: number, losses: {start: number, end: number}[],
   *   selection: {start: number, end: number}|null, cursor: {track: number|null, time: number}|null}} model
   */
  draw(canvas, model) {
    const at = this.picked?.moment.at;
    drawTracks(canvas, {
      ...model,
      rows: this.rows,
      pieces: this.data.known,
      whole: this.context.duration,
      picked: this.picked && at ? { lane: this.picked.lane.id, start: at.start, end: at.end } : null,
      waker: this.waker && { lane: this.waker.lane.id, time: this.waker.time },
    });
  }

  /**
   * The row at a place; null for none.
   * @param {number} y from the top of the canvas
   * @param {number} scroll
   */
  rowAt(y, scroll) {
    const at = y - AXIS + scroll;
    const index = this.rows.findIndex((row) => at >= row.top && at < row.top + row.height);
    return y >= AXIS && index >= 0 ? index : null;
  }

  /**
   * The lane of a row at a place.
   * @param {number} index
   * @param {number} y
   * @param {number} scroll
   */
  laneAt(index, y, scroll) {
    const { row, top } = this.rows[index];
    if (row.kind !== "tracks") return null;
    const inside = y - AXIS + scroll - top;
    const places = lanePlaces(row);
    return (places.find((lane) => inside < lane.top + lane.height) ?? places.at(-1))?.lane ?? null;
  }

  /**
   * What is at a moment of a row, in words.
   * @param {number} index
   * @param {number} time
   * @param {number} near
   * @param {Lane|null} [lane]
   */
  words(index, time, near, lane = null) {
    const shown = this.rows[index];
    if (!shown) return "";
    const { row, isOpen } = shown;
    if (row.kind === "group")
      return `${titleOf(row)}: ${row.children} ${row.children === 1 ? "track" : "tracks"}, ${isOpen ? "open" : "closed"}`;
    const lanes = lane ? [lane] : row.lanes;
    const parts = lanes.flatMap((one) => {
      const pieces = this.data.known.get(one.id);
      const at = pieces && pieceAt(pieces, time, near);
      return pieces && at !== null && at !== undefined ? [pieceText(pieces, at)] : [];
    });
    return `${titleOf(row)}: ${parts.join("; ") || "nothing here"}`;
  }

  /**
   * Opens or closes a group.
   * @param {number} index
   */
  turn(index) {
    const { row } = this.rows[index];
    if (row.kind !== "group") return;
    const turned = this.turned;
    if (!turned.delete(row.key)) turned.add(row.key);
    this.context.state.set({ turned: [...turned].join(LIST_SEPARATOR) });
  }

  /**
   * Pins a row, or lets it go.
   * @param {number} index
   */
  pin(index) {
    const { key } = this.rows[index].row;
    const pinned = this.pinned;
    const rest = pinned.filter((one) => one !== key);
    this.context.state.set({ pins: (rest.length < pinned.length ? rest : [...pinned, key]).join(LIST_SEPARATOR) });
  }

  /**
   * Picks what is on a lane at a moment, or next after it.
   * @param {TreeRow} row
   * @param {Lane} lane
   * @param {number} time
   */
  async pick(row, lane, time) {
    try {
      const moment = await this.#moment.run((signal) =>
        get(
          "/api/captures/{id}/tracks/moment",
          { id: this.context.id, tracks: lane.id, time: Math.round(time) },
          signal,
        ),
      );
      if (!moment) return;
      this.picked = moment.at ? { row, lane, moment } : null;
      this.context.state.set({
        picked: moment.at ? `${lane.number}/${row.key}/${laneOf(row, lane)}@${moment.at.start}` : "",
      });
      this.emit("picked", null);
    } catch (error) {
      this.emit("error", error);
    }
  }

  /** Picks what is after or before what is picked. */
  async walk(/** @type {"before"|"after"} */ way) {
    const next = this.picked?.moment[way];
    if (this.picked && next) await this.pick(this.picked.row, this.picked.lane, next.start);
    return this.picked;
  }

  /** Who woke the thread into the state that is picked, and when; null where that is not known or no thread did. */
  get waker() {
    const { at, fields } = this.picked?.moment ?? {};
    const column = fields?.columns.findIndex(({ name }) => name === "waker_tid") ?? -1;
    const tid = column < 0 ? 0 : Number(fields?.cells[column]);
    const row = this.tree.find(({ kind, key }) => kind === "tracks" && key === `tid:${tid}`);
    const lane = row?.lanes.find((one) => one.row === "state" && one.of === "thread");
    return at && tid > 0 && row && lane ? { row, lane, time: at.start } : null;
  }

  /** Picks what the waker did then. */
  async followWaker() {
    const { waker, picked } = this;
    if (!waker || !picked) return null;
    this.before.push({ row: picked.row, lane: picked.lane, time: picked.moment.at?.start ?? waker.time });
    await this.pick(waker.row, waker.lane, waker.time);
    return this.picked;
  }

  /** Picks what was picked before a waker was followed. */
  async goBack() {
    const last = this.before.pop();
    if (last) await this.pick(last.row, last.lane, last.time);
    return this.picked;
  }

  /** Picks nothing. */
  clear() {
    this.before = [];
    this.#moment.cancel();
    if (!this.picked) return;
    this.picked = null;
    this.context.state.set({ picked: "" });
    this.emit("picked", null);
  }

  /** Picks what the address says. */
  #pickAddressed() {
    const found = /^(\d+)\/(.+)\/(\d+)@(-?\d+)$/.exec(this.context.view.picked);
    if (!found) return;
    const [, stream, key, number, time] = found;
    const row = this.tree.find((one) => one.kind === "tracks" && one.key === key);
    const lane = row?.lanes.filter((one) => one.number === Number(stream))[Number(number)];
    if (row && lane) void this.pick(row, lane, Number(time));
  }

  /** What is picked, in words. */
  get pickedWords() {
    const at = this.picked?.moment.at;
    return at ? `${nameOf(at.name)} for ${duration(at.duration)}` : "";
  }
}

/**
 * Which of its stream's lanes in the row a lane is.
 * @param {TreeRow} row
 * @param {Lane} lane
 */
function laneOf(row, lane) {
  return row.lanes.filter(({ number }) => number === lane.number).indexOf(lane);
}
