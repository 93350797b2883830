// Archives of small text files, as tar reads and writes them (POSIX ustar). Pure.

/** Bytes of a block: a header is one, and contents fill whole ones. */
const BLOCK = 512;
const encoder = new TextEncoder();

/**
 * A number as a header has it: octal digits and a NUL.
 * @param {number} value
 * @param {number} length
 */
const octal = (value, length) => `${value.toString(8).padStart(length - 1, "0")}\0`;

/**
 * @param {string} name at most 100 bytes
 * @param {number} size
 * @param {number} seconds since 1970
 */
function header(name, size, seconds) {
  const block = new Uint8Array(BLOCK);
  /** @param {number} at @param {string} text */
  const write = (at, text) => block.set(encoder.encode(text), at);
  write(0, name);
  write(100, octal(0o644, 8));
  write(108, octal(0, 8));
  write(116, octal(0, 8));
  write(124, octal(size, 12));
  write(136, octal(seconds, 12));
  // The sum is of the block with blanks in its place.
  write(148, " ".repeat(8));
  write(156, "0");
  write(257, "ustar\x0000");
  const sum = block.reduce((total, byte) => total + byte, 0);
  write(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return block;
}

/**
 * The archive of files, in their order.
 * @param {{name: string, text: string}[]} files
 * @param {number} seconds when they were made, since 1970
 */
export function archiveOf(files, seconds) {
  const blocks = files.flatMap(({ name, text }) => {
    const bytes = encoder.encode(text);
    const content = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
    content.set(bytes);
    return [header(name, bytes.length, seconds), content];
  });
  // Two empty blocks end it.
  return new Blob([...blocks, new Uint8Array(2 * BLOCK)], { type: "application/x-tar" });
}

/**
 * The files of an archive; whatever is no file in it is left out. Nothing where the bytes are no archive.
 * @param {Uint8Array} bytes
 * @returns {{name: string, text: string}[]|null}
 */
export function filesOf(bytes) {
  const decoder = new TextDecoder();
  /** @param {number} at @param {number} length */
  const read = (at, length) =>
    decoder
      .decode(bytes.subarray(at, at + length))
      .split("\0")[0]
      .trim();
  if (bytes.length < BLOCK || read(257, 5) !== "ustar") return null;
  const files = [];
  for (let at = 0; at + BLOCK <= bytes.length && bytes[at] !== 0; ) {
    const size = Number.parseInt(read(at + 124, 12), 8);
    const begin = at + BLOCK;
    if (!(size >= 0) || begin + size > bytes.length) return null;
    if (["0", ""].includes(read(at + 156, 1)))
      files.push({ name: read(at, 100), text: decoder.decode(bytes.subarray(begin, begin + size)) });
    at = begin + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}
