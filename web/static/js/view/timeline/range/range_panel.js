// The panel of a selected range: its length, which tracks it is over, and a tab for each thing that can be read from it.

import { h, put } from "../../../lib/dom.js";
import { duration } from "../../../lib/format.js";
import { startTabs } from "../../../lib/tabs.js";
import { titleOf } from "../track_tree.js";
import { overRow, rangeOver, rowOver } from "./range_over.js";
import { RANGE_TABS } from "./range_tabs.js";

/** @import { CaptureContext } from "../../../page/capture_context.js" */
/** @import { TrackLayer } from "../track_layer.js" */
/** @import { RangeTab, RangeView } from "./range_tabs.js" */
/** @import { TreeRow } from "../track_tree.js" */

/** Ids of tabs are those of the page too. */
const PREFIX = "range-";

/** The panel. */
export class RangePanel {
  /** @type {Map<string, RangeView>} */
  #views = new Map();

  /**
   * @param {CaptureContext} context
   * @param {TrackLayer} layer
   * @param {{picked: () => void, row: () => TreeRow|null}} actions `picked` is told when something was picked from here; `row`:
   *   the row of the tree that the cursor is on, which is where a drag began
   */
  constructor(context, layer, { picked, row }) {
    this.context = context;
    this.layer = layer;
    this.picked = picked;
    this.cursorRow = row;
    this.heading = h("h3", {});
    this.words = h("span", { class: "quiet" });
    this.over = h(
      "span",
      { class: "segments", role: "group", "aria-label": "Which tracks are counted" },
      this.#overButton("", "All tracks", "Everything in the range"),
      this.#overButton(
        "marked",
        "Marked",
        "Only tracks that “Find tracks” finds by name, and pinned ones (P pins a track)",
      ),
    );
    /** For the row at the cursor, else the one that the range is over. */
    this.overOne = h("button", {
      type: "button",
      class: "cut range-over-row",
      title: "Only the track on which the range was selected, or the cursor is (U)",
      on: { click: () => this.context.state.set({ over: this.overOne.dataset.over ?? "" }) },
    });
    this.tabs = h("div", { class: "tabs range-tabs", role: "tablist", "aria-label": "What is read from the range" });
    this.panels = h("div", { class: "range-panels" });
    this.element = h(
      "div",
      { class: "range-panel" },
      h("div", { class: "track-panel-head" }, this.heading, this.words, h("span", { class: "grow" }), this.over),
      this.tabs,
      this.panels,
    );
    RANGE_TABS.forEach((tab) => this.#addTab(tab));
    this.showTab = startTabs(this.tabs, (name) =>
      context.state.set({ panel: name.slice(PREFIX.length), ranked: "", opened: "" }),
    );
  }

  /**
   * @param {""|"marked"} over
   * @param {string} text
   * @param {string} title
   */
  #overButton(over, text, title) {
    const click = () => this.context.state.set({ over });
    return h("button", { type: "button", data: { over }, text, title, on: { click } });
  }

  /** @param {RangeTab} tab */
  #addTab({ key, title, lacks }) {
    const name = PREFIX + key;
    const missing = lacks(this.context);
    this.tabs.append(
      h("button", {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        class: missing ? "is-lacking" : null,
        "aria-controls": `panel-${name}`,
        "aria-selected": "false",
        tabindex: "-1",
        title: missing || null,
        text: title,
      }),
    );
    this.panels.append(
      h("div", { id: `panel-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, hidden: true }),
    );
  }

  /** The tab that the address names, else the first that the capture can fill. */
  get #tab() {
    const { context } = this;
    return (
      RANGE_TABS.find(({ key }) => key === context.view.panel) ??
      RANGE_TABS.find(({ lacks }) => lacks(context) === "") ??
      RANGE_TABS[0]
    );
  }

  /** It is not in sight. */
  hide() {
    this.#views.forEach((view) => view.hide());
  }

  /** Over which tracks it is, and the one that can be chosen. */
  showChoice() {
    const { view } = this.context;
    const pointed = this.cursorRow();
    const row = overRow(pointed) ? pointed : rowOver(this.layer.tree, view.over);
    const over = overRow(row);
    // Not hidden but gone, so that the last button in sight is the end of the row of buttons.
    if (over === "") this.overOne.remove();
    else this.over.append(this.overOne);
    this.overOne.dataset.over = over;
    this.overOne.textContent = row ? titleOf(row) : "";
    for (const button of this.over.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.over === view.over));
  }

  /** Shows what the selected range has, in the tab that the address names. */
  show() {
    const { context, layer } = this;
    const { start, end } = context.range;
    const { view } = context;
    // Which tracks are marked is not known before there are tracks.
    if (start === null || end === null || (view.over !== "" && !layer.list)) return;
    const over = rangeOver({ start, end }, layer.tree, { over: view.over, pinned: layer.pinned, find: view.name });
    this.heading.textContent = `${duration(end - start)} selected`;
    this.words.textContent = `over ${over.words}`;
    this.showChoice();
    const tab = this.#tab;
    this.showTab(PREFIX + tab.key);
    for (const [key, shown] of this.#views) if (key !== tab.key) shown.hide();
    this.#fill(tab)?.show(over);
  }

  /**
   * The content of a tab; null where the capture cannot fill it, which is said in its place.
   * @param {RangeTab} tab
   */
  #fill({ key, lacks, make }) {
    const place = this.panels.querySelector(`#panel-${PREFIX}${key}`);
    const missing = lacks(this.context);
    this.tabs.querySelector(`#tab-${PREFIX}${key}`)?.classList.toggle("is-lacking", missing !== "");
    if (missing && place) {
      put(place, h("p", { class: "quiet", text: missing }));
      return null;
    }
    const known = this.#views.get(key);
    if (known) return known;
    const { context, layer } = this;
    const view = make({ context, layer, pick: (...what) => this.#pick(...what) });
    this.#views.set(key, view);
    if (place) put(place, view.element);
    return view;
  }

  /**
   * Picks what is on a row of the tree at a moment: the lane of the stream on which something begins then.
   * @param {string} key of its tracks
   * @param {number} stream
   * @param {number} time
   */
  async #pick(key, stream, time) {
    const isOf = (/** @type {{stream: number, key: string}} */ track) => track.stream === stream && track.key === key;
    const row = this.layer.tree.find((one) => one.kind === "tracks" && one.tracks.some(isOf));
    const lanes = row?.lanes.filter(({ number }) => number === stream) ?? [];
    for (const lane of lanes) {
      if (!row) break;
      await this.layer.pick(row, lane, time);
      if (this.layer.picked?.moment.at?.start === time) break;
    }
    if (lanes.length > 0) this.picked();
    return lanes.length > 0;
  }
}
