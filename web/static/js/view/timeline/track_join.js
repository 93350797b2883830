// Windows of a track put together: as all windows with pixels of one width have the same columns, what is asked for is only what is
// not there yet. Pure.

import { SHARES } from "./track_decode.js";

/** @import { TrackPieces } from "./track_decode.js" */

/**
 * @typedef {object} Segment pieces of one window between two moments; times are units from the start of what was known
 * @property {TrackPieces} of
 * @property {number} offset where the window starts
 * @property {number} from
 * @property {number} until
 */

/** @typedef {{start: number, end: number, unit: number}} Reach what time is known, and in which units */

/**
 * What is known with what came beside it or over a part of it, in units from the start of what was known; null where they do not fit
 * together.
 * @param {Reach} known
 * @param {Reach} added
 * @param {{start: number, end: number}} kept what is further away is let go
 */
function together({ unit, start, end }, added, kept) {
  if (unit !== added.unit || added.end < start || added.start > end) return null;
  const place = (/** @type {number} */ time) => Math.round((time - start) / unit);
  const [added0, added1, known1] = [place(added.start), place(added.end), place(end)];
  const from = Math.max(Math.min(0, added0), place(kept.start));
  const until = Math.max(from, Math.min(Math.max(known1, added1), place(kept.end)));
  return { added0, added1, from, until, start: start + from * unit, end: start + until * unit };
}

/**
 * What time will be known.
 * @param {Reach} known
 * @param {Reach} added
 * @param {{start: number, end: number}} kept
 * @returns {Reach}
 */
export function joinedReach(known, added, kept) {
  const found = together(known, added, kept);
  return found ? { start: found.start, end: found.end, unit: known.unit } : added;
}

/**
 * What is known of a track with what came beside it or over a part of it; only what came where they do not fit together.
 * @param {TrackPieces} known
 * @param {TrackPieces} added
 * @param {{start: number, end: number}} kept what is further away is let go
 * @returns {TrackPieces}
 */
export function joined(known, added, kept) {
  const found = known.labels === added.labels ? together(known, added, kept) : null;
  if (!found) return added;
  const { added0, added1, from, until, start, end } = found;
  const segments = [
    { of: known, offset: 0, from, until: Math.min(until, added0) },
    { of: added, offset: added0, from: Math.max(from, added0), until: Math.min(until, added1) },
    { of: known, offset: 0, from: Math.max(from, added1), until },
  ].filter((segment) => segment.from < segment.until);
  return { ...known, start, end, ...glued(segments, from) };
}

/**
 * The pieces of a segment: from which to before which one.
 * @param {Segment} segment
 * @returns {[first: number, last: number]}
 */
function piecesOf({ of: { begins, ends }, offset, from, until }) {
  let first = 0;
  let high = ends.length;
  while (first < high) {
    const middle = (first + high) >>> 1;
    if (ends[middle] + offset <= from) first = middle + 1;
    else high = middle;
  }
  let last = first;
  while (last < begins.length && begins[last] + offset < until) last += 1;
  return [first, last];
}

/**
 * @param {Segment[]} segments that follow each other
 * @param {number} origin the first unit of what is made
 */
function glued(segments, origin) {
  const ranges = segments.map(piecesOf);
  const most = ranges.reduce((sum, [first, last]) => sum + last - first, 0);
  const [begins, ends] = [new Uint32Array(most), new Uint32Array(most)];
  const names = new Uint16Array(most);
  const several = new Int32Array(most);
  const rows = new Uint32Array(most);
  const shares = Array.from({ length: SHARES }, () => new Uint8Array(most));
  const others = Array.from({ length: SHARES - 1 }, () => new Uint16Array(most));
  let [total, places] = [0, 0];
  segments.forEach(({ of, offset, from, until }, which) => {
    const [first, last] = ranges[which];
    for (let i = first; i < last; i += 1) {
      const begin = Math.max(from, of.begins[i] + offset) - origin;
      const end = Math.max(begin, Math.min(until, of.ends[i] + offset) - origin);
      const place = of.several[i];
      const before = total - 1;
      // A row that is cut where two segments meet is one row.
      const isCut = which > 0 && i === first && begin === from - origin && total > 0 && ends[before] === begin;
      if (isCut && place < 0 && several[before] < 0 && names[before] === of.names[i]) {
        ends[before] = end;
        continue;
      }
      begins[total] = begin;
      ends[total] = end;
      names[total] = of.names[i];
      several[total] = place < 0 ? -1 : places;
      total += 1;
      if (place < 0) continue;
      rows[places] = of.rows[place];
      for (let k = 0; k < SHARES; k += 1) shares[k][places] = of.shares[k][place];
      for (let k = 0; k < SHARES - 1; k += 1) others[k][places] = of.others[k][place];
      places += 1;
    }
  });
  return {
    begins: begins.subarray(0, total),
    ends: ends.subarray(0, total),
    names: names.subarray(0, total),
    several: several.subarray(0, total),
    rows: rows.subarray(0, places),
    shares: shares.map((one) => one.subarray(0, places)),
    others: others.map((one) => one.subarray(0, places)),
  };
}
