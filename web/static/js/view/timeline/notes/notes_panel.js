// The list of all notes of a capture below the tracks: walked by keys, each a link to what it is tied to.

import { closest, h, put } from "../../../lib/dom.js";
import { plural } from "../../../lib/format.js";
import { showError } from "../../../lib/notice.js";
import { NoteThreads } from "../../notes/note_threads.js";
import { READ_ONLY } from "../../notes/notes_model.js";
import { isTimed } from "../../notes/note_words.js";
import { windowOf } from "./notes_place.js";

/** @import { NoteItem } from "../../../../../api.js" */

/** The list. */
export class NotesPanel {
  /**
   * @param {import("../../../page/capture_context.js").CaptureContext} context
   * @param {{go: (note: NoteItem) => void, write: () => void, back: () => void}} actions
   */
  constructor(context, actions) {
    this.context = context;
    this.notes = context.notes;
    this.actions = actions;
    const how = " Shift+M writes one at the selected range, what is picked, or the pointer.";
    this.threads = new NoteThreads(context, {
      shows: () => true,
      get empty() {
        return `Nobody has written a note on this capture.${context.notes.canWrite ? how : ""}`;
      },
      named: true,
      address: (note) => this.#address(note),
      go: (note) => actions.go(note),
    });
    this.body = h("div", { on: { keydown: (event) => this.#walk(event) } });
    this.head = h("div", { class: "track-panel-head" });
    this.element = h(
      "section",
      { class: "track-panel notes-panel", "aria-label": "Notes", hidden: true },
      this.head,
      this.body,
    );
  }

  /** Shows the notes, if the list is open. */
  show() {
    const { view } = this.context;
    this.element.hidden = !view.notes;
    if (!view.notes) return;
    const { items, canWrite, isKnown, problem } = this.notes;
    put(
      this.head,
      h("h3", { text: "Notes" }),
      h("span", { class: "quiet", text: isKnown ? this.#about(items, canWrite) : "" }),
      h("span", { class: "grow" }),
      canWrite && h("button", { type: "button", text: "Write a note", on: { click: () => this.actions.write() } }),
      h("button", { type: "button", text: "Close", on: { click: () => this.#close() } }),
    );
    if (problem) return showError(this.body, problem, () => void this.notes.load());
    this.threads.draw();
    if (!this.body.contains(this.threads.element)) put(this.body, this.threads.element);
  }

  /** Puts the focus on the selected note, or the first. */
  focus() {
    this.threads.focus(this.context.view.note);
  }

  /** @param {NoteItem} note */
  remove(note) {
    this.threads.remove(note);
  }

  /**
   * @param {NoteItem[]} items
   * @param {boolean} canWrite
   */
  #about(items, canWrite) {
    const resolved = items.filter(({ resolved_unix_ns: when }) => when !== null).length;
    const read = canWrite ? "" : READ_ONLY;
    return [items.length ? plural(items.length, "note") : "", resolved ? `${resolved} resolved` : "", read]
      .filter(Boolean)
      .join(". ");
  }

  /** @param {NoteItem} note */
  #address(note) {
    const { state, view } = this.context;
    if (!isTimed(note) || note.on.kind === "row") return state.addressWith(this.context.notedView(note));
    const { start, end } = windowOf(note, { start: view.from ?? 0, end: view.to ?? this.context.duration });
    const whole = view.from === null && note.end === null;
    const place = whole ? {} : { from: Math.max(0, Math.round(start)), to: Math.round(end) };
    return state.addressWith({ note: note.id, tab: "timeline", ...place });
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const line = closest(event, ".note-thread");
    if (!line || this.threads.isWriting) return;
    if (event.key === "Escape") this.#close();
    else if (event.key === "Delete") {
      const note = this.notes.one(closest(event, "[data-note]")?.dataset.note ?? "");
      if (note) this.threads.remove(note);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = event.key === "ArrowDown" ? line.nextElementSibling : line.previousElementSibling;
      const link = next?.querySelector("a");
      if (link) link.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #close() {
    this.context.state.set({ notes: false });
    this.actions.back();
  }
}
