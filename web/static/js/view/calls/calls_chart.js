// The chart of calls: one lane for each thread or CPU.

import { addressOf, get } from "../../lib/api.js";
import { MARKS, durationMark } from "../../lib/duration_marks.js";
import { count, duration, exact, moment, plural } from "../../lib/format.js";
import { bind } from "../../lib/keys.js";
import { LanesChart } from "../lanes/lanes_chart.js";

/** @import { CallChart } from "../../../../api.js" */
/** @import { LanesModel, Spot } from "../lanes/lanes_model.js" */

const STATES = ["", ", at least; its return was not recorded", "; its entry was not recorded"];

/** @extends {LanesChart<CallChart>} */
export class CallsChart extends LanesChart {
  /** Which calls. @type {Record<string, unknown>} */
  query = {};

  /** @param {import("../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super(context, {
      label: "Chart of calls. W and S zoom, A and D pan, arrow keys walk through the calls, Enter zooms to one.",
      waiting: "Drawing calls",
      address: (query) => addressOf("/api/captures/{id}/calls/chart", { id: context.id, ...this.query, ...query }),
      ask: (query, signal) =>
        get("/api/captures/{id}/calls/chart", { id: context.id, ...this.query, ...query }, signal),
      words,
      count: ({ lanes }, lane) => count(lanes[lane].calls),
      torn: ({ lanes }, lane, box) => lanes[lane].boxes.state[box],
      isFound: ({ names }) => {
        const search = context.view.search.toLowerCase();
        return search ? (name) => names[name].toLowerCase().includes(search) : null;
      },
      chosen: (model) => (context.view.call === null ? null : placeOfCall(model, context.view.call)),
      choose: ({ answer, lanes }, { lane, box }) => {
        // Boxes of a coarse chart have no ids.
        if (answer.coarse) return false;
        context.state.set({ call: lanes[lane].boxes.id[box] });
        return true;
      },
    });
    this.#startKeys();
  }

  /**
   * Asks for other calls.
   * @param {Record<string, unknown>} query
   */
  loadCalls(query) {
    this.query = query;
    this.load();
  }

  #startKeys() {
    const when = () => this.visible;
    bind("calls.fit", () => this.fit(), { when });
    bind("calls.all", () => this.nav.all(), { when });
    bind(
      "calls.clear",
      () => {
        this.context.state.set({ call: null });
        this.context.select(null);
      },
      { when: () => when() && (this.context.view.call !== null || this.nav.selection !== null) },
    );
  }
}

/**
 * Where a call is.
 * @param {LanesModel<CallChart>} model
 * @param {number} id
 * @returns {Spot|null}
 */
function placeOfCall({ lanes }, id) {
  for (const [lane, { boxes }] of lanes.entries()) {
    const box = boxes.id.indexOf(id);
    if (box >= 0) return { lane, box };
  }
  return null;
}

/**
 * @param {LanesModel<CallChart>} model
 * @param {Spot} place
 */
function words({ answer, lanes, names }, { lane, box }) {
  const { boxes, label } = lanes[lane];
  const took = boxes.duration[box];
  const mark = MARKS.find(([, sign]) => sign === durationMark(took))?.[1] ?? "";
  const more =
    boxes.more[box] > 0
      ? `; ${plural(boxes.more[box], "more call")} in this pixel${answer.coarse ? ", of which this is the longest" : ""}`
      : "";
  return `${names[boxes.name[box]]}()  ${mark ? `${mark} ` : ""}${duration(took)} (${exact(took)} ns)${STATES[boxes.state[box]]}  at ${moment(boxes.start[box])} s, ${label}${more}`;
}
