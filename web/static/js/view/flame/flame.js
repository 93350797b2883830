// The Flame graph tab: folded on the server for the selected range and filter, zoomed by asking again.

import { amount } from "../../lib/amount.js";
import { profile } from "../../kind/profile.js";
import { get } from "../../lib/api.js";
import { mayRecord } from "../../lib/commands.js";
import { h, put, settled } from "../../lib/dom.js";
import { arrangeMaps } from "../first_view.js";
import { COLORS, colorClass, legendOf } from "./flame_colors.js";
import { FRAME, frameTop, swatch } from "./flame_draw.js";
import { functionTable } from "./flame_functions.js";
import { FlameMenu } from "./flame_menu.js";
import { FlameModel, KINDS, LEVELS, leftOutWords, weightsOf, whyEmpty } from "./flame_model.js";
import { FlameNotes } from "./flame_notes.js";
import { FlamePicture } from "./flame_picture.js";
import { drawTransforms } from "./transform_list.js";
import { percent, plural } from "../../lib/format.js";
import { bind, hasKeys } from "../../lib/keys.js";
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
  "transforms",
  "shape",
  "colors",
  "between",
  "against",
  "againststart",
  "againstend",
  "againstfilter",
  "againstsame",
  "per",
  "swapped",
  "unit",
  "source",
  "snapshot",
  "flame",
  "top",
  "code",
  "at",
  "lanes",
];
/** Why there are frames without a symbol, in the order of how often. */
const NO_SYMBOL =
  "A frame has no symbol where the program’s file is stripped, where the code was made at run time and no /tmp/perf-PID.map names it, or where the process had ended before its mappings were read. Programs that are built with symbols, or whose debug symbols are installed, have names in the next capture.";

