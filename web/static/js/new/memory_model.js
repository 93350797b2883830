// Memory of which nothing is known: its address, what its bytes may be, and the expression that reads them. Pure.

/** @import { ValueFormat } from "../../../api.js" */
/** @typedef {{expr: string, format: ValueFormat, late: boolean}} Ticked */
/** @typedef {{label: string, bytes: number, value: Ticked}} Field what bytes may be, and how they are recorded */

/** The longest that the language copies at once. */
export const MOST_BYTES = 1024;
/** Bytes in a line of a dump. */
export const LINE = 16;

/**
 * Whether an expression needs parentheses behind a `*`.
 * @param {string} expr
 */
function isSum(expr) {
  let flat = expr.replace(/"[^"]*"/g, "");
  while (/\([^()]*\)|\[[^[\]]*\]/.test(flat)) flat = flat.replace(/\([^()]*\)|\[[^[\]]*\]/g, "");
  return /[\s+/%&|^?<=!]|-(?!>)/.test(flat.replace(/^[*&]+/, ""));
}

/**
 * The address some bytes from another.
 * @param {string} expr
 * @param {number} offset
 */
export function addressAt(expr, offset) {
  const known = /^(.*\S) ([+-]) (\d+)$/s.exec(expr);
  const [base, before] =
    known && !isSum(known[1] ?? "") ? [known[1] ?? "", Number(`${known[2]}${known[3]}`)] : [expr, 0];
  const sum = before + offset;
  if (sum === 0) return base;
  return `${isSum(base) ? `(${base})` : base} ${sum < 0 ? "-" : "+"} ${Math.abs(sum)}`;
}

/**
 * The number at an address.
 * @param {string} type
 * @param {string} address
 */
const numberAt = (type, address) => `*(${type} *)${isSum(address) ? `(${address})` : address}`;

/**
 * The bytes of their digits.
 * @param {string} hex
 */
export const bytesOf = (hex) =>
  Uint8Array.from({ length: Math.floor(hex.length / 2) }, (_none, at) =>
    Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16),
  );

/** @param {number} byte */
const isPrintable = (byte) => byte >= 0x20 && byte < 0x7f;

/** @param {number} byte */
export const letterOf = (byte) => (isPrintable(byte) ? String.fromCharCode(byte) : "·");

/** @param {number} byte */
export const digitsOf = (byte) => byte.toString(16).padStart(2, "0");

/**
 * The text that begins at a byte; empty if there is none.
 * @param {Uint8Array} bytes
 * @param {number} at
 */
function textAt(bytes, at) {
  const end = bytes.findIndex((byte, index) => index >= at && !isPrintable(byte));
  return String.fromCharCode(...bytes.slice(at, end < 0 ? bytes.length : end));
}

/**
 * What the bytes from one on may be: numbers of each size, and a text.
 * @param {string} base where the memory begins
 * @param {Uint8Array} bytes
 * @param {number} at
 * @returns {Field[]}
 */
export function fieldsAt(base, bytes, at) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const address = addressAt(base, at);
  /** @type {Field[]} */
  const fields = [1, 2, 4, 8]
    .filter((size) => at + size <= bytes.length)
    .flatMap((size) => {
      let whole = 0n;
      for (let index = size - 1; index >= 0; index -= 1) whole = (whole << 8n) | BigInt(view.getUint8(at + index));
      const signed = BigInt.asIntN(size * 8, whole);
      const bits = size * 8;
      /** @param {string} type @param {bigint} value */
      const field = (type, value) => ({
        label: `${type} ${value} = 0x${whole.toString(16)}`,
        bytes: size,
        value: {
          expr: numberAt(type, address),
          format: /** @type {ValueFormat} */ (size === 8 && whole > 0xffffffffn ? "hex" : "decimal"),
          late: false,
        },
      });
      const unsigned = field(`uint${bits}`, whole);
      return signed < 0n ? [unsigned, field(`int${bits}`, signed)] : [unsigned];
    });
  const text = textAt(bytes, at);
  const shown = text.length > 24 ? `${text.slice(0, 24)}…` : text;
  if (text)
    fields.push({
      label: `text "${shown}"`,
      bytes: text.length,
      value: { expr: address, format: "text", late: false },
    });
  return fields;
}

/**
 * The lines of a dump: where each begins, and its bytes.
 * @param {Uint8Array} bytes
 */
export const dumpLines = (bytes) =>
  Array.from({ length: Math.ceil(bytes.length / LINE) }, (_none, line) => ({
    at: line * LINE,
    bytes: bytes.slice(line * LINE, (line + 1) * LINE),
  }));

/**
 * Whether the bytes at each place are the same in all dumps.
 * @param {Uint8Array[]} dumps
 */
export function sameBytes(dumps) {
  const [first = new Uint8Array()] = dumps;
  return Array.from(first, (byte, at) => dumps.every((dump) => dump[at] === byte));
}
