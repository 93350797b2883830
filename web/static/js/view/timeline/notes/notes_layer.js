// Notes and the measured span on the timeline: keys, clicks on the ruler, the field of a new note at its flag. The timeline has the
// canvas and the window of time; the list of notes is in notes_panel.js.

import { h } from "../../../lib/dom.js";
import { duration } from "../../../lib/format.js";
import { bind } from "../../../lib/keys.js";
import { note as say, noteError } from "../../../lib/notice.js";
import { AXIS, gutter, RULER } from "../timeline_axis.js";
import { drawNotes, drawSpan } from "./notes_draw.js";
import { firstLine, isTimed } from "../../notes/note_words.js";
import { READ_ONLY } from "../../notes/notes_model.js";
import { NotesPanel } from "./notes_panel.js";
import { paneAt } from "../../../lib/time_fold.js";
import { noteLines, placedNotes } from "./notes_row.js";
import { NOTE_LINE } from "../track_arrange.js";
import { anchorOf, measured, noteAt, noteNear, placeNotes, spanOf, spanText, windowOf } from "./notes_place.js";

/** @import { NoteItem } from "../../../../../api.js" */
/** @import { Canvas } from "../../../lib/canvas.js" */
/** @import { ShownRow } from "../track_draw.js" */
/** @import { PlacedNote } from "./notes_place.js" */

const FIELD_PIXELS = 280;
const WRITE = "Note; Enter saves, Escape leaves";

/**
 * @typedef {object} NotedTimeline what notes need of the timeline
 * @property {import("../../../lib/time_navigator.js").TimeNavigator} nav
 * @property {Canvas} canvas
 * @property {() => boolean} visible
 * @property {() => {start: number, end: number, track: string}|null} picked what is picked
 * @property {() => number|null} cursor the time of the cursor
 * @property {() => number} scroll pixels that the tree is scrolled
 * @property {(key: string) => number|null} headAt the top of a track's row within the canvas; null where it is not shown
 * @property {(y: number) => string} headWords the notes of the track whose head is at a height, in words
 * @property {(key: string) => boolean} showRow brings a row of the tree into sight; false while it is not there
 */

/** Notes on the timeline. */
export class NotesLayer {
  /** @type {PlacedNote[]} */
  #placed = [];
  /**
   * What a note that is being written is tied to; a track as a whole has no time.
   * @type {{on?: {kind: "track"}, start?: number, end?: number|null, track: string|null}|null}
   */
  #writing = null;
  /** Whether the notes are not known yet. */
  #isFirst = true;
  /** The key of the track that is to be shown once its row is there; empty for none. */
  #awaited = "";

