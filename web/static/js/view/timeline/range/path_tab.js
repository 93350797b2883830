// What the time of a thread went into, over the selected range or what is in sight: shares, whom it waited for, in which threads.

import { h, put } from "../../../lib/dom.js";
import { duration, exact, moment, percent } from "../../../lib/format.js";
import { KINDS, missingWords, partWords, pathWords, threadName } from "../path/path_parts.js";

/** @import { CriticalPath, PathPart } from "../../../../../api.js" */
/** @import { RangeParts, RangeView } from "./range_tabs.js" */

const MOST_LINES = 200;

/** @implements {RangeView} */
export class PathTab {
  /** @type {CriticalPath|null} */
  #drawn = null;

  /** @param {RangeParts} parts */
  constructor(parts) {
    this.parts = parts;
    this.element = h("div", { class: "path-tab" });
    parts.layer.path.on("data", () => this.show());
  }

  /** Nothing of its own is under way. */
  hide() {
    this.#drawn = null;
  }

  show() {
    const { layer } = this.parts;
    const { path } = layer;
    if (!path.key) {
      this.#drawn = null;
      const choice = layer.picked?.row;
      put(
        this.element,
        h("p", {
          class: "quiet",
          text: `The critical path says what a thread's time went into, through whoever it waited for. Move the cursor to a thread${choice ? "" : " or pick one of its states"} and press C.`,
        }),
      );
      return;
    }
    const { data } = path;
    if (!data) {
      put(this.element, h("p", { class: "quiet", text: "The critical path is being made." }));
      return;
    }
    if (data === this.#drawn) return;
    this.#drawn = data;
    this.#put(data);
  }

  /** @param {CriticalPath} data */
  #put(data) {
    const span = data.end - (data.stopped?.time ?? data.start);
    const missing = missingWords(data);
    put(
      this.element,
      h("p", { text: pathWords(data) }),
      missing && h("p", { class: "quiet", text: missing }),
      h(
        "div",
        { class: "path-tables" },
        this.#table(
          data,
          span,
          "What its time went into",
          data.shares.map((share) => ({ ...share, cells: [KINDS[share.kind].name] })),
          ["kind"],
        ),
        this.#table(
          data,
          span,
          "Whom it waited for itself",
          data.waited.map((one) => ({ ...one, cells: [threadName(data, one.thread)] })),
          ["thread"],
        ),
        this.#table(
          data,
          span,
          "Where the time was spent in the end",
          data.sums.map((sum) => ({ ...sum, cells: [threadName(data, sum.thread), KINDS[sum.kind].name] })),
          ["thread", "kind"],
        ),
      ),
    );
  }

  /**
   * @param {CriticalPath} data
   * @param {number} span
   * @param {string} title
   * @param {{cells: string[], time: number, parts: number, longest: number}[]} lines
   * @param {string[]} heads
   */
  #table(data, span, title, lines, heads) {
    if (lines.length === 0) return null;
    const rest = lines.length - MOST_LINES;
    return h(
      "div",
      { class: "track-totals" },
      h(
        "table",
        {},
        h("caption", {
          text: rest > 0 ? `${title}; ${exact(rest)} more below ${duration(lines[MOST_LINES].time)}` : title,
        }),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...heads.map((text) => h("th", { text })),
            ...["time", "share", "parts"].map((text) => h("th", { class: "number", text })),
            h("th", { text: "longest" }),
          ),
        ),
        h("tbody", {}, ...lines.slice(0, MOST_LINES).map((line) => this.#line(data, span, line))),
      ),
    );
  }

  /**
   * @param {CriticalPath} data
   * @param {number} span
   * @param {{cells: string[], time: number, parts: number, longest: number}} line
   */
  #line(data, span, { cells, time, parts, longest }) {
    const part = data.parts[longest];
    return h(
      "tr",
      {},
      ...cells.map((text) => h("td", { text })),
      h("td", { class: "number", text: duration(time) }),
      h("td", { class: "number", text: percent(time, span) }),
      h("td", { class: "number", text: exact(parts) }),
      h(
        "td",
        {},
        part &&
          h("button", {
            type: "button",
            text: `${duration(part.end - part.start)} at ${moment(part.start)} s`,
            title: partWords(data, part),
            on: { click: () => void this.#pick(part) },
          }),
      ),
    );
  }

  /** @param {PathPart} part */
  async #pick(part) {
    const { path } = this.parts.layer;
    const tid = path.data?.threads[part.thread].tid;
    const row = this.parts.layer.tree.find(({ kind, key }) => kind === "tracks" && key === `tid:${tid}`);
    const lane = row?.lanes.find((one) => one.row === "state" && one.of === "thread");
    if (row && lane) await this.parts.pick(row.key, lane.number, part.start);
  }
}
