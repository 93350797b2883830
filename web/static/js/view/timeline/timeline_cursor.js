// The cursor of the timeline: a moment on a row, moved by arrow keys and clicks, kept in sight.

import { AXIS, gutter } from "./timeline_axis.js";

/** @import { TrackLayer } from "./track_layer.js" */

/**
 * Where an arrow key moves the cursor.
 * @type {Record<string, {sideways?: number, upward?: number}>}
 */
const STEPS = {
  ArrowLeft: { sideways: -1 },
  ArrowRight: { sideways: 1 },
  ArrowUp: { upward: -1 },
  ArrowDown: { upward: 1 },
};

/**
 * @typedef {object} CursorTimeline what the cursor needs of the timeline
 * @property {TrackLayer} layer
 * @property {import("../../lib/time_navigator.js").TimeNavigator} nav
 * @property {HTMLElement} scroller
 * @property {() => number} duration nanoseconds of the capture
 * @property {() => boolean} showsStates whether rows are those of the tree
 * @property {() => {tracks: number, height: number}} plain the tracks of the other groups, all of one height
 * @property {() => void} moved the cursor is elsewhere
 */

/** The cursor. */
export class TimelineCursor {
  /** @param {CursorTimeline} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    /**
     * Where it is; null for nowhere.
     * @type {{track: number|null, time: number}|null}
     */
    this.at = null;
    /** Which of the lanes of its row it is on, from the top. */
    this.depth = 0;
  }

  /** The lane of the tree that it is on; null for none. */
  get lane() {
    return this.shownRow?.places[this.depth]?.lane ?? null;
  }

  /** The number of its row; null for none. */
  get row() {
    return this.at?.track ?? null;
  }

  /** The row of the tree that it is on; null for none. */
  get shownRow() {
    return this.row === null || !this.timeline.showsStates() ? null : (this.timeline.layer.rows[this.row] ?? null);
  }

  /**
   * Puts it on a row of the tree, and shows that.
   * @param {string|null} key null for no row
   * @param {number} time
   */
  point(key, time) {
    const index = this.timeline.layer.rows.findIndex(({ row }) => row.key === key);
    this.at = { track: index < 0 ? null : index, time };
    this.depth = 0;
    if (index >= 0) this.scrollTo();
    this.timeline.moved();
  }

  /**
   * The row at a place; null for none.
   * @param {number} y
   */
  rowAt(y) {
    const { layer, scroller, showsStates, plain } = this.timeline;
    if (showsStates()) return layer.rowAt(y, scroller.scrollTop);
    const { tracks, height } = plain();
    const index = Math.floor((y - AXIS + scroller.scrollTop) / height);
    return y >= AXIS && index < tracks ? index : null;
  }

  /**
   * A press puts it where the pointer is.
   * @param {PointerEvent} event
   */
  press(event) {
    const track = this.rowAt(event.offsetY);
    if (event.offsetX < gutter.width || track === null || event.shiftKey) return;
    this.at = { track, time: this.timeline.nav.time(event.offsetX) };
    this.depth = 0;
    const { layer, scroller } = this.timeline;
    const lane = this.shownRow && layer.laneAt(track, event.offsetY, scroller.scrollTop);
    if (lane) this.depth = Math.max(0, this.shownRow?.places.findIndex((place) => place.lane === lane) ?? 0);
  }

  /** Scrolls to its row. */
  scrollTo() {
    const { scroller, plain } = this.timeline;
    const index = this.row ?? 0;
    const { height } = plain();
    const { top, height: tall } = this.shownRow ?? { top: index * height, height };
    const room = scroller.clientHeight - AXIS;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + tall > scroller.scrollTop + room) scroller.scrollTop = top + tall - room;
  }

  /**
   * Moves it by an arrow key.
   * @param {KeyboardEvent} event
   */
  step(event) {
    const { layer, nav, showsStates, plain, duration } = this.timeline;
    const sideways = STEPS[event.key]?.sideways;
    const upward = STEPS[event.key]?.upward;
    const tracks = showsStates() ? layer.rows.length : plain().tracks;
    if ((!sideways && !upward) || tracks === 0 || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const lanes = this.shownRow?.places.length ?? 0;
    if (upward && event.shiftKey && lanes > 0) {
      this.depth = Math.max(0, Math.min(lanes - 1, this.depth + upward));
      nav.pointer = null;
      this.timeline.moved();
      return;
    }
    if (upward) this.depth = 0;
    const step = nav.pixel * (event.shiftKey ? 50 : 4);
    const from = this.at ?? { track: upward ? -upward : 0, time: (nav.shown.start + nav.shown.end) / 2 };
    this.at = {
      track: Math.max(0, Math.min(tracks - 1, (from.track ?? 0) + (upward ?? 0))),
      time: Math.max(0, Math.min(duration(), from.time + step * (sideways ?? 0))),
    };
    nav.pointer = null;
    nav.reveal(this.at.time);
    this.scrollTo();
    this.timeline.moved();
  }
}
