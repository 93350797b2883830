// What a share shows and how long, in words.

import { duration, wall } from "../lib/format.js";

/** @import { ShareItem, SharedPart } from "../../../api.js" */

/** What the page of a share says when its link shows nothing any more. */
export const SHARE_OVER =
  "This link has expired or was revoked. The page still shows what it had read; no more of it can be read. Ask whoever sent it for another.";
/** Why the address of a share's page is not copied. */
export const NO_LINK = "The address of this page opens nothing elsewhere: pass on the link that you were sent.";

/**
 * The part of a capture that a share shows.
 * @param {SharedPart|null} part null for all of it
 */
export function partWords(part) {
  if (!part) return "all of the capture";
  const { start, end, filter } = part;
  const from = start === null ? "" : `from ${duration(start)}`;
  const to = end === null ? "" : `to ${duration(end)}`;
  const rows = filter ? `rows with ${filter}` : "";
  const said = [rows, [from, to].filter(Boolean).join(" ")].filter(Boolean).join(", ");
  return `only ${said || "what this view shows"}`;
}

/**
 * What a share shows.
 * @param {Pick<ShareItem, "investigation"|"part"|"views">} share
 */
export function shownWords({ investigation, part, views }) {
  if (investigation === null) return partWords(part);
  return views ? "an investigation, whose views can be opened" : "an investigation, with pictures of its views";
}

/**
 * What is removed from what a share shows, as a sentence; empty if nothing is.
 * @param {Pick<ShareItem, "removes"|"notes">} share
 */
export function removedWords({ removes, notes }) {
  const last = removes.at(-1);
  if (last === undefined) return "";
  const all = removes.length > 1 ? `${removes.slice(0, -1).join(", ")} and ${last}` : last;
  const sentence = `${all.charAt(0).toUpperCase()}${all.slice(1)} are removed from this view.`;
  return notes ? sentence : `${sentence} Notes are left out.`;
}

/**
 * When it ends.
 * @param {number} unixNs
 */
export function untilWords(unixNs) {
  return `until ${wall(unixNs)}`;
}
