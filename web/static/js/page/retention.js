// How long captures are kept, in words.

import { bytes, plural, wall } from "../lib/format.js";

/** What pinning does, for titles of buttons. */
export const PINS = "A pinned capture is kept until somebody deletes it";

/**
 * The rule of this console and what room captures take.
 * @param {{keep_days: number|null, keep_bytes: number|null, captures_bytes: number, pinned_bytes: number, database_bytes: number, free_bytes: number, reserve_bytes: number}} rule
 */
export function ruleText(rule) {
  const taken = `Captures take ${bytes(rule.captures_bytes)}`;
  const free = Math.max(0, rule.free_bytes - rule.reserve_bytes);
  if (rule.keep_days === null && rule.keep_bytes === null)
    return `${taken}, ${bytes(free)} are free. They stay until they are deleted.`;
  const room =
    rule.keep_bytes === null
      ? `${taken}, ${bytes(free)} are free.`
      : `${taken} of ${bytes(rule.keep_bytes)}; when they take more, the oldest are deleted.`;
  const age =
    rule.keep_days === null ? "" : ` Each is deleted ${plural(rule.keep_days, "day")} after it ended or was imported.`;
  const pinned =
    rule.keep_bytes !== null && rule.pinned_bytes > rule.keep_bytes
      ? " Pinned ones alone take more than that, so of the others only the newest stays."
      : " Pinned ones stay.";
  return room + age + pinned;
}

/**
 * For how long one capture is kept from now on, for a narrow column.
 * @param {{pinned: boolean, kept_until_unix_ns?: number|null}} one
 * @param {number} nowMs milliseconds since 1970
 */
export function keptFor(one, nowMs) {
  if (one.pinned) return "pinned";
  if (!one.kept_until_unix_ns) return "";
  const hours = Math.max(0, Number(one.kept_until_unix_ns) / 1e6 - nowMs) / 3.6e6;
  return hours < 48 ? `${Math.ceil(hours)} h` : `${Math.floor(hours / 24)} d`;
}

/**
 * How long one capture is kept, in a few words; empty where no rule of age holds for it.
 * @param {{pinned: boolean, kept_until_unix_ns?: number|null}} one
 */
export function keptText(one) {
  if (one.pinned) return "pinned";
  return one.kept_until_unix_ns ? `until ${wall(one.kept_until_unix_ns).slice(0, 10)}` : "";
}
