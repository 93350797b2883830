// A text field with suggestions, as the ARIA combobox pattern says.

import { Latest, messageOf } from "./api.js";
import { h, put, settled } from "./dom.js";

/**
 * By how many suggestions a key goes on.
 * @type {Record<string, number>}
 */
const MOVES = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };

let nextId = 0;

/**
 * @typedef {object} Item
 * @property {string} label what is shown, and put into the field where `text` is missing
 * @property {string} [text] what is put into the field
 * @property {string} [detail] shown beside the label
 * @property {boolean} [wide] the detail is what may be cut, not the label
 * @property {boolean} [plain] the label is words, not a name
 * @property {boolean} [wraps] the label is a sentence, which may have several lines
 * @property {string} [group] heading above the first of each group
 * @property {any} [value] for whoever handles the choice
 * @property {{text: string, caret: number}} [fills] what the field becomes instead of being chosen; Tab takes it too
 */

/** Suggestions below a text field. */
export class Combobox {
  #latest = new Latest();
  /** @type {Item[]} */
  #items = [];
  /** @type {HTMLElement[]} */
  #options = [];
  #active = -1;
  #ask;

  /**
   * @param {object} parts
   * @param {HTMLInputElement} parts.input
   * @param {HTMLElement} [parts.list] made after the input where missing
   * @param {(query: string, signal: AbortSignal) => Promise<Item[]>|Item[]} parts.source
   * @param {(item: Item) => void} parts.pick
   * @param {(query: string) => void} [parts.enter] Enter with nothing chosen
   * @param {boolean} [parts.keepsText] the field keeps the choice instead of becoming empty
   * @param {boolean} [parts.firstIsActive] Enter takes the first suggestion without an arrow key
   * @param {string} [parts.empty] said when nothing is found
   * @param {() => HTMLElement|null} [parts.head] what stands above the suggestions
   */
  constructor(parts) {
    this.parts = parts;
    this.input = parts.input;
    this.list = parts.list ?? h("ul", { class: "popup", role: "listbox", hidden: true });
    this.list.id ||= `list-${(nextId += 1)}`;
    if (!parts.list) {
      const wrapper = h("span", { class: "combo" });
      this.input.replaceWith(wrapper);
      wrapper.append(this.input, this.list);
    }
    for (const [name, value] of [
      ["role", "combobox"],
      ["aria-autocomplete", "list"],
      ["aria-expanded", "false"],
      ["aria-controls", this.list.id],
      ["autocomplete", "off"],
      ["spellcheck", "false"],
    ]) {
      this.input.setAttribute(name, value);
    }
    this.#ask = settled(90, () => this.refresh());
    this.input.addEventListener("input", () => this.#ask());
    this.input.addEventListener("focus", () => this.#ask());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.input.addEventListener("blur", () => this.close());
    // A press on the list must not take the focus from the field before the click arrives.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
  }

  /** Asks again for what the field holds now. */
  async refresh() {
    const query = this.input.value;
    let items;
    try {
      items = await this.#latest.run((signal) => Promise.resolve(this.parts.source(query, signal)));
    } catch (error) {
      this.#say(messageOf(error));
      return;
    }
    if (items === undefined || document.activeElement !== this.input) return;
    this.#items = items;
    if (items.length === 0 && query.trim() && this.parts.empty) this.#say(this.parts.empty);
    else this.#draw();
  }

  /** Takes the suggestions away. */
  close() {
    this.#ask.cancel();
    this.#latest.cancel();
    this.#items = [];
    this.#active = -1;
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {string} text */
  #say(text) {
    this.#items = [];
    this.#options = [];
    put(this.list, h("li", { class: "popup-note", text }));
    this.list.hidden = false;
  }

  #draw() {
    let group = "";
    /** @type {HTMLElement[]} */
    const children = [];
    const head = this.parts.head?.();
    if (head) children.push(h("li", { class: "popup-head", role: "presentation" }, head));
    this.#options = this.#items.map((item, i) => {
      if (item.group && item.group !== group)
        children.push(h("li", { class: "popup-group", role: "presentation", text: item.group }));
      group = item.group ?? "";
      const option = h(
        "li",
        {
          class: `popup-item${item.wide ? " is-wide" : ""}${item.wraps ? " is-wrapped" : ""}`,
          role: "option",
          id: `${this.list.id}-${i}`,
          "aria-selected": "false",
          on: { click: () => this.#choose(i) },
        },
        h("span", { class: item.plain ? "" : "mono", text: item.label }),
        item.detail && h("span", { class: "quiet", title: item.wide ? item.detail : null, text: item.detail }),
      );
      children.push(option);
      return option;
    });
    put(this.list, ...children);
    this.list.hidden = children.length === 0;
    this.input.setAttribute("aria-expanded", String(children.length > 0));
    this.#activate(this.parts.firstIsActive && this.#items.length ? 0 : -1);
  }

  /** @param {number} index */
  #activate(index) {
    this.#options[this.#active]?.setAttribute("aria-selected", "false");
    this.#active = index;
    const option = this.#options[index];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {number} index */
  #choose(index) {
    const item = this.#items[index];
    if (!item) return;
    if (item.fills) {
      this.input.value = item.fills.text;
      this.input.setSelectionRange(item.fills.caret, item.fills.caret);
      this.refresh();
      return;
    }
    this.input.value = this.parts.keepsText ? (item.text ?? item.label) : "";
    this.close();
    this.parts.pick(item);
  }

  /** The suggestion that Tab takes: the active one if it fills the field, else the first that does; -1 for none. */
  #filling() {
    if (this.list.hidden) return -1;
    if (this.#items[this.#active]?.fills) return this.#active;
    return this.#items.findIndex(({ fills }) => fills !== undefined);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const move = MOVES[event.key];
    if (move && this.#items.length) {
      const last = this.#items.length - 1;
      const next = this.#active + move;
      if (Math.abs(move) === 1) this.#activate(next < 0 ? last : next > last ? 0 : next);
      else this.#activate(Math.max(0, Math.min(last, next)));
    } else if (move === 1 && this.list.hidden) {
      this.refresh();
    } else if (event.key === "Tab" && !event.shiftKey && this.#filling() >= 0) {
      this.#choose(this.#filling());
    } else if (event.key === "Enter" && !event.ctrlKey && !event.isComposing) {
      if (this.#active >= 0) this.#choose(this.#active);
      else if (this.parts.enter) this.parts.enter(this.input.value);
      else return;
    } else if (event.key === "Escape" && !this.list.hidden) {
      this.close();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
