// Which filters are conditions on columns, as server/views/src/filter.rs tells them from text to look for. Pure.

const WORDS = /(?:^|[^\w])(?:in\s*\(|between\s*[-\d]|contains\s*["']|matches\s*["']|has stack frame\s*["'])/;

/**
 * Whether a filter is a condition on columns, and not text to look for.
 * @param {string} text
 */
export function isCondition(text) {
  const trimmed = text.trim();
  if (/^"[^"]*"$/.test(trimmed)) return false;
  return /[=<>~&|!]/.test(trimmed) || WORDS.test(trimmed);
}
