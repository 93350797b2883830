// The Flame graph tab: folded on the server for the selected range and filter, zoomed by asking again.

import { amount } from "../../lib/amount.js";
import { profile } from "../../kind/profile.js";
import { get } from "../../lib/api.js";
import { mayRecord } from "../../lib/commands.js";
import { closest, h, put, s, settled } from "../../lib/dom.js";
import { arrangeMaps } from "../first_view.js";
import { FRAME, drawFlame, frameTop } from "./flame_draw.js";
import { FlameCode } from "./flame_code.js";
import { functionTable } from "./flame_functions.js";
import { FlameModel, KINDS, UNITS, readUnit, unitsOf, whyEmpty } from "./flame_model.js";
import { percent, plural } from "../../lib/format.js";
import { bind } from "../../lib/keys.js";
import { note } from "../../lib/notice.js";
import { PanelView } from "../panel_view.js";

/** @import { Answers, FlameGraph } from "../../../../api.js" */

const QUERY = [
  "start",
  "end",
  "filter",
  "focus",
  "search",
  "invert",
  "by",
  "unit",
  "source",
  "snapshot",
  "flame",
  "top",
  "code",
  "at",
];
/** Why there are frames without a symbol, in the order of how often. */
const NO_SYMBOL =
  "A frame has no symbol where the program’s file is stripped, where the code was made at run time and no /tmp/perf-PID.map names it, or where the process had ended before its mappings were read. Programs that are built with symbols, or whose debug symbols are installed, have names in the next capture.";

