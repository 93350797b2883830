// The tree of tracks within the timeline: which rows there are, what is on them, what is picked. The timeline has the canvas,
// the window of time and the scroll bar.

import { Latest, get } from "../../lib/api.js";
import { Emitter } from "../../lib/emitter.js";
import { duration } from "../../lib/format.js";
import { pickedOf, pickedText } from "./picked_text.js";
import { rowIndexAt, rowsBetween } from "./row_search.js";
import { TrackData } from "./track_data.js";
import { edgesAt, pieceAt } from "./track_decode.js";
import { BinnedTracks } from "./binned_tracks.js";
import { ArrowsLayer } from "./path/arrows_layer.js";
import { drawPath } from "./path/path_draw.js";
import { PATH_HEIGHT, PathLayer } from "./path/path_layer.js";
import { notesWords } from "./notes/notes_place.js";
import { notesOfTracks } from "./notes/track_notes.js";
import { firstLine } from "../notes/note_words.js";
import { flowTime } from "./path/flow_panel.js";
import { partWords } from "./path/path_parts.js";
import { AXIS } from "./timeline_axis.js";
import { binnedWords } from "./binned_draw.js";
import {
  SIZES,
  movedBy,
  movedTo,
  ordered,
  packKeys,
  packSizes,
  placesOf,
  unpackKeys,
  unpackSizes,
} from "./track_arrange.js";
import { drawTracks, nameOf, pieceText } from "./track_draw.js";
import { TrackPictures } from "./track_picture.js";
import { SUMMED_LANES, TrackSummary, summaryWords } from "./track_summary.js";
import { RowsLanes } from "./rows/rows_lanes.js";
import { titleOf, treeOf, visibleRows } from "./track_tree.js";

/** @import { TrackList, TrackMoment, TrackRowLine } from "../../../../api.js" */
/** @import { Pane } from "../../lib/time_fold.js" */
/** @import { Lane, TreeRow } from "./track_tree.js" */
/** @import { ShownRow } from "./track_draw.js" */

