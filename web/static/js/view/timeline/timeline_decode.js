// The binary answer of the timeline endpoint. Pure.

const MAGIC = 0x314c5442;
const MAX_HEAD_BYTES = 16 << 20;

/** @import { Track as TrackHead, TimelineHead } from "../../../../api.js" */

/**
 * @typedef {object} TrackBins
 * @property {Uint32Array} bins ascending, each below the window's width
 * @property {Uint32Array} counts rows in the bin
 * @property {Uint32Array} name index of the most frequent name in the bin
 * @property {Float64Array | null} longest nanoseconds that the bin's longest row took; null where rows take no time
 * @property {{least: Float64Array, most: Float64Array, last: Float64Array} | null} values of a counter in the bin, thousandths a second
 */
/** @typedef {TrackHead & TrackBins} Track */
/** @typedef {Omit<TimelineHead, "tracks"> & {tracks: Track[]}} Timeline */

/**
 * Reads the answer; throws with what is wrong where it is not one.
 * @param {ArrayBuffer} buffer
 * @returns {Timeline}
 */
export function decodeTimeline(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC)
    throw new Error("the timeline's data does not begin as it should");
  const headBytes = view.getUint32(4, true);
  if (headBytes > MAX_HEAD_BYTES || 8 + headBytes > buffer.byteLength)
    throw new Error("the timeline's data is cut in its head");
  /** @type {TimelineHead} */
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, headBytes)));
  let at = aligned(8 + headBytes);
  const tracks = head.tracks.map((track) => {
    if (at + 8 > buffer.byteLength) throw new Error(`the timeline's data is cut before the track ${track.key}`);
    const n = view.getUint32(at, true);
    at += 8;
    if (at + n * 12 > buffer.byteLength) throw new Error(`the timeline's data is cut in the track ${track.key}`);
    const columns = [0, 1, 2].map((i) => new Uint32Array(buffer, at + i * n * 4, n));
    at = aligned(at + n * 12);
    const numbers = () => {
      if (at + n * 8 > buffer.byteLength)
        throw new Error(`the timeline's data is cut in the values of the track ${track.key}`);
      at += n * 8;
      return Float64Array.from(new BigUint64Array(buffer, at - n * 8, n), Number);
    };
    const longest = head.has_longest ? numbers() : null;
    const values = head.has_values ? { least: numbers(), most: numbers(), last: numbers() } : null;
    return { ...track, bins: columns[0], counts: columns[1], name: columns[2], longest, values };
  });
  return { ...head, tracks };
}

/**
 * Where the last bin that has rows ends, nanoseconds; 0 where there are none.
 * @param {{start: number, end: number, width: number, tracks: TrackBins[]}} data
 */
export function newest({ start, end, width, tracks }) {
  const last = tracks.reduce((most, { bins }) => Math.max(most, bins.length > 0 ? bins[bins.length - 1] + 1 : 0), 0);
  return last > 0 ? Math.min(end, start + (last * (end - start)) / width) : 0;
}

/** @param {number} offset */
function aligned(offset) {
  return (offset + 7) & ~7;
}

/**
 * The first index whose value is not below `value`.
 * @param {Uint32Array} sorted
 * @param {number} value
 */
export function lowerBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The bins of a track that are in a window, as the first index and the one behind the last.
 * @param {TrackBins} track
 * @param {{start: number, end: number, width: number}} data the window that the bins divide
 * @param {{start: number, end: number}} shown
 */
export function binsIn(track, data, shown) {
  const binNs = (data.end - data.start) / data.width;
  const first = lowerBound(track.bins, Math.floor((shown.start - data.start) / binNs + 1e-6));
  return [first, Math.max(first, lowerBound(track.bins, Math.ceil((shown.end - data.start) / binNs - 1e-6)))];
}

/**
 * How many rows of a track are in a window: of all bins that it touches, as they are what is drawn.
 * @param {TrackBins} track
 * @param {{start: number, end: number, width: number}} data
 * @param {{start: number, end: number}} shown
 */
export function rowsIn(track, data, shown) {
  const [first, behind] = binsIn(track, data, shown);
  let rows = 0;
  for (let i = first; i < behind; i += 1) rows += track.counts[i];
  return rows;
}

/**
 * Puts a track's bins onto the columns of the screen: for each column the sum of counts, the name of its fullest bin, and
 * how long its longest row took.
 * @param {TrackBins} track
 * @param {{start: number, end: number, width: number}} data the window that the bins divide
 * @param {{start: number, end: number}} shown the window on the screen
 * @param {number} columns
 * @param {Float32Array} counts written, `columns` long
 * @param {Int32Array} names written, `columns` long; -1 where nothing is
 * @param {Float64Array} [longest] written, `columns` long, in nanoseconds
 */
export function project(track, data, shown, columns, counts, names, longest) {
  counts.fill(0);
  longest?.fill(0);
  names.fill(-1);
  const fullest = new Uint32Array(columns);
  const binNs = (data.end - data.start) / data.width;
  const perNs = columns / (shown.end - shown.start);
  const first = lowerBound(track.bins, Math.floor((shown.start - data.start) / binNs));
  for (let i = first; i < track.bins.length; i += 1) {
    const left = (data.start + track.bins[i] * binNs - shown.start) * perNs;
    if (left >= columns) break;
    const column = Math.floor(left + 1e-6);
    // A bin never vanishes, and one wider than a column fills all it covers.
    const behind = Math.max(column + 1, Math.floor(left + binNs * perNs + 1e-6));
    // One that belongs to the column before the first is not added to it; but the capture's first rows are kept in sight.
    if (behind <= 0 && track.bins[i] > 0) continue;
    const from = Math.max(0, column);
    const to = Math.min(columns, Math.max(from + 1, behind));
    for (let x = from; x < to; x += 1) {
      counts[x] += track.counts[i];
      if (longest && track.longest) longest[x] = Math.max(longest[x], track.longest[i]);
      if (track.counts[i] <= fullest[x]) continue;
      fullest[x] = track.counts[i];
      names[x] = track.name[i];
    }
  }
}
