// Picking of things in the tree of tracks: by clicks and keys, walked from one to the next, brought into sight.

import { bind } from "../../lib/keys.js";
import { AXIS, gutter } from "./timeline_axis.js";
import { NOTES_KEY } from "./track_tree.js";

/** @import { Picked, TrackLayer } from "./track_layer.js" */

/** How much less is shown around what takes no time. */
const CLOSER = 4;
/** How near a click is to what takes no time. */
const TICK_PIXELS = 4;

/**
 * @typedef {object} PickingTimeline what picking needs of the timeline
 * @property {import("../../page/capture_context.js").CaptureContext} context
 * @property {TrackLayer} layer
 * @property {import("../../lib/time_navigator.js").TimeNavigator} nav
 * @property {import("./timeline_cursor.js").TimelineCursor} cursor
 * @property {import("./time_division.js").TimeDivision} division
 * @property {() => import("./notes/notes_layer.js").NotesLayer} notes
 * @property {HTMLElement} scroller
 * @property {HTMLElement} element where clicks count
 * @property {() => boolean} when whether the tree is in sight
 * @property {() => void} redraw
 */

/** Picking. */
export class TimelinePicking {
  /** @param {PickingTimeline} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    this.#startKeys();
    timeline.element.addEventListener("click", (event) => this.#click(event));
    timeline.element.addEventListener("dblclick", (event) => void this.#twice(event));
  }

  /** From when until when what is picked lasted, and its track. */
  get span() {
    const { picked } = this.timeline.layer;
    const at = this.timeline.when() ? picked?.moment.at : null;
    return picked && at ? { start: at.start, end: at.end, track: picked.row.key } : null;
  }

  /**
   * Picks the one before or after, and shows it.
   * @param {"before"|"after"} way
   */
  walk(way) {
    return this.reveal(this.timeline.layer.walk(way));
  }

  /**
   * Brings what is picked into sight.
   * @param {Promise<Picked|null>} picked
   */
  async reveal(picked) {
    const { nav, layer, cursor, redraw } = this.timeline;
    const found = await picked;
    const at = found?.moment.at;
    if (!found || !at) return;
    nav.reveal(at.start);
    const index = layer.rows.findIndex(({ row }) => row.key === found.row.key);
    if (index < 0) return;
    cursor.at = { track: index, time: at.start };
    cursor.scrollTo();
    redraw();
  }

  /**
   * Shows what is picked with a margin; what takes no time in the middle of less than what is shown.
   * @param {{start: number, end: number}} at
   */
  fit({ start, end }) {
    const { nav } = this.timeline;
    if (end > start) nav.around(start, end);
    else {
      const half = (nav.shown.end - nav.shown.start) / 2 / CLOSER;
      nav.view(start - half, start + half);
    }
  }

  /**
   * The critical path of the picked thread, else of that at the cursor, over the selected range, else over what is in sight;
   * none if it was shown already.
   */
  turnPath() {
    const { layer, cursor, nav } = this.timeline;
    layer.path.turn(cursor.shownRow?.row, nav.shown);
  }

  /**
   * A click picks what is there.
   * @param {MouseEvent} event
   */
  #click(event) {
    const { layer, nav, scroller, when } = this.timeline;
    if (!when() || event.offsetX < gutter.width || event.offsetY < AXIS || event.shiftKey || event.detail > 1) return;
    const index = layer.rowAt(event.offsetY, scroller.scrollTop);
    // A drag that selects a range ends with a click.
    if (index !== null) void this.#pickAt(index, event, nav.selection === null);
  }

  /**
   * Picks what a row has at a place.
   * @param {number} index
   * @param {MouseEvent} event
   * @param {boolean} picks whether states, slices and what happened at a moment are picked too
   */
  async #pickAt(index, event, picks) {
    const { layer, nav, scroller, notes } = this.timeline;
    const time = nav.time(event.offsetX);
    if (this.#pickPart(index, time)) return;
    const lane = layer.laneAt(index, event.offsetY, scroller.scrollTop);
    if (!lane) return;
    if (lane.row === "note") notes().pickIn(layer.rows[index], event);
    else if (picks) {
      const { top, places, row } = layer.rows[index];
      const place = places.find((one) => one.lane === lane);
      const inside = event.offsetY - AXIS + scroller.scrollTop - top - (place?.top ?? 0);
      await layer.pick(row, lane, time, { near: nav.pixel * TICK_PIXELS, high: inside / (place?.height ?? 1) });
    }
  }

  /**
   * A double click fits what is there, else all.
   * @param {MouseEvent} event
   */
  async #twice(event) {
    const { layer, nav, scroller, when } = this.timeline;
    const index = when() && event.offsetX >= gutter.width ? layer.rowAt(event.offsetY, scroller.scrollTop) : null;
    if (index !== null) await this.#pickAt(index, event, true);
    const at = index === null ? null : layer.picked?.moment.at;
    const [time, near] = [nav.time(event.offsetX), nav.pixel * TICK_PIXELS];
    const isThere = layer.picked?.row === layer.rows[index ?? -1]?.row;
    if (at && isThere && at.start - near <= time && time <= at.end + near) this.fit(at);
    else nav.all();
  }

  /**
   * Picks the state in which a part of the critical path stands, if the row is that of the path; whether it is.
   * @param {number} index
   * @param {number} time
   */
  #pickPart(index, time) {
    const { layer } = this.timeline;
    if (layer.rows[index].row.kind !== "path") return false;
    const part = layer.path.partAt(time);
    if (part) void this.reveal(layer.path.pick(part));
    return true;
  }

  /** Opens or closes the group at the cursor, or picks what is there. */
  #enter() {
    const { layer, cursor, notes } = this.timeline;
    const { at, row: index, shownRow: shown } = cursor;
    if (!at || index === null || !shown) return;
    if (shown.row.kind === "group") layer.turn(index);
    else if (shown.row.key === NOTES_KEY) notes().pickNear(at.time);
    else if (!this.#pickPart(index, at.time)) void layer.pick(shown.row, cursor.lane ?? shown.row.lanes[0], at.time);
  }

  #startKeys() {
    const { layer, division, context, when, cursor, notes } = this.timeline;
    const whenPicked = () => when() && layer.picked !== null;
    const onNotes = () => when() && cursor.shownRow?.row.key === NOTES_KEY;
    const step = (/** @type {"before"|"after"} */ way) => {
      if (onNotes()) notes().step(way);
      else void this.walk(way);
    };
    bind("timeline.next", () => step("after"), { when: () => whenPicked() || onNotes() });
    bind("timeline.previous", () => step("before"), { when: () => whenPicked() || onNotes() });
    bind("timeline.waker", () => void this.reveal(layer.followWaker()), { when: whenPicked });
    bind("timeline.back", () => void this.reveal(layer.goOn()), { when: whenPicked });
    bind("timeline.path", () => this.turnPath(), {
      when: () => when() && (layer.picked !== null || cursor.at !== null || layer.path.key !== ""),
    });
    bind("timeline.pick", () => this.#enter(), { when: () => when() && cursor.at !== null });
    bind("timeline.fold", () => division.turnFold(), { when });
    bind("timeline.beside", () => division.putBeside(), { when: () => when() && division.canPut });
    bind(
      "timeline.range",
      () => {
        const at = layer.picked?.moment.at;
        if (at) context.select({ start: at.start, end: Math.max(at.start + 1, at.end) });
      },
      { when: whenPicked },
    );
  }
}
