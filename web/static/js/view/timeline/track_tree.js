// The tree of tracks: CPUs, counters, devices and what else has states or slices, processes with their threads. Pure.

import { ordered } from "./track_arrange.js";

/** @import { CounterTrack, TrackLine, TrackList } from "../../../../api.js" */

/** Streams that show nothing that the states of a thread do not. */
const TOLD_BY_STATES = ["run-queue latency"];
/** As many rows are open at first. */
const OPEN_ROWS = 60;

/**
 * @typedef {object} Lane a track in a row
 * @property {string} id
 * @property {"state"|"slice"|"tick"|"counter"|"rows"|"note"} row `tick`: samples and instants; `rows`: those of a query
 * @property {"thread"|"cpu"|"value"} of
 * @property {string} stream the name of its stream; empty of ticks of threads, which are of several, and of what has none
 * @property {number} number of its stream; -1 where it has none of its own
 */
/**
 * @typedef {object} TreeRow a row of the tree
 * @property {string} key names it in the address
 * @property {"group"|"tracks"|"path"} kind `path`: the critical path of the thread above it
 * @property {string} label
 * @property {string} sub
 * @property {number} depth
 * @property {string} parent the key of its group; empty for none
 * @property {Lane[]} lanes
 * @property {TrackLine[]} tracks of the lanes that are states or slices
 * @property {number|null} pid
 * @property {number|null} tid
 * @property {number|null} cpu
 * @property {number} busy nanoseconds that it ran, by which it is sorted
 * @property {boolean} opens whether it is open at first
 * @property {number} children
 */

/**
 * @typedef {object} OwnRows what is not of the capture's streams of states, slices and counters
 * @property {boolean} hasNotes
 * @property {{key: string, name: string}[]} queries results of SQL
 * @property {{key: string, name: string}[]} maps of a script
 * @property {{index: number, name: string}[]} outputs streams of what a script has printed
 */
/** The key of the row of notes. */
export const NOTES_KEY = "notes";

/**
 * Which rows there are, groups before what is in them.
 * @param {TrackList} list
 * @param {OwnRows} [own]
 * @returns {TreeRow[]}
 */
export function treeOf(list, own = { hasNotes: false, queries: [], maps: [], outputs: [] }) {
  const { ticks, counters } = list.binned;
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
  const tickOf = new Map(ticks.map((track) => [track.key, track]));
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
      lanes: [...tracks.map(laneOf), ...(tickOf.delete(key) ? [tickLane(key)] : [])],
      tracks,
      pid: first.pid,
      tid: first.tid,
      cpu: first.cpu,
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
  // Threads of which nothing but samples and instants is known.
  for (const { key, label, pid, tid } of tickOf.values()) {
    const threads = processes.get(pid ?? 0) ?? [];
    threads.push({ ...EMPTY, key, label, sub: `tid ${tid}`, parent: `pid:${pid}`, pid, tid, lanes: [tickLane(key)] });
    processes.set(pid ?? 0, threads);
  }
  return [
    ...(own.hasNotes ? [ownRow({ key: NOTES_KEY, name: "Notes" }, "note", "")] : []),
    ...grouped(
      "queries",
      "Results of SQL",
      "",
      own.queries.map((one) => ownRow(one, "rows", "queries")),
    ),
    ...grouped("outputs", "Script outputs", "", [
      ...own.outputs.map(outputRow),
      ...own.maps.map((one) => ownRow(one, "rows", "outputs")),
    ]),
    ...grouped(
      "cpus",
      "CPUs",
      "",
      cpus.sort((a, b) => (a.cpu ?? 0) - (b.cpu ?? 0)),
    ),
    ...grouped("counters", "Counters", "", counters.map(counterRow)),
    ...[...others].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, group]) => grouped(name, name, "", group)),
    ...processRows(processes),
  ];
}

/** What a row has of which nothing else is known. */
const EMPTY = {
  kind: /** @type {const} */ ("tracks"),
  sub: "",
  depth: 1,
  tracks: [],
  pid: null,
  tid: null,
  cpu: null,
  busy: 0,
  opens: true,
  children: 0,
};