/** The tab. */
export class FlameView extends PanelView {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, QUERY);
    /** @type {FlameModel|null} */
    this.model = null;
    this.current = -1;
    this.drawnWidth = 0;
    const { state } = context;
    this.search = h("input", {
      type: "search",
      class: "mono",
      size: "24",
      maxlength: "256",
      placeholder: "Find in names",
      "aria-label": "Find in names",
      on: {
        input: settled(200, () => state.set({ search: this.search.value })),
        keydown: (event) => this.#searchKey(event),
      },
    });
    this.search.value = this.context.view.search;
    this.found = h("span", { class: "quiet", role: "status" });
    this.invert = h("button", {
      type: "button",
      text: "Invert",
      title: "The innermost function at the root, its callers above it",
      on: { click: () => state.set({ invert: !this.context.view.invert, focus: "" }) },
    });
    this.unit = h("select", {
      "aria-label": "What is counted",
      on: { change: () => state.set({ unit: readUnit(this.unit.value), focus: "" }) },
    });
    this.by = h("button", {
      type: "button",
      text: "By process",
      title: "Processes as the first level",
      on: { click: () => state.set({ by: this.context.view.by === "process" ? "none" : "process", focus: "" }) },
    });
    this.list = h("button", {
      type: "button",
      text: "Functions",
      title: "A table of functions instead of the graph",
      on: {
        click: () =>
          state.set({ flame: this.context.view.flame === "graph" ? "functions" : "graph", code: "", at: "" }),
      },
    });
    this.table = h("div", { class: "flame-functions", hidden: true });
    this.code = h("div", { class: "flame-functions flame-code", hidden: true, tabindex: "-1" });
    this.instructions = new FlameCode(this.context, this.code);
    this.reset = h(
      "button",
      { type: "button", hidden: true, on: { click: () => state.set({ focus: "" }) } },
      "Reset zoom ",
      h("kbd", { text: "Esc" }),
    );
    this.crumbs = h("nav", { class: "crumbs mono", "aria-label": "Zoomed path" });
    this.readout = h("p", { class: "readout mono", "aria-live": "polite" });
    this.lines = h("div", { class: "flame-lines" }, this.crumbs, this.readout);
    this.said = h("p", { class: "flame-said quiet small" });
    this.svg = s("svg", {
      class: "flame",
      tabindex: "0",
      role: "application",
      "aria-label": "Flame graph. Arrow keys walk, Enter zooms, Escape resets.",
    });
    this.scroller = h("div", { class: "flame-scroll" }, this.svg);
    put(
      panel,
      h(
        "div",
        { class: "panel-bar" },
        this.search,
        this.found,
        h("span", { class: "grow" }),
        this.reset,
        this.unit,
        this.by,
        this.invert,
        this.list,
      ),
      this.lines,
      this.problem,
      this.scroller,
      this.table,
      this.code,
      this.said,
    );
    this.#startPicture();
    this.#drawControls();
    context.on("colors", () => {
      if (this.model?.total) this.#draw(this.model);
    });
    this.#startKeys();
  }

  #startPicture() {
    const { state } = this.context;
    this.svg.addEventListener("pointerover", (event) => this.#hover(event));
    this.svg.addEventListener("pointerleave", () => this.#tell(this.current));
    this.svg.addEventListener("click", (event) => this.#click(event));
    this.svg.addEventListener("dblclick", () => state.set({ focus: "" }));
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(settled(80, () => this.#resized())).observe(this.scroller);
  }

  #startKeys() {
    const when = () => this.visible;
    bind(
      "flame.find",
      () => {
        this.search.focus();
        this.search.select();
      },
      { when: () => when() && !this.#coded },
    );
    bind("flame.invert", () => this.invert.click(), { when });
    bind("flame.reset", () => this.context.state.set({ focus: "" }), {
      when: () => when() && this.context.view.focus !== "" && !this.#listed,
    });
    const reading = () => when() && this.#coded;
    bind("instructions.next", () => this.instructions.hottest(1), { when: reading });
    bind("instructions.before", () => this.instructions.hottest(-1), { when: reading });
    bind("instructions.back", () => this.context.state.set({ code: "", at: "" }), { when: reading });
  }

  #drawControls() {
    const { invert, by, focus, search, flame } = this.context.view;
    this.#drawUnits();
    this.invert.setAttribute("aria-pressed", String(invert));
    this.by.setAttribute("aria-pressed", String(by === "process"));
    this.list.setAttribute("aria-pressed", String(flame === "functions"));
    this.list.hidden = this.context.foldsMaps;
    const listed = this.#listed;
    for (const part of [this.invert, this.by, this.lines]) part.hidden = listed;
    for (const part of [this.search, this.found]) part.hidden = this.#coded;
    this.reset.hidden = !focus || listed;
    if (document.activeElement !== this.search) this.search.value = search;
  }

  /** The choice of what is counted, where samples count several things. */
  #drawUnits() {
    const units = unitsOf(this.context.info.streams);
    this.unit.hidden = units.length < 2 || this.#coded;
    const names = units.join();
    if (this.unit.dataset.units !== names) {
      this.unit.dataset.units = names;
      put(this.unit, ...units.map((unit) => h("option", { value: unit, text: UNITS[unit] })));
    }
    const { unit } = this.context.view;
    this.unit.value = units.find((one) => one === unit) ?? units[0] ?? "";
  }

  /** Whether functions are shown in place of the graph; stacks of maps have no table. */
  get #listed() {
    return this.context.view.flame === "functions" && !this.context.foldsMaps;
  }

  /** Whether a function's instructions are shown in place of the functions. */
  get #coded() {
    return this.#listed && this.context.view.code !== "";
  }

  /** Only rows that match the filter are shown. */
  get takesFilter() {
    return true;
  }

  /** Another range, filter, focus or way to fold. */
  changed() {
    this.#drawControls();
    this.expire();
  }

  #resized() {
    if (!this.visible || this.scroller.clientWidth === 0 || this.scroller.clientWidth === this.drawnWidth) return;
    if (this.model) this.#draw(this.model);
    this.expire();
  }

  /** Folds the stacks; or counts functions, or reads the instructions of one. */
  load() {
    if (!this.context.hasStacks && !this.context.hasCalls) return this.#noStacks();
    this.table.hidden = !this.#listed || this.#coded;
    this.code.hidden = !this.#coded;
    this.scroller.hidden = this.#listed;
    if (this.#coded) return this.#loadCode();
    if (this.#listed) return this.#loadFunctions();
    const width = this.scroller.clientWidth;
    if (width > 0)
      this.ask(
        "Folding stacks",
        (signal) => this.#fold(Math.min(8192, width), signal),
        (answer) => this.#show(answer),
      );
  }

  /**
   * @param {number} width
   * @param {AbortSignal} signal
   * @returns {Promise<FlameGraph>}
   */
  async #fold(width, signal) {
    const { start, end, filter, focus, search, invert, by, unit, snapshot } = this.context.view;
    const map = await this.#map();
    const drawn = { focus, search, width, invert: invert ? 1 : 0, by, unit };
    if (map === null)
      return get("/api/captures/{id}/flame", { id: this.context.id, start, end, filter, ...drawn }, signal);
    return /** @type {Promise<FlameGraph>} */ (
      get(
        "/api/captures/{id}/maps/{n}",
        {
          id: this.context.id,
          n: map,
          view: "flame",
          ...(snapshot === null ? { start, end } : { snapshot }),
          ...drawn,
        },
        signal,
      )
    );
  }

  #loadFunctions() {
    const { start, end, filter, search, top, unit } = this.context.view;
    const query = { start, end, filter, search, sort: top, unit };
    this.ask(
      "Counting functions",
      (signal) => get("/api/captures/{id}/flame/functions", { id: this.context.id, ...query }, signal),
      (answer) => {
        put(
          this.table,
          functionTable(answer, {
            top,
            sort: (to) => this.context.state.set({ top: to }),
            find: (name) => this.context.state.set({ flame: "graph", search: name, focus: "" }),
            open: (name) => this.context.state.set({ code: name, at: "" }),
          }),
        );
        const more = answer.total - answer.functions.length;
        this.found.textContent = search ? plural(answer.total, "function") : "";
        this.said.textContent = [
          amount(answer.samples, answer.unit),
          more > 0 ? `${plural(more, "more function")}; find them by name` : "",
        ]
          .filter(Boolean)
          .join(" · ");
      },
    );
  }

  #loadCode() {
    const { start, end, filter, code, at } = this.context.view;
    const query = { start, end, filter, function: code, place: at };
    this.ask(
      "Reading instructions",
      (signal) => get("/api/captures/{id}/flame/annotate", { id: this.context.id, ...query }, signal),
      (answer) => {
        this.instructions.show(answer);
        this.said.textContent = FlameCode.said(answer);
      },
    );
  }

  /** The map whose stacks are shown: the one that the address names, or the first one where there are no samples. */
  async #map() {
    if (this.context.view.source) return Number(this.context.view.source.slice(1));
    if (!this.context.foldsMaps) return null;
    /** @type {Answers["GET"]["/api/captures/{id}/maps"]} */
    const none = { maps: [] };
    const { maps } = await get("/api/captures/{id}/maps", { id: this.context.id }).catch(() => none);
    const { streams } = this.context.info;
    const folded = maps.filter(({ views }) => views.includes("flame"));
    return arrangeMaps(folded, streams, this.context.scriptText).first?.n ?? null;
  }

  /** @param {FlameGraph} answer */
  #show(answer) {
    const before = this.model && this.current >= 0 ? this.model.nodes.id[this.current] : this.context.view.focus;
    const model = new FlameModel(answer);
    this.model = model;
    this.current = model.nodes.id.indexOf(before);
    if (model.total === 0) {
      put(this.svg);
      this.svg.style.height = "0";
      this.empty(whyEmpty(this.context));
      this.said.textContent = "";
      this.#drawCrumbs(model);
      return;
    }
    this.#draw(model);
    this.#drawCrumbs(model);
    this.#tell(this.current);
    this.#say(model);
  }

  #noStacks() {
    this.stale = false;
    const text = this.context.foldsMaps
      ? "This script counts nothing by stack. One that does: profile:hz:99 { @[kstack, ustack] = count(); }"
      : "This capture has no stacks, so there is nothing to fold. A profile records stacks.";
    this.empty(
      text,
      !this.context.foldsMaps &&
        mayRecord() &&
        h(
          "p",
          { class: "row" },
          h("a", {
            class: "button primary",
            href: `/new?${new URLSearchParams({ from: this.context.id, add: profile.name })}`,
            text: "Run again with a profile",
          }),
        ),
    );
  }

  /** @param {FlameModel} model */
  #draw(model) {
    const { invert, search } = this.context.view;
    const height = (model.maxDepth + 1) * FRAME;
    const first = this.drawnWidth === 0;
    const atRoot = invert
      ? this.scroller.scrollTop < FRAME
      : this.scroller.scrollTop + this.scroller.clientHeight > this.svg.clientHeight - FRAME;
    this.drawnWidth = this.scroller.clientWidth;
    this.svg.style.height = `${height}px`;
    put(this.svg, drawFlame(model, this.drawnWidth, { invert, searching: search !== "" }));
    this.#mark();
    if (first || atRoot) this.scroller.scrollTop = invert ? 0 : height;
  }

  /** @param {FlameModel} model */
  #drawCrumbs(model) {
    const path = model.focus > 0 ? model.path(model.focus) : [];
    put(
      this.crumbs,
      ...path.flatMap((i, at) => [
        at > 0 && h("span", { class: "quiet", text: "›" }),
        h("button", {
          type: "button",
          class: "plain",
          "aria-current": at === path.length - 1 ? "true" : null,
          title: model.name(i),
          text: model.name(i),
          on: { click: () => this.#zoom(model, i) },
        }),
      ]),
    );
    this.crumbs.scrollLeft = this.crumbs.scrollWidth;
  }

  /** @param {FlameModel} model */
  #say({ cut, total, unresolved, matched, focusTotal, unit }) {
    const parts = [amount(total, unit)];
    if (cut.nodes > 0)
      parts.push(
        `${plural(cut.nodes, "frame")} with ${amount(cut.samples, unit)} below one pixel not drawn; zoom in to see them`,
      );
    put(
      this.said,
      parts.join(" · "),
      unresolved > 0 && ` · ${amount(unresolved, unit)} ${unresolved > 1 ? "have" : "has"} frames without a symbol `,
      unresolved > 0 &&
        h("button", {
          type: "button",
          class: "plain",
          text: "why?",
          on: { click: () => note(NO_SYMBOL, { ms: 20000 }) },
        }),
    );
    this.found.textContent = this.context.view.search
      ? `${amount(matched, unit)}, ${percent(matched, focusTotal)}`
      : "";
  }

  /** @param {Event} event */
  #index(event) {
    const group = closest(event, "g[data-i]");
    return group ? Number(group.dataset.i) : -1;
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const i = this.#index(event);
    if (i >= 0) this.#tell(i);
  }

  /** @param {number} i */
  #tell(i) {
    const { model } = this;
    if (!model || i < 0) {
      put(
        this.readout,
        h("span", { class: "quiet", text: this.model?.total ? "Click or Enter zooms, arrow keys walk" : "" }),
      );
      return;
    }
    const { value, own, kind } = model.nodes;
    const zoomed =
      model.focus > 0 && !model.isAncestor(i) ? `, ${percent(value[i], model.focusTotal)} of the zoom` : "";
    put(
      this.readout,
      h("b", { text: model.name(i) }),
      `  ${KINDS[kind[i]] ?? ""}  ${amount(value[i], model.unit)}, ${percent(value[i], model.total)} of all${zoomed}${own[i] ? `; ${amount(own[i], model.unit)} its own` : ""}`,
    );
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const i = this.#index(event);
    if (i < 0 || !this.model) return;
    this.current = i;
    this.#mark();
    this.#zoom(this.model, i);
  }

  /**
   * @param {FlameModel} model
   * @param {number} i
   */
  #zoom(model, i) {
    this.context.state.set({ focus: i === 0 ? "" : model.nodes.id[i] });
  }

  #mark() {
    this.svg.querySelector(".is-current")?.classList.remove("is-current");
    if (this.current >= 0) this.svg.children[this.current]?.classList.add("is-current");
  }

  /**
   * @param {FlameModel} model
   * @param {number} i
   */
  #go(model, i) {
    if (i < 0) return;
    this.current = i;
    this.#mark();
    this.#tell(i);
    const top = frameTop(model, i, this.context.view.invert);
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + FRAME > scrollTop + clientHeight) this.scroller.scrollTop = top + FRAME - clientHeight;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { model } = this;
    if (!model || model.count === 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const away = this.context.view.invert ? "ArrowDown" : "ArrowUp";
    const back = this.context.view.invert ? "ArrowUp" : "ArrowDown";
    const from = this.current;
    if (event.key === away) this.#go(model, from < 0 ? model.focus : model.widestChild(from));
    else if (event.key === back) this.#go(model, from < 0 ? model.focus : model.parents[from]);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
      this.#go(model, from < 0 ? model.focus : model.beside(from, event.key === "ArrowLeft" ? -1 : 1));
    else if (event.key === "Enter" && from >= 0) this.#zoom(model, from);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {KeyboardEvent} event */
  #searchKey(event) {
    if (event.key === "Escape") {
      this.search.value = "";
      this.context.state.set({ search: "" });
      this.svg.focus();
    } else if (event.key === "Enter" && this.model) {
      this.#go(this.model, this.model.nextMatch(this.current, event.shiftKey ? -1 : 1));
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
