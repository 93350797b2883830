// The binary answer of a window of tracks. Pure.

const MAGIC = 0x32575442;
const MAX_HEAD_BYTES = 16 << 20;
/** Names whose share of several rows is told. */
export const SHARES = 3;
/** What a list of single bytes has where a number is in the list of large ones. */
const LARGE = 255;
/** Steps of a share, and what one is in 255ths. */
const STEPS = 15;
const SHARE = 255 / STEPS;

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

/** As many names as the numbers of pieces can tell apart. */
const MOST_LABELS = 1 << 16;

/** The names of several windows, each once, so that their pieces can stand beside each other. */
export class LabelTable {
  constructor() {
    /** @type {TrackLabel[]} */
    this.labels = [];
    /** @type {Map<string, number>} */
    this.known = new Map();
  }

  /**
   * The numbers of a window's names; null where there is no room for all of them.
   * @param {TrackLabel[]} labels
   */
  numbers(labels) {
    if (this.labels.length + labels.length > MOST_LABELS) return null;
    return labels.map((label) => {
      const key = `${label.tid ?? ""} ${label.pid ?? ""} ${label.text}`;
      const known = this.known.get(key) ?? this.labels.length;
      if (known === this.labels.length) {
        this.labels.push(label);
        this.known.set(key, known);
      }
      return known;
    });
  }
}

/**
 * Reads the answer; throws with what is wrong where it is not one.
 * @param {ArrayBuffer} buffer
 * @param {LabelTable} table takes the window's names
 * @returns {Map<string, TrackPieces>|null} by track; null where the table has no room for all names
 */
export function decodeWindow(buffer, table = new LabelTable()) {
  const window = readWindow(buffer, table);
  return window && new Map([...window.tracks].map(([id, make]) => [id, make()]));
}

/**
 * Reads the answer so far that what is on a track can be had when it is wanted: most of the work is for what nobody sees at once.
 * @param {ArrayBuffer} buffer
 * @param {LabelTable} table
 * @returns {{start: number, end: number, unit: number, tracks: Map<string, () => TrackPieces>}|null}
 */
export function readWindow(buffer, table) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC)
    throw new Error("the data of the tracks do not begin as they should");
  const headBytes = view.getUint32(4, true);
  if (headBytes > MAX_HEAD_BYTES || 8 + headBytes + 8 > buffer.byteLength)
    throw new Error("the data of the tracks are cut in their head");
  /** @type {TrackWindowHead} */
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, headBytes)));
  const lists = new Lists(buffer, aligned(8 + headBytes));
  const [lookCount, total, severalTotal, largeCount] = lists.words(4);
  const body = {
    large: lists.words(largeCount),
    looks: Array.from({ length: SHARES }, () => lists.halves(lookCount)),
    gaps: lists.bytes(total),
    widths: lists.bytes(total),
    planes: Array.from({ length: 3 }, () => lists.bytes(total)),
    codes: lists.bytes(total),
    packed: lists.bytes(severalTotal),
    rests: lists.bytes(severalTotal),
  };
  const numbers = table.numbers(head.names);
  if (!numbers) return null;
  for (const list of body.looks) for (let i = 0; i < lookCount; i += 1) list[i] = numbers[list[i]] ?? 0;
  const { start, end, unit } = head;
  const tracks = new Map();
  for (const place of placesOf(head.tracks, body))
    tracks.set(place.id, () => ({ start, end, unit, labels: table.labels, ...piecesAt(body, place) }));
  return { start, end, unit, tracks };
}

/**
 * @typedef {object} Body the lists of an answer
 * @property {Uint32Array} large
 * @property {Uint16Array[]} looks
 * @property {Uint8Array} gaps
 * @property {Uint8Array} widths
 * @property {Uint8Array[]} planes
 * @property {Uint8Array} codes
 * @property {Uint8Array} packed
 * @property {Uint8Array} rests
 */
/**
 * @typedef {object} TrackPlace where a track's pieces begin in each list
 * @property {string} id
 * @property {number} first
 * @property {number} pieces
 * @property {number} several
 * @property {number} severalCount
 * @property {number} largeGap
 * @property {number} largeWidth
 */

/**
 * Where the pieces of each track begin. Throws where an answer is cut or names what is not there, so that nothing does later.
 * @param {TrackWindowHead["tracks"]} tracks
 * @param {Body} body
 * @returns {TrackPlace[]}
 */
