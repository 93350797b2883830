// The tree of calls: rows as `trace-cmd report` has them, fetched as they come into sight.

import { get, isAborted } from "../../lib/api.js";
import { CallTree, PAGE, lostBefore } from "./call_tree.js";
import { category } from "../../lib/color.js";
import { Emitter } from "../../lib/emitter.js";
import { closest, framed, h, put, settled } from "../../lib/dom.js";
import { MARKS, durationMark } from "../../lib/duration_marks.js";
import { duration, exact, moment, plural } from "../../lib/format.js";
import { waitFor } from "../../lib/notice.js";
import { VirtualScroll } from "../../lib/virtual_scroll.js";

/** @import { CallLine, CallPage, CallPlace } from "../../../../api.js" */
/** @import { CallNode } from "./call_tree.js" */
/** @typedef {{element: HTMLElement, cells: HTMLElement[]}} Line what shows a row */

const ROW = 24;
const INDENT = 16;
/** Calls that an address keeps unfolded. */
const MOST_UNFOLDED = 48;
/** @type {Record<CallLine["state"], [] | [state: string, why: string]>} */
const STATES = {
  returned: [],
  unfinished: [
    "no return recorded",
    "It had not returned when recording ended, or its return was lost: it took at least this long.",
  ],
  unstarted: ["no entry recorded", "It was called before recording began, or its entry was lost."],
};
/** @type {[text: string, isNumber: boolean][]} */
const HEADS = [
  ["Time, s", true],
  ["CPU", true],
  ["Task-pid", false],
  ["Duration", true],
  ["Self", true],
  ["Function", false],
];

/**
 * Sends `page` with the answer that has the number of calls, `error`, and `copy`.
 * @extends {Emitter<{page: CallPage, error: unknown, copy: null}>}
 */
