// The window of time that a chart shows, and all ways to change it: keys that are held, the wheel, dragging; and the range
// that a drag selects. The window is kept in the address. Every chart of time with a window of its own has one.

import { settled } from "./dom.js";
import { dragRange } from "./drag_range.js";
import { isTyping } from "./keys.js";
import { panesOf, placeOf, timeAt } from "./time_fold.js";
import { panned, within, zoomed } from "./time_window.js";

/** @import { TimeFold } from "./time_fold.js" */

const WHEEL_ZOOM = 0.0022;
/**
 * Change per second while a key is held: e-folds of zoom, screens of pan. The keys are in the table of keys.
 * @type {Record<string, [what: "zoom"|"pan", speed: number]>}
 */
const HELD = { KeyW: ["zoom", -2.6], KeyS: ["zoom", 2.6], KeyA: ["pan", -1.2], KeyD: ["pan", 1.2] };
const TAP_S = 0.07;
const REPEAT_MS = 120;
const LINE_PIXELS = 20;
/** What is left free on both sides of what is fitted. */
const MARGIN = 0.04;

/**
 * @typedef {object} NavigatorContext what the navigator needs of the capture
 * @property {number} duration nanoseconds
 * @property {{from: number|null, to: number|null}} view the window in the address
 * @property {{start: number|null, end: number|null}} range what is selected
 * @property {{set: (patch: {from: number|null, to: number|null}) => void}} state the address
 * @property {(range: {start: number, end: number}|null) => void} select selects a range
 */

/**
 * @typedef {object} Chart what the navigator needs of its chart
 * @property {HTMLElement} element where the pointer and the wheel count
 * @property {number} left pixels before the time begins
 * @property {() => number} width of the element in pixels
 * @property {() => boolean} visible whether keys are for it
 * @property {() => void} moved another window is shown
 * @property {() => void} pointed the pointer is elsewhere, or a range is being dragged
 * @property {() => {fold: TimeFold|null, beside: number|null}} [divided] what is folded, and what is shown beside
 * @property {(time: number, event: PointerEvent) => number} [snap] a time near one that is dragged to, which is meant
 * @property {() => number|null} [anchor] where zooming with keys holds still while no pointer is on the chart
 * @property {(event: PointerEvent) => void} [pressed]
 */

/** The window of one chart. */
export class TimeNavigator {
  #held = new Map();

  /**
   * @param {NavigatorContext} context
   * @param {Chart} chart
   */
  constructor(context, chart) {
    this.context = context;
    this.chart = chart;
    /**
     * The range that is being dragged.
     * @type {{start: number, end: number}|null}
     */
    this.preview = null;
    /**
     * Where the pointer is.
     * @type {{x: number, y: number}|null}
     */
    this.pointer = null;
    this.remember = settled(200, () => this.#remember());
    const { from, to } = context.view;
    this.follows = from === null || to === null;
    this.shown = from === null || to === null ? { start: 0, end: context.duration } : { start: from, end: to };
    this.#startPointer();
    this.#startKeys();
  }

  /** Shows the window that the address says: all, and of a running capture what comes, where it says none. */
  restore() {
    const { from, to } = this.context.view;
    this.follows = from === null || to === null;
    this.shown = from === null || to === null ? { start: 0, end: this.context.duration } : { start: from, end: to };
  }

  /**
   * Shows all there is.
   * @param {number} [end] of a running capture: what is stored by now
   */
  follow(end = this.context.duration) {
    this.follows = true;
    this.shown = { start: 0, end };
  }

  /** The selected range, if there is one. */
  get selection() {
    const { start, end } = this.context.range;
    return start === null || end === null ? null : { start, end };
  }

  /** The range to draw as selected. */
  get marked() {
    return this.preview ?? this.selection;
  }

  /** Pixels that the window is wide. */
  get wide() {
    return Math.max(1, this.chart.width() - this.chart.left);
  }

  /** How the window is divided on the screen. */
  get panes() {
    const { fold, beside } = this.#divided;
    return panesOf(this.shown, { left: this.chart.left, width: this.chart.width(), fold, beside });
  }

  get #divided() {
    return this.chart.divided?.() ?? { fold: null, beside: null };
  }

  /** Nanoseconds of a pixel. */
  get pixel() {
    const [{ start, end, left, right }] = this.panes;
    return (end - start) / (right - left);
  }

  /**
   * The time at a place, in pixels from the left of the chart.
   * @param {number} x
   */
  time(x) {
    return timeAt(this.panes, x);
  }

  /**
   * The other way.
   * @param {number} time
   */
  place(time) {
    return placeOf(this.panes, time);
  }

  /** Where moments are, for many of them at once: how the window is divided is found out once. */
  get placing() {
    const { panes } = this;
    return (/** @type {number} */ time) => placeOf(panes, time);
  }

  /** The time under the pointer; null where it is not over the window. */
  get pointedTime() {
    return this.pointer && this.pointer.x >= this.chart.left ? this.time(this.pointer.x) : null;
  }

  /**
   * Shows another window.
   * @param {number} start
   * @param {number} end
   */
  view(start, end) {
    const { duration } = this.context;
    const before = this.shown.end;
    this.shown = within(start, end, duration);
    this.follows = this.shown.start <= 0 && this.shown.end >= Math.min(duration, this.follows ? before : duration);
    this.remember();
    this.chart.moved();
  }

  /** Shows all. */
  all() {
    this.view(0, this.context.duration);
  }

