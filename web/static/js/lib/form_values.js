// The text of fields of a form as values: numbers, words, groups of events. Pure.

/** @typedef {{least?: number, most?: number, whole?: boolean, units?: Record<string, number>}} Range what a number may be */

/** Units of a field that is in seconds. */
export const IN_SECONDS = { ms: 0.001, s: 1, m: 60, min: 60, h: 3600 };
/** Units of a field that is in MiB. */
export const IN_MEBIBYTES = { KiB: 1 / 1024, MiB: 1, GiB: 1024 };

/**
 * A number as it is, or with one of some units; NaN if it is neither.
 * @param {string} text
 * @param {Record<string, number>} [units]
 */
function sized(text, units = {}) {
  const found = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*$/.exec(text);
  if (!found) return Number(text);
  // Parts such as 1.1 have no exact double: what is whole but for that is whole.
  const value = Number(found[1]) * (Object.hasOwn(units, found[2]) ? units[found[2]] : NaN);
  return Math.abs(value - Math.round(value)) < 1e-9 ? Math.round(value) : value;
}

/**
 * Reads a number, perhaps with a unit, or says what it must be.
 * @param {string} text
 * @param {string} what
 * @param {string[]} problems
 * @param {Range} [range]
 */
export function number(text, what, problems, { least = 0, most = Number.MAX_SAFE_INTEGER, whole = true, units } = {}) {
  const value = sized(text, units);
  if (
    text.trim() === "" ||
    !Number.isFinite(value) ||
    value < least ||
    value > most ||
    (whole && !Number.isInteger(value))
  ) {
    const names = units ? `, or have one of the units ${Object.keys(units).join(", ")}` : "";
    problems.push(`${what} must be ${whole ? "a whole number" : "a number"} from ${least} to ${most}${names}.`);
  }
  return value;
}

/**
 * Words with blanks or commas between them.
 * @param {string} text
 */
export const wordsOf = (text) => text.split(/[\s,]+/).filter(Boolean);

/**
 * The largest unit in which a number is whole.
 * @param {number} value
 * @param {Record<string, number>} units
 * @returns {[string, string]}
 */
export function inUnit(value, units) {
  const sorted = Object.entries(units).sort(([, a], [, b]) => b - a);
  const [name, size] = sorted.find(([, one]) => value % one === 0) ?? sorted[sorted.length - 1];
  return [String(value / size), name];
}

/**
 * Splits at commas that are neither in braces nor between the slashes of a PMU's event.
 * @param {string} text
 */
function splitEvents(text) {
  const parts = [];
  let [part, braces, slashes] = ["", false, false];
  for (const c of text) {
    if (c === "," && !braces && !slashes) {
      parts.push(part.trim());
      part = "";
      continue;
    }
    if (c === "{") braces = true;
    if (c === "}") braces = false;
    // The one slash of a breakpoint's length has no second one.
    if (c === "/") slashes = !slashes && !/(^|[,{])\s*mem:[^,]*$/.test(part);
    part += c;
  }
  return [...parts, part.trim()].filter(Boolean);
}

/**
 * @param {string} text
 * @param {string[]} problems
 * @returns {string[][]}
 */
export function groupsOf(text, problems) {
  return splitEvents(text).map((part) => {
    if (!/[{}]/.test(part)) return [part];
    const inside = /^\{([^{}]*)\}$/.exec(part)?.[1];
    const events = splitEvents(inside ?? "");
    if (inside === undefined)
      problems.push(
        `Write a group of events as {cycles, instructions}, with modifiers at its events; ${part} is not one.`,
      );
    else if (events.length === 0) problems.push("A group of events is empty; write events between { and }.");
    return events;
  });
}

/**
 * Milliseconds before the first sample or count, if any.
 * @param {string} text
 * @param {string[]} problems
 * @returns {{delay_ms?: number}}
 */
export function delayOf(text, problems) {
  if (!text.trim() || text.trim() === "0") return {};
  return { delay_ms: number(text, "The delay in milliseconds", problems, { most: 3600000 }) };
}

/**
 * The word that is being written at the end of a list, and what stands before it.
 * @param {string} text
 * @returns {{before: string, word: string}}
 */
export function lastWord(text) {
  const [, before, word] = /^((?:[^]*[\s,{])?!?)([^\s,{]*)$/.exec(text) ?? ["", "", text];
  return { before, word };
}
