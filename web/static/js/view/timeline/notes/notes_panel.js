// The list of all notes of a capture below the tracks: walked by keys, each a link; texts and colours are changed here.

import { closest, h, put } from "../../../lib/dom.js";
import { plural, wall } from "../../../lib/format.js";
import { noteError, showError } from "../../../lib/notice.js";
import { READ_ONLY } from "./notes_model.js";
import { windowOf, whenOf } from "./notes_place.js";

/** @import { NoteItem } from "../../../../../api.js" */

const COLOURS = 8;

/** The list. */
export class NotesPanel {
  /** The note that is being changed: its id. */
  #editing = "";

  /**
   * @param {import("../../../page/capture_context.js").CaptureContext} context
   * @param {{go: (note: NoteItem) => void, write: () => void, remove: (note: NoteItem) => void, back: () => void}} actions
   */
  constructor(context, actions) {
    this.context = context;
    this.notes = context.notes;
    this.actions = actions;
    this.body = h("div", { class: "note-list", on: { keydown: (event) => this.#walk(event) } });
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
      h("span", { class: "quiet", text: isKnown ? this.#about(items.length, canWrite) : "" }),
      h("span", { class: "grow" }),
      canWrite && this.#button("Write a note", () => this.actions.write()),
      this.#button("Close", () => this.#close()),
    );
    if (problem) showError(this.body, problem, () => void this.notes.load());
    else if (this.#editing === "" || !items.some(({ id }) => id === this.#editing)) this.#list(items, canWrite);
  }

  /** Puts the focus on the selected note, or the first. */
  focus() {
    const at = this.body.querySelector("[aria-current='true'] a") ?? this.body.querySelector("a");
    if (at instanceof HTMLElement) at.focus();
  }

  /**
   * @param {number} count
   * @param {boolean} canWrite
   */
  #about(count, canWrite) {
    const read = canWrite ? "" : READ_ONLY;
    return [count ? plural(count, "note") : "", read].filter(Boolean).join(". ");
  }

  /**
   * @param {NoteItem[]} items
   * @param {boolean} canWrite
   */
  #list(items, canWrite) {
    const focused = document.activeElement;
    const line = focused && this.body.contains(focused) ? focused.closest(".note-line") : null;
    const before = line instanceof HTMLElement ? line.dataset.note : undefined;
    if (items.length === 0) {
      const how = canWrite ? " Shift+M writes one at the selected range, what is picked, or the pointer." : "";
      put(this.body, h("p", { class: "quiet", text: `Nobody has written a note on this capture.${how}` }));
      return;
    }
    put(this.body, ...items.map((note) => this.#line(note)));
    if (before === undefined) return;
    const again = [...this.body.children].find((one) => one instanceof HTMLElement && one.dataset.note === before);
    const link = again?.querySelector("a");
    if (link) link.focus();
  }

  /** @param {NoteItem} note */
  #line(note) {
    const { state, view } = this.context;
    const { start, end } = windowOf(note, { start: view.from ?? 0, end: view.to ?? this.context.duration });
    const whole = view.from === null && note.end === null;
    const place = whole ? {} : { from: Math.max(0, Math.round(start)), to: Math.round(end) };
    const click = (/** @type {Event} */ event) => {
      if (event instanceof MouseEvent && (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0))
        return;
      event.preventDefault();
      this.actions.go(note);
    };
    return h(
      "div",
      { class: "note-line", "aria-current": String(view.note === note.id), data: { note: note.id } },
      h("span", { class: "note-mark", data: { cat: note.colour === null ? "" : String(note.colour) } }),
      h("a", {
        href: state.addressWith({ note: note.id, tab: "timeline", ...place }),
        class: "mono",
        text: whenOf(note),
        on: { click },
      }),
      h("span", { class: "note-text", text: note.text || "Without text" }),
      h("span", { class: "quiet", text: this.#whose(note) }),
      note.can_change && this.#button("Change", () => this.#edit(note)),
      note.can_change && this.#button("Remove", () => this.actions.remove(note)),
    );
  }

  /** @param {NoteItem} note */
  #whose({ author, imported_by: importer, created_unix_ns: created, changed_by: changer, track }) {
    return [
      track ? `on ${track}` : "",
      importer === null ? author : `${author}, says the file that ${importer} imported`,
      wall(created),
      changer === null ? "" : `changed by ${changer}`,
    ]
      .filter(Boolean)
      .join(", ");
  }

  /** @param {NoteItem} note */
  #edit(note) {
    this.#editing = note.id;
    const text = h("textarea", { rows: "2", maxlength: "2000", "aria-label": "Text of the note" });
    text.value = note.text;
    const none = h("option", { value: "", text: "No colour", selected: note.colour === null });
    const colours = Array.from({ length: COLOURS }, (_one, i) =>
      h("option", { value: String(i), text: `Colour ${i + 1}`, selected: note.colour === i }),
    );
    const colour = h("select", { "aria-label": "Colour of the note" }, none, ...colours);
    const leave = () => {
      this.#editing = "";
      this.show();
      this.focus();
    };
    const save = async () => {
      try {
        await this.notes.change(note, { text: text.value, colour: colour.value === "" ? null : Number(colour.value) });
        leave();
      } catch (error) {
        // What was typed stays.
        noteError(error);
        void this.notes.load();
      }
    };
    text.addEventListener("keydown", (event) => {
      if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey)) {
        event.preventDefault();
        event.stopPropagation();
        if (event.key === "Enter") void save();
        else leave();
      }
    });
    const line = [...this.body.children].find((one) => one instanceof HTMLElement && one.dataset.note === note.id);
    const form = h(
      "div",
      { class: "note-line note-edit" },
      text,
      colour,
      this.#button("Save", () => void save()),
      this.#button("Cancel", leave),
      h("span", { class: "quiet", text: "Enter saves, Shift+Enter begins a line" }),
    );
    line?.replaceWith(form);
    text.focus();
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const line = closest(event, ".note-line");
    if (!line || line.classList.contains("note-edit")) return;
    if (event.key === "Escape") this.#close();
    else if (event.key === "Delete") {
      const note = this.notes.one(line.dataset.note ?? "");
      if (note) this.actions.remove(note);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = event.key === "ArrowDown" ? line.nextElementSibling : line.previousElementSibling;
      const link = next?.querySelector("a");
      if (link) link.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #close() {
    this.#editing = "";
    this.context.state.set({ notes: false });
    this.actions.back();
  }

  /**
   * @param {string} text
   * @param {() => void} click
   */
  #button(text, click) {
    return h("button", { type: "button", text, on: { click } });
  }
}