  /**
   * Shows a span with a margin.
   * @param {number} start
   * @param {number} end
   */
  around(start, end) {
    const margin = (end - start) * MARGIN;
    this.view(start - margin, end + margin);
  }

  /** Shows the selected range, or all where none is. */
  fit() {
    if (this.selection) this.around(this.selection.start, this.selection.end);
    else this.all();
  }

  /**
   * Shows less (`factor` below 1) or more around a moment that stays where it is.
   * @param {number} factor
   * @param {number} anchor
   */
  zoom(factor, anchor) {
    this.#change((shown, whole, at) => zoomed(shown, factor, at(anchor), whole));
  }

  /**
   * Moves by so many windows.
   * @param {number} screens
   */
  pan(screens) {
    this.#change((shown, whole) => panned(shown, screens, whole));
  }

  /**
   * Changes the window in the time that is on the screen: without what is folded.
   * @param {(shown: {start: number, end: number}, whole: number, at: (time: number) => number) => {start: number, end: number}} change
   */
  #change(change) {
    const { fold } = this.#divided;
    const at = (/** @type {number} */ time) => fold?.fold(time) ?? time;
    const { start, end } = change(
      { start: at(this.shown.start), end: at(this.shown.end) },
      at(this.context.duration),
      at,
    );
    if (fold) this.view(fold.unfold(start, true), fold.unfold(end));
    else this.view(start, end);
  }

  /**
   * Moves the window by half of itself if the moment is not in it.
   * @param {number} time
   */
  reveal(time) {
    if (time < this.shown.start || time > this.shown.end) this.pan(time < this.shown.start ? -0.5 : 0.5);
  }

  /**
   * Zooms or moves by the wheel; what is below the chart hands its own wheel on.
   * @param {WheelEvent} event
   * @param {number} [time] under the pointer
   */
  wheel(event, time = this.time(Math.max(this.chart.left, event.offsetX))) {
    const unit = event.deltaMode === 1 ? LINE_PIXELS : 1;
    if (event.ctrlKey || event.metaKey) this.zoom(Math.exp((event.deltaY || event.deltaX) * unit * WHEEL_ZOOM), time);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      this.pan(((event.deltaX || event.deltaY) * unit) / this.wide);
    else return;
    event.preventDefault();
  }

  /** Keys are no longer held: the chart is out of sight. */
  release() {
    this.#held.clear();
  }

  #remember() {
    this.context.state.set(
      this.follows ? { from: null, to: null } : { from: Math.round(this.shown.start), to: Math.round(this.shown.end) },
    );
  }

  #startPointer() {
    const { element } = this.chart;
    dragRange(element, {
      time: (x, event) => {
        const time = Math.max(0, Math.min(this.context.duration, this.time(x)));
        return event.altKey ? time : (this.chart.snap?.(time, event) ?? time);
      },
      place: (time) => this.place(time),
      selection: () => this.selection,
      accepts: (event) => !event.shiftKey && event.offsetX >= this.chart.left,
      preview: (range) => {
        this.preview = range;
        this.chart.pointed();
      },
      done: (range) => this.context.select(range),
    });
    /** @type {number|null} */
    let panFrom = null;
    element.addEventListener("pointerdown", (event) => {
      if ((event.button === 0 && event.shiftKey) || event.button === 1) {
        panFrom = event.clientX;
        element.setPointerCapture(event.pointerId);
        event.preventDefault();
      }
      element.focus();
      this.chart.pressed?.(event);
    });
    element.addEventListener("pointermove", (event) => {
      this.pointer = { x: event.offsetX, y: event.offsetY };
      if (panFrom !== null) {
        this.pan((panFrom - event.clientX) / this.wide);
        panFrom = event.clientX;
      }
      this.chart.pointed();
    });
    for (const name of ["pointerup", "pointercancel"])
      element.addEventListener(name, () => {
        panFrom = null;
      });
    element.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.chart.pointed();
    });
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  #startKeys() {
    document.addEventListener("keydown", (event) => this.#hold(event));
    document.addEventListener("keyup", (event) => this.#held.delete(event.code));
    window.addEventListener("blur", () => this.release());
  }

  /** Where zooming with keys holds still: under the pointer, where the chart says, or in the middle. */
  get #anchor() {
    if (this.pointer) return this.time(Math.max(this.chart.left, this.pointer.x));
    return this.chart.anchor?.() ?? (this.shown.start + this.shown.end) / 2;
  }

  /** @param {KeyboardEvent} event */
  #hold(event) {
    if (
      !this.chart.visible() ||
      !HELD[event.code] ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      isTyping(event) ||
      document.querySelector("dialog[open]")
    )
      return;
    event.preventDefault();
    if (event.repeat || this.#held.has(event.code)) return;
    this.#apply(event.code, TAP_S);
    this.#held.set(event.code, performance.now() + REPEAT_MS);
    if (this.#held.size === 1) requestAnimationFrame((now) => this.#frame(now, now));
  }

  /**
   * @param {string} code
   * @param {number} seconds
   */
  #apply(code, seconds) {
    const [what, speed] = HELD[code];
    if (what === "zoom") this.zoom(Math.exp(speed * seconds), this.#anchor);
    else this.pan(speed * seconds);
  }

  /**
   * @param {number} now
   * @param {number} before
   */
  #frame(now, before) {
    if (this.#held.size === 0) return;
    const seconds = Math.min(0.05, (now - before) / 1000);
    for (const [code, from] of this.#held) if (now >= from) this.#apply(code, seconds);
    requestAnimationFrame((next) => this.#frame(next, now));
  }
}
