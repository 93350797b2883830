// What the omnibox offers for a command of another tool: what it asks for in words, and where that leads. Pure.

/** @import { ExplainedText, ProbeEdited, StoredView, Stream } from "../../../api.js" */

/**
 * @typedef {object} Offer
 * @property {string} label what is understood
 * @property {string} detail what choosing it does, or what helps
 * @property {string} path where it leads; empty where it leads nowhere
 * @property {NonNullable<ExplainedText["probes"]>} [probes] what is kept or deleted by choosing it
 * @property {StoredView} [stored] what of the newest capture is shown by choosing it
 */

/** Views as the addresses of captures name them, by what commands ask for. */
const TABS = /** @type {Record<string, string>} */ ({ functions: "flame", instructions: "flame" });

/**
 * Whether a text has the name of a tool in it.
 * @param {ExplainedText} answer
 */
export const isCommand = ({ spans }) => spans.some(({ kind }) => kind === "tool");

/**
 * Whether several words begin with the name of a tool that is misspelled. A part of a name may be a search as well.
 * @param {string} text
 * @param {ExplainedText} answer
 */
export function isMisspelled(text, { refused }) {
  const near = /^Did you mean `([\w.-]+)`\?/.exec(refused?.remedy ?? "")?.[1];
  const typed = part(text, refused?.start ?? 0, refused?.end ?? 0);
  return near !== undefined && /\s/.test(text.trim()) && typed.length > 2 && !near.includes(typed);
}

/**
 * The tab of a view.
 * @param {string} view
 */
export const tabOf = (view) => TABS[view] ?? view;

/**
 * @param {string} path
 * @param {Record<string, string>} parameters
 */
const address = (path, parameters) => {
  const query = new URLSearchParams(parameters).toString();
  return query ? `${path}?${query}` : path;
};

/**
 * The part of the text that is refused.
 * @param {string} text
 * @param {number} start in bytes
 * @param {number} end
 */
function part(text, start, end) {
  const bytes = new TextEncoder().encode(text).slice(start, end);
  return new TextDecoder().decode(bytes).trim();
}

/**
 * A text in its parts, each with what it is; nothing for what is between them.
 * @param {string} text
 * @param {ExplainedText} answer
 * @returns {{text: string, kind: string}[]}
 */
export function partsOf(text, { spans }) {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const parts = [];
  let at = 0;
  for (const { start, end, kind } of spans) {
    if (start > at) parts.push({ text: decoder.decode(bytes.slice(at, start)), kind: "" });
    parts.push({ text: decoder.decode(bytes.slice(start, end)), kind });
    at = end;
  }
  if (at < bytes.length) parts.push({ text: decoder.decode(bytes.slice(at)), kind: "" });
  return parts;
}

/**
 * What is offered for probes that are kept or deleted by name.
 * @param {string} words
 * @param {NonNullable<ExplainedText["probes"]>} probes
 * @param {string} form where one is filled in
 * @param {boolean} records
 * @returns {Offer[]}
 */
function offersOfProbes(words, probes, form, records) {
  if (!records) return [{ label: words, detail: "Keeping probes needs the role operator", path: "" }];
  const detail = probes.dry_run ? "Enter says what would be done" : "Enter does it";
  const once = { label: "Only record it once, without keeping it.", detail: "Enter opens the form", path: form };
  return [{ label: words, detail, path: "", probes }, ...(probes.add.length ? [once] : [])];
}

/**
 * What was done with kept probes, in words.
 * @param {ProbeEdited} done
 */
export function toldOfProbes({ added, already, removed, dry_run: dryRun }) {
  const list = (/** @type {string[]} */ names) => names.join(", ");
  const parts = [
    removed.length > 0 && `${dryRun ? "Would delete" : "Deleted"} ${list(removed.map(({ name }) => name))}.`,
    added.length > 0 && `${dryRun ? "Would keep" : "Kept"} ${list(added.map(({ name }) => name))}.`,
    already.length > 0 && `${list(already)} ${already.length > 1 ? "are" : "is"} kept already, exactly so.`,
    "Nothing is in the kernel until a capture names it.",
  ];
  return parts.filter(Boolean).join(" ");
}

