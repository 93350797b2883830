// The search of the history: its conditions as fields have them, and fields as conditions. Pure.
//
// The text is what counts: a field shows what the text says, and changes only the words that say the same.

/**
 * The words of a search as they are written, quotes and all.
 * @param {string} text
 */
export function writtenWords(text) {
  /** @type {string[]} */
  const words = [];
  let word = "";
  let quoted = false;
  for (const c of text) {
    if (c === '"') quoted = !quoted;
    if (/\s/u.test(c) && !quoted) {
      if (word) words.push(word);
      word = "";
    } else word += c;
  }
  if (word) words.push(word);
  return words;
}

/**
 * A value as a word of the search has it.
 * @param {string} value
 */
const quote = (value) => (/\s/u.test(value) ? `"${value}"` : value);

/**
 * A field whose value stands behind one of these names; the first is the one that is written.
 * @param {string[]} names
 */
function named(names) {
  return {
    /** @param {string} word */
    read(word) {
      const at = word.indexOf(":");
      if (at < 0 || !names.includes(word.slice(0, at).toLowerCase())) return null;
      return word.slice(at + 1).replaceAll('"', "") || null;
    },
    /** @param {string} value */
    write: (value) => `${names[0]}:${quote(value.trim().replaceAll('"', ""))}`,
  };
}

/** A field that is one of some words. */
const oneOf = (/** @type {string[]} */ words) => ({
  /** @param {string} word */
  read: (word) => (words.includes(word.toLowerCase()) ? word.toLowerCase() : null),
  /** @param {string} value */
  write: (value) => value,
});

/**
 * The offset of the viewer's zone at a moment: `+01:00`.
 * @param {Date} at
 */
function zoneOf(at) {
  const minutes = -at.getTimezoneOffset();
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

/**
 * A field with a day of the viewer, which begins or ends what is meant.
 * @param {"after"|"before"} name
 */
function day(name) {
  // Up to the end of a day is before the next one begins.
  const more = name === "before" ? 1 : 0;
  const { read } = named([name]);
  return {
    /** @param {string} word */
    read(word) {
      const text = read(word);
      if (text === null) return null;
      const at = new Date(/t/iu.test(text) ? text : `${text}T00:00Z`);
      if (Number.isNaN(at.getTime())) return "";
      // Before midnight is a day that has ended; before another moment, one that has not.
      const last = new Date(at.getTime() - more);
      const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
      return `${last.getFullYear()}-${two(last.getMonth() + 1)}-${two(last.getDate())}`;
    },
    /** @param {string} value */
    write(value) {
      const [year, month, date] = value.split("-").map(Number);
      const at = new Date(year, month - 1, date + more);
      const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
      return `${name}:${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T00:00${zoneOf(at)}`;
    },
  };
}

/** @typedef {{read: (word: string) => string|null, write: (value: string) => string}} WordField */

/**
 * The fields, by their names.
 * @satisfies {Record<string, WordField>}
 */
export const WORD_FIELDS = {
  source: named(["source", "method"]),
  state: named(["state"]),
  tag: named(["tag"]),
  host: named(["host"]),
  owner: named(["by", "owner"]),
  after: day("after"),
  before: day("before"),
  larger: named(["larger"]),
  longer: named(["longer"]),
  lossy: oneOf(["is:lossy", "-is:lossy"]),
  pinned: oneOf(["is:pinned", "-is:pinned"]),
};

/**
 * What a search says in a field; empty if nothing.
 * @param {string} text
 * @param {WordField} field
 */
export function valueIn(text, field) {
  for (const word of writtenWords(text)) {
    const value = field.read(word);
    if (value !== null) return value;
  }
  return "";
}

/**
 * The search with another value in a field; with an empty one without it.
 * @param {string} text
 * @param {WordField} field
 * @param {string} value
 */
export function withValue(text, field, value) {
  const others = writtenWords(text).filter((word) => field.read(word) === null);
  return [...others, ...(value.trim() ? [field.write(value)] : [])].join(" ");
}

/** A condition of a search, as `tag:slow` or `-is:pinned`; what is in quotes is searched for. */
const CONDITION = /^-?[a-z]+:[^/]/iu;

/**
 * Whether a search looks for no words, but only for captures of which something is so.
 * @param {string} text
 */
export function isConditionsOnly(text) {
  const words = writtenWords(text);
  return words.length > 0 && words.every((word) => CONDITION.test(word));
}

/** Names of what words were found in, as the page says them. */
const FOUND_IN = new Map(
  Object.entries({
    title: "title",
    tags: "tags",
    description: "description",
    notes: "note",
    owner: "by",
    host: "host",
    command: "target",
    spec: "spec",
    script: "script",
    processes: "process",
    texts: "text",
    output: "output",
  }),
);

/**
 * @param {string} field
 * @returns {string}
 */
export const foundIn = (field) => FOUND_IN.get(field) ?? field;

/**
 * A text in parts, each found or not.
 * @param {string} text
 * @param {number[][]} marks
 * @returns {{text: string, isFound: boolean}[]}
 */
export function markedParts(text, marks) {
  const parts = [];
  let at = 0;
  for (const [begin, end] of marks) {
    if (begin > at) parts.push({ text: text.slice(at, begin), isFound: false });
    parts.push({ text: text.slice(begin, end), isFound: true });
    at = end;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isFound: false });
  return parts;
}

/**
 * What a search did not look into, in words; empty if it looked into everything.
 * @param {{captures: number, texts: number, cut: number}|null} unsearched
 * @param {(number: number, what: string) => string} plural
 */
export function unsearchedText(unsearched, plural) {
  if (!unsearched) return "";
  const { captures, texts, cut } = unsearched;
  const parts = [
    captures > 0 && `${plural(captures, "capture")} not indexed yet and not searched.`,
    texts > 0 && `Texts of events of ${plural(texts, "capture")} not indexed yet.`,
    cut > 0 && `${plural(cut, "capture")} with more text than is searched (is:cut lists them).`,
  ];
  return parts.filter(Boolean).join(" ");
}
