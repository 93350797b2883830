// Captures of the history that are chosen together, and what is done with all of them.

import { problemOf, send } from "../lib/api.js";
import { askInDialog } from "../lib/ask_dialog.js";
import { h, put } from "../lib/dom.js";
import { wordsOf } from "../lib/form_values.js";
import { plural } from "../lib/format.js";
import { compareAddress, inOrder } from "./compare_address.js";
import { note, sentence } from "../lib/notice.js";

/** @import { CaptureItem } from "../../../api.js" */

/** Files that a browser saves one after another before it asks its user whether it may. */
const MOST_FILES = 10;

/**
 * @typedef {object} HistoryPage what the selection is of
 * @property {() => CaptureItem[]} shown
 * @property {() => void} changed draws the list as it is now
 * @property {() => void} reload reads the list again
 * @property {(chosen: CaptureItem[]) => void} remove
 */

/**
 * What became of an act on several captures, in a sentence.
 * @param {string} did such as `tagged`
 * @param {number} done
 * @param {string[]} refused why, for each that it was not done to
 * @param {number} left that were not come to
 */
export function actText(did, done, refused, left) {
  const parts = [`${plural(done, "capture")} ${did}.`];
  if (refused.length) parts.push(`${plural(refused.length, "capture")} not: ${refused[0]}`);
  if (left) parts.push(`${plural(left, "capture")} left as before.`);
  return parts.join(" ");
}

/** Which captures are chosen, and the bar of what can be done with them. */
export class HistorySelection {
  /** @param {HistoryPage} page */
  constructor(page) {
    this.page = page;
    /** @type {Set<string>} */
    this.ids = new Set();
    /** @type {string|null} */
    this.last = null;
    this.bar = h("div", {
      class: "row selection-bar",
      role: "toolbar",
      "aria-label": "Selected captures",
      hidden: true,
    });
    this.busy = false;
  }

  /** The chosen ones that are in the list. */
  get chosen() {
    return this.page.shown().filter((one) => this.ids.has(one.id));
  }

  /** The box at the head of the column. */
  head() {
    const all = this.page.shown();
    const box = h("input", { type: "checkbox", "aria-label": "Select all captures that are shown" });
    box.checked = all.length > 0 && all.every((one) => this.ids.has(one.id));
    box.indeterminate = !box.checked && this.ids.size > 0;
    box.addEventListener("change", () => {
      for (const one of all) {
        if (box.checked) this.ids.add(one.id);
        else this.ids.delete(one.id);
      }
      this.page.changed();
    });
    return box;
  }

  /**
   * The box of a capture. With Shift all between it and the one that was chosen before.
   * @param {CaptureItem} one
   */
  box(one) {
    const box = h("input", { type: "checkbox", class: "select", tabindex: "-1", "aria-label": `Select ${one.title}` });
    box.checked = this.ids.has(one.id);
    box.addEventListener("click", (event) => {
      const all = this.page.shown().map(({ id }) => id);
      const [from, to] = [all.indexOf(this.last ?? one.id), all.indexOf(one.id)];
      const between = event.shiftKey && from >= 0 ? all.slice(Math.min(from, to), Math.max(from, to) + 1) : [one.id];
      for (const id of between) {
        if (box.checked) this.ids.add(id);
        else this.ids.delete(id);
      }
      this.last = one.id;
      this.page.changed();
    });
    return box;
  }

  /** Draws the bar. */
  draw() {
    const { chosen } = this;
    this.bar.hidden = chosen.length === 0;
    if (this.busy) return;
    /**
     * @param {string} text
     * @param {() => void} run
     * @param {string} [kind]
     */
    const button = (text, run, kind = "") => h("button", { type: "button", class: kind, text, on: { click: run } });
    const changeable = chosen.filter((one) => one.can_pin).length;
    put(
      this.bar,
      h("b", { text: `${plural(chosen.length, "capture")} selected` }),
      ...(changeable > 0
        ? [
            button("Tag", () => this.#tag("Add tags", "tagged", (tags) => ({ add_tags: tags }))),
            button("Remove tags", () => this.#tag("Remove tags", "changed", (tags) => ({ remove_tags: tags }))),
            button("Pin", () => this.#change("pinned", () => ({ pinned: true }))),
            button("Unpin", () => this.#change("unpinned", () => ({ pinned: false }))),
          ]
        : []),
      chosen.length === 2 && button("Compare", () => this.#compare()),
      button("Export", () => this.#export()),
      changeable > 0 && button("Delete", () => this.#remove(), "danger"),
      button("Clear", () => this.clear(), "plain"),
    );
  }

  /** Chooses none. */
  clear() {
    this.ids.clear();
    this.page.changed();
  }

  /**
   * @param {string} title
   * @param {string} did
   * @param {(tags: string[]) => object} change
   */
  async #tag(title, did, change) {
    const field = h("input", { type: "text", size: "30", maxlength: "200", autocomplete: "off" });
    const had = [...new Set(this.chosen.flatMap((one) => one.tags))].sort();
    const words = had.length ? `They have: ${had.join(", ")}` : "They have none yet.";
    const fields = [h("label", {}, "Tags, with blanks between them", field), h("p", { class: "quiet", text: words })];
    if (!(await askInDialog(`${title}: ${plural(this.chosen.length, "capture")}`, title, ...fields))) return;
    const tags = wordsOf(field.value);
    if (tags.length) this.#change(did, () => change(tags));
  }

  /**
   * Changes one after another; what cannot be changed is told, and the others are.
   * @param {string} did
   * @param {(one: CaptureItem) => object} change as `PATCH /api/captures/{id}` takes it
   */
  async #change(did, change) {
    const { chosen } = this;
    const refused = [];
    let [done, stopped] = [0, false];
    this.busy = true;
    const said = h("span", { role: "status" });
    put(this.bar, said, h("button", { type: "button", text: "Stop", on: { click: () => (stopped = true) } }));
    for (const one of chosen) {
      if (stopped) break;
      said.textContent = `${done + refused.length + 1} of ${chosen.length}`;
      try {
        await send("PATCH", "/api/captures/{id}", { id: one.id }, change(one));
        done += 1;
      } catch (error) {
        const { message, remedy } = problemOf(error);
        refused.push([sentence(message), remedy].filter(Boolean).join(" "));
      }
    }
    this.busy = false;
    note(actText(did, done, refused, chosen.length - done - refused.length), refused.length ? {} : { ms: 4000 });
    this.page.reload();
  }

  /** Opens the page of both beside each other, the one that began first as what it was before. */
  #compare() {
    const [a, b] = inOrder(this.chosen[0], this.chosen[1]);
    location.assign(compareAddress(a.id, b.id));
  }

  #export() {
    const { chosen } = this;
    if (chosen.length > MOST_FILES) {
      note(
        `A browser saves at most ${MOST_FILES} files at once. Select fewer, or use: bathyscope export --format bathy.`,
      );
      return;
    }
    for (const one of chosen) {
      const link = h("a", { href: `/api/captures/${encodeURIComponent(one.id)}/export?format=bathy`, download: true });
      document.body.append(link);
      link.click();
      link.remove();
    }
    note(`${plural(chosen.length, "file")} being saved.`, { ms: 3000 });
  }

  #remove() {
    const { chosen } = this;
    const removable = chosen.filter((one) => one.can_pin && one.state !== "recording");
    if (removable.length < chosen.length) {
      note(`${plural(chosen.length - removable.length, "capture")} stay: they are being recorded, or somebody else's.`);
    }
    this.ids.clear();
    if (removable.length) this.page.remove(removable);
    else this.page.changed();
  }
}