  /**
   * @param {import("../../../page/capture_context.js").CaptureContext} context
   * @param {NotedTimeline} timeline
   */
  constructor(context, timeline) {
    this.context = context;
    this.timeline = timeline;
    this.notes = context.notes;
    this.panel = new NotesPanel(context, {
      go: (note) => this.go(note),
      write: () => this.#begin(),
      back: () => timeline.canvas.element.focus(),
    });
    this.input = h("input", {
      type: "text",
      maxlength: "2000",
      placeholder: WRITE,
      "aria-label": "Text of the new note",
      on: { keydown: (event) => this.#typed(event) },
    });
    this.field = h("div", { class: "note-field", hidden: true }, this.input);
    this.button = h("button", {
      type: "button",
      class: "notes-button",
      on: { click: () => this.#turnPanel() },
    });
    this.notes.on("change", () => {
      // An address that says a note is read before the notes are.
      if (this.#isFirst && this.notes.isKnown) {
        this.#isFirst = false;
        this.#reveal();
      }
      this.#changed();
    });
    context.state.on("change", ({ parts }) => {
      if (["note", "notes", "span"].some((part) => parts.has(part))) this.#changed();
      if (parts.has("note")) this.#reveal();
    });
    context.on("noted", () => this.#reveal());
    this.#startKeys();
    this.#changed();
    timeline.canvas.element.addEventListener("click", (event) => this.#click(event));
  }

  /** The measured span. */
  get span() {
    return spanOf(this.context.view.span);
  }

  /** Whether there is something that Escape takes away. */
  get holds() {
    return this.context.view.span !== "" || this.context.view.note !== "";
  }

  /** Takes the span away, and selects no note. */
  clear() {
    this.context.state.set({ span: "", note: "" });
  }

  /**
   * Draws over a timeline that is drawn.
   * @param {Canvas} canvas
   */
  draw({ context: ctx, colors, width, height, font }) {
    const { nav } = this.timeline;
    const place = nav.placing;
    const sight = { left: gutter.width, right: width };
    const strip = { top: RULER, bottom: AXIS - 1, low: height };
    this.#placed = placeNotes(this.notes.timed, place, sight);
    ctx.save();
    ctx.font = font;
    ctx.beginPath();
    ctx.rect(gutter.width, 0, width - gutter.width, height);
    ctx.clip();
    drawNotes(ctx, colors, this.#placed, strip, this.context.view.note);
    const { span } = this;
    if (span) {
      const at = { left: place(span.start), right: place(span.end) };
      drawSpan(ctx, colors, span, at, { ...strip, from: gutter.width, until: width });
    }
    ctx.restore();
    if (this.#writing) this.#putField(width);
  }

  /**
   * What is at a place of the ruler, in words; empty for nothing.
   * @param {{x: number, y: number}|null} pointer
   */
  words(pointer) {
    const note = pointer && this.#at(pointer.x, pointer.y);
    if (pointer && !note && pointer.x < gutter.width) return this.timeline.headWords(pointer.y);
    return note ? `${note.author}: ${firstLine(note) || "a note without text"}` : "";
  }

  /**
   * Selects a note and shows it.
   * @param {NoteItem} note
   */
  go(note) {
    const { nav } = this.timeline;
    if (!isTimed(note) || note.on.kind === "row") {
      this.context.goToNote(note);
      return;
    }
    const { start, end } = windowOf(note, nav.shown);
    this.context.state.set({ note: note.id });
    if (start !== nav.shown.start || end !== nav.shown.end) nav.view(start, end);
    this.timeline.canvas.redraw();
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #at(x, y) {
    if (x < gutter.width || y < RULER || y >= AXIS) return null;
    const { context: ctx, font } = this.timeline.canvas;
    ctx.font = font;
    return noteAt(this.#placed, x, (text) => ctx.measureText(text).width);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const note = this.#at(event.offsetX, event.offsetY);
    if (note) this.#pick(note);
  }

  /**
   * Selects a note; one that is selected already is shown in the list.
   * @param {NoteItem} note
   */
  #pick(note) {
    if (note.id === this.context.view.note) this.context.state.set({ notes: true });
    this.go(note);
  }

  /**
   * Selects the note at a place of the row of notes.
   * @param {ShownRow} row
   * @param {MouseEvent} event
   */
  pickIn({ top, places: [place] }, { offsetX: x, offsetY: y }) {
    const { canvas, nav, scroll } = this.timeline;
    const { context: ctx, font } = canvas;
    ctx.font = font;
    const model = { shown: paneAt(nav.panes, x), notes: { items: this.notes.timed } };
    const { lines } = placedNotes(ctx, model, noteLines(place));
    const line = lines[Math.floor((y - AXIS - top - place.top + scroll()) / NOTE_LINE)] ?? [];
    const note = noteAt(line, x, (text) => ctx.measureText(text).width);
    if (note) this.#pick(note);
  }

  /**
   * Selects the note at a moment, else the nearest one.
   * @param {number} time
   */
  pickNear(time) {
    const note = noteNear(this.notes.timed, time);
    if (note) this.#pick(note);
  }

  /**
   * Selects the note before or after the selected one.
   * @param {"before"|"after"} way
   */
  step(way) {
    const items = this.notes.timed;
    const at = items.findIndex(({ id }) => id === this.context.view.note);
    const note = at < 0 ? items[0] : items[at + (way === "after" ? 1 : -1)];
    if (note) this.go(note);
  }

  #startKeys() {
    const { visible } = this.timeline;
    const selected = () => this.notes.one(this.context.view.note);
    bind("timeline.note", () => this.#begin(), { when: visible });
    bind("timeline.measure", () => this.#measure(), { when: visible });
    bind("timeline.notes", () => this.#turnPanel(), { when: visible });
    bind(
      "timeline.unnote",
      () => {
        const note = selected();
        if (note) this.panel.remove(note);
      },
      { when: () => visible() && selected() !== null },
    );
  }

  /** What can be measured or noted now. */
  get #around() {
    const { nav, picked, cursor } = this.timeline;
    return { picked: picked(), selection: nav.selection, cursor: cursor(), pointer: nav.pointedTime };
  }

  #measure() {
    const span = measured(this.#around);
    if (!span) {
      say("Nothing to measure: click a state or slice, drag a range, or click somewhere and point elsewhere, then M.");
      return;
    }
    this.context.state.set({ span: spanText(span) });
    this.timeline.canvas.redraw();
  }

  /** Whether notes can be written; says why not. */
  get #mayWrite() {
    if (!this.notes.canWrite) say(this.notes.isKnown ? READ_ONLY : "The notes of this capture are not known yet.");
    return this.notes.canWrite;
  }

  /**
   * Shows the field of a new note on a track as a whole, at its head.
   * @param {string} track
   */
  beginOn(track) {
    if (!this.#mayWrite) return;
    this.#writing = { on: { kind: "track" }, track };
    this.#showField(`Note on ${track}; Enter saves, Escape leaves`);
  }

  /** @param {string} placeholder */
  #showField(placeholder) {
    this.input.value = "";
    this.input.placeholder = placeholder;
    this.field.hidden = false;
    this.#putField(this.timeline.canvas.width);
    this.input.focus();
  }

  /** Shows the field of a new note at its flag. */
  #begin() {
    if (!this.#mayWrite) return;
    const around = this.#around;
    const anchor = anchorOf({ span: this.span, ...around }, this.timeline.nav.shown);
    const onTrack = this.span === null && around.picked !== null;
    this.#writing = { ...anchor, track: onTrack ? (around.picked?.track ?? null) : null };
    this.timeline.nav.reveal(anchor.start);
    this.#showField(WRITE);
  }

  /** @param {number} width */
  #putField(width) {
    const { start, track } = this.#writing ?? { track: null };
    const x = start === undefined ? 0 : this.timeline.nav.place(start);
    const y = start === undefined && track !== null ? this.timeline.headAt(track) : null;
    this.field.style.left = `${Math.max(gutter.width, Math.min(width - FIELD_PIXELS - 8, x))}px`;
    this.field.style.top = `${y ?? RULER - 4}px`;
  }

  /** Shows the track of the selected note, if that is on a track as a whole. */
  #reveal() {
    const note = this.notes.one(this.context.view.note);
    this.#awaited = note?.on.kind === "track" ? (note.track ?? "") : "";
    this.followRows();
  }

  /** The tree has other rows. */
  followRows() {
    if (this.#awaited === "" || !this.timeline.visible()) return;
    if (this.timeline.showRow(this.#awaited)) this.#awaited = "";
  }

  #leave() {
    this.#writing = null;
    this.field.hidden = true;
    this.timeline.canvas.element.focus();
  }

  /** @param {KeyboardEvent} event */
  #typed(event) {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") void this.#save();
    else this.#leave();
  }

  async #save() {
    const anchor = this.#writing;
    if (!anchor) return;
    try {
      const note = await this.notes.write({ ...anchor, text: this.input.value, colour: null });
      this.#leave();
      this.context.state.set({ note: note.id, span: "" });
    } catch (error) {
      // What was typed stays in the field.
      noteError(error);
    }
  }

  #turnPanel() {
    this.context.state.set({ notes: !this.context.view.notes });
    if (this.context.view.notes) this.panel.focus();
    else this.timeline.canvas.element.focus();
  }

  #changed() {
    const count = this.notes.items.length;
    this.button.textContent = count ? `Notes ${count}` : "Notes";
    this.button.setAttribute("aria-pressed", String(this.context.view.notes));
    this.panel.show();
    this.timeline.canvas.redraw();
  }

  /** The measured span in words; empty for none. */
  get spanWords() {
    return this.span ? `Measured: ${duration(this.span.end - this.span.start)}` : "";
  }
}
