// Stacks in the order of time: one lane for each thread or CPU, samples that follow each other merged where they agree.

import { addressOf, get } from "../../lib/api.js";
import { amount } from "../../lib/amount.js";
import { h, put } from "../../lib/dom.js";
import { count, duration, exact, moment, plural } from "../../lib/format.js";
import { bind } from "../../lib/keys.js";
import { LanesChart } from "../lanes/lanes_chart.js";
import { KINDS } from "./flame_model.js";

/** @import { StackChart } from "../../../../api.js" */
/** @import { LanesModel, Spot } from "../lanes/lanes_model.js" */

const LANES = /** @type {const} */ ([
  ["thread", "Threads"],
  ["cpu", "CPUs"],
]);
/** Keys that move the window and so mean no transform here. */
const MOVES = new Set(["KeyW", "KeyS", "KeyA", "KeyD"]);

/** The form. */
export class TimeView {
  /** @param {import("./flame.js").FlameView} owner */
  constructor(owner) {
    this.owner = owner;
    this.context = owner.context;
    const { context } = this;
    /** @type {LanesChart<StackChart>} */
    this.chart = new LanesChart(context, {
      label:
        "Stacks in the order of time. W and S zoom, A and D pan, arrow keys walk through the frames, Enter zooms to one.",
      waiting: "Drawing stacks",
      address: (query) => addressOf("/api/captures/{id}/flame/chart", { ...this.#query, ...query }),
      ask: (query, signal) => get("/api/captures/{id}/flame/chart", { ...this.#query, ...query }, signal),
      words: (model, spot) => this.#words(model, spot),
      count: ({ lanes }, lane) => count(lanes[lane].samples),
      isFound: ({ answer: { found } }) => (found.length > 0 ? (name) => found[name] : null),
      press: (event, model, spot) => this.#press(event, model, spot),
      menu: (event, model, spot) => owner.menu.open(frameOf(model, spot), { x: event.clientX, y: event.clientY }),
    });
    this.lanes = h(
      "span",
      { class: "segments", role: "group", "aria-label": "Lanes" },
      ...LANES.map(([value, text]) =>
        h("button", {
          type: "button",
          data: { value },
          text,
          on: { click: () => context.state.set({ lanes: value }) },
        }),
      ),
    );
    this.readout = h("span", { class: "readout mono", "aria-live": "polite" });
    this.element = h(
      "div",
      { class: "flame-time" },
      h("div", { class: "flame-time-bar" }, this.lanes, this.readout),
      this.chart.element,
    );
    this.chart.on("tell", (text) => put(this.readout, text));
    this.chart.on("error", (error) => owner.failed(error));
    this.chart.on("data", (model) => this.#show(model));
    const when = () => this.chart.visible;
    bind("flame.fit", () => this.chart.fit(), { when });
    bind("flame.all", () => this.chart.nav.all(), { when });
    bind("flame.clear", () => context.select(null), { when: () => when() && this.chart.nav.selection !== null });
  }

  get #query() {
    const { filter, search, unit, by, transforms } = this.context.view;
    return { id: this.context.id, filter, search, unit, by, transforms };
  }

  /** Asks for what is shown. */
  load() {
    this.owner.stale = false;
    this.chart.visible = true;
    for (const button of this.lanes.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.value === this.context.view.lanes));
    this.chart.restore();
    this.chart.load();
  }

  /** It is out of sight. */
  hide() {
    this.owner.stale = true;
    this.chart.visible = false;
    this.chart.nav.release();
  }

  /** @param {LanesModel<StackChart>} model */
  #show({ answer, lanes, hidden, moreLanes }) {
    this.owner.answered();
    this.owner.drawTransforms(answer);
    const { recorded, step, period, grid, unit } = answer;
    // Weights do not count here: each row is drawn where it is.
    const one = unit === "rows" ? "row" : "sample";
    const parts = [
      `${plural(recorded, one)} of ${plural(lanes.length, answer.by === "cpu" ? "CPU" : "thread")} in this window`,
      unit === "nanoseconds"
        ? "each is as long as it took"
        : period > 0 && `a ${one} is drawn until the next one, or for ${duration(period)} if that is not near`,
      step > 1 && `one of ${exact(step)} ${one}s of each lane is drawn; zoom in to see all`,
      hidden > 0 && `${plural(hidden, "shorter frame")} within ${plural(grid, "pixel")} of a longer one not drawn`,
      moreLanes > 0 && `${plural(moreLanes, "more lane")} with fewer samples not shown`,
    ];
    put(this.owner.said, parts.filter(Boolean).join(" · "));
    if (recorded === 0) put(this.readout, "No samples in this window: press 0 to see all, or change the filter.");
  }

  /**
   * @param {LanesModel<StackChart>} model
   * @param {Spot} spot
   */
  #words({ answer, lanes, names }, { lane, box }) {
    const { boxes, label } = lanes[lane];
    const more = boxes.more[box] > 0 ? `; ${plural(boxes.more[box], "shorter frame")} here not drawn` : "";
    const samples = answer.unit === "nanoseconds" ? "" : `, ${amount(boxes.samples[box], "samples")}`;
    return `${names[boxes.name[box]]}  ${KINDS[boxes.kind[box]] ?? ""}  ${duration(boxes.duration[box])}${samples}  at ${moment(boxes.start[box])} s, ${label}${more}`;
  }

  /**
   * @param {KeyboardEvent} event
   * @param {LanesModel<StackChart>} model
   * @param {Spot|null} spot
   */
  #press(event, model, spot) {
    if (MOVES.has(event.code)) return false;
    const frame = spot ? frameOf(model, spot) : null;
    if (frame && (event.key === "ContextMenu" || (event.shiftKey && event.key === "F10"))) {
      const { left, top } = this.chart.canvas.element.getBoundingClientRect();
      this.owner.menu.open(frame, { x: left + 200, y: top + 40 });
      return true;
    }
    return this.owner.menu.press(event, frame);
  }
}

/**
 * What transforms of a box are about. It is no node of a tree.
 * @param {LanesModel<StackChart>} model
 * @param {Spot} spot
 */
function frameOf({ answer, lanes, names }, { lane, box }) {
  const name = lanes[lane].boxes.name[box];
  return { name: names[name], node: "", module: answer.modules[name], isGroup: false, invert: false, own: 0 };
}
