// The readout of the timeline: the range that is dragged, else what a track of a query tells, what is under the pointer, what is
// at the cursor.

import { duration, exact, moment } from "../../lib/format.js";
import { counterAt } from "./timeline_counters.js";
import { project } from "./timeline_decode.js";

/** @import { Timeline } from "./timeline_decode.js" */

/**
 * What the readout says.
 * @param {object} parts
 * @param {import("../../lib/time_navigator.js").TimeNavigator} parts.nav
 * @param {string} parts.told what a track of a query tells; empty for nothing
 * @param {import("./notes/notes_layer.js").NotesLayer} parts.notes
 * @param {import("./timeline_cursor.js").TimelineCursor} parts.cursor
 * @param {(at: {time: number, track: number}) => string} parts.what what is at a moment of a track, in words
 */
export function readoutWords({ nav, told, notes, cursor, what }) {
  const { preview, pointedTime, pointer } = nav;
  if (preview) return `${moment(preview.start)} to ${moment(preview.end)} s: ${duration(preview.end - preview.start)}`;
  const elsewhere = told || notes.words(pointer);
  if (elsewhere) return elsewhere;
  const at = pointedTime === null || !pointer ? cursor.at : { time: pointedTime, track: cursor.rowAt(pointer.y) };
  const there = at === null ? [] : [at.track === null ? "" : what({ ...at, track: at.track }), `${moment(at.time)} s`];
  return [...there, notes.spanWords].filter(Boolean).join("  ");
}

/**
 * What is at a moment of a track of bins, in words.
 * @param {Timeline|null} current
 * @param {{time: number, track: number}} at
 * @param {number} pixel nanoseconds of a pixel
 */
export function binsWords(current, { time, track: index }, pixel) {
  const track = current?.tracks[index];
  if (!track || !current) return "";
  if (track.values) return counterAt(track, current, { start: time - pixel / 2, end: time + pixel / 2 });
  const counts = new Float32Array(3);
  const names = new Int32Array(3);
  const longest = new Float64Array(3);
  project(track, current, { start: time - pixel * 1.5, end: time + pixel * 1.5 }, 3, counts, names, longest);
  const best = [1, 2, 0].find((x) => names[x] >= 0);
  if (best === undefined) return `${track.label}: no rows`;
  const took = longest[best] > 0 ? `, the longest ${duration(longest[best])}` : "";
  return `${track.label}: ${current.names[names[best]]}, ${exact(counts[best])}${took}`;
}
