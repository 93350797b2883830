// The audit log, read back from its newest entry, and which entries have all words of a search.

/** @import { AuditLine } from "../../../api.js" */

/** How many are listed at once. */
export const PAGE = 100;
/** How many are read at once where words are searched for. */
export const READ = 1000;
/** After how many more somebody is asked whether to look further back. */
export const MOST_LOOKED = 10_000;

/**
 * Whether an entry has all words, in whatever it says.
 * @param {AuditLine} entry
 * @param {string[]} words in lower case
 */
export function hasWords(entry, words) {
  const { user, role, action, object, detail } = entry;
  const text = [user, role, action, object, detail].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

/**
 * Where the object of an entry can be seen; null where it cannot.
 * @param {AuditLine} entry
 */
export function objectAddress({ action, object }) {
  const isGone = action === "capture.delete";
  return action.startsWith("capture.") && !isGone && /^[0-9a-f]{16}$/.test(object) ? `/captures/${object}` : null;
}

export class AuditSearch {
  /** @param {string} text words, all of which an entry has */
  constructor(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    /** @type {AuditLine[]} */
    this.found = [];
    this.looked = 0;
    /** The number of the oldest entry that was looked at; 0 if none was. */
    this.before = 0;
    this.isAtBeginning = false;
  }

  /**
   * Looks further back, until there is a page more of what is searched for or much was looked through.
   * @param {(before: number, limit: number) => Promise<AuditLine[]>} read
   */
  async more(read) {
    const enough = this.found.length + PAGE;
    const most = this.looked + MOST_LOOKED;
    const limit = this.words.length ? READ : PAGE;
    while (!this.isAtBeginning && this.found.length < enough && this.looked < most) {
      const entries = await read(this.before, limit);
      this.found.push(...entries.filter((entry) => hasWords(entry, this.words)));
      this.looked += entries.length;
      this.before = entries.at(-1)?.number ?? this.before;
      this.isAtBeginning = entries.length < limit;
    }
    return this;
  }
}
