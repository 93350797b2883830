// Notes on frames and functions: which of them have some, and those of the frame or function that is looked at, with a form for more.

import { h } from "../../lib/dom.js";
import { note as say } from "../../lib/notice.js";
import { NoteThreads } from "../notes/note_threads.js";
import { READ_ONLY } from "../notes/notes_model.js";
import { firstLine } from "../notes/note_words.js";

/** @import { NoteItem } from "../../../../api.js" */
/** @typedef {{node: string, name: string}} NotedFrame `node` is empty of a function */

/** The notes of the tab. */
export class FlameNotes {
  /** @type {NotedFrame|null} */
  #about = null;
  /** What a note that is written is tied to. @type {NoteItem["on"]|null} */
  #fresh = null;

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {() => void} changed there are other notes
   */
  constructor(context, changed) {
    this.context = context;
    this.threads = new NoteThreads(context, {
      shows: (note) => this.#about !== null && isAbout(note, this.#about),
      fresh: () => this.#fresh && { on: this.#fresh, view: this.#view },
      named: true,
      address: (note) => context.state.addressWith(context.notedView(note)),
      go: (note) => context.goToNote(note),
    });
    this.element = h(
      "section",
      { class: "flame-notes", "aria-label": "Notes on it", hidden: true },
      this.threads.element,
    );
    context.notes.on("change", () => {
      this.#turn();
      changed();
    });
  }

  /** The view in which a note is written, without what only selects notes. */
  get #view() {
    const { state } = this.context;
    return state.addressWith({ note: "", notes: false }).split("?")[1] ?? "";
  }

  /**
   * Those on a frame or its function.
   * @param {NotedFrame} frame
   */
  of(frame) {
    return this.context.notes.items.filter((note) => isAbout(note, frame));
  }

  /**
   * Whether frames have notes, asked for many of them.
   * @returns {(frame: NotedFrame) => boolean}
   */
  lookup() {
    const [nodes, names] = [new Set(), new Set()];
    for (const { on } of this.context.notes.items) {
      if (on.kind === "frame") nodes.add(on.node);
      if (on.kind === "function") names.add(on.name);
    }
    return ({ node, name }) => nodes.has(node) || names.has(name);
  }

  /**
   * The first words of the notes on a frame, with who wrote them.
   * @param {NotedFrame} frame
   */
  words(frame) {
    return this.of(frame)
      .map((note) => `${note.author}: ${firstLine(note) || "a note without text"}`)
      .join("; ");
  }

  /**
   * Shows the notes of a frame or function; of none for null.
   * @param {NotedFrame|null} frame
   */
  show(frame) {
    if (this.threads.isWriting || (frame?.node === this.#about?.node && frame?.name === this.#about?.name)) return;
    this.#about = frame;
    this.#fresh = null;
    this.threads.draw();
    this.#turn();
  }

  /**
   * Shows the form of a note.
   * @param {NotedFrame} frame
   * @param {"frame"|"function"} kind
   */
  write(frame, kind) {
    if (!this.context.notes.canWrite) {
      say(READ_ONLY);
      return;
    }
    this.#about = frame;
    const { node, name } = frame;
    this.#fresh = kind === "frame" ? { kind, node, name } : { kind, name };
    this.element.hidden = false;
    this.threads.write();
  }

  #turn() {
    this.element.hidden = !this.threads.isWriting && (this.#about === null || this.of(this.#about).length === 0);
  }
}

/**
 * @param {NoteItem} note
 * @param {NotedFrame} frame
 */
function isAbout({ on }, { node, name }) {
  return on.kind === "function" ? on.name === name : on.kind === "frame" && node !== "" && on.node === node;
}
