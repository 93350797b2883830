// What can be done with a row of the tree: its menu, its keys, and dragging its label to another place.

import { h, put } from "../../lib/dom.js";
import { bind } from "../../lib/keys.js";
import { AXIS, LABELS } from "./timeline_axis.js";
import { titleOf } from "./track_tree.js";

/** @import { TrackLayer } from "./track_layer.js" */

/** Pixels that a press moves before it is a drag. */
const DRAG_PIXELS = 5;

/** The menu of a row, where the pointer or the cursor is. */
export class RowMenu {
  /** @param {TrackLayer} layer */
  constructor(layer) {
    this.layer = layer;
    this.element = h("div", {
      class: "row-menu",
      role: "menu",
      hidden: true,
      on: {
        keydown: (event) => this.#key(event),
        focusout: (event) => {
          if (!(event.relatedTarget instanceof Node && this.element.contains(event.relatedTarget))) this.#close();
        },
      },
    });
    /** @type {Element|null} */
    this.before = null;
  }

  /**
   * Shows what can be done with a row.
   * @param {number} index
   * @param {{x: number, y: number}} at from the window's corner
   */
  open(index, at) {
    const shown = this.layer.rows[index];
    if (!shown) return;
    const { row, isOpen, isPinned, size } = shown;
    const item = (/** @type {string} */ label, /** @type {string} */ key, /** @type {() => void} */ run, can = true) =>
      h(
        "button",
        {
          type: "button",
          role: "menuitem",
          disabled: !can,
          on: {
            click: () => {
              this.#close();
              run();
            },
          },
        },
        h("span", { text: label }),
        h("kbd", { text: key }),
      );
    const { layer } = this;
    this.element.setAttribute("aria-label", titleOf(row));
    put(
      this.element,
      h("div", { class: "row-menu-title", text: titleOf(row) }),
      row.kind === "group" && item(isOpen ? "Close" : "Open", "Enter", () => layer.turn(index)),
      item(isPinned ? "Let go" : "Pin on top", "P", () => layer.pin(index)),
      item("Hide", "H", () => layer.hide(index)),
      item("Move up", "Alt+↑", () => layer.move(index, -1)),
      item("Move down", "Alt+↓", () => layer.move(index, 1)),
      item("Higher", "+", () => layer.resize(index, 1), size !== "high"),
      item("Lower", "-", () => layer.resize(index, -1), size !== "low"),
      layer.hiddenTracks > 0 && item(`Show all hidden (${layer.hiddenTracks})`, "Shift+H", () => layer.showHidden()),
    );
    this.before = document.activeElement;
    this.element.hidden = false;
    const { offsetWidth, offsetHeight } = this.element;
    this.element.style.left = `${Math.max(0, Math.min(at.x, window.innerWidth - offsetWidth - 4))}px`;
    this.element.style.top = `${Math.max(0, Math.min(at.y, window.innerHeight - offsetHeight - 4))}px`;
    this.#items[0]?.focus();
  }