/** Ways to show stacks beside the graph. @type {["functions"|"tree"|"between"|"time", string, string][]} */
const FORMS = [
  ["functions", "Functions", "A table of functions instead of the graph"],
  ["tree", "Call tree", "The tree as a table, opened line by line"],
  ["between", "Callers and callees", "One function between what calls it and what it calls"],
  ["time", "Time order", "Stacks as they followed each other, by thread or CPU"],
];
/** First levels that calls of functions do not have. */
const OF_SAMPLES = new Set(["cpu", "container", "source"]);
/** @param {string} by @returns {keyof typeof LEVELS} */
const readLevel = (by) => (Object.hasOwn(LEVELS, by) ? /** @type {keyof typeof LEVELS} */ (by) : "process");

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
    /** The width that was asked for last, whose answer may be on its way. */
    this.askedWidth = 0;
    const { state } = context;
    this.search = h("input", {
      type: "search",
      class: "mono",
      size: "18",
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
      on: { change: () => state.set({ unit: this.unit.value, focus: "" }) },
    });
    this.by = h(
      "select",
      {
        "aria-label": "The first level",
        on: { change: () => state.set({ by: readLevel(this.by.value), focus: "" }) },
      },
      ...Object.entries(LEVELS)
        .filter(([level]) => context.hasStacks || !OF_SAMPLES.has(level))
        .map(([value, text]) => h("option", { value, text })),
    );
    this.shape = h("button", {
      type: "button",
      text: "Icicle",
      title: "The root on top",
      on: { click: () => state.set({ shape: this.#down ? "flame" : "icicle" }) },
    });
    this.colors = h(
      "select",
      {
        "aria-label": "What colours tell",
        on: {
          change: () =>
            state.set({
              colors: this.colors.value === "module" || this.colors.value === "package" ? this.colors.value : "kind",
            }),
        },
      },
      ...Object.entries(COLORS).map(([value, text]) => h("option", { value, text })),
    );
    this.forms = FORMS.map(([form, text, title]) =>
      h("button", {
        type: "button",
        text,
        title,
        data: { form },
        on: {
          click: () =>
            state.set({ flame: this.context.view.flame === form ? "graph" : form, code: "", at: "", focus: "" }),
        },
      }),
    );
    this.compare = h("button", {
      type: "button",
      text: "Compare…",
      title: "With another range, another filter, another capture, or the runs before",
      on: { click: () => void this.#choose() },
    });
    this.notes = new FlameNotes(context, () => this.#noted());
    this.menu = new FlameMenu(context, {
      note: (frame, kind) => this.notes.write(frame, kind),
      find: (name) => state.set({ flame: "graph", search: name, focus: "" }),
      between: (name) => state.set({ flame: "between", between: name, focus: "" }),
      code: (name) => state.set({ flame: "functions", code: name, at: "", focus: "" }),
    });
    this.changes = h("nav", { class: "flame-changes", "aria-label": "What was done with stacks", hidden: true });
    this.table = h("div", { class: "flame-functions", hidden: true });
    /** Other forms, whose modules are loaded when they are shown first. */
    this.other = h("div", { class: "flame-other", hidden: true });
    /** @type {{name: string, view: import("./other_form.js").OtherForm}|null} */
    this.shownForm = null;
    this.code = h("div", { class: "flame-functions flame-code", hidden: true, tabindex: "-1" });
    /** @type {import("./flame_code.js").FlameCode|null} Made when a function is read first. */
    this.instructions = null;
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
    this.legend = h("ul", { class: "flame-legend small", "aria-label": "What colours mean" });
    this.picture = this.#makePicture();
    this.scroller = h("div", { class: "flame-scroll" }, ...this.picture.parts);
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
        this.colors,
        this.shape,
        this.invert,
        h("span", { class: "flame-forms", role: "group", "aria-label": "Other forms" }, ...this.forms),
        this.compare,
      ),
      this.changes,
      this.lines,
      this.notes.element,
      this.problem,
      this.scroller,
      this.table,
      this.code,
      this.other,
      h("div", { class: "flame-foot" }, this.said, this.legend),
      this.menu.element,
    );
    new ResizeObserver(settled(80, () => this.#resized())).observe(this.scroller);
    this.#drawControls();
    context.on("colors", () => {
      if (this.model?.total) this.#draw(this.model);
    });
    this.#startKeys();
  }

  #makePicture() {
    return new FlamePicture("Flame graph. Arrow keys walk, Enter zooms, Escape resets.", {
      tell: (i) => i >= 0 && this.#tell(i),
      leave: () => this.#tell(this.current),
      pick: (i) => this.#pick(i),
      reset: () => this.context.state.set({ focus: "" }),
      press: (event) => this.#key(event),
      menu: (i, event) => this.#openMenu(i, event),
      failed: (error) => this.failed(error),
    });
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
    bind("flame.shape", () => this.shape.click(), { when });
    hasKeys("frame");
    bind("flame.reset", () => this.context.state.set({ focus: "" }), {
      when: () => when() && this.context.view.focus !== "" && !this.#listed,
    });
    const reading = () => when() && this.#coded;
    bind("instructions.next", () => this.instructions?.hottest(1), { when: reading });
    bind("instructions.before", () => this.instructions?.hottest(-1), { when: reading });
    bind("instructions.back", () => this.context.state.set({ code: "", at: "" }), { when: reading });
  }

  #drawControls() {
    const { invert, by, focus, search, colors, flame, against } = this.context.view;
    this.#drawUnits();
    this.invert.setAttribute("aria-pressed", String(invert));
    this.shape.setAttribute("aria-pressed", String(this.#down));
    this.by.value = by;
    this.colors.value = colors;
    const { foldsMaps, hasStacks } = this.context;
    const sampled = new Set(["between", "time"]);
    for (const form of this.forms) {
      form.setAttribute("aria-pressed", String(flame === form.dataset.form && !against));
      form.hidden = foldsMaps || (sampled.has(form.dataset.form ?? "") && !hasStacks) || against !== "";
    }
    this.compare.hidden = !hasStacks || foldsMaps;
    this.compare.setAttribute("aria-pressed", String(against !== ""));
    const graph = this.#form === "graph";
    const drawn = graph || this.#form === "compare";
    for (const part of [this.invert, this.shape]) part.hidden = !drawn;
    this.by.hidden = (!drawn && this.#form !== "tree") || foldsMaps;
    for (const part of [this.colors, this.legend]) part.hidden = !graph && this.#form !== "between";
    this.lines.hidden = !graph;
    for (const part of [this.search, this.found]) part.hidden = this.#coded;
    this.reset.hidden = !focus || !drawn;
    if (document.activeElement !== this.search) this.search.value = search;
  }

  /** The choice of what is counted, where stacks have several weights. */
  #drawUnits() {
    const { unit } = this.context.view;
    const weights = weightsOf(this.context, unit);
    this.unit.hidden = weights.length < 2 || this.#coded || this.context.foldsMaps;
    const names = weights.map(({ value }) => value).join("\n");
    if (this.unit.dataset.units !== names) {
      this.unit.dataset.units = names;
      put(this.unit, ...weights.map(({ value, title }) => h("option", { value, text: title })));
    }
    this.unit.value = unit || weights[0]?.value || "";
  }

  /** What is shown; stacks of maps have the graph only. @returns {"graph"|"functions"|"tree"|"between"|"time"|"compare"} */
  get #form() {
    const { flame, against } = this.context.view;
    if (this.context.foldsMaps) return "graph";
    if (!this.context.hasStacks) return flame === "between" || flame === "time" ? "graph" : flame;
    return against ? "compare" : flame;
  }

  /** Whether functions are shown in place of the graph. */
  get #listed() {
    return this.#form === "functions";
  }

  /** Whether the root is on top. */
  get #down() {
    const { shape, invert } = this.context.view;
    return shape ? shape === "icicle" : invert;
  }

  /** Whether a function's instructions are shown in place of the functions. */
  get #coded() {
    return this.#listed && this.context.view.code !== "";
  }

  /** Only rows that match the filter are shown. */
  get takesFilter() {
    return true;
  }

  /**
   * Another range, filter, focus or way to fold, or only another look.
   * @param {Set<string>} parts
   */
  changed(parts) {
    this.#drawControls();
    const onlyLook = [...parts].every((part) => part === "shape" || part === "colors");
    if (onlyLook && this.model?.total && !this.stale && this.#form === "graph") {
      this.#draw(this.model);
      this.drawLegend(this.model);
      return;
    }
    this.expire();
  }

  #resized() {
    const { clientWidth } = this.scroller;
    if (!this.visible || [0, this.drawnWidth, this.askedWidth].includes(clientWidth)) return;
    if (this.model) this.#draw(this.model);
    this.expire();
  }

  /** Folds the stacks; or counts functions, or reads the instructions of one. */
  load() {
    if (!this.context.hasStacks && !this.context.hasCalls) return this.#noStacks();
    const form = this.#form;
    const { between, code } = this.context.view;
    const named = form === "between" ? between : this.#coded ? code : "";
    if (form !== "graph") this.notes.show(named ? { node: "", name: named } : null);
    this.table.hidden = !this.#listed || this.#coded;
    this.code.hidden = !this.#coded;
    this.scroller.hidden = form !== "graph";
    const other = form === "graph" || form === "functions" ? null : form;
    this.other.hidden = other === null;
    if (other !== this.shownForm?.name) this.shownForm?.view.hide?.();
    if (other) return void this.#loadOther(other);
    if (this.#coded) return this.#loadCode();
    if (this.#listed) return this.#loadFunctions();
    this.askedWidth = this.scroller.clientWidth;
    if (this.askedWidth > 0)
      this.ask(
        "Folding stacks",
        (signal) => this.fold(Math.min(8192, this.askedWidth), this.context.view.focus, signal),
        (answer) => this.#show(answer),
      );
  }

  /** There are other notes. */
  #noted() {
    if (this.visible && this.model?.total && !this.stale && this.#form === "graph") this.#draw(this.model);
  }

  /** @param {"tree"|"between"|"compare"|"time"} name */
  async #loadOther(name) {
    try {
      if (this.shownForm?.name !== name) {
        const view = await this.#made(name);
        if (this.#form !== name) return;
        this.shownForm = { name, view };
        put(this.other, view.element);
      }
      this.shownForm.view.load();
    } catch (error) {
      this.failed(error);
    }
  }

  /**
   * @param {"tree"|"between"|"compare"|"time"} name
   * @returns {Promise<import("./other_form.js").OtherForm>}
   */
  async #made(name) {
    if (name === "between") return new (await import("./between_view.js")).BetweenView(this);
    if (name === "tree") return new (await import("./flame_tree.js")).FlameTree(this);
    if (name === "time") return new (await import("./time_view.js")).TimeView(this);
    return new (await import("./compare_view.js")).CompareView(this);
  }

  /** The tab is not in sight. */
  hide() {
    super.hide();
    this.shownForm?.view.hide?.();
  }

  /** Asks what to compare with. */
  async #choose() {
    try {
      const { chooseComparison } = await import("../against/against_dialog.js");
      await chooseComparison(this.context);
    } catch (error) {
      this.failed(error);
    }
  }

  /**
   * The stacks as a graph.
   * @param {number} width
   * @param {string} focus the node that fills the width; empty for all
   * @param {AbortSignal} signal
   * @returns {Promise<FlameGraph>}
   */
  async fold(width, focus, signal) {
    const { start, end, filter, search, invert, by, unit, snapshot, transforms } = this.context.view;
    const map = await this.#map();
    const drawn = { focus, search, width, invert: invert ? 1 : 0, by, unit, transforms };
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
    const { start, end, filter, search, top, unit, transforms } = this.context.view;
    const query = { start, end, filter, search, sort: top, unit, transforms };
    this.ask(
      "Counting functions",
      (signal) => get("/api/captures/{id}/flame/functions", { id: this.context.id, ...query }, signal),
      (answer) => {
        put(
          this.table,
          functionTable(answer, {
            top,
            hasStacks: this.context.hasStacks,
            sort: (to) => this.context.state.set({ top: to }),
            find: (name) => this.context.state.set({ flame: "graph", search: name, focus: "" }),
            between: (name) => this.context.state.set({ flame: "between", between: name, focus: "" }),
            open: (name) => this.context.state.set({ code: name, at: "" }),
            noted: (name) => this.notes.words({ node: "", name }),
            notes: (name) => this.notes.show({ node: "", name }),
          }),
        );
        const more = answer.total - answer.functions.length;
        this.found.textContent = search ? plural(answer.total, "function") : "";
        this.said.textContent = [
          amount(answer.samples, answer.unit),
          more > 0 ? `${plural(more, "more function")}; find them by name` : "",
          ...leftOutWords(answer.left_out),
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
      async (signal) => {
        const { FlameCode } = await import("./flame_code.js");
        const answer = await get("/api/captures/{id}/flame/annotate", { id: this.context.id, ...query }, signal);
        return { FlameCode, answer };
      },
      ({ FlameCode, answer }) => {
        this.instructions ??= new FlameCode(this.context, this.code);
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
    this.drawTransforms(answer);
    if (model.total === 0) {
      this.picture.clear();
      this.empty(answer.recorded > 0 ? "These transforms leave no samples." : whyEmpty(this.context));
      put(this.said, leftOutWords(model.leftOut).join(" · "));
      put(this.legend);
      this.#drawCrumbs(model);
      return;
    }
    this.#draw(model);
    this.drawLegend(model);
    this.#drawCrumbs(model);
    this.#tell(this.current);
    this.#showNotes();
    this.say(model);
  }

  /**
   * What transforms did.
   * @param {{transforms: import("../../../../api.js").AppliedTransform[], recorded: number, unit: string}} answer
   */
  drawTransforms(answer) {
    drawTransforms(this.changes, answer, this.context.state);
  }

  /** @param {FlameModel} model */
  drawLegend(model) {
    const all = legendOf(model, this.context.view.colors);
    put(this.legend, ...all.map((one) => h("li", {}, one.class && swatch(one.class), one.text)));
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
    const { search, colors } = this.context.view;
    const down = this.#down;
    const first = this.drawnWidth === 0;
    const { scrollTop, clientHeight } = this.scroller;
    const atRoot = down ? scrollTop < FRAME : scrollTop + clientHeight > this.picture.height - FRAME;
    this.drawnWidth = this.scroller.clientWidth;
    const color = (/** @type {number} */ i) => colorClass(model, i, colors);
    const isNoted = this.notes.lookup();
    const noted = (/** @type {number} */ i) => isNoted({ node: model.nodes.id[i], name: model.name(i) });
    this.picture.draw(model, this.drawnWidth, { down, searching: search !== "", color, noted });
    this.picture.mark(this.current);
    if (first || atRoot) this.scroller.scrollTop = down ? 0 : this.picture.height;
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

  /**
   * What is told below a graph or tree.
   * @param {FlameModel} model
   */
  say({ cut, total, unresolved, matched, focusTotal, unit, counted, leftOut }) {
    const parts = [`${amount(total, unit)}${counted ? ` (${counted})` : ""}`];
    if (cut.nodes > 0)
      parts.push(
        `${plural(cut.nodes, "frame")} with ${amount(cut.samples, unit)} below one pixel not drawn; zoom in to see them`,
      );
    parts.push(...leftOutWords(leftOut));
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
    const noted = this.notes.words({ node: model.nodes.id[i], name: model.name(i) });
    put(
      this.readout,
      h("b", { text: model.name(i) }),
      `  ${KINDS[kind[i]] ?? ""}  ${amount(value[i], model.unit)}, ${percent(value[i], model.total)} of all${zoomed}${own[i] ? `; ${amount(own[i], model.unit)} its own` : ""}`,
      noted && h("span", { class: "quiet", text: `  Note of ${noted}` }),
    );
  }

  /** Shows the notes of the frame that the keyboard is at. */
  #showNotes() {
    const { model, current } = this;
    const is = model !== null && current > 0 && current < model.count;
    this.notes.show(is ? { node: model.nodes.id[current], name: model.name(current) } : null);
  }

  /** @param {number} i */
  #pick(i) {
    if (!this.model) return;
    this.current = i;
    this.#showNotes();
    this.picture.mark(i);
    this.#zoom(this.model, i);
  }

  /**
   * @param {FlameModel} model
   * @param {number} i
   */
  #zoom(model, i) {
    this.context.state.set({ focus: i === 0 ? "" : model.nodes.id[i] });
  }

  /**
   * @param {FlameModel} model
   * @param {number} i
   */
  #go(model, i) {
    if (i < 0) return;
    this.current = i;
    this.picture.mark(i);
    this.#tell(i);
    this.#showNotes();
    const top = frameTop(model, i, this.#down);
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + FRAME > scrollTop + clientHeight) this.scroller.scrollTop = top + FRAME - clientHeight;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { model } = this;
    if (!model || model.count === 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const from = this.current;
    const to = model.walked(event.key, from, this.#down);
    if (event.shiftKey && event.key === "F10") this.#menuAt(from, null);
    else if (event.key === "ContextMenu") this.#menuAt(from, null);
    else if (this.menu.press(event, this.#frame(from))) return;
    else if (to !== null) this.#go(model, to);
    else if (event.key === "Enter" && from >= 0) this.#zoom(model, from);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * What transforms of a node are about; none without one.
   * @param {number} i
   */
  #frame(i) {
    return this.model && i > 0 ? this.model.frame(i, this.context.view.invert) : null;
  }

  /**
   * @param {number} i
   * @param {MouseEvent} event
   */
  #openMenu(i, event) {
    if (i <= 0) return;
    event.preventDefault();
    this.current = i;
    this.picture.mark(i);
    this.#tell(i);
    this.#menuAt(i, { x: event.clientX, y: event.clientY });
  }

  /**
   * @param {number} i
   * @param {{x: number, y: number}|null} at none: at the frame
   */
  #menuAt(i, at) {
    const frame = this.#frame(i);
    const box = this.picture.box(i);
    if (frame && box) this.menu.open(frame, at ?? { x: box.left, y: box.bottom });
  }

  /** @param {KeyboardEvent} event */
  #searchKey(event) {
    if (event.key === "Escape") {
      this.search.value = "";
      this.context.state.set({ search: "" });
      this.picture.focus();
    } else if (event.key === "Enter" && this.model) {
      this.#go(this.model, this.model.nextMatch(this.current, event.shiftKey ? -1 : 1));
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
