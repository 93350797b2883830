// The tree of tracks: CPUs, processes with their threads, devices and what else has states or slices. Pure.

/** @import { TrackLine, TrackList } from "../../../../api.js" */

/** Streams that show nothing that the states of a thread do not. */
const TOLD_BY_STATES = ["run-queue latency"];
/** As many rows are open at first. */
const OPEN_ROWS = 60;

/**
 * @typedef {object} Lane a track in a row
 * @property {string} id
 * @property {"state"|"slice"} row
 * @property {"thread"|"cpu"|"value"} of
 * @property {string} stream the name of its stream
 * @property {number} number of its stream
 */
/**
 * @typedef {object} TreeRow a row of the tree
 * @property {string} key names it in the address
 * @property {"group"|"tracks"} kind
 * @property {string} label
 * @property {string} sub
 * @property {number} depth
 * @property {string} parent the key of its group; empty for none
 * @property {Lane[]} lanes
 * @property {TrackLine[]} tracks of the lanes
 * @property {number} busy nanoseconds that it ran, by which it is sorted
 * @property {boolean} opens whether it is open at first
 * @property {number} children
 */

/**
 * Which rows there are, groups before what is in them.
 * @param {TrackList} list
 * @returns {TreeRow[]}
 */
export function treeOf(list) {
  const streams = new Map(list.streams.map((stream) => [stream.stream, stream]));
  /** @type {Map<string, TrackLine[]>} */
  const rows = new Map();
  for (const track of list.tracks) {
    const stream = streams.get(track.stream);
    if (!stream || TOLD_BY_STATES.includes(stream.name)) continue;
    const key = stream.of === "value" ? `${stream.name}:${track.key}` : track.key;
    const found = rows.get(key);
    if (found) found.push(track);
    else rows.set(key, [track]);
  }
  const laneOf = (/** @type {TrackLine} */ track) => {
    const stream = streams.get(track.stream);
    return {
      id: track.id,
      row: stream?.row ?? "slice",
      of: stream?.of ?? "value",
      stream: stream?.name ?? "",
      number: track.stream,
    };
  };
  const cpus = [];
  /** @type {Map<number, TreeRow[]>} */
  const processes = new Map();
  /** @type {Map<string, TreeRow[]>} */
  const others = new Map();
  for (const [key, tracks] of rows) {
    // States first, then slices from the outermost to the innermost.
    tracks.sort((a, b) => order(laneOf(a)) - order(laneOf(b)) || a.stream - b.stream || a.lane - b.lane);
    const [first] = tracks;
    const stream = streams.get(first.stream);
    /** @type {TreeRow} */
    const row = {
      key,
      kind: "tracks",
      label: first.label || key,
      sub: "",
      depth: 1,
      parent: "",
      lanes: tracks.map(laneOf),
      tracks,
      busy: ranFor(tracks, list, streams),
      opens: true,
      children: 0,
    };
    if (key.startsWith("cpu:")) cpus.push({ ...row, parent: "cpus" });
    else if (first.pid !== null && first.tid !== null) {
      const threads = processes.get(first.pid) ?? [];
      threads.push({ ...row, parent: `pid:${first.pid}`, sub: `tid ${first.tid}` });
      processes.set(first.pid, threads);
    } else if (!key.startsWith("idle:")) {
      const name = stream?.name ?? "";
      const group = others.get(name) ?? [];
      group.push({ ...row, parent: name, sub: stream?.column ?? "" });
      others.set(name, group);
    }
  }
  return [
    ...grouped(
      "cpus",
      "CPUs",
      "",
      cpus.sort((a, b) => (a.tracks[0].cpu ?? 0) - (b.tracks[0].cpu ?? 0)),
    ),
    ...[...others].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, group]) => grouped(name, name, "", group)),
    ...processRows(processes),
  ];
}

/** @param {Lane} lane */
const order = (lane) => (lane.row === "state" ? 0 : 1);

/**
 * How long a row ran: a thread on CPUs, a CPU other threads than the idle one, else how long its slices took.
 * @param {TrackLine[]} tracks
 * @param {TrackList} list
 * @param {Map<number, TrackList["streams"][number]>} streams
 */
function ranFor([first], list, streams) {
  const stream = streams.get(first.stream);
  if (stream?.row !== "state" || stream.of === "value") return first.busy;
  const counts = (/** @type {TrackList["names"][number]} */ { text, tid }) =>
    stream.of === "cpu" ? tid !== 0 : text === "running";
  return first.top.reduce((sum, { name, time }) => sum + (counts(list.names[name]) ? time : 0), 0);
}

/**
 * @param {string} key
 * @param {string} label
 * @param {string} sub
 * @param {TreeRow[]} rows
 * @param {boolean} [opens]
 * @returns {TreeRow[]}
 */
