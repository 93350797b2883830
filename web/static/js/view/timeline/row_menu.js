// What can be done with a row of the tree: its menu, its keys, and dragging its label to another place.

import { h } from "../../lib/dom.js";
import { KEYS, written } from "../../lib/key_table.js";
import { bind } from "../../lib/keys.js";
import { Menu } from "../../lib/menu.js";
import { KINDS } from "../../lib/sql_track.js";
import { AXIS, gutter } from "./timeline_axis.js";
import { HEAD_FLAG, nextNote } from "./notes/track_notes.js";
import { NOTES_KEY, titleOf } from "./track_tree.js";

/** @import { NoteItem } from "../../../../api.js" */
/** @import { TrackLayer } from "./track_layer.js" */

/** Pixels that a press moves before it is a drag. */
const DRAG_PIXELS = 5;

/**
 * How a key of the table is written in a menu.
 * @param {string} name
 */
const keyOf = (name) => written(KEYS[name])[0];

/** The menu of a row, where the pointer or the cursor is. */
export class RowMenu {
  #menu = new Menu();

  /**
   * @param {TrackLayer} layer
   * @param {object} actions
   * @param {(key: string) => void} actions.rename lets the person write another name of a query's track
   * @param {(key: string) => void} actions.write lets the person write a note on a track as a whole
   * @param {(note: NoteItem) => void} actions.read shows a note in the list of notes
   */
  constructor(layer, actions) {
    this.layer = layer;
    this.actions = actions;
    this.element = h("div", { class: "row-menu" }, this.#menu.element);
  }

  /**
   * Shows what can be done with a row.
   * @param {number} index
   * @param {{x: number, y: number}} at from the window's corner
   */
  open(index, at) {
    const { layer } = this;
    const shown = layer.rows[index];
    if (!shown) return;
    const { row, isOpen, isPinned, size } = shown;
    const items = [
      ...(row.kind === "group"
        ? [{ label: isOpen ? "Close" : "Open", key: keyOf("timeline.pick"), run: () => layer.turn(index) }]
        : []),
      { label: isPinned ? "Let go" : "Pin on top", key: keyOf("timeline.pin"), run: () => layer.pin(index) },
      { label: "Hide", key: keyOf("timeline.hide"), run: () => layer.hide(index) },
      { label: "Move up", key: keyOf("timeline.up"), run: () => layer.move(index, -1) },
      { label: "Move down", key: keyOf("timeline.down"), run: () => layer.move(index, 1) },
      { label: "Higher", key: keyOf("timeline.higher"), run: () => layer.resize(index, 1), disabled: size === "high" },
      { label: "Lower", key: keyOf("timeline.lower"), run: () => layer.resize(index, -1), disabled: size === "low" },
      ...this.#noteItems(row),
      ...this.#queryItems(row.key),
      ...(layer.hiddenTracks > 0
        ? [
            {
              label: `Show all hidden (${layer.hiddenTracks})`,
              key: keyOf("timeline.unhide"),
              run: () => layer.showHidden(),
            },
          ]
        : []),
    ];
    this.#menu.open(titleOf(row), items, at);
  }

  /**
   * What can be done with notes on the track as a whole.
   * @param {import("./track_tree.js").TreeRow} row
   * @returns {import("../../lib/menu.js").MenuItem[]}
   */
  #noteItems({ key, kind }) {
    const { context, notesOf } = this.layer;
    if (kind === "path" || key === NOTES_KEY) return [];
    const notes = notesOf.get(key) ?? [];
    const read = {
      label: notes.length === 1 ? "Show its note" : `Show its notes (${notes.length})`,
      run: () => this.actions.read(nextNote(notes, context.view.note)),
    };
    return [
      ...(context.notes.canWrite ? [{ label: "Write a note on the track", run: () => this.actions.write(key) }] : []),
      ...(notes.length > 0 ? [read] : []),
    ];
  }

  /**
   * What can be done with a result of SQL besides.
   * @param {string} key
   * @returns {import("../../lib/menu.js").MenuItem[]}
   */
  #queryItems(key) {
    const { own, context } = this.layer;
    const lane = own.queries.find((one) => one.key === key);
    if (!lane) return [];
    const { kinds, shape } = lane.data;
    return [
      { label: "Open the query", run: () => context.state.set({ tab: "sql", sql: lane.data.sql }) },
      ...kinds
        .filter((kind) => kind !== shape)
        .map((kind) => ({ label: `Show as ${KINDS[kind].toLowerCase()}`, run: () => own.change(key, { kind }) })),
      { label: "Rename", run: () => this.actions.rename(key) },
      ...(lane.data.failed === null ? [] : [{ label: "Ask again", run: () => lane.data.again() }]),
      { label: "Remove the track", run: () => own.change(key, null) },
    ];
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
    when() && x < gutter.width ? layer.rowAt(y, scroll()) : null;
  element.addEventListener("contextmenu", (event) => {
    const index = labelAt(event.offsetX, event.offsetY);
    if (index === null) return;
    event.preventDefault();
    menu.open(index, { x: event.clientX, y: event.clientY });
  });
  startRowDrag(element, {
    rowAt: labelAt,
    click: (index, x) => {
      const notes = x >= gutter.width - HEAD_FLAG ? layer.notesOf.get(layer.rows[index].row.key) : undefined;
      if (notes) menu.actions.read(nextNote(notes, layer.context.view.note));
      else layer.turn(index);
    },
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
 * @param {(index: number, x: number) => void} parts.click
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
    if (!drags) click(from, event.offsetX);
    else if (to !== null && to !== from) moved(from, to);
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}
