// A chart of lanes over time, zoomed and panned with keys, wheel and pointer: calls, or stacks in the order of time.

import { Latest, traffic } from "../../lib/api.js";
import { Canvas } from "../../lib/canvas.js";
import { h, settled } from "../../lib/dom.js";
import { Emitter } from "../../lib/emitter.js";
import { duration, moment } from "../../lib/format.js";
import { waitFor } from "../../lib/notice.js";
import { TimeNavigator } from "../../lib/time_navigator.js";
import { AXIS, COLORS, LABELS, drawChart } from "./lanes_draw.js";
import { LEVEL, LanesModel, PAD } from "./lanes_model.js";

/** @import { LanesAnswer, Spot } from "./lanes_model.js" */

const MOST_LANES = 48;
/** @type {Record<string, "left"|"right"|"out"|"in">} */
const ARROWS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "out", ArrowDown: "in" };

/** @typedef {{start: number, end: number, width: number, lanes: string, limit_lanes: number}} LanesQuery the window */

/**
 * @template {LanesAnswer} Answer
 * @typedef {object} LanesKind what a chart of lanes shows
 * @property {string} label of the canvas
 * @property {string} waiting what is done while the server is asked
 * @property {(query: LanesQuery) => string} address of what is asked for
 * @property {(query: LanesQuery, signal: AbortSignal) => Promise<Answer>} ask
 * @property {(model: LanesModel<Answer>, spot: Spot) => string} words of a box
 * @property {(model: LanesModel<Answer>, lane: number) => string} count beside a lane's name
 * @property {(model: LanesModel<Answer>, lane: number, box: number) => number} [torn] of a box with an end that was not recorded
 * @property {(model: LanesModel<Answer>) => ((name: number) => boolean)|null} isFound
 * @property {(model: LanesModel<Answer>) => Spot|null} [chosen] the box that the address names
 * @property {(model: LanesModel<Answer>, spot: Spot) => boolean} [choose] puts a box into the address, if it has a name there
 * @property {(event: KeyboardEvent, model: LanesModel<Answer>, spot: Spot|null) => boolean} [press] what other keys do
 * @property {(event: MouseEvent, model: LanesModel<Answer>, spot: Spot) => void} [menu]
 */

/**
 * Sends `data` when there is a new picture, `error`, `tell` with the text of the readout.
 * @template {LanesAnswer} Answer
 * @extends {Emitter<{data: LanesModel<Answer>, error: unknown, tell: string}>}
 */
export class LanesChart extends Emitter {
  #latest = new Latest();

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {LanesKind<Answer>} kind
   */
  constructor(context, kind) {
    super();
    this.context = context;
    this.kind = kind;
    this.visible = false;
    /** @type {LanesModel<Answer>|null} */
    this.data = null;
    /** @type {Spot|null} Where the chart was walked to, if the address cannot say it. */
    this.spot = null;
    this.fetch = settled(50, () => this.#fetch());
    const element = h("canvas", {
      class: "timeline-canvas",
      tabindex: "0",
      role: "application",
      "aria-label": kind.label,
    });
    this.spacer = h("div", { class: "timeline-spacer" });
    this.sticky = h("div", { class: "timeline-sticky" }, element);
    this.element = h("div", { class: "timeline-scroll" }, this.sticky, this.spacer);
    this.canvas = new Canvas(element, COLORS, () => this.#draw());
    this.element.addEventListener("scroll", () => this.canvas.redraw());
    new ResizeObserver(() => {
      this.sticky.style.height = `${this.element.clientHeight}px`;
      this.#size();
    }).observe(this.element);
    element.addEventListener("measured", () => this.visible && this.fetch());
    this.nav = new TimeNavigator(context, {
      element,
      left: LABELS,
      width: () => this.canvas.width,
      visible: () => this.visible,
      moved: () => {
        this.fetch();
        this.changed();
      },
      pointed: () => this.changed(),
    });
    this.#startPointer();
    element.addEventListener("keydown", (event) => this.#press(event));
  }

  /** Shows the window that the address says. */
  restore() {
    this.nav.restore();
  }

  /** The window that is shown. */
  get shown() {
    return this.nav.shown;
  }

  /** Asks anew. */
  load() {
    if (this.context.view.from === null) this.nav.follow();
    this.fetch();
  }

  async #fetch() {
    if (!this.visible || this.canvas.width <= LABELS) return;
    const { start, end } = this.shown;
    const wanted = {
      start: Math.floor(start),
      end: Math.ceil(end),
      width: Math.min(8192, Math.round(this.nav.wide)),
      lanes: this.context.view.lanes,
      limit_lanes: MOST_LANES,
    };
    // A file has some windows, and draws the best of them.
    const query = traffic.window?.(this.kind.address(wanted), wanted) ?? wanted;
    try {
      const answer = await this.#latest.run((signal) =>
        waitFor(this.kind.waiting, this.kind.ask(query, signal), () => this.#latest.cancel()),
      );
      if (!answer) return;
      const model = new LanesModel(answer);
      this.spot = model.same(this.data, this.spot);
      this.data = model;
      this.#size();
      this.emit("data", model);
      this.#tell();
      this.canvas.redraw();
    } catch (error) {
      this.emit("error", error);
    }
  }

  #size() {
    this.spacer.style.height = `${Math.max(0, (this.data?.height ?? 0) + AXIS - this.element.clientHeight)}px`;
  }

  #draw() {
    const { data, kind } = this;
    drawChart(this.canvas, {
      shown: this.shown,
      data,
      scroll: this.element.scrollTop,
      isFound: data ? kind.isFound(data) : null,
      count: (lane) => (data ? kind.count(data, lane) : ""),
      torn: (lane, box) => (data && kind.torn ? kind.torn(data, lane, box) : 0),
      current: this.current,
      selection: this.nav.marked,
      losses: this.context.info.ledger.losses.map((loss) => this.context.lossRange(loss)),
    });
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #hit(x, y) {
    if (!this.data || x < LABELS || y < AXIS) return null;
    return this.data.hit(this.nav.time(x), y - AXIS + this.element.scrollTop, this.nav.pixel * 3);
  }

