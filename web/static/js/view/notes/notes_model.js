// The notes of a capture: read, written, answered, changed, resolved, removed with a while to undo. All views of the page share one.

import { addressOf, get, send } from "../../lib/api.js";
import { Emitter } from "../../lib/emitter.js";
import { isTimed } from "./note_words.js";

/** @import { NoteItem, NoteList } from "../../../../api.js" */

/** How long a removal can be undone. */
export const UNDO_MS = 6000;
/** Why somebody cannot write notes. */
export const READ_ONLY = "You can read this capture; operators and admins write notes.";

/**
 * @typedef {object} Written what people write of a note; times in nanoseconds from the capture's start
 * @property {NoteItem["on"]} [on] what it is tied to; a range, or a moment without an end, if it is not said
 * @property {number|null} [start]
 * @property {number|null} [end] null for all but ranges
 * @property {string|null} [track]
 * @property {string} [view] the query of the address in which it was written
 * @property {string} text Markdown
 * @property {number|null} [colour]
 */

/**
 * Sends `change` when there are other notes.
 * @extends {Emitter<{change: null}>}
 */
export class Notes extends Emitter {
  /** @type {NoteItem[]} */
  #items = [];
  /**
   * Those that are about to be removed.
   * @type {Map<string, {timer: number, finish: (keepalive: boolean) => Promise<void>}>}
   */
  #leaving = new Map();

  /** @param {string} id of the capture */
  constructor(id) {
    super();
    this.id = id;
    /** Whether the person may write notes. */
    this.canWrite = false;
    /** Whether they have been read. */
    this.isKnown = false;
    /**
     * Why they could not be read.
     * @type {unknown}
     */
    this.problem = null;
    globalThis.addEventListener?.("pagehide", () => {
      for (const { timer, finish } of this.#leaving.values()) {
        clearTimeout(timer);
        void finish(true);
      }
    });
  }

  /** All notes in order of time, those without one first; without answers, and those that are about to be removed. */
  get items() {
    return this.#here.filter(({ on }) => on.kind !== "answer");
  }

  /** Those that have a place in time. */
  get timed() {
    return this.items.filter(isTimed);
  }

  get #here() {
    return this.#items.filter(({ id }) => !this.#leaving.has(id));
  }

  /**
   * The answers to a note, the first one first.
   * @param {string} id
   */
  answersTo(id) {
    const answers = this.#here.filter(({ on }) => on.kind === "answer" && on.to === id);
    return answers.sort((a, b) => a.created_unix_ns - b.created_unix_ns);
  }

  /**
   * The note or answer with an id.
   * @param {string} id
   */
  one(id) {
    return this.#here.find((note) => note.id === id) ?? null;
  }

  /** Reads all of them. */
  async load() {
    try {
      /** @type {NoteList} */
      const list = await get("/api/captures/{id}/notes", { id: this.id });
      this.#items = list.items;
      this.canWrite = list.can_write;
      this.isKnown = true;
      this.problem = null;
    } catch (error) {
      this.problem = error;
    }
    this.emit("change", null);
  }

  /**
   * Writes a note.
   * @param {Written} written
   */
  async write(written) {
    const note = await send("POST", "/api/captures/{id}/notes", { id: this.id }, written);
    this.#put(note);
    return note;
  }

  /**
   * Changes what a note says.
   * @param {NoteItem} note as it was seen
   * @param {Partial<Written>} parts that are other now
   */
  async change(note, parts) {
    const { on, start, end, track, view, text, colour, version } = note;
    const changed = await send(
      "PATCH",
      "/api/captures/{id}/notes/{note}",
      { id: this.id, note: note.id },
      { on, start, end, track, view, text, colour, ...parts, version },
    );
    this.#put(changed);
    return changed;
  }

  /**
   * Resolves a note, or opens it again.
   * @param {NoteItem} note
   * @param {boolean} resolved
   */
  async resolve({ id }, resolved) {
    const path = "/api/captures/{id}/notes/{note}/resolved";
    this.#put(await send("POST", path, { id: this.id, note: id }, { resolved }));
  }

  /**
   * What a note said, the present text first.
   * @param {NoteItem} note
   */
  async versions({ id }) {
    const { items } = await get("/api/captures/{id}/notes/{note}/versions", { id: this.id, note: id });
    return items;
  }

  /**
   * Removes a note after a while in which that can be undone.
   * @param {NoteItem} note
   * @param {(error: unknown) => void} failed
   * @returns {() => void} undoes it
   */
  remove({ id }, failed) {
    const path = /** @type {const} */ ("/api/captures/{id}/notes/{note}");
    const finish = async (/** @type {boolean} */ keepalive) => {
      try {
        if (keepalive) void fetch(addressOf(path, { id: this.id, note: id }), { method: "DELETE", keepalive });
        else await send("DELETE", path, { id: this.id, note: id });
        this.#items = this.#items.filter((one) => one.id !== id);
      } catch (error) {
        failed(error);
      }
      this.#leaving.delete(id);
      this.emit("change", null);
    };
    const timer = setTimeout(() => void finish(false), UNDO_MS);
    this.#leaving.set(id, { timer, finish });
    this.emit("change", null);
    return () => {
      clearTimeout(timer);
      if (this.#leaving.delete(id)) this.emit("change", null);
    };
  }

  /** @param {NoteItem} note */
  #put(note) {
    const others = this.#items.filter(({ id }) => id !== note.id);
    const when = (/** @type {NoteItem} */ one) => [one.start ?? -Infinity, one.end ?? one.start ?? -Infinity];
    this.#items = [...others, note].sort((a, b) => {
      const [[start, end], [otherStart, otherEnd]] = [when(a), when(b)];
      return start === otherStart ? (end === otherEnd ? 0 : end - otherEnd) : start - otherStart;
    });
    this.emit("change", null);
  }
}