function placesOf(tracks, { looks, gaps, widths, planes, codes }) {
  const total = gaps.length;
  const lookCount = looks[0].length;
  // Large gaps come before large widths.
  let largeWidth = 0;
  for (let i = 0; i < total; i += 1) if (gaps[i] === LARGE) largeWidth += 1;
  let [first, several, largeGap] = [0, 0, 0];
  return tracks.map(({ id, pieces }) => {
    if (first + pieces > total) throw new Error("the data of the tracks are cut");
    const place = { id, first, pieces, several, severalCount: 0, largeGap, largeWidth };
    for (const last = first + pieces; first < last; first += 1) {
      if ((planes[0][first] | (planes[1][first] << 8) | (planes[2][first] << 16)) >= lookCount)
        throw new Error("the data of the tracks name what is not there");
      if (codes[first] > 1) several += 1;
      if (gaps[first] === LARGE) largeGap += 1;
      if (widths[first] === LARGE) largeWidth += 1;
    }
    return { ...place, severalCount: several - place.several };
  });
}

/**
 * @param {Body} body
 * @param {TrackPlace} place
 */
function piecesAt({ large, looks, gaps, widths, planes, codes, packed, rests }, place) {
  const { first, pieces, several: severalFirst, severalCount } = place;
  const begins = new Uint32Array(pieces);
  const ends = new Uint32Array(pieces);
  const names = new Uint16Array(pieces);
  const several = new Int32Array(pieces).fill(-1);
  const rows = new Uint32Array(severalCount);
  const shares = Array.from({ length: SHARES }, () => new Uint8Array(severalCount));
  const others = Array.from({ length: SHARES - 1 }, () => new Uint16Array(severalCount));
  let { largeGap, largeWidth } = place;
  let [time, count] = [0, 0];
  for (let i = 0; i < pieces; i += 1) {
    const from = first + i;
    const gap = gaps[from];
    const width = widths[from];
    begins[i] = time + (gap === LARGE ? large[largeGap++] : gap);
    time = begins[i] + (width === LARGE ? large[largeWidth++] : width);
    ends[i] = time;
    const look = planes[0][from] | (planes[1][from] << 8) | (planes[2][from] << 16);
    names[i] = looks[0][look];
    if (codes[from] <= 1) continue;
    several[i] = count;
    rows[count] = rowsOf(codes[from]);
    const pair = packed[severalFirst + count];
    const a = pair & 15;
    const b = pair >> 4;
    const c = Math.max(0, STEPS - a - b - rests[severalFirst + count]);
    const order = orderOf(a, b, c);
    for (let k = 0; k < SHARES; k += 1) shares[k][count] = (order[k] === 0 ? a : order[k] === 1 ? b : c) * SHARE;
    names[i] = looks[order[0]][look];
    for (let k = 1; k < SHARES; k += 1) others[k - 1][count] = looks[order[k]][look];
    count += 1;
  }
  return { begins, ends, names, several, rows, shares, others };
}

/** Lists of numbers one after another. */
class Lists {
  /**
   * @param {ArrayBuffer} buffer
   * @param {number} at
   */
  constructor(buffer, at) {
    this.buffer = buffer;
    this.at = at;
  }

  /** @param {number} length */
  bytes(length) {
    if (this.at + length > this.buffer.byteLength) throw new Error("the data of the tracks are cut");
    this.at += length;
    return new Uint8Array(this.buffer, this.at - length, length);
  }

  /** @param {number} length */
  halves(length) {
    const bytes = this.bytes(2 * length);
    return Uint16Array.from({ length }, (_one, i) => bytes[2 * i] | (bytes[2 * i + 1] << 8));
  }

  /** @param {number} length */
  words(length) {
    const bytes = this.bytes(4 * length);
    const view = new DataView(this.buffer, bytes.byteOffset, bytes.byteLength);
    return Uint32Array.from({ length }, (_one, i) => view.getUint32(4 * i, true));
  }
}

/**
 * A number of rows from its code: its first three bits, and how many follow.
 * @param {number} code
 */
export function rowsOf(code) {
  return code < 4 ? code : Math.min(2 ** 32 - 1, (4 + (code & 3)) * 2 ** ((code >> 2) - 2));
}

/**
 * The places of three shares, the largest first.
 * @param {number} a
 * @param {number} b
 * @param {number} c
 */
function orderOf(a, b, c) {
  if (a >= b) return ORDERS[b >= c ? 0 : a >= c ? 1 : 4];
  return ORDERS[a >= c ? 2 : b >= c ? 3 : 5];
}

/** Which of three is the largest, the next, the least. */
const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

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
