// Names of this host for the fields of a tool: programs, functions, probes, tracepoints, threads.

import { get } from "../lib/api.js";
import { MOST, tracepoints } from "./suggest.js";

/** @import { WireItem } from "../../../api.js" */
/** @import { Item } from "../lib/combobox.js" */
/** @import { Parameter } from "./tool_params.js" */

/** What the names before a field say, which those in it belong to. @type {Record<string, string>} */
const WITHIN = { function: "file", usdt: "file", event: "subsystem" };

/**
 * The parameter before another that names what its values belong to; none if they belong to nothing.
 * @param {Parameter[]} parameters
 * @param {Parameter} parameter
 */
export function ownerOf(parameters, parameter) {
  const wanted = WITHIN[parameter.takes ?? ""];
  return parameters.slice(0, parameters.indexOf(parameter)).findLast(({ takes }) => wanted && takes === wanted);
}

/**
 * What is put into the field for a place of the catalogue.
 * @param {Pick<WireItem, "name"|"raw"|"note">} item
 * @param {string|null} takes
 * @returns {Item}
 */
export function nameItem({ name, raw, note }, takes) {
  if (takes === "usdt") return { label: name.slice(name.indexOf(":") + 1), detail: name };
  // What the linker knows has no blanks.
  return { label: name, text: raw ?? name, detail: note, wide: true };
}

/** @param {string[]} names */
const each = (names) => [...new Set(names)].map((label) => ({ label }));

/**
 * Names that fit what is typed.
 * @param {string|null} takes
 * @param {string} within what stands in the field that they belong to
 * @param {string} query
 * @param {AbortSignal} signal
 * @returns {Promise<Item[]>}
 */
export async function namesFor(takes, within, query, signal) {
  const typed = query.trim();
  if (takes === "subsystem" || takes === "event") {
    const found = await tracepoints(takes === "event" && within ? `${within} ${typed}` : typed, signal);
    const split = found.map((name) => name.split(":"));
    if (takes === "subsystem") return each(split.map(([system]) => system));
    return each(split.filter(([system]) => !within || system === within).map(([, name]) => name));
  }
  if (takes === "thread") {
    const { items } = await get("/api/processes", { q: typed, limit: MOST }, signal);
    return each(items.map(({ comm }) => comm));
  }
  const kind = { file: "file", function: within ? "user" : "function", usdt: "marker" }[takes ?? ""];
  if (!kind || (takes === "usdt" && !within)) return [];
  const { items } = await get("/api/catalog", { kind, q: typed, in: within, limit: MOST }, signal);
  return items.filter(({ works }) => works).map((item) => nameItem(item, takes));
}