function grouped(key, label, sub, rows, opens = true) {
  if (rows.length === 0) return [];
  const busy = rows.reduce((sum, row) => sum + row.busy, 0);
  const tracks = rows.flatMap((row) => row.tracks.slice(0, 1));
  const lanes = rows.flatMap((row) => row.lanes.slice(0, 1));
  return [
    { key, kind: "group", label, sub, depth: 0, parent: "", lanes, tracks, busy, opens, children: rows.length },
    ...rows,
  ];
}

/**
 * Processes and their threads, the busiest first.
 * @param {Map<number, TreeRow[]>} processes
 */
function processRows(processes) {
  const all = [...processes].map(([pid, threads]) => {
    threads.sort((a, b) => b.busy - a.busy);
    const main = threads.find(({ tracks: [track] }) => track.tid === pid) ?? threads[0];
    return { pid, threads, name: main.label, busy: threads.reduce((sum, thread) => sum + thread.busy, 0) };
  });
  all.sort((a, b) => b.busy - a.busy || a.pid - b.pid);
  let open = 0;
  return all.flatMap(({ pid, threads, name }) => {
    const opens = open + threads.length <= OPEN_ROWS;
    open += threads.length;
    const process = name || `process ${pid}`;
    // A process of one thread is one row.
    if (threads.length === 1) {
      const [only] = threads;
      return [
        { ...only, depth: 0, parent: "", sub: only.tracks[0].tid === pid ? `pid ${pid}` : `pid ${pid}, ${only.sub}` },
      ];
    }
    return grouped(`pid:${pid}`, process, `pid ${pid}`, threads, opens);
  });
}

/**
 * What a row is called in sentences.
 * @param {TreeRow} row
 */
export function titleOf({ label, sub }) {
  return sub === "" ? label : `${label} ${sub}`;
}

/**
 * The rows in sight of the tree: pinned ones first, then those whose group is open and whose name has the text.
 * @param {TreeRow[]} tree
 * @param {{turned: Set<string>, pinned: string[], find: string}} view `turned`: groups that are not as at first
 * @returns {{row: TreeRow, isOpen: boolean, isPinned: boolean}[]}
 */
export function visibleRows(tree, { turned, pinned, find }) {
  const text = find.trim().toLowerCase();
  const matches = (/** @type {TreeRow} */ row) =>
    text === "" || `${titleOf(row)} ${row.key}`.toLowerCase().includes(text);
  const isOpen = (/** @type {TreeRow} */ row) => text !== "" || row.opens !== turned.has(row.key);
  const groups = new Map(tree.filter(({ kind }) => kind === "group").map((row) => [row.key, row]));
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const row of tree) if (row.parent && matches(row)) found.set(row.parent, (found.get(row.parent) ?? 0) + 1);
  const shown = tree.filter((row) => {
    const group = groups.get(row.parent);
    if (row.kind === "group") return matches(row) || (found.get(row.key) ?? 0) > 0;
    if (group) return isOpen(group) && (matches(row) || matches(group));
    return matches(row);
  });
  const isPinned = (/** @type {TreeRow} */ row) => pinned.includes(row.key);
  const first = pinned.flatMap((key) => tree.filter((row) => row.key === key));
  return [
    ...first.map((row) => ({ row, isOpen: isOpen(row), isPinned: true })),
    ...shown.filter((row) => !isPinned(row)).map((row) => ({ row, isOpen: isOpen(row), isPinned: false })),
  ];
}

/** Pixels. */
export const GROUP_HEIGHT = 24;
const STATE_HEIGHT = 16;
const SLICE_HEIGHT = 14;
const ROW_PAD = 4;
const MOST_LANES = 6;

/**
 * How high a row is.
 * @param {TreeRow} row
 */
export function rowHeight(row) {
  if (row.kind === "group") return GROUP_HEIGHT;
  const lanes = row.lanes.slice(0, MOST_LANES);
  return Math.max(24, 2 * ROW_PAD + lanes.reduce((sum, lane) => sum + laneHeight(lane), 0));
}

/** @param {Lane} lane */
const laneHeight = (lane) => (lane.row === "state" ? STATE_HEIGHT : SLICE_HEIGHT);

/**
 * Where the lanes of a row are, from its top.
 * @param {TreeRow} row
 * @returns {{lane: Lane, top: number, height: number}[]}
 */
export function lanePlaces(row) {
  let top = ROW_PAD;
  return row.lanes.slice(0, MOST_LANES).map((lane) => {
    const place = { lane, top, height: laneHeight(lane) - 1 };
    top += laneHeight(lane);
    return place;
  });
}