  /** The chosen box. */
  get current() {
    return this.spot ?? (this.data && this.kind.chosen ? this.kind.chosen(this.data) : null);
  }

  #startPointer() {
    const { element } = this.canvas;
    element.addEventListener("click", (event) => {
      const hit = event.shiftKey ? null : this.#hit(event.offsetX, event.offsetY);
      if (hit && this.data) this.#choose(this.data, hit);
    });
    element.addEventListener("dblclick", (event) => {
      const hit = this.#hit(event.offsetX, event.offsetY);
      if (hit && this.data) this.#to(this.data, hit);
      else this.nav.all();
    });
    element.addEventListener("contextmenu", (event) => {
      const hit = this.#hit(event.offsetX, event.offsetY);
      if (!hit || !this.data || !this.kind.menu) return;
      event.preventDefault();
      this.#choose(this.data, hit);
      this.kind.menu(event, this.data, hit);
    });
  }

  /**
   * @param {LanesModel<Answer>} model
   * @param {Spot} spot
   */
  #choose(model, spot) {
    this.spot = this.kind.choose?.(model, spot) ? null : spot;
    this.#tell();
    this.canvas.redraw();
  }

  /**
   * @param {LanesModel<Answer>} model
   * @param {Spot} spot
   */
  #to({ lanes }, { lane, box }) {
    const { start, duration: took } = lanes[lane].boxes;
    this.nav.around(start[box], start[box] + took[box]);
  }

  /** Shows the chosen box, or the selected range, or all. */
  fit() {
    const { current } = this;
    if (current && this.data) this.#to(this.data, current);
    else this.nav.fit();
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const { current, data } = this;
    if (!data || data.lanes.length === 0) return;
    const where = ARROWS[event.key];
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey;
    if (plain && event.key === "Enter" && current) this.#to(data, current);
    else if (plain && where) this.#go(data, current ? data.step(current, where) : this.#first(data));
    else if (!this.kind.press?.(event, data, current)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {LanesModel<Answer>} data @returns {Spot|null} */
  #first(data) {
    const lane = data.lanes.findIndex(({ boxes }) => boxes.start.length > 0);
    return lane < 0 ? null : { lane, box: 0 };
  }

  /**
   * @param {LanesModel<Answer>} data
   * @param {Spot|null} place
   */
  #go(data, place) {
    if (!place) return;
    const lane = data.lanes[place.lane];
    const start = lane.boxes.start[place.box];
    this.nav.pointer = null;
    this.#choose(data, place);
    const { shown } = this;
    if (start < shown.start || start > shown.end)
      this.nav.pan((start - (shown.start + shown.end) / 2) / (shown.end - shown.start));
    const y = lane.top + PAD + lane.boxes.level[place.box] * LEVEL;
    const room = this.element.clientHeight - AXIS;
    if (y < this.element.scrollTop) this.element.scrollTop = y - PAD;
    else if (y + LEVEL > this.element.scrollTop + room) this.element.scrollTop = y + LEVEL + PAD - room;
  }

  /** The view's parts have changed. */
  changed() {
    this.#tell();
    this.canvas.redraw();
  }

  /** The readout: the range that is dragged, else the box under the pointer, else the chosen one. */
  #tell() {
    const { preview, pointer, pointedTime } = this.nav;
    const place = pointer ? this.#hit(pointer.x, pointer.y) : this.current;
    let text = "";
    if (preview)
      text = `${moment(preview.start)} to ${moment(preview.end)} s: ${duration(preview.end - preview.start)}`;
    else if (place && this.data) text = this.kind.words(this.data, place);
    else if (pointedTime !== null) text = `${moment(pointedTime)} s`;
    this.emit("tell", text);
  }
}
