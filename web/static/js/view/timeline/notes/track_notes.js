// Notes on tracks as a whole: a flag at the head of each track that has some. Pure.

/** @import { NoteItem } from "../../../../../api.js" */

/** Pixels at the right end of a head in which its flag is. */
export const HEAD_FLAG = 26;

/**
 * The notes on tracks as a whole, by the keys of the tracks.
 * @param {NoteItem[]} notes
 * @returns {Map<string, NoteItem[]>}
 */
export function notesOfTracks(notes) {
  /** @type {Map<string, NoteItem[]>} */
  const found = new Map();
  for (const note of notes) {
    if (note.on.kind !== "track" || note.track === null) continue;
    const known = found.get(note.track);
    if (known) known.push(note);
    else found.set(note.track, [note]);
  }
  return found;
}

/**
 * The note after the selected one; the first where none of them is selected.
 * @param {NoteItem[]} notes
 * @param {string} selected
 */
export function nextNote(notes, selected) {
  const at = notes.findIndex(({ id }) => id === selected);
  return notes[(at + 1) % notes.length];
}
