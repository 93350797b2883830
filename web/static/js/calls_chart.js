// The chart: calls over time, one lane for each thread or CPU, zoomed and panned with keys, wheel and pointer.

import { Latest, get } from "./api.js";
import { Canvas } from "./canvas.js";
import { AXIS, COLORS, LABELS, drawChart } from "./calls_chart_draw.js";
import { ChartModel, LEVEL, PAD } from "./calls_chart_model.js";
import { h, settled } from "./dom.js";
import { dragRange } from "./drag_range.js";
import { MARKS, durationMark } from "./duration_marks.js";
import { duration, exact, moment, plural } from "./format.js";
import { bind, isTyping } from "./keys.js";
import { waitFor } from "./notice.js";
import { panned, within, zoomed } from "./time_window.js";

const WHEEL_ZOOM = 0.0022;
/** Change per second while a key is held: e-folds of zoom, screens of pan. */
const HELD = { KeyW: ["zoom", -2.6], KeyS: ["zoom", 2.6], KeyA: ["pan", -1.2], KeyD: ["pan", 1.2] };
const TAP_S = 0.07;
const LANES = 48;
const STATES = ["", ", at least; its return was not recorded", "; its entry was not recorded"];

/** Sends `data` when there is a new picture, `error`, `tell` with the text of the readout. */
export class CallsChart extends EventTarget {
  #held = new Map();
  #latest = new Latest();

  /** @param {import("./capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    this.visible = false;
    this.query = {};
    this.data = null;
    this.preview = null;
    this.pointer = null;
    /** Where a coarse chart was walked to: its boxes have no ids. */
    this.spot = null;
    this.fetch = settled(50, () => this.#fetch());
    this.remember = settled(200, () => this.#remember());
    this.restore();
    const element = h("canvas", { class: "timeline-canvas", tabindex: "0", role: "application", "aria-label": "Chart of calls. W and S zoom, A and D pan, arrow keys walk through the calls, Enter zooms to one." });
    this.spacer = h("div", { class: "timeline-spacer" });
    this.sticky = h("div", { class: "timeline-sticky" }, element);
    this.element = h("div", { class: "timeline-scroll" }, this.sticky, this.spacer);
    this.canvas = new Canvas(element, COLORS, () => this.#draw());
    this.element.addEventListener("scroll", () => this.canvas.redraw());
    new ResizeObserver(() => { this.sticky.style.height = `${this.element.clientHeight}px`; this.#size(); }).observe(this.element);
    element.addEventListener("measured", () => this.visible && this.fetch());
    this.#startPointer();
    this.#startKeys();
  }

  /** Shows the window that the address says. */
  restore() {
    const { from, to } = this.context.view;
    this.shown = from === null ? { start: 0, end: this.context.duration } : { start: from, end: to };
  }

  /**
   * Asks for other calls.
   * @param {object} query
   */
  load(query) {
    this.query = query;
    if (this.context.view.from === null) this.shown = { start: 0, end: this.context.duration };
    this.fetch();
  }

  get #wide() {
    return Math.max(1, this.canvas.width - LABELS);
  }

  async #fetch() {
    if (!this.visible || this.canvas.width <= LABELS) return;
    const { start, end } = this.shown;
    const query = { ...this.query, start: Math.floor(start), end: Math.ceil(end), width: Math.min(8192, Math.round(this.#wide)), lanes: this.context.view.lanes, limit_lanes: LANES };
    try {
      const answer = await this.#latest.run((signal) => waitFor("Drawing calls", get(`${this.context.path}/calls/chart`, query, signal), () => this.#latest.cancel()));
      if (!answer) return;
      this.data = new ChartModel(answer);
      this.spot = null;
      this.#size();
      this.dispatchEvent(new Event("data"));
      this.#tell();
      this.canvas.redraw();
    } catch (error) {
      this.dispatchEvent(new CustomEvent("error", { detail: error }));
    }
  }

  #size() {
    this.spacer.style.height = `${Math.max(0, (this.data?.height ?? 0) + AXIS - this.element.clientHeight)}px`;
  }

  #draw() {
    const { search } = this.context.view;
    drawChart(this.canvas, {
      shown: this.shown, data: this.data, scroll: this.element.scrollTop, search, current: this.#current, selection: this.preview ?? this.#selection,
      losses: this.context.info.ledger.losses.map((loss) => this.context.lossRange(loss)),
    });
  }

  get #selection() {
    const { start, end } = this.context.range;
    return start === null ? null : { start, end };
  }

  #time(x) {
    return this.shown.start + ((x - LABELS) / this.#wide) * (this.shown.end - this.shown.start);
  }

  #place(time) {
    return LABELS + ((time - this.shown.start) / (this.shown.end - this.shown.start)) * this.#wide;
  }

  #view(shown) {
    this.shown = shown;
    this.remember();
    this.fetch();
    this.#tell();
    this.canvas.redraw();
  }

