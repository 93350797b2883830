// The chart: calls over time, one lane for each thread or CPU, zoomed and panned with keys, wheel and pointer.

import { Latest, get } from "../../lib/api.js";
import { Canvas } from "../../lib/canvas.js";
import { AXIS, COLORS, LABELS, drawChart } from "./calls_chart_draw.js";
import { ChartModel, LEVEL, PAD } from "./calls_chart_model.js";
import { Emitter } from "../../lib/emitter.js";
import { h, settled } from "../../lib/dom.js";
import { MARKS, durationMark } from "../../lib/duration_marks.js";
import { duration, exact, moment, plural } from "../../lib/format.js";
import { bind } from "../../lib/keys.js";
import { waitFor } from "../../lib/notice.js";
import { TimeNavigator } from "../../lib/time_navigator.js";

const LANES = 48;
/** @type {Record<string, "left"|"right"|"out"|"in">} */
const ARROWS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "out", ArrowDown: "in" };
const STATES = ["", ", at least; its return was not recorded", "; its entry was not recorded"];

/** @import { Spot } from "./calls_chart_model.js" */

/**
 * Sends `data` when there is a new picture, `error`, `tell` with the text of the readout.
 * @extends {Emitter<{data: ChartModel, error: unknown, tell: string}>}
 */
export class CallsChart extends Emitter {
  #latest = new Latest();

  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    this.visible = false;
    this.query = {};
    /** @type {ChartModel|null} */
    this.data = null;
    /** @type {Spot|null} Where a coarse chart was walked to: its boxes have no ids. */
    this.spot = null;
    this.fetch = settled(50, () => this.#fetch());
    const element = h("canvas", {
      class: "timeline-canvas",
      tabindex: "0",
      role: "application",
      "aria-label": "Chart of calls. W and S zoom, A and D pan, arrow keys walk through the calls, Enter zooms to one.",
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
    this.#startKeys();
  }

  /** Shows the window that the address says. */
  restore() {
    this.nav.restore();
  }

  /** The window that is shown. */
  get shown() {
    return this.nav.shown;
  }

  /**
   * Asks for other calls.
   * @param {object} query
   */
  load(query) {
    this.query = query;
    if (this.context.view.from === null) this.nav.follow();
    this.fetch();
  }

  async #fetch() {
    if (!this.visible || this.canvas.width <= LABELS) return;
    const { start, end } = this.shown;
    const query = {
      ...this.query,
      start: Math.floor(start),
      end: Math.ceil(end),
      width: Math.min(8192, Math.round(this.nav.wide)),
      lanes: this.context.view.lanes,
      limit_lanes: LANES,
    };
    try {
      const answer = await this.#latest.run((signal) =>
        waitFor("Drawing calls", get("/api/captures/{id}/calls/chart", { id: this.context.id, ...query }, signal), () =>
          this.#latest.cancel(),
        ),
      );
      if (!answer) return;
      const model = new ChartModel(answer);
      this.data = model;
      this.spot = null;
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
    const { search } = this.context.view;
    drawChart(this.canvas, {
      shown: this.shown,
      data: this.data,
      scroll: this.element.scrollTop,
      search,
      current: this.#current,
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

  get #current() {
    const { call } = this.context.view;
    if (this.data?.coarse) return this.spot;
    return call === null || !this.data ? null : this.data.find(call);
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
  }

  /**
   * @param {ChartModel} model
   * @param {Spot} place
   */
  #choose({ coarse, lanes }, place) {
    if (coarse) {
      this.spot = place;
      this.canvas.redraw();
    } else {
      this.context.state.set({ call: lanes[place.lane].boxes.id[place.box] });
    }
  }

  /**
   * @param {ChartModel} model
   * @param {Spot} place
   */
  #to({ lanes }, { lane, box }) {
    const { start, duration: took } = lanes[lane].boxes;
    this.nav.around(start[box], start[box] + took[box]);
  }

  #startKeys() {
    const when = () => this.visible;
    bind("calls.fit", () => this.#fit(), { when });
    bind("calls.all", () => this.nav.all(), { when });
    bind(
      "calls.clear",
      () => {
        this.context.state.set({ call: null });
        this.context.select(null);
      },
      { when: () => when() && (this.context.view.call !== null || this.nav.selection !== null) },
    );
    this.canvas.element.addEventListener("keydown", (event) => this.#arrow(event));
  }

  #fit() {
    const current = this.#current;
    if (current && this.data) this.#to(this.data, current);
    else this.nav.fit();
  }

  /** @param {KeyboardEvent} event */
  #arrow(event) {
    const where = ARROWS[event.key];
    const current = this.#current;
    const { data } = this;
    if (event.ctrlKey || event.altKey || event.metaKey || !data || data.lanes.length === 0) return;
    if (event.key === "Enter" && current) this.#to(data, current);
    else if (where) this.#go(data, current ? data.step(current, where) : { lane: 0, box: 0 });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {ChartModel} data
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
    this.#tell();
  }

  /** The view's parts have changed. */
  changed() {
    this.#tell();
    this.canvas.redraw();
  }

  /** The readout: the range that is dragged, else the call under the pointer, else the chosen one. */
  #tell() {
    const { preview, pointer, pointedTime } = this.nav;
    const place = pointer ? this.#hit(pointer.x, pointer.y) : this.#current;
    let text = "";
    if (preview)
      text = `${moment(preview.start)} to ${moment(preview.end)} s: ${duration(preview.end - preview.start)}`;
    else if (place && this.data) text = this.#words(this.data, place);
    else if (pointedTime !== null) text = `${moment(pointedTime)} s`;
    this.emit("tell", text);
  }

  /**
   * @param {ChartModel} model
   * @param {Spot} place
   */
  #words({ lanes, names, coarse }, { lane, box }) {
    const { boxes, label } = lanes[lane];
    const took = boxes.duration[box];
    const mark = MARKS.find(([, sign]) => sign === durationMark(took))?.[1] ?? "";
    const more =
      boxes.more[box] > 0
        ? `; ${plural(boxes.more[box], "more call")} in this pixel${coarse ? ", of which this is the longest" : ""}`
        : "";
    return `${names[boxes.name[box]]}()  ${mark ? `${mark} ` : ""}${duration(took)} (${exact(took)} ns)${STATES[boxes.state[box]]}  at ${moment(boxes.start[box])} s, ${label}${more}`;
  }
}
