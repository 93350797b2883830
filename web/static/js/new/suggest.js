// Suggestions for the fields of a form.

import { get } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { lastWord } from "../lib/form_values.js";

/** @typedef {import("../lib/combobox.js").Item} Item */
/** @typedef {(word: string, signal: AbortSignal) => Promise<Item[]>} Source */

/** The heading of probes that are kept in the library. */
export const KEPT = "kept probes";
/** The most that is suggested at a time. */
export const MOST = 40;

/**
 * The words that fit.
 * @param {string[][]} list words with what they mean
 * @param {string} word
 */
export const fitting = (list, word) =>
  list.filter(([label, detail]) => `${label} ${detail}`.includes(word)).map(([label, detail]) => ({ label, detail }));

/**
 * Tracepoints that match.
 * @param {string} query
 * @param {AbortSignal} signal
 */
export async function tracepoints(query, signal) {
  return (await get("/api/tracepoints", { q: query, limit: MOST }, signal)).items;
}

/**
 * Probes that are kept in the library and match.
 * @param {string} query
 * @param {AbortSignal} signal
 * @returns {Promise<Item[]>}
 */
export async function keptProbes(query, signal) {
  const { items } = await get("/api/library", { kind: "probe", q: query }, signal);
  return items
    .filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()))
    .slice(0, MOST)
    .map(({ name, description }) => ({ label: name, detail: description || "kept probe", group: KEPT }));
}

/**
 * Suggests the last word of a list; what stands before it stays.
 * @param {HTMLInputElement} input
 * @param {Source} source
 * @param {string} [after]
 */
export function suggestWords(input, source, after = ", ") {
  new Combobox({
    input,
    keepsText: true,
    source: async (text, signal) => {
      const { before, word } = lastWord(text);
      return (await source(word, signal)).map((item) => ({ ...item, text: `${before}${item.label}${after}` }));
    },
    pick: () => input.focus(),
  });
}
