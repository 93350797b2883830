// The Calls tab: the same calls as a tree, as a ranking of functions, and over time.

import { get, getBytes } from "../../lib/api.js";
import { CallsChart } from "./calls_chart.js";
import { CallsFunctions } from "./calls_functions.js";
import { CallsTree } from "./calls_tree_view.js";
import { copyText, h, put, settled } from "../../lib/dom.js";
import { parseDuration } from "../../lib/duration_marks.js";
import { duration, exact, plural } from "../../lib/format.js";
import { bind, isTyping } from "../../lib/keys.js";
import { note, noteError, waitFor } from "../../lib/notice.js";
import { otherTable } from "../against/against_model.js";
import { AgainstPanel } from "../against/against_panel.js";
import { readNames, writeNames } from "../../lib/name_list.js";
import { PanelView } from "../panel_view.js";

/** @import { CallPage, CallThread, FoundCall, FunctionsPage } from "../../../../api.js" */
/** @typedef {"tree"|"functions"|"chart"} Kind */
/** @typedef {Pick<import("../../page/url_state.js").ViewParts, "calls"|"part"|"lanes">} Choices */

/** @type {[value: Choices["calls"], text: string][]} */
const KINDS = [
  ["tree", "Tree"],
  ["functions", "Functions"],
  ["chart", "Chart"],
];
/** @type {[value: Choices["part"], text: string][]} */
const PARTS = [
  ["", "Whole"],
  ["cpu", "By CPU"],
  ["thread", "By thread"],
  ["irq", "By interrupt"],
];
/** @type {[value: Choices["lanes"], text: string][]} */
const LANES = [
  ["thread", "Threads"],
  ["cpu", "CPUs"],
];
/** What asks the server again. */
const QUERY = ["start", "end", "filter", "longer", "thread", "func"];
const FUNCTIONS = 500;

