// What the omnibox offers for a command of another tool: what it asks for in words, and where that leads. Pure.

/** @import { ExplainedText } from "../../../api.js" */

/**
 * @typedef {object} Offer
 * @property {string} label what is understood
 * @property {string} detail what choosing it does, or what helps
 * @property {string} path where it leads; empty where it leads nowhere
 */

/** Views as the addresses of captures name them, by what commands ask for. */
const TABS = /** @type {Record<string, string>} */ ({ functions: "flame", instructions: "flame" });

/**
 * Whether a text has the name of a tool in it.
 * @param {ExplainedText} answer
 */
export const isCommand = ({ spans }) => spans.some(({ kind }) => kind === "tool");

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
  if (capture) return [{ label: words, detail: opens, path: form }, ...told];
  if (probes)
    return [{ label: words, detail: probes.add.length ? opens : "", path: probes.add.length ? form : "" }, ...told];
  if (page)
    return [{ label: words, detail: "Enter opens the page", path: address(page.path, page.parameters) }, ...told];
  if (stored) return [{ label: words, detail: "Enter lists the captures", path: "/captures" }, ...told];
  return [{ label: words || "Nothing has to be done for it.", detail: "", path: "" }, ...told];
}
