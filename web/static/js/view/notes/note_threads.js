// Notes with their answers, wherever they are shown: in the list below the timeline, in the details of a row and of a frame, in the
// tab Info. They are answered, changed, resolved and removed here, and their history is read.

import { ApiError } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { wall } from "../../lib/format.js";
import { drawMarkdown } from "../../lib/markdown.js";
import { note as say, noteError } from "../../lib/notice.js";
import { keptDraft } from "../../lib/drafts.js";
import { TextForm } from "../../lib/text_form.js";
import { UNDO_MS } from "./notes_model.js";
import { authorWords, firstLine, placeWords } from "./note_words.js";

/** @import { NoteItem } from "../../../../api.js" */
/** @import { Written } from "./notes_model.js" */
/** @typedef {import("../../lib/dom.js").Child} Child */

/**
 * @typedef {object} NotedPlace what is shown of the notes
 * @property {(note: NoteItem) => boolean} shows
 * @property {() => Omit<Written, "text">|null} [fresh] what a new note is tied to; null where there is nothing to tie it to
 * @property {string} [empty] what is said where there is none
 * @property {boolean} [named] whether each says what it is tied to, and leads there
 * @property {(note: NoteItem) => string} [address] of what a note is tied to, where `named`
 * @property {(note: NoteItem) => void} [go] shows that
 */

/** Threads of notes. */
export class NoteThreads {
  /**
   * The form that is open: for a new note, an answer to one, or the change of one.
   * @type {{kind: "new"|"answer"|"edit", id: string, form: TextForm}|null}
   */
  #open = null;
  /** The notes whose history is shown, with it. @type {Map<string, HTMLElement>} */
  #histories = new Map();

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {NotedPlace} place
   */
  constructor(context, place) {
    this.context = context;
    this.notes = context.notes;
    this.place = place;
    this.element = h("div", { class: "note-list" });
    this.notes.on("change", () => this.draw());
  }

  /** Whether something is being written. */
  get isWriting() {
    return this.#open !== null;
  }

  /** Draws the notes that belong here. A form that is open stays. */
  draw() {
    const focused = document.activeElement;
    const within = focused instanceof HTMLElement && this.element.contains(focused) ? focused : null;
    const line = within?.closest("[data-note]");
    const before = line instanceof HTMLElement ? line.dataset.note : undefined;
    const shown = this.notes.items.filter((note) => this.place.shows(note));
    const open = this.#open;
    if (open && open.kind !== "new" && !this.notes.one(open.id)) this.#open = null;
    put(
      this.element,
      ...shown.map((note) => this.#thread(note)),
      shown.length === 0 && this.place.empty && h("p", { class: "quiet", text: this.place.empty }),
      this.#open?.kind === "new" ? this.#open.form.element : this.#begin(),
    );
    if (!within) return;
    if (this.element.contains(within)) within.focus();
    else if (before !== undefined) this.focus(before);
  }

  /**
   * Puts the focus on a note, or the first one.
   * @param {string} [id]
   */
  focus(id = "") {
    const lines = [...this.element.querySelectorAll("[data-note]")];
    const line = lines.find((one) => one instanceof HTMLElement && one.dataset.note === id) ?? lines[0];
    const at = line?.querySelector("a, button");
    if (at instanceof HTMLElement) at.focus();
  }

  /** Shows the form of a new note. */
  write() {
    const fresh = this.place.fresh?.();
    if (!fresh) return;
    const form = new TextForm(
      { label: "Text of the new note", text: "", place: this.#draftOf(fresh), hasColour: true },
      {
        save: async (written) => {
          const { id } = await this.notes.write({ ...fresh, ...written });
          this.#leave(id);
        },
        leave: () => this.#leave(""),
      },
    );
    this.#show("new", "", form);
  }

  /**
   * @param {"new"|"answer"|"edit"} kind
   * @param {string} id
   * @param {TextForm} form
   */
  #show(kind, id, form) {
    this.#open = { kind, id, form };
    this.draw();
    form.field.focus();
  }

  /** @param {string} id where the focus goes */
  #leave(id) {
    this.#open = null;
    this.draw();
    this.focus(id);
  }