  #remember() {
    const whole = this.shown.start <= 0 && this.shown.end >= this.context.duration;
    this.context.state.set(whole ? { from: null, to: null } : { from: Math.round(this.shown.start), to: Math.round(this.shown.end) });
  }

  #zoom(factor, anchor) {
    this.#view(zoomed(this.shown, factor, anchor, this.context.duration));
  }

  #pan(screens) {
    this.#view(panned(this.shown, screens, this.context.duration));
  }

  #all() {
    this.#view({ start: 0, end: this.context.duration });
  }

  /** Shows a span with a margin. */
  #around(start, end) {
    const margin = Math.max(20, (end - start) * 0.04);
    this.#view(within(start - margin, end + margin, this.context.duration));
  }

  #hit(x, y) {
    if (!this.data || x < LABELS || y < AXIS) return null;
    return this.data.hit(this.#time(x), y - AXIS + this.element.scrollTop, ((this.shown.end - this.shown.start) / this.#wide) * 3);
  }

  get #current() {
    const { call } = this.context.view;
    if (this.data?.coarse) return this.spot;
    return call === null || !this.data ? null : this.data.find(call);
  }

  #startPointer() {
    const { element } = this.canvas;
    dragRange(element, {
      time: (x) => Math.max(0, Math.min(this.context.duration, this.#time(x))), place: (time) => this.#place(time), selection: () => this.#selection,
      accepts: (event) => !event.shiftKey && event.offsetX >= LABELS,
      preview: (range) => { this.preview = range; this.#tell(); this.canvas.redraw(); },
      done: (range) => this.context.select(range),
    });
    let panFrom = null;
    element.addEventListener("pointerdown", (event) => {
      if ((event.button === 0 && event.shiftKey) || event.button === 1) {
        panFrom = event.clientX;
        element.setPointerCapture(event.pointerId);
        event.preventDefault();
      }
      element.focus();
    });
    element.addEventListener("click", (event) => {
      const hit = event.shiftKey ? null : this.#hit(event.offsetX, event.offsetY);
      if (hit) this.#choose(hit);
    });
    element.addEventListener("pointermove", (event) => {
      this.pointer = { x: event.offsetX, y: event.offsetY };
      if (panFrom !== null) {
        this.#pan((panFrom - event.clientX) / this.#wide);
        panFrom = event.clientX;
      }
      this.#tell();
    });
    for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, () => { panFrom = null; });
    element.addEventListener("pointerleave", () => { this.pointer = null; this.#tell(); });
    element.addEventListener("dblclick", (event) => {
      const hit = this.#hit(event.offsetX, event.offsetY);
      if (hit) this.#to(hit);
      else this.#all();
    });
    element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  #choose(place) {
    if (this.data.coarse) {
      this.spot = place;
      this.canvas.redraw();
    } else {
      this.context.state.set({ call: this.data.lanes[place.lane].boxes.id[place.box] });
    }
  }

  #to({ lane, box }) {
    const { start, duration: took } = this.data.lanes[lane].boxes;
    this.#around(start[box], start[box] + took[box]);
  }

  #wheel(event) {
    const unit = event.deltaMode === 1 ? 20 : 1;
    if (event.ctrlKey || event.metaKey) this.#zoom(Math.exp((event.deltaY || event.deltaX) * unit * WHEEL_ZOOM), this.#time(Math.max(LABELS, event.offsetX)));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.#pan(((event.deltaX || event.deltaY) * unit) / this.#wide);
    else return;
    event.preventDefault();
  }

  #startKeys() {
    const when = () => this.visible;
    document.addEventListener("keydown", (event) => this.#hold(event));
    document.addEventListener("keyup", (event) => this.#held.delete(event.code));
    window.addEventListener("blur", () => this.#held.clear());
    bind("calls.fit", () => this.#fit(), { when });
    bind("calls.all", () => this.#all(), { when });
    bind("calls.clear", () => { this.context.state.set({ call: null }); this.context.select(null); }, { when: () => when() && (this.context.view.call !== null || this.#selection !== null) });
    this.canvas.element.addEventListener("keydown", (event) => this.#arrow(event));
  }

  #fit() {
    const current = this.#current;
    if (current) this.#to(current);
    else if (this.#selection) this.#around(this.#selection.start, this.#selection.end);
    else this.#all();
  }

  #hold(event) {
    if (!this.visible || !HELD[event.code] || event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    if (event.repeat || this.#held.has(event.code)) return;
    this.#apply(event.code, TAP_S);
    this.#held.set(event.code, performance.now() + 120);
    if (this.#held.size === 1) requestAnimationFrame((now) => this.#frame(now, now));
  }

  #apply(code, seconds) {
    const [what, speed] = HELD[code];
    if (what === "zoom") this.#zoom(Math.exp(speed * seconds), this.pointer ? this.#time(Math.max(LABELS, this.pointer.x)) : (this.shown.start + this.shown.end) / 2);
    else this.#pan(speed * seconds);
  }

  #frame(now, before) {
    if (this.#held.size === 0) return;
    const seconds = Math.min(0.05, (now - before) / 1000);
    for (const [code, from] of this.#held) if (now >= from) this.#apply(code, seconds);
    requestAnimationFrame((next) => this.#frame(next, now));
  }

  #arrow(event) {
    const where = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "out", ArrowDown: "in" }[event.key];
    const current = this.#current;
    if (event.ctrlKey || event.altKey || event.metaKey || !this.data || this.data.lanes.length === 0) return;
    if (event.key === "Enter" && current) this.#to(current);
    else if (where) this.#go(current ? this.data.step(current, where) : { lane: 0, box: 0 });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #go(place) {
    if (!place) return;
    const lane = this.data.lanes[place.lane];
    const start = lane.boxes.start[place.box];
    this.pointer = null;
    this.#choose(place);
    if (start < this.shown.start || start > this.shown.end) this.#pan((start - (this.shown.start + this.shown.end) / 2) / (this.shown.end - this.shown.start));
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
    const place = this.pointer ? this.#hit(this.pointer.x, this.pointer.y) : this.#current;
    let text = "";
    if (this.preview) text = `${moment(this.preview.start)} to ${moment(this.preview.end)} s: ${duration(this.preview.end - this.preview.start)}`;
    else if (place && this.data) text = this.#words(place);
    else if (this.pointer && this.pointer.x >= LABELS) text = `${moment(this.#time(this.pointer.x))} s`;
    this.dispatchEvent(new CustomEvent("tell", { detail: text }));
  }

  #words({ lane, box }) {
    const { boxes, label } = this.data.lanes[lane];
    const took = boxes.duration[box];
    const mark = MARKS.find(([, sign]) => sign === durationMark(took))?.[1] ?? "";
    const more = boxes.more[box] > 0 ? `; ${plural(boxes.more[box], "more call")} in this pixel${this.data.coarse ? ", of which this is the longest" : ""}` : "";
    return `${this.data.names[boxes.name[box]]}()  ${mark ? `${mark} ` : ""}${duration(took)} (${exact(took)} ns)${STATES[boxes.state[box]]}  at ${moment(boxes.start[box])} s, ${label}${more}`;
  }
}
