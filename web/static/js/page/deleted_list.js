// Deleted captures below the history: restored, or removed for good.

import { get, send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { bytes, wall } from "../lib/format.js";
import { listTable, titleCell } from "./list_table.js";
import { note, showError, waitFor } from "../lib/notice.js";

/** @type {import("./list_table.js").Head[]} */
const HEADS = [["Capture"], ["Size", true], ["Deleted"], ["Restorable until"], ["Actions"]];

/** @import { DeletedItem } from "../../../api.js" */

/** The list. It asks for nothing before somebody opens it. */
export class DeletedList {
  /**
   * @param {HTMLElement} place
   * @param {() => void} restored called when a capture is there again
   */
  constructor(place, restored) {
    this.restored = restored;
    this.body = h("div");
    this.details = h(
      "details",
      { class: "deleted", on: { toggle: () => this.changed() } },
      h("summary", { text: "Deleted captures" }),
      this.body,
    );
    put(place, this.details);
  }

  /** Asks anew, if it is open. */
  async changed() {
    if (!this.details.open) return;
    try {
      const { items } = await waitFor("Reading the list of deleted captures", get("/api/deleted"));
      put(this.body, ...this.#table(items));
    } catch (error) {
      showError(this.body, error, () => void this.changed());
    }
  }

  /** @param {DeletedItem[]} items */
  #table(items) {
    const about = "A deleted capture can be restored for a day. Where there is no room to keep it, it goes before.";
    if (items.length === 0) return [h("p", { class: "quiet", text: `There is none. ${about}` })];
    return [
      h("p", { class: "quiet", text: about }),
      listTable(
        HEADS,
        items.map((one) => this.#row(one)),
      ),
    ];
  }

  /** @param {DeletedItem} one */
  #row(one) {
    return h(
      "tr",
      {},
      titleCell(one.title, null, h("div", { class: "quiet", text: `by ${one.owner}` })),
      h("td", { class: "num", text: bytes(one.bytes) }),
      h("td", {}, wall(one.deleted_unix_ns), h("div", { class: "quiet", text: `by ${one.deleted_by}` })),
      h("td", { text: wall(one.restorable_until_unix_ns) }),
      h(
        "td",
        {},
        this.#button("Restore", one, () => this.#restore(one)),
        this.#button("Delete for good", one, () => this.#discard(one)),
      ),
    );
  }

  /**
   * @param {string} text
   * @param {DeletedItem} one
   * @param {() => void} click
   */
  #button(text, one, click) {
    const kind = text === "Restore" ? "plain" : "plain danger";
    return h("button", { type: "button", class: kind, text, "aria-label": `${text}: ${one.title}`, on: { click } });
  }

  /** @param {DeletedItem} one */
  async #restore(one) {
    await this.#act(send("POST", "/api/deleted/{id}/restore", { id: one.id }), `Restored “${one.title}”.`);
    this.restored();
  }

  /** @param {DeletedItem} one */
  async #discard(one) {
    await this.#act(send("DELETE", "/api/deleted/{id}", { id: one.id }), `Deleted “${one.title}” for good.`);
  }

  /**
   * @param {Promise<unknown>} asked
   * @param {string} said
   */
  async #act(asked, said) {
    try {
      await asked;
      note(said, { ms: 4000 });
      await this.changed();
      this.details.querySelector("summary")?.focus();
    } catch (error) {
      showError(this.body, error, () => void this.changed());
    }
  }
}