/** The tab. */
export class CallsView extends PanelView {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel);
    /** Each of its three views is stale by itself. */
    this.old = { tree: true, functions: true, chart: true };
    this.tree = new CallsTree(context);
    this.functions = new CallsFunctions(context, (id) => this.#reveal(id));
    this.chart = new CallsChart(context);
    /** @type {CallPage|null} */
    this.treePage = null;
    /** @type {FunctionsPage|null} */
    this.functionsPage = null;
    const { state } = context;
    this.kinds = this.#segments("View of calls", "calls", KINDS);
    this.parts = this.#segments("Group functions", "part", PARTS);
    this.lanes = this.#segments("Lanes", "lanes", LANES);
    this.search = h("input", {
      type: "search",
      class: "mono",
      size: "18",
      maxlength: "256",
      placeholder: "Find functions",
      "aria-label": "Find functions",
      on: {
        input: settled(200, () => state.set({ search: this.search.value })),
        keydown: (event) => this.#searchKey(event),
      },
    });
    this.found = h("span", { class: "quiet", role: "status" });
    this.longer = h("input", {
      type: "text",
      class: "mono",
      size: "7",
      maxlength: "20",
      placeholder: "10 µs",
      "aria-label": "Only calls longer than",
      on: {
        change: () => this.#setLonger(),
        keydown: (event) => {
          if (event.key === "Enter") this.#setLonger();
        },
      },
    });
    this.thread = h("select", {
      "aria-label": "Thread",
      on: {
        change: () =>
          state.set({ thread: this.thread.value === "" ? null : Number(this.thread.value), call: null, open: "" }),
      },
    });
    this.only = h("span", { class: "call-only" });
    this.copy = h("button", { type: "button", on: { click: () => this.#copy() } });
    this.said = h("span", { class: "quiet", role: "status" });
    this.readout = h("span", { class: "readout mono", "aria-live": "polite" });
    this.against = new AgainstPanel(context, {
      noun: "function",
      label: "Functions of both sides",
      inner: ({ key }) => ({ inway: writeNames([...this.#way, String(key[0])]) }),
    });
    /** What both sides were asked for last, if there was an answer. */
    this.againstAsked = "";
    /** @type {HTMLElement[]} What is of single calls alone. */
    this.single = [];
    this.bodies = { tree: this.tree.element, functions: this.functions.element, chart: this.chart.element };
    put(
      this.panel,
      h(
        "div",
        { class: "panel-bar calls-bar" },
        this.kinds,
        this.parts,
        this.lanes,
        this.thread,
        h("label", { class: "call-longer" }, h("span", { class: "quiet", text: "Longer than" }), this.longer),
        this.only,
        h("span", { class: "grow" }),
        this.search,
        this.found,
        this.copy,
      ),
      h("div", { class: "calls-lines small" }, this.said, this.readout),
      this.problem,
      ...Object.values(this.bodies),
      this.against.element,
    );
    this.single = [this.parts, this.lanes, this.copy, this.search, this.found];
    this.#drawControls();
    this.#listen();
    this.#startKeys();
  }

  /**
   * Buttons of which one is pressed.
   * @template {keyof Choices} Part
   * @param {string} label
   * @param {Part} part of the address
   * @param {[value: Choices[Part], text: string][]} values
   */
  #segments(label, part, values) {
    /** @param {Choices[Part]} value */
    const set = (value) => this.context.state.set({ [part]: value });
    const buttons = values.map(([value, text]) =>
      h("button", { type: "button", data: { value }, text, on: { click: () => set(value) } }),
    );
    return h("span", { class: "segments", role: "group", "aria-label": label }, ...buttons);
  }

  #listen() {
    /** @param {unknown} error */
    const failed = (error) => this.failed(error, () => this.#again());
    this.tree.on("page", (page) => this.#arrived(page));
    this.tree.on("error", failed);
    this.tree.on("copy", () => this.#copy());
    this.chart.on("error", failed);
    this.chart.on("data", (model) => this.#charted(model));
    this.chart.on("tell", (text) => {
      this.readout.textContent = text;
    });
    this.context.state.on("change", ({ parts }) => this.#changed(parts));
  }

  #startKeys() {
    for (const [calls] of KINDS)
      bind(`calls.${calls}`, () => this.context.state.set({ calls }), { when: () => this.visible });
    // Before the box on top of the page, which has the key elsewhere.
    document.addEventListener(
      "keydown",
      (event) => {
        if (
          !this.visible ||
          event.key !== "/" ||
          event.ctrlKey ||
          event.altKey ||
          event.metaKey ||
          isTyping(event) ||
          document.querySelector("dialog[open]")
        )
          return;
        event.preventDefault();
        event.stopPropagation();
        this.search.focus();
        this.search.select();
      },
      true,
    );
  }

  get #kind() {
    return this.context.view.calls;
  }

  get #query() {
    const { start, end, filter, longer, thread, func } = this.context.view;
    return { start, end, filter, longer: longer || null, tid: thread, function: func };
  }

  #drawControls() {
    const { view } = this.context;
    /**
     * @param {HTMLElement} group
     * @param {string} value
     */
    const press = (group, value) => {
      for (const button of group.querySelectorAll("button"))
        button.setAttribute("aria-pressed", String(button.dataset.value === value));
    };
    press(this.kinds, view.calls);
    press(this.parts, view.part);
    press(this.lanes, view.lanes);
    this.parts.hidden = view.calls !== "functions";
    this.lanes.hidden = view.calls !== "chart";
    this.copy.hidden = view.calls === "functions";
    this.copy.textContent = "Copy as text";
    this.copy.title = `${view.call === null ? "All calls shown" : "The chosen call with all within it"}, as in ftrace's file “trace”`;
    for (const [name, body] of Object.entries(this.bodies)) body.hidden = name !== view.calls;
    if (document.activeElement !== this.search) this.search.value = view.search;
    if (document.activeElement !== this.longer) this.longer.value = view.longer ? duration(view.longer) : "";
    put(
      this.only,
      view.func &&
        h("button", {
          type: "button",
          class: "chip",
          title: "Show calls of all functions",
          text: `only ${view.func} ×`,
          on: { click: () => this.context.state.set({ func: "" }) },
        }),
    );
    if (view.calls !== "chart") this.readout.textContent = "";
    const isCompared = view.against !== "";
    this.against.element.hidden = !isCompared;
    if (!isCompared) {
      for (const part of [this.search, this.found]) part.hidden = false;
      return;
    }
    for (const part of [...this.single, ...Object.values(this.bodies)]) part.hidden = true;
    this.#drawWay();
  }

  /** The functions that lead to what is compared, from outermost calls on. */
  get #way() {
    return readNames(this.context.view.inway);
  }

  /** The way as steps back. */
  #drawWay() {
    const way = this.#way;
    const step = (/** @type {string} */ text, /** @type {number} */ levels) =>
      h(
        "li",
        {},
        h("button", {
          type: "button",
          class: "plain",
          text,
          "aria-current": String(levels === way.length),
          on: { click: () => this.context.state.set({ inway: writeNames(way.slice(0, levels)) }) },
        }),
      );
    const steps = [step("Outermost calls", 0), ...way.map((name, at) => step(name, at + 1))];
    put(
      this.against.above,
      this.#kind === "tree" && h("ol", { class: "against-way mono", "aria-label": "Called by" }, ...steps),
    );
  }

  /** Asks for calls of both sides: by function, or by the way that leads to them. */
  #loadAgainst() {
    const kind = this.#kind;
    this.said.textContent = "";
    this.chart.visible = false;
    void this.#threads();
    if (kind === "chart") {
      this.against.clear();
      this.stale = false;
      this.empty(
        "Single calls over time are not compared: no call of one recording is the same as one of another. Functions and the tree are.",
      );
      return;
    }
    const own = kind === "tree" ? { way: this.context.view.inway || "," } : { function: null };
    const asked = { id: this.context.id, ...this.#query, ...own, ...otherTable(this.context.view) };
    const key = JSON.stringify(asked);
    // The address changes by much that is not of it.
    if (key === this.againstAsked) return;
    this.againstAsked = "";
    void this.against.load(this, "Comparing calls", async (signal) => {
      const table = await get("/api/captures/{id}/calls/compare", asked, signal);
      this.againstAsked = key;
      return table;
    });
  }

  /** @param {Set<string>} parts */
  #changed(parts) {
    if (QUERY.some((part) => parts.has(part)))
      for (const [kind] of KINDS)
        if (
          kind !== "chart" ||
          !["start", "end"].some((part) => parts.has(part)) ||
          QUERY.slice(2).some((part) => parts.has(part))
        )
          this.old[kind] = true;
    if (["rank", "turn", "part"].some((part) => parts.has(part))) this.old.functions = true;
    if (parts.has("search")) {
      this.old.functions = true;
      this.found.textContent = "";
    }
    if (parts.has("lanes")) this.old.chart = true;
    if (parts.has("against")) for (const [kind] of KINDS) this.old[kind] = true;
    if (parts.has("from") && this.context.view.from === null && this.#kind !== "chart") this.chart.restore();
    this.#drawControls();
    if (this.visible) this.load();
    this.chart.changed();
  }

  /** Only rows that match the filter are shown. */
  get takesFilter() {
    return true;
  }

  /** The tab is in sight. */
  show() {
    this.visible = true;
    this.load();
  }

  /** The tab is not in sight. */
  hide() {
    super.hide();
    this.chart.visible = false;
  }

  /** There may be new calls. */
  grown() {
    for (const [kind] of KINDS) this.old[kind] = true;
    this.againstAsked = "";
    // A tree that somebody walks through must not move.
    if (this.visible && (this.#kind !== "tree" || this.context.view.call === null)) this.load();
  }

  /** Shows the view of calls that the address names. */
  load() {
    const kind = this.#kind;
    if (this.context.view.against !== "") {
      this.#loadAgainst();
      return;
    }
    this.chart.visible = kind === "chart";
    if (!this.old[kind]) {
      if (kind === "chart") this.chart.changed();
      else this.#say(kind === "tree" ? this.treePage : this.functionsPage);
      return;
    }
    this.old[kind] = false;
    if (kind === "tree") this.tree.load(this.#query);
    else if (kind === "chart") this.chart.loadCalls({ ...this.#query, start: null, end: null });
    else this.#rank();
  }

  #rank() {
    const { rank, turn, part, search } = this.context.view;
    const ascending = (rank === "name") !== turn;
    const query = {
      ...this.#query,
      function: null,
      rank,
      part,
      search,
      order: ascending ? "asc" : "desc",
      limit: FUNCTIONS,
    };
    this.ask(
      "Ranking functions",
      (signal) => get("/api/captures/{id}/calls/functions", { id: this.context.id, ...query }, signal),
      (page) => {
        this.functionsPage = page;
        for (const button of this.parts.querySelectorAll("button"))
          if (button.dataset.value === "irq") button.hidden = !page.irqs;
        this.functions.show(page);
        this.#say(page);
        this.#threads();
      },
      () => this.#again(),
    );
  }

  /** @param {CallPage} page */
  #arrived(page) {
    this.answered();
    this.treePage = page;
    this.#fillThreads(page.threads ?? []);
    if (page.total === 0)
      this.empty(
        this.#isNarrow
          ? "No calls in this range and filter."
          : "No calls: none of the traced functions was called while it was recorded.",
      );
    this.#say(page);
  }

  /** @param {CallThread[]} threads */
  #fillThreads(threads) {
    const { thread } = this.context.view;
    /**
     * @param {string} value
     * @param {string} text
     */
    const option = (value, text) => h("option", { value, text, selected: String(thread ?? "") === value });
    put(
      this.thread,
      option("", "All threads"),
      ...threads.map(({ tid, comm, calls }) => option(String(tid), `${comm} ${tid} (${exact(calls)})`)),
    );
    this.thread.value = String(thread ?? "");
  }

  get #isNarrow() {
    const { start, filter, longer, thread, func } = this.context.view;
    return start !== null || filter !== "" || longer > 0 || thread !== null || func !== "";
  }

  /** @param {CallPage|FunctionsPage|null} page */
  #say(page) {
    if (!page) return;
    const parts = [plural(page.chosen, "call")];
    if (this.#kind === "functions") parts.push(plural(page.total, this.context.view.part ? "row" : "function"));
    if (page.left_out > 0) parts.push(`${plural(page.left_out, "later call")} did not fit; select a range to see them`);
    this.said.textContent = parts.join(" · ");
  }

  /** @param {import("../lanes/lanes_model.js").LanesModel<import("../../../../api.js").CallChart>} model */
  #charted({ answer, lanes, hidden, moreLanes }) {
    const { coarse, left_out: leftOut } = answer;
    this.answered();
    const parts = [
      plural(
        lanes.reduce((sum, lane) => sum + lane.calls, 0),
        "call",
      ),
      plural(lanes.length, this.context.view.lanes === "cpu" ? "CPU" : "thread"),
    ];
    if (coarse) parts.push("overview; zoom in to see every call");
    if (hidden > 0) parts.push(`${exact(hidden)} more below one pixel`);
    if (moreLanes > 0) parts.push(`${plural(moreLanes, "more lane")} not shown`);
    if (leftOut > 0) parts.push(`${plural(leftOut, "later call")} did not fit`);
    this.said.textContent = parts.join(" · ");
    this.#threads();
    if (lanes.length === 0) this.empty("No calls in this window: press 0 to see all, or change the filter.");
  }

  /** The threads come with the tree. */
  async #threads() {
    if (this.thread.options.length > 0) return;
    try {
      const asked = get("/api/captures/{id}/calls", { id: this.context.id, limit: 1 });
      const page = await /** @type {Promise<CallPage>} */ (asked);
      if (this.thread.options.length === 0) this.#fillThreads(page.threads ?? []);
    } catch (error) {
      noteError(error);
    }
  }

  #again() {
    this.old[this.#kind] = true;
    this.load();
  }

  #setLonger() {
    const ns = parseDuration(this.longer.value);
    this.longer.setAttribute("aria-invalid", String(ns === null));
    if (ns === null) note("Write a duration such as 10 µs, 1.5 ms or 2 s.");
    else this.context.state.set({ longer: ns, open: "", call: null });
  }

  /** @param {number} id */
  #reveal(id) {
    this.context.state.set({ calls: "tree", call: id, func: "" });
    this.old.tree = true;
    this.load();
  }

  /** @param {KeyboardEvent} event */
  async #searchKey(event) {
    if (event.key === "Escape") {
      this.search.value = "";
      this.context.state.set({ search: "" });
      this.#focusBody();
    } else if (event.key === "Enter") {
      event.preventDefault();
      event.stopPropagation();
      this.context.state.set({ search: this.search.value });
      if (this.search.value && this.#kind !== "functions") await this.#next(event.shiftKey);
      return;
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #focusBody() {
    if (this.#kind === "chart") this.chart.canvas.element.focus();
    else this.bodies[this.#kind].focus();
  }

  /** @param {boolean} back */
  async #next(back) {
    const { call, search } = this.context.view;
    try {
      const asked = get("/api/captures/{id}/calls", {
        id: this.context.id,
        ...this.#query,
        search,
        after: call,
        back: back ? 1 : null,
      });
      const found = await /** @type {Promise<FoundCall>} */ (asked);
      this.found.textContent = found.total === 0 ? "none" : `${exact(found.number)} of ${exact(found.total)}`;
      if (!found.place) return;
      if (this.#kind === "tree") await this.tree.show(found.place);
      else this.context.state.set({ call: found.place.call.id });
    } catch (error) {
      this.failed(error, () => this.#again());
    }
  }

  async #copy() {
    const { call } = this.context.view;
    try {
      const bytes = await waitFor(
        "Writing calls as text",
        getBytes("/api/captures/{id}/calls/text", { id: this.context.id, ...this.#query, parent: call }),
      );
      const text = new TextDecoder().decode(bytes);
      if (await copyText(text))
        note(`Copied ${plural(text.split("\n").filter((line) => line && !line.startsWith("#")).length, "line")}.`, {
          ms: 2500,
        });
    } catch (error) {
      noteError(error);
    }
  }
}
