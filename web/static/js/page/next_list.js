// Which captures go next by the rules of retention, below the history.

import { get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { bytes, plural, wall } from "../lib/format.js";
import { listTable, titleCell } from "./list_table.js";
import { showError, waitFor } from "../lib/notice.js";
import { goesText } from "./retention.js";
import { tagChip } from "./tag_chip.js";

/** @type {import("./list_table.js").Head[]} */
const HEADS = [["Capture"], ["Size", true], ["Goes"], ["Rule"]];
/** How many are shown. */
const MOST = 50;

/** @import { ForecastItem } from "../../../api.js" */

/** The list. It asks for nothing before somebody opens it. */
export class NextList {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.body = h("div");
    this.details = h(
      "details",
      { class: "deleted", on: { toggle: () => this.changed() } },
      h("summary", { text: "What goes next" }),
      this.body,
    );
    put(place, this.details);
  }

  /** Asks anew, if it is open. */
  async changed() {
    if (!this.details.open) return;
    try {
      const { items, total } = await waitFor("Reading what goes next", get("/api/retention", { limit: MOST }));
      put(this.body, ...this.#table(items, total));
    } catch (error) {
      showError(this.body, error, () => void this.changed());
    }
  }

  /**
   * @param {ForecastItem[]} items
   * @param {number} total
   */
  #table(items, total) {
    const about =
      "Pinned captures stay, and so do those that are being recorded. To keep one, pin it or give it a tag that is kept longer.";
    if (items.length === 0) return [h("p", { class: "quiet", text: "No capture goes by the rules as they are." })];
    return [
      h("p", { class: "quiet", text: about }),
      listTable(
        HEADS,
        items.map((one) => row(one)),
      ),
      ...(total > items.length
        ? [h("p", { class: "quiet", text: `${plural(total - items.length, "capture")} more after these.` })]
        : []),
    ];
  }
}

/** @param {ForecastItem} one */
function row(one) {
  return h(
    "tr",
    {},
    titleCell(
      one.title,
      `/captures/${encodeURIComponent(one.id)}`,
      h(
        "div",
        { class: "tags-line" },
        h("span", { class: "quiet", text: `by ${one.owner}` }),
        ...one.tags.map(tagChip),
      ),
    ),
    h("td", { class: "num", text: bytes(one.bytes) }),
    h("td", { title: one.goes_unix_ns === null ? "" : wall(one.goes_unix_ns), text: goesText(one, Date.now()) }),
    h("td", { text: one.goes_unix_ns === null ? "size" : (one.rule ?? "age") }),
  );
}