export class CallsTree extends Emitter {
  /** @type {Set<string>} */
  #asked = new Set();
  #generation = 0;
  #controller = new AbortController();

  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    this.query = {};
    this.tree = new CallTree();
    this.scroll = new VirtualScroll(ROW);
    this.row = -1;
    /** @type {Line[]} */
    this.pool = [];
    this.head = h(
      "div",
      { class: "vt-head", role: "row" },
      ...HEADS.map(([text, num]) => h("div", { class: num ? "vt-cell num" : "vt-cell", role: "columnheader", text })),
    );
    this.body = h("div", { class: "vt-body", role: "presentation" });
    this.spacer = h("div", { class: "vt-spacer", role: "presentation" }, this.head, this.body);
    this.element = h(
      "div",
      {
        class: "vt calls-tree",
        role: "treegrid",
        tabindex: "0",
        "aria-label": "Calls",
        on: {
          scroll: () => this.#scrolled(),
          keydown: (event) => this.#key(event),
          mousedown: (event) => this.#press(event),
          dblclick: (event) => this.#twice(event),
        },
      },
      this.spacer,
    );
    this.redraw = framed(() => this.#draw());
    this.rest = settled(160, () => {
      this.element.scrollTop = this.scroll.settle();
    });
    this.need = settled(30, () => this.#fetch());
    new ResizeObserver(() => this.#measure()).observe(this.element);
  }

  /**
   * Begins again. What the address has unfolded is unfolded again, and its call is shown.
   * @param {object} query which calls
   */
  async load(query) {
    this.#generation += 1;
    this.#controller.abort();
    this.#controller = new AbortController();
    const generation = this.#generation;
    const { open, call } = this.context.view;
    this.query = query;
    const tree = new CallTree();
    const wanted = [open, call === null ? "" : String(call)].filter(Boolean).join(".");
    const asked = Promise.all([this.#page(null, 0), wanted ? this.#places(wanted) : []]);
    try {
      const [first, places] = await waitFor("Reading calls", asked, () => this.#controller.abort());
      if (generation !== this.#generation) return;
      this.tree = tree;
      this.#asked.clear();
      tree.put(null, first);
      const unfold = new Set(open.split(".").filter(Boolean).map(Number));
      for (const place of places) await this.#walk(place, unfold);
      if (generation !== this.#generation) return;
      this.row = call === null ? -1 : tree.rowOf(call);
      this.emit("page", first);
      this.#changed();
      if (this.row >= 0) this.go(this.row, "middle");
    } catch (error) {
      if (!isAborted(error) && generation === this.#generation) this.emit("error", error);
    }
  }

  /**
   * The ways to calls.
   * @param {string} wanted their ids
   * @returns {Promise<CallPlace[]>}
   */
  async #places(wanted) {
    const query = { id: this.context.id, ...this.query, places: wanted };
    const asked = get("/api/captures/{id}/calls", query, this.#controller.signal);
    return (await /** @type {Promise<{places: CallPlace[]}>} */ (asked)).places;
  }

  /**
   * @param {number|null} parent
   * @param {number} offset
   */
  #page(parent, offset) {
    const query = { id: this.context.id, ...this.query, parent, offset, limit: PAGE };
    const asked = get("/api/captures/{id}/calls", query, this.#controller.signal);
    return /** @type {Promise<CallPage>} */ (asked);
  }

  /**
   * Makes the way to a call known, and unfolds what is around it.
   * @param {CallPlace} place
   * @param {Set<number>|null} unfold
   */
  async #walk({ path }, unfold) {
    const { tree } = this;
    for (const [i, step] of path.entries()) {
      const around = i === 0 ? null : path[i - 1].id;
      if (around !== null) tree.unfold(around);
      if (!tree.node(step.id)) tree.put(around, await this.#page(around, Math.floor(step.index / PAGE) * PAGE));
    }
    const id = path.at(-1)?.id;
    if (id !== undefined && unfold?.has(id)) tree.unfold(id);
  }

  /**
   * Shows a call, wherever it is.
   * @param {CallPlace} place
   */
  async show(place) {
    await this.#walk(place, null);
    this.#remember();
    this.#changed();
    this.go(this.tree.rowOf(place.call.id), "middle");
  }

  #changed() {
    this.scroll.rows = this.tree.count;
    this.element.setAttribute("aria-rowcount", String(this.tree.count + 1));
    this.spacer.style.height = `${this.scroll.height + ROW}px`;
    this.scroll.scrolled(this.element.scrollTop);
    this.redraw();
  }

  #measure() {
    const height = Math.max(0, this.element.clientHeight - ROW);
    if (height === this.scroll.viewport) return;
    this.scroll.viewport = height;
    this.body.style.height = `${height}px`;
    this.#changed();
    if (this.row >= 0) this.go(this.row, "middle");
  }

  #scrolled() {
    const before = this.scroll.top;
    this.scroll.scrolled(this.element.scrollTop);
    if (this.scroll.top === before) return;
    this.rest();
    this.redraw();
  }

  async #fetch() {
    const { first, last } = this.scroll.visible();
    const generation = this.#generation;
    const pages = this.tree
      .missing(first, last)
      .filter(({ parent, offset }) => !this.#asked.has(`${parent}:${offset}`));
    await Promise.all(
      pages.map(async ({ parent, offset }) => {
        this.#asked.add(`${parent}:${offset}`);
        try {
          const page = await this.#page(parent, offset);
          if (generation !== this.#generation) return;
          this.tree.put(parent, page);
          this.#changed();
        } catch (error) {
          if (!isAborted(error)) this.emit("error", error);
        } finally {
          this.#asked.delete(`${parent}:${offset}`);
        }
      }),
    );
  }

  /** The call of the current row. */
  get current() {
    return this.row < 0 ? null : (this.tree.at(this.row)?.node?.call ?? null);
  }

  /**
   * Makes a row the current one.
   * @param {number} row
   * @param {"nearest"|"middle"|"top"} [place]
   */
  go(row, place = "nearest") {
    if (this.tree.count === 0) return;
    this.row = Math.max(0, Math.min(this.tree.count - 1, row));
    this.scroll.show(this.row, place);
    this.element.scrollTop = this.scroll.settle();
    this.redraw();
    this.#moved();
  }

  #moved() {
    const { current } = this;
    if (current) this.context.state.set({ call: current.id });
  }

  #remember() {
    this.context.state.set({ open: this.tree.unfolded().slice(0, MOST_UNFOLDED).join(".") });
  }

  /**
   * Folds or unfolds a call.
   * @param {number} id
   */
  toggle(id) {
    const current = this.current?.id;
    if (!this.tree.unfold(id)) this.tree.fold(id);
    const row = current === undefined ? -1 : this.tree.rowOf(current);
    this.row = row < 0 ? this.tree.rowOf(id) : row;
    this.#remember();
    this.#changed();
  }

  #draw() {
    const { first, last } = this.scroll.visible();
    while (this.pool.length < last - first) this.pool.push(this.#newRow());
    const offset = -(this.scroll.top - first * ROW);
    for (const [i, row] of this.pool.entries()) {
      row.element.hidden = first + i >= last;
      if (first + i < last) this.#fill(row, first + i, Math.round(offset + i * ROW));
    }
    const current = this.pool[this.row - first];
    if (current && this.row >= first && this.row < last)
      this.element.setAttribute("aria-activedescendant", current.element.id);
    else this.element.removeAttribute("aria-activedescendant");
    if (this.tree.missing(first, last).length > 0) this.need();
  }

  #newRow() {
    const cells = HEADS.map(([, num]) => h("div", { class: num ? "vt-cell num" : "vt-cell", role: "gridcell" }));
    const element = h("div", { class: "vt-row", role: "row", id: `call-row-${this.pool.length}` }, ...cells);
    this.body.append(element);
    return { element, cells };
  }

  /**
   * @param {Line} line
   * @param {number} row
   * @param {number} y
   */
  #fill({ element, cells }, row, y) {
    const at = this.tree.at(row);
    if (!at) return;
    const { node, depth, level, index } = at;
    element.style.transform = `translateY(${y}px)`;
    element.dataset.row = String(row);
    element.setAttribute("aria-rowindex", String(row + 2));
    element.setAttribute("aria-level", String(depth + 1));
    element.classList.toggle("is-current", row === this.row);
    element.classList.toggle("is-waiting", !node);
    element.classList.toggle("is-context", node !== undefined && !node.call.hit);
    if (!node) {
      element.removeAttribute("aria-expanded");
      cells.forEach((cell) => put(cell));
      return;
    }
    const { call } = node;
    if (call.children > 0) element.setAttribute("aria-expanded", String(Boolean(node.within)));
    else element.removeAttribute("aria-expanded");
    const [time, cpu, task, took, own, name] = cells;
    time.textContent = moment(call.start);
    cpu.textContent = String(call.cpu);
    task.textContent = `${call.comm}-${call.tid}`;
    task.title = `process ${call.pid}`;
    const mark = durationMark(call.duration);
    put(
      took,
      h("span", { class: "call-mark", title: MARKS.find(([, sign]) => sign === mark)?.[2], text: mark }),
      `${call.state === "unfinished" ? "≥ " : ""}${duration(call.duration)}`,
    );
    took.title = `${exact(call.duration)} ns`;
    own.textContent = call.children > 0 || call.inner > 0 ? duration(call.own) : "";
    own.title = `${exact(call.own)} ns in the function itself, without the recorded calls that it made`;
    put(name, ...this.#name(node, depth, lostBefore(this.losses, level.nodes.get(index - 1)?.call, call)));
    name.title = call.function;
  }

  /** When events were lost. */
  get losses() {
    return this.context.info.ledger.losses.map((loss) => this.context.lossRange(loss));
  }

  /**
   * @param {CallNode} node
   * @param {number} depth
   * @param {boolean} lost
   */
  #name({ call, within }, depth, lost) {
    const inner = call.children > 0 ? (within ? " {" : " { … }") : "";
    const [state, why] = STATES[call.state];
    const indent = h("span", { class: "call-indent" });
    indent.style.width = `${depth * INDENT}px`;
    return [
      indent,
      h("span", { class: "call-fold", "aria-hidden": "true", text: call.children > 0 ? (within ? "▾" : "▸") : "" }),
      h(
        "span",
        { class: "call-name", data: { cat: String(category(call.function)) } },
        `${call.function}()`,
        h("span", { class: "quiet", text: inner }),
      ),
      call.children > 0 && !within && h("span", { class: "quiet", text: plural(call.inner, "call") }),
      state && h("span", { class: "call-tag", title: why, text: state }),
      call.gap &&
        h("span", {
          class: "call-tag",
          title:
            depth === 0
              ? `The kernel counted ${plural(call.depth, "call")} around it that were not recorded`
              : "Calls between this one and the one around it were not recorded",
          text: "outer calls not recorded",
        }),
      lost &&
        h("span", {
          class: "call-tag is-loss",
          title: "Calls that were lost may belong before this one",
          text: "events lost before",
        }),
    ];
  }

  /** @param {MouseEvent} event */
  #press(event) {
    const row = closest(event, ".vt-row");
    if (!row) return;
    this.row = Number(row.dataset.row);
    if (closest(event, ".call-fold") && this.current?.children) this.toggle(this.current.id);
    this.#moved();
    this.redraw();
  }

  /** @param {MouseEvent} event */
  #twice(event) {
    if (closest(event, ".vt-row") && !closest(event, ".call-fold") && this.current?.children)
      this.toggle(this.current.id);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const page = Math.max(1, Math.floor(this.scroll.viewport / ROW) - 1);
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const by = steps[event.key];
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "c" && getSelection()?.isCollapsed)
      this.emit("copy", null);
    else if (event.ctrlKey || event.altKey || event.metaKey) return;
    else if (by !== undefined) this.go(Math.max(0, this.row + by));
    else if (event.key === "ArrowRight") this.#inward();
    else if (event.key === "ArrowLeft") this.#outward();
    else if (event.key === " " && this.current?.children) this.toggle(this.current.id);
    else if (event.key === "Enter" && this.current)
      this.context.select({ start: this.current.start, end: this.current.start + Math.max(1, this.current.duration) });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #inward() {
    const { current } = this;
    if (!current?.children) return;
    if (this.tree.node(current.id)?.within) this.go(this.row + 1);
    else this.toggle(current.id);
  }

  #outward() {
    const { current } = this;
    if (!current) return;
    const node = this.tree.node(current.id);
    if (node?.within) this.toggle(current.id);
    else if (node?.level.around) this.go(this.tree.rowOf(node.level.around.call.id));
  }
}
