// What somebody types and has not saved is kept by the tab, by where it is typed: Escape, a key too many, or a page that is loaded
// again does not lose it.

const KEPT = "bathyscope-draft ";

/** @typedef {{text: string, saved: string}} Kept what was typed, and what was saved when that began */

/**
 * What is kept of a place; null for nothing.
 * @param {string} place
 * @returns {Kept|null}
 */
export function keptDraft(place) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT + place) ?? "null");
    return typeof kept?.text === "string" && typeof kept.saved === "string" ? kept : null;
  } catch {
    return null;
  }
}

/**
 * @param {string} place
 * @param {Kept|null} kept
 */
function write(place, kept) {
  try {
    if (kept) sessionStorage.setItem(KEPT + place, JSON.stringify(kept));
    else sessionStorage.removeItem(KEPT + place);
  } catch {
    // A browser that keeps nothing: the page still asks before it is left.
  }
}

/** Texts that are open. @type {Set<Draft>} */
const open = new Set();

globalThis.addEventListener?.("beforeunload", (event) => {
  if ([...open].some((one) => one.field.isConnected && one.isChanged)) event.preventDefault();
});

/** A field whose text is kept until it is saved. */
export class Draft {
  /**
   * Puts what was kept into the field.
   * @param {HTMLTextAreaElement} field with the text as it is saved
   * @param {string} place where that is, for this text alone
   */
  constructor(field, place) {
    this.field = field;
    this.place = place;
    this.saved = field.value;
    const kept = keptDraft(place);
    /** Whether the field has what was typed before. */
    this.isOffered = kept !== null && kept.text !== this.saved;
    /** Whether somebody has saved another text since that was typed. */
    this.isOlder = this.isOffered && kept?.saved !== this.saved;
    if (kept && this.isOffered) field.value = kept.text;
    field.addEventListener("input", () => this.keep());
    open.add(this);
  }

  /** Whether the field has another text than is saved. */
  get isChanged() {
    return this.field.value !== this.saved;
  }

  /** Keeps what the field has now. */
  keep() {
    write(this.place, this.isChanged ? { text: this.field.value, saved: this.saved } : null);
  }

  /** Puts back what is saved. */
  discard() {
    this.field.value = this.saved;
    write(this.place, null);
  }

  /** The field stays open: its text was not saved. */
  reopen() {
    open.add(this);
    this.keep();
  }

  /** The field is closed; `isSaved` where its text needs not be kept. */
  close(isSaved = false) {
    open.delete(this);
    if (isSaved) write(this.place, null);
  }
}