  get #items() {
    return [...this.element.querySelectorAll("button:not(:disabled)")].filter((one) => one instanceof HTMLElement);
  }

  #close() {
    if (this.element.hidden) return;
    const hadFocus = this.element.contains(document.activeElement);
    this.element.hidden = true;
    if (hadFocus && this.before instanceof HTMLElement) this.before.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const items = this.#items;
    const at = items.findIndex((one) => one === document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape") this.#close();
    else if (to !== undefined && items.length > 0) items[(to + items.length) % items.length].focus();
    else if (event.key !== "Tab") {
      // What else is pressed here is not for the timeline.
      event.stopPropagation();
      return;
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/**
 * @typedef {object} Rows what the rows of the tree need of their timeline
 * @property {TrackLayer} layer
 * @property {RowMenu} menu
 * @property {() => boolean} when whether the tree is in sight
 * @property {() => number} scroll pixels
 * @property {() => number|null} row the one at the cursor
 * @property {(key: string) => void} moved the row at the cursor is elsewhere
 * @property {(dragged: {from: number, to: number}|null) => void} preview a row is dragged to the place of another one
 */

/**
 * Lets rows be arranged by keys, by their menus and by dragging.
 * @param {HTMLElement} element
 * @param {Rows} rows
 */
export function startRows(element, rows) {
  const { layer, menu, when, scroll } = rows;
  const labelAt = (/** @type {number} */ x, /** @type {number} */ y) =>
    when() && x < LABELS ? layer.rowAt(y, scroll()) : null;
  element.addEventListener("contextmenu", (event) => {
    const index = labelAt(event.offsetX, event.offsetY);
    if (index === null) return;
    event.preventDefault();
    menu.open(index, { x: event.clientX, y: event.clientY });
  });
  startRowDrag(element, {
    rowAt: labelAt,
    click: (index) => layer.turn(index),
    moved: (from, to) => layer.moveTo(layer.rows[from].row.key, layer.rows[to].row.key),
    preview: (from, to) => rows.preview(from === null || to === null ? null : { from, to }),
  });
  bindRowKeys(element, rows);
}

/**
 * @param {HTMLElement} element
 * @param {Rows} rows
 */
function bindRowKeys(element, { layer, menu, when, scroll, row, moved }) {
  const atRow = { when: () => when() && row() !== null };
  const at = (/** @type {(index: number) => void} */ run) => () => run(row() ?? 0);
  // The cursor stays with its row.
  const keep = (/** @type {(index: number) => void} */ run) =>
    at((index) => {
      const { key } = layer.rows[index].row;
      run(index);
      moved(key);
    });
  bind(
    "timeline.pin",
    keep((index) => layer.pin(index)),
    atRow,
  );
  bind("timeline.unhide", () => layer.showHidden(), { when: () => when() && layer.hiddenTracks > 0 });
  bind(
    "timeline.hide",
    at((index) => layer.hide(index)),
    atRow,
  );
  bind(
    "timeline.up",
    keep((index) => layer.move(index, -1)),
    atRow,
  );
  bind(
    "timeline.down",
    keep((index) => layer.move(index, 1)),
    atRow,
  );
  bind(
    "timeline.higher",
    keep((index) => layer.resize(index, 1)),
    atRow,
  );
  bind(
    "timeline.lower",
    keep((index) => layer.resize(index, -1)),
    atRow,
  );
  const open = (/** @type {number} */ index) => {
    const { left, top } = element.getBoundingClientRect();
    const { top: from, height } = layer.rows[index];
    menu.open(index, { x: left + 24, y: top + AXIS + from + height - scroll() });
  };
  bind("timeline.menu", at(open), atRow);
}

/**
 * Lets a row be dragged by its label; a press without a drag is a click.
 * @param {HTMLElement} element
 * @param {object} parts
 * @param {(x: number, y: number) => number|null} parts.rowAt the row whose label is at a place
 * @param {(index: number) => void} parts.click
 * @param {(from: number, to: number) => void} parts.moved
 * @param {(from: number|null, to: number|null) => void} parts.preview while dragging; nulls when it ends
 */
function startRowDrag(element, { rowAt, click, moved, preview }) {
  /** @type {{from: number, y: number, drags: boolean}|null} */
  let press = null;
  element.addEventListener("pointerdown", (event) => {
    const from = event.button === 0 ? rowAt(event.offsetX, event.offsetY) : null;
    press = from === null ? null : { from, y: event.offsetY, drags: false };
    if (press) element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!press) return;
    press.drags ||= Math.abs(event.offsetY - press.y) >= DRAG_PIXELS;
    if (press.drags) preview(press.from, rowAt(0, event.offsetY));
  });
  const end = (/** @type {PointerEvent} */ event) => {
    if (!press) return;
    const { from, drags } = press;
    press = null;
    preview(null, null);
    if (event.type !== "pointerup") return;
    const to = rowAt(0, event.offsetY);
    if (!drags) click(from);
    else if (to !== null && to !== from) moved(from, to);
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}
