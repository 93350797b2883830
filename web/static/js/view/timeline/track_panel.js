// Below the tracks: what is picked with all of its fields, or what threads did in the selected range.

import { Latest, get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { cell, duration, moment, percent } from "../../lib/format.js";
import { showError } from "../../lib/notice.js";
import { STATES, nameOf } from "./track_draw.js";
import { titleOf } from "./track_tree.js";

/** @import { TrackLayer } from "./track_layer.js" */
/** @import { TrackRowLine, TrackTotals } from "../../../../api.js" */

const MOST_TRACKS = 400;
const MOST_LINES = 200;

/** The panel. */
export class TrackPanel {
  #latest = new Latest();

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {TrackLayer} layer
   * @param {{fit: (start: number, end: number) => void, walk: (way: "before"|"after") => void,
   *   follow: () => void, back: () => void}} actions
   */
  constructor(context, layer, actions) {
    this.context = context;
    this.layer = layer;
    this.actions = actions;
    this.asked = "";
    this.problem = h("div");
    this.body = h("div", { class: "track-panel-body" });
    this.element = h(
      "section",
      { class: "track-panel", "aria-label": "What is picked", hidden: true },
      this.problem,
      this.body,
    );
  }

  /** Shows what is picked, else what is selected; hides itself where neither is. */
  show() {
    const { picked } = this.layer;
    const { start, end } = this.context.range;
    this.element.hidden = !picked && start === null;
    if (picked) {
      this.asked = "";
      this.#latest.cancel();
      this.#showPicked();
    } else if (start !== null && end !== null) void this.#showRange(start, end);
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
              `${nameOf(line.name)}, ${duration(line.duration)} `,
              this.#button(way === "before" ? "Previous" : "Next", () => this.actions.walk(way)),
            ),
          ]
        : [];
    const skipped = ["time", "duration_ns"];
    const { fields } = found;
    const more = (fields?.columns ?? []).flatMap((column, i) => {
      const text = fields ? cell(fields.cells[i], column) : "";
      return skipped.includes(column.name) || text === ""
        ? []
        : [h("dt", { text: column.name }), h("dd", { class: "mono", text })];
    });
    put(
      this.body,
      h(
        "div",
        { class: "track-panel-head" },
        h("h3", { text: nameOf(at.name) }),
        h("span", { class: "quiet", text: `${lane.stream}, ${titleOf(row)}` }),
        h("span", { class: "grow" }),
        this.layer.waker !== null && this.#button("Go to who woke it", () => this.actions.follow()),
        this.layer.before.length > 0 && this.#button("Back", () => this.actions.back()),
        this.#button("Fit", () => this.actions.fit(at.start, at.end)),
        this.#button("Select its time", () =>
          this.context.select({ start: at.start, end: Math.max(at.start + 1, at.end) }),
        ),
        this.#button("Show in the table", () => this.#toTable()),
        this.#button("Close", () => this.layer.clear()),
      ),
      h(
        "dl",
        { class: "facts track-facts" },
        h("dt", { text: "from" }),
        h("dd", { class: "mono", text: `${moment(at.start)} s` }),
        h("dt", { text: "to" }),
        h("dd", { class: "mono", text: `${moment(at.end)} s` }),
        h("dt", { text: "duration" }),
        h("dd", { class: "mono", text: duration(at.duration) }),
        ...neighbour("before", found.before, "before"),
        ...neighbour("after", found.after, "after"),
        ...more,
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

  /** The rows of the picked track around what is picked. */
  #toTable() {
    const { picked } = this.layer;
    const at = picked?.moment.at;
    const track = picked?.row.tracks[0];
    if (!picked || !at) return;
    const filter =
      picked.lane.of === "thread" && track?.tid !== null && track?.tid !== undefined
        ? `tid == ${track.tid}`
        : picked.lane.of === "cpu" && track?.cpu !== null && track?.cpu !== undefined
          ? `cpu == ${track.cpu}`
          : "";
    this.context.select({ start: at.start, end: Math.max(at.start + 1, at.end) });
    this.context.state.set({ tab: "events", stream: picked.lane.number, filter });
  }

  /**
   * What the threads in sight of the tree did in the range.
   * @param {number} start
   * @param {number} end
   */
  async #showRange(start, end) {
    const rows = this.layer.rows.filter(({ row }) => row.kind === "tracks" && row.lanes[0]?.row === "state");
    const shown = rows.slice(0, MOST_TRACKS);
    const tracks = shown.map(({ row }) => row.lanes[0].id).join(",");
    const asked = `${start} ${end} ${tracks}`;
    if (tracks === "" || asked === this.asked) return;
    this.asked = asked;
    try {
      const totals = await this.#latest.run((signal) =>
        get("/api/captures/{id}/tracks/totals", { id: this.context.id, start, end, tracks }, signal),
      );
      if (!totals) return;
      put(this.problem);
      this.#putTotals(totals, shown, rows.length);
    } catch (error) {
      this.asked = "";
      showError(this.problem, error, () => this.show());
    }
  }

  /**
   * @param {TrackTotals} totals
   * @param {import("./track_draw.js").ShownRow[]} rows
   * @param {number} all
   */
  #putTotals({ start, end, tracks, names }, rows, all) {
    const threads = rows
      .map(({ row }, i) => ({ row, sum: tracks[i] }))
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
      h(
        "div",
        { class: "track-panel-head" },
        h("h3", { text: `${duration(span)} selected` }),
        h("span", {
          class: "quiet",
          text: `States of ${threads.length} threads, those that ran longest first${all > rows.length || threads.length > MOST_LINES ? `; the first ${Math.min(rows.length, MOST_LINES)} are shown` : ""}`,
        }),
      ),
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
