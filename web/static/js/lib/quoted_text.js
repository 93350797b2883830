// Texts in the quotes of the predicate language. Pure.

/** @type {Record<string, string>} */
const ESCAPES = { n: "\n", t: "\t", r: "\r" };
const HIDDEN = /[\p{Cc}\p{Cf}]/gu;

/**
 * A text in the predicate language's quotes.
 * @param {string} text
 */
export function quoted(text) {
  const escaped = text
    .replace(/[\\"]/g, "\\$&")
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t")
    .replace(HIDDEN, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
  return `"${escaped}"`;
}

/**
 * What a text in quotes says; null where an escape is not known.
 * @param {string} literal
 */
export function unquoted(literal) {
  if (!/^(?:[^\\]|\\[\\"'ntr]|\\u\{[0-9a-fA-F]{1,6}\})*$/su.test(literal)) return null;
  return literal
    .slice(1, -1)
    .replace(/\\(?:u\{([0-9a-fA-F]+)\}|(.))/gsu, (_all, code, c) =>
      code === undefined ? (ESCAPES[c] ?? c) : String.fromCodePoint(Math.min(parseInt(code, 16), 0x10ffff)),
    );
}