/**
 * What a field becomes that has a command, where a word of it is completed. Places are bytes.
 * @param {string} text
 * @param {{start: number, end: number}} place
 * @param {string} word
 */
export function completedText(text, { start, end }, word) {
  const bytes = new TextEncoder().encode(text);
  const decode = (/** @type {Uint8Array} */ part) => new TextDecoder().decode(part);
  const before = decode(bytes.slice(0, start)) + word;
  const after = decode(bytes.slice(end));
  // What is whole is followed by a blank, unless something stands there, or it is within quotes.
  const isQuoted = (before.match(/'/g) ?? []).length % 2 === 1 || (before.match(/"/g) ?? []).length % 2 === 1;
  const blank = after === "" && !isQuoted ? " " : "";
  return { text: before + blank + after, caret: before.length + blank.length };
}

/**
 * Where a capture shows what a command asks of it, and which of its conditions could not be taken along: rows are of one event at a
 * time.
 * @param {StoredView} stored
 * @param {string} id
 * @param {Pick<Stream, "index"|"name">[]} streams
 */
export function storedAddress({ view, filters = [], search }, id, streams) {
  const conditions = filters
    .map((filter) => /^([\w.*?-]+(?::[\w.*?-]+)?)\s*:\s*(.*)$/s.exec(filter))
    .filter((one) => one !== null);
  const [first] = conditions;
  const event = first?.[1] ?? "";
  const isOf = (/** @type {string} */ name) => name === event || name.split(":").at(-1) === event;
  const stream = first && event !== "*" && event !== ".*" ? streams.find(({ name }) => isOf(name)) : undefined;
  const same = conditions.filter(([, of]) => of === event).map(([, , text]) => text);
  const left = filters.length - same.length;
  const params = {
    tab: tabOf(view),
    ...(stream ? { stream: String(stream.index) } : {}),
    ...(same.length > 0 ? { filter: same.length > 1 ? same.map((text) => `(${text})`).join(" && ") : same[0] } : {}),
    ...(search ? { search } : {}),
  };
  return { path: address(`/captures/${id}`, { v: "3", ...params }), left };
}

/**
 * The command that prints the same at a terminal; empty where there is none.
 * @param {string[]} [words]
 */
export function terminalWords(words = []) {
  const quoted = words.map((word) => (/^[\w\-./:,=+@%^]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
  return words.length === 0 ? "" : `bathyscope ${quoted.join(" ")}`;
}

/**
 * What is offered for a text.
 * @param {string} text
 * @param {ExplainedText} answer
 * @param {boolean} records whether whoever asks may record
 * @returns {Offer[]}
 */
export function offersOf(text, answer, records) {
  const { words, capture, page, stored, probes, refused, notes } = answer;
  const form = records ? address("/new", { command: text }) : "";
  const opens = records ? "Enter opens the form, Ctrl+Enter starts" : "Recording needs the role operator";
  const told = notes.map((note) => ({ label: note.text, detail: "", path: "" }));
  if (refused) {
    const at = part(text, refused.start, refused.end);
    const why = refused.why.charAt(0).toUpperCase() + refused.why.slice(1);
    return [{ label: at ? `At “${at}”: ${why}` : why, detail: refused.remedy, path: "" }];
  }
  if (capture)
    return [{ label: words, detail: opens, path: form }, { label: capture.cost, detail: "", path: "" }, ...told];
  if (probes) return [...offersOfProbes(words, probes, form, records), ...told];
  if (page)
    return [{ label: words, detail: "Enter opens the page", path: address(page.path, page.parameters) }, ...told];
  const typed = terminalWords(stored?.terminal);
  if (typed) told.unshift({ label: `At a terminal: ${typed}`, detail: "", path: "" });
  if (stored?.file) return [{ label: words, detail: "Enter lists the captures", path: "/captures" }, ...told];
  if (stored) return [{ label: words, detail: "Enter opens the newest capture", path: "", stored }, ...told];
  return [{ label: words || "Nothing has to be done for it.", detail: "", path: "" }, ...told];
}