/**
 * What a stream of a script's output is in the tree.
 * @param {{index: number, name: string}} stream
 * @returns {TreeRow}
 */
function outputRow({ index, name }) {
  const row = ownRow({ key: `stream:${index}`, name }, "tick", "outputs");
  return { ...row, lanes: row.lanes.map((lane) => ({ ...lane, stream: name, number: index })) };
}

/**
 * @param {string} key of the thread
 * @returns {Lane}
 */
const tickLane = (key) => ({ id: `ticks/${key}`, row: "tick", of: "thread", stream: "", number: -1 });

/**
 * @param {CounterTrack} counter
 * @returns {TreeRow}
 */
function counterRow({ key, label, sub }) {
  const lane = {
    id: key,
    row: /** @type {const} */ ("counter"),
    of: /** @type {const} */ ("value"),
    stream: "",
    number: -1,
  };
  return { ...EMPTY, key, label, sub: sub === "all" ? "" : sub, parent: "counters", lanes: [lane] };
}

/**
 * @param {{key: string, name: string}} one
 * @param {"rows"|"note"|"tick"} row
 * @param {string} parent
 * @returns {TreeRow}
 */
function ownRow({ key, name }, row, parent) {
  const lane = { id: key, row, of: /** @type {const} */ ("value"), stream: "", number: -1 };
  return { ...EMPTY, key, label: name, parent, depth: parent === "" ? 0 : 1, lanes: [lane] };
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
    {
      ...EMPTY,
      key,
      kind: "group",
      label,
      sub,
      depth: 0,
      parent: "",
      lanes,
      tracks,
      busy,
      opens,
      children: rows.length,
    },
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
    const main = threads.find(({ tid }) => tid === pid) ?? threads[0];
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
      return [{ ...only, depth: 0, parent: "", sub: only.tid === pid ? `pid ${pid}` : `pid ${pid}, ${only.sub}` }];
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
 * The rows in sight of the tree: pinned ones first, then those whose group is open, whose name has the text, and that are not
 * hidden.
 * @param {TreeRow[]} tree
 * @param {{turned: Set<string>, pinned: string[], hidden: Set<string>, order: string[], find: string}} view `turned`: groups
 *   that are not as at first; `order`: rows that are first in their group
 * @returns {{rows: {row: TreeRow, isOpen: boolean, isPinned: boolean}[], hidden: number}} `hidden`: rows that are not there
 *   because somebody has hidden them or their group
 */
export function visibleRows(tree, { turned, pinned, hidden, order, find }) {
  const text = find.trim().toLowerCase();
  const matches = (/** @type {TreeRow} */ row) =>
    text === "" || `${titleOf(row)} ${row.key}`.toLowerCase().includes(text);
  const isOpen = (/** @type {TreeRow} */ row) => text !== "" || row.opens !== turned.has(row.key);
  const groups = new Map(tree.filter(({ kind }) => kind === "group").map((row) => [row.key, row]));
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const row of tree) if (row.parent && matches(row)) found.set(row.parent, (found.get(row.parent) ?? 0) + 1);
  const isPinned = (/** @type {TreeRow} */ row) => pinned.includes(row.key);
  const isHidden = (/** @type {TreeRow} */ row) => !isPinned(row) && (hidden.has(row.key) || hidden.has(row.parent));
  const shown = ordered(tree, order).filter((row) => {
    if (isHidden(row)) return false;
    const group = groups.get(row.parent);
    if (row.kind === "group") return matches(row) || (found.get(row.key) ?? 0) > 0;
    if (group) return isOpen(group) && (matches(row) || matches(group));
    return matches(row);
  });
  const first = pinned.flatMap((key) => tree.filter((row) => row.key === key));
  return {
    rows: [
      ...first.map((row) => ({ row, isOpen: isOpen(row), isPinned: true })),
      ...shown.filter((row) => !isPinned(row)).map((row) => ({ row, isOpen: isOpen(row), isPinned: false })),
    ],
    hidden: tree.filter((row) => row.kind !== "group" && isHidden(row)).length,
  };
}
