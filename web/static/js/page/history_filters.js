// The fields beside the search of the history: each writes its condition into the search, and shows what stands there.

import { get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { KINDS } from "../kind/table.js";
import { WORD_FIELDS, valueIn, withValue } from "./history_words.js";

/** @import { CaptureItem } from "../../../api.js" */
/** @typedef {keyof typeof WORD_FIELDS} FieldName */

/** Choices of a list, each with its value. */
const CHOICES = {
  state: [
    ["", "any"],
    ["recording", "recording"],
    ["finished", "finished"],
    ["interrupted", "interrupted"],
    ["failed", "failed"],
    ["agent_lost", "agent ended"],
  ],
  lossy: [
    ["", "any"],
    ["is:lossy", "lost events"],
    ["-is:lossy", "lost nothing"],
  ],
  pinned: [
    ["", "any"],
    ["is:pinned", "pinned"],
    ["-is:pinned", "not pinned"],
  ],
};

/** The fields. */
export class HistoryFilters {
  /** @type {Map<FieldName, HTMLInputElement|HTMLSelectElement>} */
  #fields = new Map();
  #hosts = h("datalist", { id: "filter-hosts" });
  #owners = h("datalist", { id: "filter-owners" });
  #tags = h("datalist", { id: "filter-tags" });
  #asked = false;

  /**
   * @param {HTMLDetailsElement} place
   * @param {HTMLInputElement} search is told by `input` that it has another text
   */
  constructor(place, search) {
    this.search = search;
    const kinds = KINDS.filter((kind) => !kind.recordedAs).map((kind) => [kind.name, kind.title]);
    const text = (/** @type {Record<string, unknown>} */ more) =>
      h("input", { type: "text", spellcheck: "false", size: "14", ...more });
    place.append(
      h(
        "div",
        { class: "row filter-fields" },
        this.#field("source", "Source", choices([["", "any"], ...kinds])),
        this.#field("state", "State", choices(CHOICES.state)),
        this.#field("tag", "Tag", text({ list: "filter-tags" })),
        this.#field("host", "Host", text({ list: "filter-hosts" })),
        this.#field("owner", "By", text({ list: "filter-owners", size: "10" })),
        this.#field("after", "Started from", h("input", { type: "date" })),
        this.#field("before", "up to", h("input", { type: "date" })),
        this.#field("longer", "Longer than", text({ size: "6", placeholder: "10s" })),
        this.#field("larger", "Larger than", text({ size: "6", placeholder: "20M" })),
        this.#field("lossy", "Losses", choices(CHOICES.lossy)),
        this.#field("pinned", "Pin", choices(CHOICES.pinned)),
      ),
      this.#hosts,
      this.#owners,
      this.#tags,
    );
    place.addEventListener("toggle", () => place.open && this.#askTags());
    search.addEventListener("input", () => this.show());
    this.show();
    place.open = [...this.#fields.values()].some((field) => field.value !== "");
  }

  /**
   * @param {FieldName} name
   * @param {string} label
   * @param {HTMLInputElement|HTMLSelectElement} field
   */
  #field(name, label, field) {
    this.#fields.set(name, field);
    field.setAttribute("aria-label", label);
    field.addEventListener("change", () => {
      this.search.value = withValue(this.search.value, WORD_FIELDS[name], field.value);
      this.search.dispatchEvent(new Event("input"));
    });
    return h("label", {}, `${label} `, field);
  }

  /** Shows what the search says. */
  show() {
    for (const [name, field] of this.#fields) {
      if (field === document.activeElement && field instanceof HTMLInputElement) continue;
      const value = valueIn(this.search.value, WORD_FIELDS[name]);
      if (field instanceof HTMLSelectElement && value && ![...field.options].some((option) => option.value === value))
        field.append(h("option", { value, text: value }));
      field.value = value;
    }
  }

  /**
   * Offers hosts and people of what is listed.
   * @param {CaptureItem[]} items
   */
  offer(items) {
    const options = (/** @type {string[]} */ values) =>
      [...new Set(values)].sort().map((value) => h("option", { value }));
    put(this.#hosts, ...options(items.map((one) => one.host)));
    put(this.#owners, ...options(items.map((one) => one.owner)));
  }

  async #askTags() {
    if (this.#asked) return;
    this.#asked = true;
    try {
      const { items } = await get("/api/tags");
      put(this.#tags, ...items.map(({ tag }) => h("option", { value: tag })));
    } catch {
      // Tags can be typed all the same.
      this.#asked = false;
    }
  }
}

/** @param {string[][]} options */
function choices(options) {
  return h("select", {}, ...options.map(([value, text]) => h("option", { value, text })));
}