  /**
   * Where what is typed of a new note is kept.
   * @param {Omit<Written, "text">} fresh
   */
  #draftOf({ on, start, end, track }) {
    return `note ${this.context.id} new ${JSON.stringify([on, start, end, track])}`;
  }

  #begin() {
    const fresh = this.notes.canWrite && this.place.fresh?.();
    if (!fresh) return null;
    const isKept = keptDraft(this.#draftOf(fresh)) !== null;
    return h(
      "p",
      {},
      this.#button(isKept ? "Go on with the note" : "Write a note", () => this.write()),
    );
  }

  /** @param {NoteItem} note */
  #thread(note) {
    const { view } = this.context;
    const { id, colour, resolved_unix_ns: resolved } = note;
    const answers = this.notes.answersTo(id);
    return h(
      "article",
      {
        class: resolved === null ? "note-thread" : "note-thread is-resolved",
        "aria-current": String(view.note === id),
        "aria-label": `Note of ${note.author}`,
        data: { note: id },
      },
      h(
        "div",
        { class: "note-head" },
        h("span", { class: "note-mark", data: { cat: colour === null ? "" : String(colour) } }),
        this.place.named && this.#link(note),
        this.#whose(note),
        resolved !== null &&
          h("span", {
            class: "chip-pin",
            title: wall(resolved),
            text: `Resolved by ${note.resolved_by}`,
          }),
      ),
      ...this.#text(note),
      ...answers.map((answer) =>
        h(
          "div",
          { class: "note-answer", data: { note: answer.id } },
          h("div", { class: "note-head" }, this.#whose(answer)),
          ...this.#text(answer),
          this.#actions(answer),
        ),
      ),
      this.#open?.kind === "answer" && this.#open.id === id && this.#open.form.element,
      this.#actions(note),
    );
  }

  /** @param {NoteItem} note */
  #link(note) {
    const click = (/** @type {Event} */ event) => {
      if (event instanceof MouseEvent && (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0))
        return;
      event.preventDefault();
      this.place.go?.(note);
    };
    return h("a", {
      class: "mono",
      href: this.place.address?.(note) ?? "",
      text: placeWords(note, this.context.info.streams),
      on: { click },
    });
  }

  /** @param {NoteItem} note */
  #whose(note) {
    const on = note.on.kind !== "track" && note.track ? `on ${note.track}, ` : "";
    return h("span", { class: "quiet", text: `${on}${authorWords(note)}, ${wall(note.created_unix_ns)}` });
  }

  /**
   * What a note says, or the form in which it is changed; and what it said before.
   * @param {NoteItem} note
   */
  #text({ id, body }) {
    const isEdited = this.#open?.kind === "edit" && this.#open.id === id;
    const said = body.length > 0 ? drawMarkdown(body) : h("p", { class: "quiet", text: "Without text" });
    return [isEdited ? (this.#open?.form.element ?? null) : said, this.#histories.get(id) ?? null];
  }

  /** @param {NoteItem} note */
  #actions(note) {
    const { id, on, version, can_change: mayChange } = note;
    const begins = on.kind !== "answer";
    const { canWrite } = this.notes;
    const open = note.resolved_unix_ns === null;
    const history = this.#histories.has(id) ? "Hide the history" : "History";
    return h(
      "div",
      { class: "note-actions" },
      begins && canWrite && this.#button("Answer", () => this.#answer(note)),
      begins && canWrite && this.#button(open ? "Resolve" : "Open again", () => void this.#resolve(note, open)),
      mayChange && this.#button("Change", () => this.#edit(note)),
      mayChange && this.#button("Remove", () => this.remove(note)),
      version > 1 && !this.context.info.share && this.#button(history, () => void this.#turnHistory(note)),
    );
  }

  /** @param {NoteItem} note */
  #answer({ id }) {
    const form = new TextForm(
      { label: "Text of the answer", text: "", place: `note ${this.context.id} answer ${id}` },
      {
        save: async ({ text }) => {
          await this.notes.write({ on: { kind: "answer", to: id }, text });
          this.#leave(id);
        },
        leave: () => this.#leave(id),
      },
    );
    this.#show("answer", id, form);
  }

  /** @param {NoteItem} note */
  #edit(note) {
    const { id, text, colour } = note;
    // What is changed is the note as it was when the form was opened, or when its other text was shown.
    let seen = note;
    const form = new TextForm(
      {
        label: "Text of the note",
        text,
        place: `note ${this.context.id} ${id}`,
        colour,
        hasColour: note.on.kind !== "answer",
      },
      {
        save: async (written) => {
          try {
            await this.notes.change(seen, written);
          } catch (error) {
            if (error instanceof ApiError && error.status === 409) await this.notes.load();
            throw error;
          }
          this.#histories.delete(id);
          this.#leave(id);
        },
        leave: () => this.#leave(id),
        now: () => {
          seen = this.notes.one(id) ?? seen;
          return { by: seen.changed_by ?? seen.author, body: seen.body };
        },
      },
    );
    this.#show("edit", id, form);
  }

  /**
   * @param {NoteItem} note
   * @param {boolean} resolved
   */
  async #resolve(note, resolved) {
    try {
      await this.notes.resolve(note, resolved);
    } catch (error) {
      noteError(error);
    }
  }

  /** @param {NoteItem} note */
  async #turnHistory(note) {
    if (this.#histories.delete(note.id)) return this.draw();
    try {
      const versions = await this.notes.versions(note);
      const lines = versions.map((one, i) =>
        h(
          "li",
          {},
          h("span", {
            class: "quiet",
            text: `Version ${one.version}${i === 0 ? ", as it is now" : ""}: ${one.saved_by}, ${wall(one.saved_unix_ns)}`,
          }),
          drawMarkdown(one.body),
        ),
      );
      this.#histories.set(note.id, h("ol", { class: "note-history", "aria-label": "History of the note" }, ...lines));
      this.draw();
    } catch (error) {
      noteError(error);
    }
  }

  /**
   * Removes a note with its answers, after a while in which that can be undone.
   * @param {NoteItem} note
   */
  remove(note) {
    if (!note.can_change) {
      say(`Only ${note.imported_by ?? note.author} and admins remove this note.`);
      return;
    }
    const { state, view } = this.context;
    const wasSelected = view.note === note.id;
    const keep = this.notes.remove(note, noteError);
    if (wasSelected) state.set({ note: "" });
    const undo = () => {
      keep();
      if (wasSelected) state.set({ note: note.id });
    };
    const words = firstLine(note).slice(0, 60);
    const what = note.on.kind === "answer" ? "The answer" : "The note";
    const answers = this.notes.answersTo(note.id).length;
    const along = answers > 0 ? ` with ${answers === 1 ? "its answer" : `its ${answers} answers`}` : "";
    say(`${what}${words ? ` “${words}”` : ""} will be removed${along}.`, { label: "Undo", run: undo, ms: UNDO_MS });
  }

  /**
   * @param {string} text
   * @param {() => void} click
   */
  #button(text, click) {
    return h("button", { type: "button", text, on: { click } });
  }
}
