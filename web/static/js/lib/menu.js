// A menu: a list of what can be done, walked by arrow keys, gone with Escape, a choice, or when the focus leaves it.

import { h, put } from "./dom.js";

/**
 * @typedef {object} MenuItem
 * @property {string} label
 * @property {string} [key] that does the same
 * @property {string} [hint] what comes of it
 * @property {() => void} [run] what it does
 * @property {string} [download] the address of a file that it saves, in place of `run`
 * @property {boolean} [disabled]
 */

/** The menu. */
export class Menu {
  /**
   * What had the focus before.
   * @type {HTMLElement|null}
   */
  #before = null;

  /** @param {(isOpen: boolean) => void} [turned] the menu was opened or closed */
  constructor(turned = () => {}) {
    this.turned = turned;
    this.element = h("div", {
      class: "menu-list",
      role: "menu",
      hidden: true,
      on: {
        keydown: (event) => this.#key(event),
        focusout: (event) => {
          if (!(event.relatedTarget instanceof Node && this.element.contains(event.relatedTarget))) this.close();
        },
      },
    });
  }

  /** Whether it is open. */
  get isOpen() {
    return !this.element.hidden;
  }

  /**
   * Shows what can be done.
   * @param {string} title what it is about
   * @param {MenuItem[]} items
   * @param {{x: number, y: number}|null} [at] from the window's corner; null where its place is that of its element
   */
  open(title, items, at = null) {
    this.element.setAttribute("aria-label", title);
    put(
      this.element,
      at !== null && h("div", { class: "menu-title", text: title }),
      ...items.map((item) => this.#item(item)),
    );
    this.#before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    this.element.hidden = false;
    if (at) {
      const { offsetWidth, offsetHeight } = this.element;
      this.element.style.left = `${Math.max(0, Math.min(at.x, window.innerWidth - offsetWidth - 4))}px`;
      this.element.style.top = `${Math.max(0, Math.min(at.y, window.innerHeight - offsetHeight - 4))}px`;
    }
    this.turned(true);
    this.#items[0]?.focus();
  }

  /** @param {MenuItem} item */
  #item({ label, key, hint, run, download, disabled = false }) {
    const words = [
      h("span", { text: label }),
      key !== undefined && h("kbd", { text: key }),
      hint !== undefined && h("span", { class: "quiet mono", text: hint }),
    ];
    if (download !== undefined)
      return h("a", { href: download, download: true, role: "menuitem", on: { click: () => this.close() } }, ...words);
    const click = () => {
      this.close();
      run?.();
    };
    return h("button", { type: "button", role: "menuitem", disabled, on: { click } }, ...words);
  }

  get #items() {
    const items = [...this.element.querySelectorAll("[role=menuitem]:not(:disabled)")];
    return items.filter((one) => one instanceof HTMLElement);
  }

  /** Hides it; the focus goes back to where it was. */
  close() {
    if (!this.isOpen) return;
    const hadFocus = this.element.contains(document.activeElement);
    this.element.hidden = true;
    if (hadFocus) this.#before?.focus();
    this.turned(false);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Tab") return;
    // What else is pressed here is not for the page below.
    event.stopPropagation();
    const items = this.#items;
    const at = items.findIndex((one) => one === document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape") this.close();
    else if (to !== undefined && items.length > 0) items[(to + items.length) % items.length].focus();
    else return;
    event.preventDefault();
  }
}
