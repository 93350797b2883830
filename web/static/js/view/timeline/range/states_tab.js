// What threads did in the selected range: how long each was in which state.

import { Latest, get } from "../../../lib/api.js";
import { h, put } from "../../../lib/dom.js";
import { duration, percent } from "../../../lib/format.js";
import { showError } from "../../../lib/notice.js";
import { STATES } from "../track_draw.js";
import { titleOf } from "../track_tree.js";
import { MOST_TRACKS } from "./range_over.js";

/** @import { TrackTotals } from "../../../../../api.js" */
/** @import { TreeRow } from "../track_tree.js" */
/** @import { RangeOver } from "./range_over.js" */
/** @import { RangeParts, RangeView } from "./range_tabs.js" */

const MOST_LINES = 200;

/** @implements {RangeView} */
export class StatesTab {
  #latest = new Latest();
  #asked = "";

  /** @param {RangeParts} parts */
  constructor(parts) {
    this.parts = parts;
    this.problem = h("div");
    this.body = h("div");
    this.element = h("div", {}, this.problem, this.body);
  }

  /** Gives up what is under way. */
  hide() {
    this.#latest.cancel();
    this.#asked = "";
  }

  /** @param {RangeOver} over */
  async show(over) {
    const { context, layer } = this.parts;
    const rows = (over.rows ?? layer.tree).filter((row) => row.kind === "tracks" && row.lanes[0]?.row === "state");
    const shown = rows.slice(0, MOST_TRACKS);
    const tracks = shown.map(({ lanes }) => lanes[0].id).join(",");
    const { start, end } = over;
    const asked = `${start} ${end} ${tracks}`;
    if (tracks === "" || asked === this.#asked) return;
    this.#asked = asked;
    try {
      const totals = await this.#latest.run((signal) =>
        get("/api/captures/{id}/tracks/totals", { id: context.id, start, end, tracks }, signal),
      );
      if (!totals) return;
      put(this.problem);
      this.#putTotals(totals, shown, rows.length);
    } catch (error) {
      this.#asked = "";
      showError(this.problem, error, () => void this.show(over));
    }
  }

  /**
   * @param {TrackTotals} totals
   * @param {TreeRow[]} rows
   * @param {number} all
   */
  #putTotals({ start, end, tracks, names }, rows, all) {
    const threads = rows
      .map((row, i) => ({ row, sum: tracks[i] }))
      .filter(({ row, sum }) => row.lanes[0].of === "thread" && sum.names.length > 0);
    const sums = new Map();
    for (const { sum } of threads) for (const { name, time } of sum.names) sums.set(name, (sums.get(name) ?? 0) + time);
    const known = Object.keys(STATES);
    const place = (/** @type {number} */ name) => {
      const at = known.indexOf(names[name].text);
      return at < 0 ? known.length : at;
    };
    const states = [...sums.keys()].sort((a, b) => place(a) - place(b));
    const running = states.find((name) => names[name].text === "running");
    const timeOf = (/** @type {typeof threads[number]} */ { sum }, /** @type {number|undefined} */ state) =>
      sum.names.find(({ name }) => name === state)?.time ?? 0;
    threads.sort((a, b) => timeOf(b, running) - timeOf(a, running));
    const span = end - start;
    const value = (/** @type {number} */ time) => (time > 0 ? `${duration(time)}, ${percent(time, span)}` : "");
    put(
      this.body,
      h("p", {
        class: "quiet",
        text: `States of ${threads.length} threads, those that ran longest first${all > rows.length || threads.length > MOST_LINES ? `; the first ${Math.min(rows.length, MOST_LINES)} are shown` : ""}`,
      }),
      threads.length === 0
        ? h("p", { class: "quiet", text: "No thread in the tree has states in this range." })
        : h(
            "div",
            { class: "track-totals" },
            h(
              "table",
              {},
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  h("th", { text: "thread" }),
                  ...states.map((name) => h("th", { class: "number", text: names[name].text })),
                ),
              ),
              h(
                "tbody",
                {},
                ...threads
                  .slice(0, MOST_LINES)
                  .map((thread) =>
                    h(
                      "tr",
                      {},
                      h("td", { text: titleOf(thread.row) }),
                      ...states.map((name) => h("td", { class: "number", text: value(timeOf(thread, name)) })),
                    ),
                  ),
              ),
            ),
          ),
    );
  }
}
