// What Bathyscope itself did, left out of a capture's views by a condition on the rows. Pure.

import { isCondition } from "../lib/filter_kind.js";

/** The names that its processes and their threads have; those of the database's threads are the library's. */
const OWN = ["bathyscope*", "sqlx-sqlite*"];
/** The condition. */
export const WITHOUT_OWN = OWN.map((pattern) => `comm !~ "${pattern}"`).join(" && ");

/**
 * Whether a filter can be given the condition: it has it already, or it is a condition itself and no text.
 * @param {string} filter
 */
export const takesCondition = (filter) => filter === "" || isCondition(filter);

/**
 * Whether a filter leaves Bathyscope out.
 * @param {string} filter
 */
export const isWithoutOwn = (filter) => filter === WITHOUT_OWN || filter.endsWith(` && ${WITHOUT_OWN}`);

/**
 * The filter with the condition, or without it where it has it.
 * @param {string} filter
 */
export function toggleOwn(filter) {
  if (filter === WITHOUT_OWN) return "";
  if (isWithoutOwn(filter)) return filter.slice(0, -(WITHOUT_OWN.length + 4)).replace(/^\((.*)\)$/, "$1");
  return filter === "" ? WITHOUT_OWN : `(${filter}) && ${WITHOUT_OWN}`;
}
