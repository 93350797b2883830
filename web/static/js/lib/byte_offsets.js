// The server counts bytes of UTF-8, the browser counts units of UTF-16. Pure.

const encoder = new TextEncoder();

/**
 * How many bytes the text has before the unit at `index`.
 * @param {string} text
 * @param {number} index
 */
export function byteOffset(text, index) {
  return encoder.encode(text.slice(0, index)).length;
}

/**
 * Where in the text the byte at `offset` is: the first unit at or after it.
 * @param {string} text
 * @param {number} offset
 */
export function unitOffset(text, offset) {
  let bytes = 0;
  let at = 0;
  for (const character of text) {
    if (bytes >= offset) return at;
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += character.length;
  }
  return at;
}
