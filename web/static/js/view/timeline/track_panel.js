// Below the tracks: what is picked with all of its fields, or what is read from the selected range.

import { h, put } from "../../lib/dom.js";
import { isCondition } from "../../lib/filter_kind.js";
import { cell, duration, moment } from "../../lib/format.js";
import { noteError } from "../../lib/notice.js";
import { flowFacts } from "./path/flow_panel.js";
import { nameOf } from "./track_draw.js";
import { titleOf } from "./track_tree.js";

/** @import { TrackLayer } from "./track_layer.js" */
/** @import { TrackRowLine } from "../../../../api.js" */

/** The panel. */
export class TrackPanel {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {TrackLayer} layer
   * @param {{fit: (at: {start: number, end: number}) => void, walk: (way: "before"|"after") => void,
   *   follow: () => void, back: () => void, go: (picked: Promise<import("./track_layer.js").Picked|null>) => void, path: () => void, picked: () => void,
   *   row: () => import("./track_tree.js").TreeRow|null}} actions `picked`: something was picked in here; `row`: where the cursor is
   */
  constructor(context, layer, actions) {
    this.context = context;
    this.layer = layer;
    this.actions = actions;
    /** Comes with the first range that is selected. @type {import("./range/range_panel.js").RangePanel|null} */
    this.range = null;
    this.isAsked = false;
    this.body = h("div", { class: "track-panel-body" });
    this.element = h(
      "section",
      { class: "track-panel", "aria-label": "What is picked or selected", hidden: true },
      this.body,
    );
  }

  /** Shows what is picked, else what is selected; hides itself where neither is. */
  show() {
    const { picked } = this.layer;
    const { start } = this.context.range;
    this.element.hidden = !picked && start === null;
    if (picked) {
      this.range?.hide();
      this.#showPicked();
    } else if (start === null) this.range?.hide();
    else if (this.range) {
      if (!this.range.element.isConnected) put(this.body, this.range.element);
      this.range.show();
    } else void this.#load();
  }

  /** Loads the panel of ranges, and shows it. */
  async #load() {
    if (this.isAsked) return;
    this.isAsked = true;
    try {
      const { RangePanel } = await import("./range/range_panel.js");
      this.range = new RangePanel(this.context, this.layer, this.actions);
      // Meanwhile the timeline may show something that has no panel.
      if (!this.element.hidden) this.show();
    } catch (error) {
      noteError(error);
    } finally {
      this.isAsked = false;
    }
  }

  #showPicked() {
    const { picked } = this.layer;
    const at = picked?.moment.at;
    if (!picked || !at) return;
    const { row, lane, moment: found } = picked;
    const neighbour = (
      /** @type {string} */ title,
      /** @type {TrackRowLine|null} */ line,
      /** @type {"before"|"after"} */ way,
    ) =>
      line
        ? [
            h("dt", { text: title }),
            h(
              "dd",
              {},
              `${[nameOf(line.name), line.duration > 0 ? duration(line.duration) : ""].filter(Boolean).join(", ")} `,
              this.#button(way === "before" ? "Previous" : "Next", () => this.actions.walk(way)),
            ),
          ]
        : [];
    // Stacks are told with all of their functions.
    const skipped = ["time", "duration_ns", ...found.stacks.map(({ column }) => column)];
    const { fields } = found;
    const more = (fields?.columns ?? []).flatMap((column, i) => {
      const text = fields ? cell(fields.cells[i], column) : "";
      return skipped.includes(column.name) || text === ""
        ? []
        : [h("dt", { text: column.name }), h("dd", { class: "mono", text })];
    });
    const query = this.layer.own.lane(lane.id)?.data.sql;
    const lasts = lane.row === "state" || at.duration > 0;
    put(
      this.body,
      h(
        "div",
        { class: "track-panel-head" },
        h("h3", { text: nameOf(at.name) }),
        h("span", { class: "quiet", text: [...new Set([lane.stream, titleOf(row)])].filter(Boolean).join(", ") }),
        h("span", { class: "grow" }),
        lane.of === "thread" && row.key.startsWith("tid:") && this.#button("Critical path", () => this.actions.path()),
        this.layer.waker !== null && this.#button("Go to what led here", () => this.actions.follow()),
        this.layer.before.length > 0 && this.#button("Back", () => this.actions.back()),
        this.#button("Fit", () => this.actions.fit(at)),
        lasts &&
          this.#button("Select its time", () =>
            this.context.select({ start: at.start, end: Math.max(at.start + 1, at.end) }),
          ),
        query === undefined
          ? this.#button("Show in the table", () => this.#toTable())
          : this.#button("Open the query", () => this.context.state.set({ tab: "sql", sql: query })),
        this.#button("Close", () => this.layer.clear()),
      ),
      h(
        "dl",
        { class: "facts track-facts" },
        h("dt", { text: lasts ? "from" : "at" }),
        h("dd", { class: "mono", text: `${moment(at.start)} s` }),
        ...(lasts
          ? [
              h("dt", { text: "to" }),
              h("dd", { class: "mono", text: `${moment(at.end)} s` }),
              h("dt", { text: "duration" }),
              h("dd", { class: "mono", text: duration(at.duration) }),
            ]
          : []),
        ...neighbour("before", found.before, "before"),
        ...neighbour("after", found.after, "after"),
        ...flowFacts(found, {
          follow: (flow) => this.actions.go(this.layer.follow(flow)),
          pick: (time) => this.actions.go(this.layer.pick(row, lane, time).then(() => this.layer.picked)),
          every: () => this.#toTable(true),
        }),
        ...more,
        ...(found.is_cut
          ? [
              h("dt", { text: "neighbours" }),
              h("dd", { class: "quiet", text: "those before or after were not looked for further; the table has all" }),
            ]
          : []),
        ...(fields
          ? []
          : [h("dt", { text: "fields" }), h("dd", { class: "quiet", text: "not found among the stored rows" })]),
      ),
    );
  }

  /**
   * @param {string} text
   * @param {() => void} click
   */
  #button(text, click) {
    return h("button", { type: "button", text, on: { click } });
  }

  /**
   * The rows of the picked track around what is picked, or all that are called as it is.
   * @param {boolean} [isEvery]
   */
  #toTable(isEvery = false) {
    const { picked } = this.layer;
    const at = picked?.moment.at;
    if (!picked || !at) return;
    const column = picked.moment.name_column;
    if (picked.lane.row === "tick") {
      const { view } = this.context;
      const own = picked.lane.number < 0 ? `tid == ${picked.row.tid}` : "";
      // A filter that looks for text takes no condition; the row is in the range anyway.
      const both = isCondition(view.filter) ? `(${view.filter}) && ${own}` : view.filter || own;
      const filter = own ? both : view.filter;
      this.context.select({ start: at.start, end: at.start + 1 });
      this.context.state.set({ tab: "events", stream: at.stream, filter });
      return;
    }
    if (isEvery && column) {
      const filter = `${column} == ${JSON.stringify(at.name.text)}`;
      this.context.state.set({ tab: "events", stream: picked.lane.number, filter });
      return;
    }
    const { tid, cpu } = picked.row;
    const filter =
      picked.lane.of === "thread" && tid !== null
        ? `tid == ${tid}`
        : picked.lane.of === "cpu" && cpu !== null
          ? `cpu == ${cpu}`
          : "";
    this.context.select({ start: at.start, end: Math.max(at.start + 1, at.end) });
    this.context.state.set({ tab: "events", stream: picked.lane.number, filter });
  }
}