/** Rows beyond the sight that are asked for as well. */
const BEYOND = 300;

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
  /** @type {TrackPictures[]} */
  #pictures = [];

  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    /** @type {TrackData[]} */
    this.windows = [];
    this.binned = new BinnedTracks(context);
    this.binned.on("data", () => this.emit("data", null));
    this.binned.on("error", (error) => this.emit("error", error));
    this.own = new RowsLanes(context);
    this.own.on("rows", () => this.#rebuild());
    this.own.on("data", () => {
      this.emit("data", null);
      if (!this.picked) this.#pickAddressed();
    });
    /** Notes on tracks as a whole. */
    this.notesOf = notesOfTracks(context.notes.items);
    context.notes.on("change", () => {
      this.notesOf = notesOfTracks(context.notes.items);
      this.#rebuild();
    });
    /** @type {TrackList|null} */
    this.list = null;
    /** @type {TreeRow[]} */
    this.tree = [];
    /** @type {ShownRow[]} */
    this.rows = [];
    /** Tracks that are not shown because somebody has hidden them. */
    this.hiddenTracks = 0;
    /** @type {Picked|null} */
    this.picked = null;
    /**
     * From where wakers were followed, the last one at the end.
     * @type {{row: TreeRow, lane: Lane, time: number}[]}
     */
    this.before = [];
    this.arrows = new ArrowsLayer(this);
    this.path = new PathLayer(this);
    this.path.on("data", () => this.emit("data", null));
    this.path.on("error", (error) => this.emit("error", error));
    this.stale = true;
  }

  /**
   * What is on the tracks in one of the panes.
   * @param {number} pane
   */
  window(pane) {
    const known = this.windows[pane];
    if (known) return known;
    const data = new TrackData(this.context.id);
    this.windows[pane] = data;
    data.on("data", () => this.emit("data", null));
    data.on("error", (error) => this.emit("error", error));
    return data;
  }

  /** Asks which tracks there are, if that is not known. */
  async load() {
    if (!this.stale) return;
    this.stale = false;
    try {
      const [list] = await Promise.all([
        this.#list.run((signal) => get("/api/captures/{id}/tracks", { id: this.context.id }, signal)),
        this.own.loadMaps(),
      ]);
      if (!list) return;
      this.list = list;
      this.binned.list = list.binned;
      this.#rebuild();
      if (!this.picked) this.#pickAddressed();
    } catch (error) {
      this.stale = true;
      this.emit("error", error);
    }
  }

  /** Finds out which rows there are. */
  #rebuild() {
    const { list, context, own } = this;
    if (!list) return;
    const hasNotes = context.notes.timed.length > 0;
    const { outputs } = context;
    this.tree = treeOf(list, { hasNotes, queries: own.queries, maps: own.maps, outputs });
    this.arrange();
    this.emit("rows", null);
  }

  /**
   * The capture has grown.
   * @param {boolean} visible
   */
  expire(visible) {
    this.stale = true;
    this.own.grown(visible);
    for (const data of this.windows) data.expire();
    this.binned.expire();
    this.path.expire();
  }

  /** Groups that are not as at first. */
  get turned() {
    return new Set(unpackKeys(this.context.view.turned));
  }

  /** Rows that stand first. */
  get pinned() {
    return unpackKeys(this.context.view.pins);
  }

  /** Finds out which rows are in the tree and where. */
  arrange() {
    const { turned, pinned, context } = this;
    const { hidden, moved, tall, name: find } = context.view;
    const view = { turned, pinned, hidden: new Set(unpackKeys(hidden)), order: unpackKeys(moved), find };
    const { rows, hidden: hiddenTracks } = visibleRows(this.tree, view);
    const sizes = unpackSizes(tall);
    let top = 0;
    const { key } = this.path;
    const found = rows.flatMap((row) =>
      key && row.row.kind === "tracks" && row.row.key === key
        ? [row, { ...row, row: this.path.rowBelow(row.row), isPinned: false }]
        : [row],
    );
    this.hiddenTracks = hiddenTracks;
    this.rows = found.map((row) => {
      const size = sizes.get(row.row.key) ?? "usual";
      const place =
        row.row.kind === "path" ? { places: [], height: PATH_HEIGHT, more: 0 } : placesOf(row.row, size, row.isOpen);
      top += place.height;
      return { ...row, ...place, size, top: top - place.height };
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
   * @param {Pane[]} panes
   * @param {number} ratio pixels of the device to one of the page
   * @param {number} scroll
   * @param {number} room
   */
  want(panes, ratio, scroll, room) {
    void this.load();
    const near = this.rows.slice(...rowsBetween(this.rows, scroll - BEYOND, scroll + room + BEYOND));
    const lanes = near.flatMap(({ row, isOpen, places }) =>
      row.kind === "tracks"
        ? places.map(({ lane }) => lane)
        : isOpen
          ? []
          : row.lanes.slice(0, SUMMED_LANES).filter(isTrack),
    );
    const tracks = new Set(lanes.filter(isTrack).map(({ id }) => id));
    const isBinned = lanes.some(({ row }) => row === "tick" || row === "counter");
    const rowsLanes = lanes.filter(({ row }) => row === "rows").map(({ id }) => id);
    const ends = panes.flatMap(({ start, end }) => [start, end]);
    this.own.want(rowsLanes, { start: Math.min(...ends), end: Math.max(...ends) });
    for (const [i, { start, end, left, right }] of panes.entries()) {
      const pixels = Math.max(1, Math.round((right - left) * ratio));
      if (tracks.size > 0) this.window(i).want({ start, end }, pixels, this.whole, [...tracks]);
      if (isBinned) this.binned.want(i, { start, end }, pixels);
    }
  }

  /**
   * @param {import("../../lib/canvas.js").Canvas} canvas
   * @param {{panes: Pane[], isBeside: boolean, scroll: number, losses: {start: number, end: number}[],
   *   selection: {start: number, end: number}|null, cursor: {track: number|null, time: number, depth: number}|null,
   *   dragged: {from: number, to: number}|null}} model
   */
  draw(canvas, model) {
    const at = this.picked?.moment.at;
    const isMore = drawTracks(canvas, {
      ...model,
      rows: this.rows,
      panes: model.panes.map((pane, i) => ({
        ...pane,
        pieces: this.window(i).known,
        binned: this.binned.window(i).known,
        pictures: this.#picturesOf(i),
      })),
      whole: this.context.duration,
      picked: this.picked && at ? { lane: this.picked.lane.id, number: at.number, start: at.start, end: at.end } : null,
      own: this.own,
      notes: { items: this.context.notes.timed, of: this.notesOf, selected: this.context.view.note },
    });
    this.#drawPath(canvas, model);
    this.arrows.draw(canvas, model);
    if (isMore) canvas.redraw();
  }

  /** @param {number} pane */
  #picturesOf(pane) {
    const known = this.#pictures[pane];
    if (known) return known;
    const pictures = new TrackPictures();
    this.#pictures[pane] = pictures;
    return pictures;
  }

  /**
   * @param {import("../../lib/canvas.js").Canvas} canvas
   * @param {{panes: Pane[], scroll: number}} model
   */
  #drawPath(canvas, { panes, scroll }) {
    const path = this.path.data;
    const row = this.rows.find(({ row: { kind } }) => kind === "path");
    if (path && row) for (const shown of panes) drawPath(canvas, { path, row, shown, scroll });
  }

  /**
   * The row at a place; null for none.
   * @param {number} y from the top of the canvas
   * @param {number} scroll
   */
  rowAt(y, scroll) {
    return y >= AXIS ? rowIndexAt(this.rows, y - AXIS + scroll) : null;
  }

  /**
   * The lane of a row at a place.
   * @param {number} index
   * @param {number} y
   * @param {number} scroll
   */
  laneAt(index, y, scroll) {
    const { places, top } = this.rows[index];
    const inside = y - AXIS + scroll - top;
    return (places.find((lane) => inside < lane.top + lane.height) ?? places.at(-1))?.lane ?? null;
  }

  /**
   * What is at a moment of a row, in words.
   * @param {number} index
   * @param {number} time
   * @param {number} near
   * @param {number} pane
   * @param {Lane|null} [lane]
   */
  words(index, time, near, pane, lane = null) {
    const shown = this.rows[index];
    if (!shown) return "";
    const { row } = shown;
    if (row.kind === "group") return this.#groupWords(shown, time, near, pane);
    if (row.kind === "path") {
      const part = this.path.partAt(time);
      return `${titleOf(row)}: ${part && this.path.data ? partWords(this.path.data, part) : "nothing here"}`;
    }
    const lanes = lane ? [lane] : row.lanes;
    const parts = lanes.flatMap((one) => {
      if (one.row === "rows") return this.own.words(one.id, time, near);
      if (one.row === "note") return notesWords(this.context.notes.timed, time, near);
      const binned = this.binned.window(pane).known.get(one.id);
      if (binned) return binnedWords(binned, time, near);
      const pieces = this.window(pane).known.get(one.id);
      const at = pieces && pieceAt(pieces, time, near);
      return pieces && at !== null && at !== undefined ? [pieceText(pieces, at)] : [];
    });
    return `${titleOf(row)}: ${parts.join("; ") || "nothing here"}`;
  }

  /**
   * @param {ShownRow} shown of a group
   * @param {number} time
   * @param {number} near
   * @param {number} pane
   */
  #groupWords({ row, isOpen }, time, near, pane) {
    const title = `${titleOf(row)}: ${row.children} ${row.children === 1 ? "track" : "tracks"}`;
    if (isOpen) return `${title}, open`;
    const summary = new TrackSummary(time - near, 2 * near, 1);
    const lanes = row.lanes.slice(0, SUMMED_LANES).filter(isTrack);
    for (const lane of lanes) {
      const pieces = this.window(pane).known.get(lane.id);
      if (pieces) summary.add(pieces, lane);
    }
    const words = summaryWords(summary, 0, lanes[0]?.row === "state");
    const of = row.lanes.length > SUMMED_LANES ? ` of the ${SUMMED_LANES} busiest` : "";
    return `${title}, closed${words && `; ${words}${of}`}`;
  }

  /**
   * The notes on a track as a whole, in words; empty where there are none.
   * @param {number} index of its row
   */
  noteWords(index) {
    const shown = this.rows[index];
    const notes = (shown && this.notesOf.get(shown.row.key)) ?? [];
    if (notes.length === 0) return "";
    const said = notes.map((note) => `${note.author}: ${firstLine(note) || "a note without text"}`);
    return `${titleOf(shown.row)}: ${said.join("; ")}`;
  }

  /**
   * Lets a row be among those that are shown: opens its group, and hides neither any more.
   * @param {string} key
   * @returns {boolean} whether there is such a row
   */
  uncover(key) {
    const row = this.tree.find((one) => one.key === key);
    if (!row) return false;
    // What was hidden just now may still be among the rows, which are laid out when they are drawn.
    const before = unpackKeys(this.context.view.hidden);
    const hidden = before.filter((one) => one !== key && one !== row.parent);
    if (hidden.length === before.length && this.rows.some((shown) => shown.row.key === key)) return true;
    const { turned } = this;
    const group = this.tree.find((one) => one.key === row.parent);
    if (group && group.opens === turned.has(group.key) && !turned.delete(group.key)) turned.add(group.key);
    this.context.state.set({ turned: packKeys(turned), hidden: packKeys(new Set(hidden)), name: "" });
    return true;
  }

  /**
   * The edge of what is on a row that is nearest to a moment; the moment itself where none is near.
   * @param {number} index
   * @param {number} time
   * @param {number} near nanoseconds
   * @param {number} pane
   */
  snap(index, time, near, pane) {
    const known = this.rows[index].places.flatMap(({ lane }) => this.window(pane).known.get(lane.id) ?? []);
    const edges = known.flatMap((pieces) => edgesAt(pieces, time));
    for (const { lane } of this.rows[index].places)
      if (lane.row === "rows") edges.push(...this.own.edges(lane.id, time));
    const at = this.picked?.moment.at;
    if (at) edges.push(at.start, at.end);
    const nearest = edges.reduce(
      (best, edge) => (Math.abs(edge - time) < Math.abs(best - time) ? edge : best),
      Infinity,
    );
    return Math.abs(nearest - time) <= near ? nearest : time;
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
    this.context.state.set({ turned: packKeys(turned) });
  }

  /**
   * Pins a row, or lets it go.
   * @param {number} index
   */
  pin(index) {
    const { key } = this.rows[index].row;
    const pinned = this.pinned;
    const rest = pinned.filter((one) => one !== key);
    this.context.state.set({ pins: packKeys(rest.length < pinned.length ? rest : [...pinned, key]) });
  }

  /**
   * Hides a row, and what is in it if it is a group. One that was pinned is let go.
   * @param {number} index
   */
  hide(index) {
    const { key } = this.rows[index].row;
    const { hidden } = this.context.view;
    this.context.state.set({
      hidden: packKeys(new Set([...unpackKeys(hidden), key])),
      pins: packKeys(this.pinned.filter((one) => one !== key)),
    });
  }

  /** Shows what was hidden. */
  showHidden() {
    this.context.state.set({ hidden: "" });
  }

  /**
   * Moves a row up or down within its group, or among those that are pinned.
   * @param {number} index
   * @param {number} by -1 or 1
   */
  move(index, by) {
    const { row, isPinned } = this.rows[index];
    if (isPinned) {
      const pinned = this.pinned;
      const at = pinned.indexOf(row.key);
      if (at + by < 0 || at + by >= pinned.length) return;
      pinned.splice(at + by, 0, ...pinned.splice(at, 1));
      this.context.state.set({ pins: packKeys(pinned) });
      return;
    }
    const order = unpackKeys(this.context.view.moved);
    const shown = new Set(this.rows.filter((one) => !one.isPinned).map((one) => one.row.key));
    const moved = movedBy(ordered(this.tree, order), order, row.key, by, ({ key }) => shown.has(key));
    this.context.state.set({ moved: packKeys(moved) });
  }

  /**
   * Puts a row in the place of another one of its group.
   * @param {string} key
   * @param {string} target
   */
  moveTo(key, target) {
    const order = unpackKeys(this.context.view.moved);
    this.context.state.set({ moved: packKeys(movedTo(ordered(this.tree, order), order, key, target)) });
  }

  /**
   * Makes a row higher or lower.
   * @param {number} index
   * @param {number} by -1 or 1
   */
  resize(index, by) {
    const { row, size } = this.rows[index];
    const next = SIZES[SIZES.indexOf(size) + by];
    if (!next) return;
    const sizes = unpackSizes(this.context.view.tall);
    this.context.state.set({ tall: packSizes(sizes.set(row.key, next)) });
  }

  /**
   * Picks what is on a lane at a moment, or next after it.
   * @param {TreeRow} row
   * @param {Lane} lane
   * @param {number} time
   * @param {{near?: number, high?: number}} [place] `near`: nanoseconds before it that still count, where rows take no time; `high`:
   *   where in the lane, from 0 at its top to 1
   */
  async pick(row, lane, time, { near = 0, high } = {}) {
    try {
      if (lane.row === "rows") {
        this.#picks(row, lane, this.own.moment(lane.id, time, near, high));
        return;
      }
      if (lane.row === "tick") {
        await this.#pickTick(row, lane, { time: Math.round(time - near) });
        return;
      }
      if (!isTrack(lane)) return;
      const moment = await this.#moment.run((signal) =>
        get(
          "/api/captures/{id}/tracks/moment",
          { id: this.context.id, tracks: lane.id, time: Math.round(time) },
          signal,
        ),
      );
      if (moment) this.#picks(row, lane, moment);
    } catch (error) {
      this.emit("error", error);
    }
  }

  /**
   * Picks a sample or an instant: the one at a moment or the next one, or a row of a stream.
   * @param {TreeRow} row
   * @param {Lane} lane
   * @param {{time: number}|{row: string}} at
   */
  async #pickTick(row, lane, at) {
    const { id, view } = this.context;
    const streams = lane.number < 0 ? this.binned.heads.tick_streams.join(",") : String(lane.number);
    const of = lane.number < 0 ? { tid: row.tid } : {};
    const moment = await this.#moment.run((signal) =>
      get("/api/captures/{id}/tracks/instant", { id, streams, filter: view.filter, ...of, ...at }, signal),
    );
    if (moment) this.#picks(row, lane, moment);
  }

  /**
   * @param {TreeRow} row
   * @param {Lane} lane
   * @param {TrackMoment|null} moment null for nothing
   */
  #picks(row, lane, moment) {
    const at = moment?.at;
    this.picked = moment && at ? { row, lane, moment } : null;
    this.context.state.set({ picked: at ? pickedText(row, lane, at.start) : "" });
    this.emit("picked", null);
  }

  /**
   * @param {Picked} picked
   * @param {TrackRowLine} next
   */
  async #walkTick({ row, lane }, next) {
    try {
      await this.#pickTick(row, lane, { row: `${next.stream}.${next.number}` });
    } catch (error) {
      this.emit("error", error);
    }
  }

  /** Picks what is after or before what is picked. */
  async walk(/** @type {"before"|"after"} */ way) {
    const { picked } = this;
    const next = picked?.moment[way];
    if (picked && next && picked.lane.row === "rows")
      this.#picks(picked.row, picked.lane, this.own.numbered(picked.lane.id, next.number));
    else if (picked && next && picked.lane.row === "tick") await this.#walkTick(picked, next);
    else if (picked && next) await this.pick(picked.row, picked.lane, next.start);
    return this.picked;
  }

  /**
   * A track by its id.
   * @param {string|null} id
   */
  #trackOf(id) {
    const has = (/** @type {TreeRow} */ { kind, lanes }) => kind === "tracks" && lanes.some((lane) => lane.id === id);
    const row = this.tree.find(has);
    const lane = row?.lanes.find((one) => one.id === id);
    return row && lane ? { row, lane } : null;
  }

  /** What leads to the row that is picked, and where and when that is: who woke the thread, the block request, its issuer. */
  get waker() {
    const flow = this.picked?.moment.flows.flows.find(({ way, track }) => way === "from" && track !== null);
    const place = flow && this.#trackOf(flow.track);
    return flow && place ? { ...place, time: flow.time, flow } : null;
  }

  /**
   * Picks what is at the other end of a flow.
   * @param {import("../../../../api.js").TrackFlow} flow
   */
  async follow(flow) {
    const { picked } = this;
    const place = this.#trackOf(flow.track);
    if (!picked || !place) return null;
    if (flow.way === "from")
      this.before.push({ row: picked.row, lane: picked.lane, time: picked.moment.at?.start ?? flow.time });
    else this.before.pop();
    await this.pick(place.row, place.lane, flowTime(flow));
    return this.picked;
  }

  /** Picks what led to what is picked. */
  async followWaker() {
    const { waker } = this;
    return waker ? this.follow(waker.flow) : null;
  }

  /** Picks what it leads to: where it was come from, else the first that it woke or issued, else what the thread did next. */
  async goOn() {
    if (this.before.length > 0) return this.goBack();
    const next = this.picked?.moment.flows.flows.find(({ way, track }) => way === "to" && this.#trackOf(track));
    return next ? this.follow(next) : this.walk("after");
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
    const found = pickedOf(this.context.view.picked, this.tree);
    if (!found) return;
    const { row, lane, time } = found;
    if (lane.row === "rows") {
      this.own.want([lane.id], { start: time, end: time + 1 });
      // Its rows come later.
      if (!this.own.lane(lane.id)?.data.track) return;
    }
    void this.pick(row, lane, time);
  }

  /** What is picked, in words. */
  get pickedWords() {
    const at = this.picked?.moment.at;
    return at ? `${nameOf(at.name)} for ${duration(at.duration)}` : "";
  }
}

/**
 * Whether a lane is a track of states or slices.
 * @param {Lane} lane
 */
const isTrack = ({ row }) => row === "state" || row === "slice";
