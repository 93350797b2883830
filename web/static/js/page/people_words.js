// What is said of accounts and tokens. Pure.

import { ago, duration, plural } from "../lib/format.js";

/** @import { ApiTokenItem, OwnAccess, PersonItem, Role } from "../../../api.js" */

/** @type {[Role, string][]} */
export const ROLES = [
  ["viewer", "reads captures"],
  ["operator", "also makes captures, and changes their own"],
  ["admin", "everything"],
];

/**
 * The roles that somebody can give who has one.
 * @param {Role} most
 */
export function rolesUpTo(most) {
  return ROLES.slice(0, ROLES.findIndex(([role]) => role === most) + 1);
}

/**
 * Whether somebody can log in by an account, and since when not.
 * @param {PersonItem} person
 * @param {number} nowNs
 */
export function stateWords(person, nowNs) {
  if (person.disabled_unix_ns !== null) return `disabled ${ago(person.disabled_unix_ns, nowNs / 1e6)}`;
  const { identity } = person;
  if (identity && !identity.is_bound) return `waits for a login at ${identity.issuer}`;
  if (identity && !person.has_password) return `logs in at ${identity.issuer}`;
  if (person.has_password) return "enabled";
  const link = person.link_expires_unix_ns;
  return link !== null && link > nowNs
    ? `no password yet, the link ends in ${duration(link - nowNs)}`
    : "no password, and no link to choose one";
}

/**
 * What ends when something is done to an account.
 * @param {PersonItem} person
 */
export function endsWords({ sessions, tokens }) {
  const ends = [sessions > 0 && plural(sessions, "session"), tokens > 0 && plural(tokens, "token")].filter(Boolean);
  return ends.length === 0 ? "They have no session and no token." : `They have ${ends.join(" and ")}.`;
}

/**
 * When a token was last used.
 * @param {ApiTokenItem} token
 * @param {number} nowNs
 */
export const usedWords = ({ last_used_unix_ns: used }, nowNs) => (used === null ? "never" : ago(used, nowNs / 1e6));

/**
 * Groups that somebody is in by this login, in words; empty where nobody told of any.
 * @param {OwnAccess["groups"]} groups
 */
export function groupWords(groups) {
  if (!groups) return "";
  const { origin, names, left_out: more } = groups;
  const whose = origin === "proxy" ? "the proxy" : "the provider";
  const said = names.length > 0 ? `Groups of ${whose} at this login: ${names.join(", ")}.` : `No group of ${whose}.`;
  return more === 0 ? said : `${said} ${more} more do not count: more than 256, or no names of groups.`;
}
