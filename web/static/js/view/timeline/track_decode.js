// The binary answer of a window of tracks. Pure.

const MAGIC = 0x31575442;
const MAX_HEAD_BYTES = 16 << 20;
/** Names whose share of several rows is told. */
export const SHARES = 3;

/** @import { TrackLabel, TrackWindowHead } from "../../../../api.js" */

/**
 * @typedef {object} TrackPieces what is on a track, in order; times are units from the window's start
 * @property {number} start nanoseconds since the capture's start
 * @property {number} end
 * @property {number} unit nanoseconds
 * @property {Uint32Array} begins
 * @property {Uint32Array} ends
 * @property {Uint16Array} names of what takes most of the time, by the window's names
 * @property {Int32Array} several the place in the lists below of a piece that stands for several rows; -1 for one row
 * @property {Uint32Array} rows
 * @property {Uint8Array[]} shares of the names that take most, 255ths
 * @property {Uint16Array[]} others the second and the third of these names
 * @property {TrackLabel[]} labels the window's names
 */

/**
 * Reads the answer; throws with what is wrong where it is not one.
 * @param {ArrayBuffer} buffer
 * @returns {Map<string, TrackPieces>} by track
 */
export function decodeWindow(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC)
    throw new Error("the data of the tracks do not begin as they should");
  const headBytes = view.getUint32(4, true);
  if (headBytes > MAX_HEAD_BYTES || 8 + headBytes + 8 > buffer.byteLength)
    throw new Error("the data of the tracks are cut in their head");
  /** @type {TrackWindowHead} */
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, headBytes)));
  let at = aligned(8 + headBytes);
  const total = view.getUint32(at, true);
  const severalTotal = view.getUint32(at + 4, true);
  at += 8;
  /**
   * @template {Uint32Array|Uint16Array|Uint8Array} T
   * @param {new (buffer: ArrayBuffer, offset: number, length: number) => T} Type
   * @param {number} bytes of a number
   * @param {number} length
   */
  const list = (Type, bytes, length) => {
    if (at + length * bytes > buffer.byteLength) throw new Error("the data of the tracks are cut");
    const numbers = new Type(buffer, at, length);
    at = aligned(at + length * bytes);
    return numbers;
  };
  const gaps = list(Uint32Array, 4, total);
  const widths = list(Uint32Array, 4, total);
  const names = list(Uint16Array, 2, total);
  const kinds = list(Uint8Array, 1, total);
  const rows = list(Uint32Array, 4, severalTotal);
  const shares = Array.from({ length: SHARES }, () => list(Uint8Array, 1, severalTotal));
  const others = Array.from({ length: SHARES - 1 }, () => list(Uint16Array, 2, severalTotal));
  const { start, end, unit, names: labels } = head;
  const tracks = new Map();
  let [first, several] = [0, 0];
  for (const { id, pieces } of head.tracks) {
    const last = first + pieces;
    const begins = new Uint32Array(pieces);
    const ends = new Uint32Array(pieces);
    const places = new Int32Array(pieces).fill(-1);
    const severalFirst = several;
    let time = 0;
    for (let i = 0; i < pieces; i += 1) {
      begins[i] = time + gaps[first + i];
      time = begins[i] + widths[first + i];
      ends[i] = time;
      if (kinds[first + i] === 1) {
        places[i] = several - severalFirst;
        several += 1;
      }
    }
    tracks.set(id, {
      start,
      end,
      unit,
      begins,
      ends,
      names: names.subarray(first, last),
      several: places,
      rows: rows.subarray(severalFirst, several),
      shares: shares.map((one) => one.subarray(severalFirst, several)),
      others: others.map((one) => one.subarray(severalFirst, several)),
      labels,
    });
    first = last;
  }
  return tracks;
}

/** @param {number} offset */
const aligned = (offset) => (offset + 3) & ~3;

/**
 * The first piece that ends after a moment.
 * @param {TrackPieces} pieces
 * @param {number} time
 */
export function firstPiece(pieces, time) {
  const wanted = (time - pieces.start) / pieces.unit;
  let low = 0;
  let high = pieces.ends.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pieces.ends[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Where single rows about a moment begin and end.
 * @param {TrackPieces} pieces
 * @param {number} time
 */
export function edgesAt(pieces, time) {
  const { begins, ends, several, start, unit } = pieces;
  const at = firstPiece(pieces, time);
  return [at - 1, at, at + 1]
    .filter((i) => i >= 0 && i < begins.length && several[i] < 0)
    .flatMap((i) => [start + begins[i] * unit, start + ends[i] * unit]);
}

/**
 * What is at a moment; null where nothing is.
 * @param {TrackPieces} pieces
 * @param {number} time
 * @param {number} near nanoseconds that what is narrow may be away
 */
export function pieceAt(pieces, time, near) {
  const at = firstPiece(pieces, time);
  const begin = (/** @type {number} */ i) => pieces.start + pieces.begins[i] * pieces.unit;
  const end = (/** @type {number} */ i) => pieces.start + pieces.ends[i] * pieces.unit;
  if (at < pieces.begins.length && begin(at) <= time + near) return at;
  return at > 0 && end(at - 1) >= time - near ? at - 1 : null;
}
