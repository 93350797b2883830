// How long captures are kept, in words.

import { bytes, plural, wall } from "../lib/format.js";

/** What pinning does, for titles of buttons. */
export const PINS = "A pinned capture is kept until somebody deletes it";

/**
 * The rule of this console and what room captures take.
 * @param {{keep_days: number|null, keep_bytes: number|null, keep_for: string[], captures_bytes: number, pinned_bytes: number, database_bytes: number, free_bytes: number, reserve_bytes: number}} rule
 */
export function ruleText(rule) {
  const taken = `Captures take ${bytes(rule.captures_bytes)}`;
  const free = Math.max(0, rule.free_bytes - rule.reserve_bytes);
  if (rule.keep_days === null && rule.keep_bytes === null && rule.keep_for.length === 0)
    return `${taken}, ${bytes(free)} are free. They stay until they are deleted.`;
  const room =
    rule.keep_bytes === null
      ? `${taken}, ${bytes(free)} are free.`
      : `${taken} of ${bytes(rule.keep_bytes)}; when they take more, the oldest are deleted.`;
  const age =
    rule.keep_days === null ? "" : ` Each is deleted ${plural(rule.keep_days, "day")} after it ended or was imported.`;
  const own = rule.keep_for.length === 0 ? "" : ` Kept otherwise: ${rule.keep_for.join(", ")}.`;
  const pinned =
    rule.keep_bytes !== null && rule.pinned_bytes > rule.keep_bytes
      ? " Pinned ones alone take more than that, so of the others only the newest stays."
      : " Pinned ones stay.";
  return room + age + own + pinned;
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

/**
 * When a capture goes by the rules, from now on.
 * @param {{goes_unix_ns: number|null, after_bytes: number|null}} one
 * @param {number} nowMs milliseconds since 1970
 */
export function goesText({ goes_unix_ns: at, after_bytes: after }, nowMs) {
  const hours = at === null ? null : (Number(at) / 1e6 - nowMs) / 3.6e6;
  if (after === 0 || (hours !== null && hours <= 0)) return "at the next look";
  const age = hours !== null && (hours < 48 ? `in ${Math.ceil(hours)} h` : `in ${Math.floor(hours / 24)} d`);
  const size = after !== null && `when captures have ${bytes(after)} more`;
  return [age, size].filter(Boolean).join(" or ");
}
