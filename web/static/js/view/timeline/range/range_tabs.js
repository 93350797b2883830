// What can be read from a selected range: a line for each tab of its panel.

import { AmountsTab } from "./amounts_tab.js";
import { CountersTab } from "./counters_tab.js";
import { PathTab } from "./path_tab.js";
import { SamplesTab } from "./samples_tab.js";
import { SlicesTab } from "./slices_tab.js";
import { ThreadsTab } from "./threads_tab.js";
import { WaitsTab } from "./waits_tab.js";
import { WakeupsTab } from "./wakeups_tab.js";

/** @import { CaptureContext } from "../../../page/capture_context.js" */
/** @import { TrackLayer } from "../track_layer.js" */
/** @import { RangeOver } from "./range_over.js" */

/** The stream of how long threads waited for a CPU. */
const LATENCY = "run-queue latency";

/**
 * Whether a column says how many bytes: as such, or as the result of a call.
 * @param {{name: string}} column
 */
const isBytes = ({ name }) => name === "bytes" || name === "nr_bytes" || name === "result" || name.endsWith("_bytes");

/**
 * @typedef {object} RangeParts what a tab is made of
 * @property {CaptureContext} context
 * @property {TrackLayer} layer
 * @property {(key: string, stream: number, time: number) => Promise<boolean>} pick picks what is on a row of the tree at a
 *   moment, of a stream; whether there is such a row
 */
/**
 * @typedef {object} RangeView a tab's content
 * @property {HTMLElement} element
 * @property {(over: RangeOver) => void} show is called when the tab, the range, its tracks or the capture are others
 * @property {() => void} hide gives up what is under way
 */
/**
 * @typedef {object} RangeTab
 * @property {string} key names it in the address
 * @property {string} title
 * @property {(context: CaptureContext) => string} lacks what the capture has not that it needs, with the source that records
 *   it; empty where it has all
 * @property {(parts: RangeParts) => RangeView} make
 */

/**
 * Whether a capture has a stream.
 * @param {CaptureContext} context
 * @param {(stream: CaptureContext["info"]["streams"][number]) => boolean} is
 */
const has = ({ info }, is) => info.streams.some((stream) => stream.rows > 0 && is(stream));

/** What computes the streams of threads; a stream of one's own can have the same name. */
const NEEDS_THREADS =
  "Record the source “Thread states”, or the scheduler’s tracepoints sched_switch and sched_waking.";

/** @type {RangeTab[]} In the order of the tabs. */
export const RANGE_TABS = [
  {
    key: "threads",
    title: "States by thread",
    lacks: (context) =>
      has(context, ({ row, columns }) => row === "state" && columns.some(({ name }) => name === "state"))
        ? ""
        : `This capture has no states of threads. ${NEEDS_THREADS}`,
    make: (parts) => new ThreadsTab(parts),
  },
  {
    key: "slices",
    title: "Slices by name",
    lacks: (context) =>
      has(context, ({ row, name }) => row === "slice" && name !== LATENCY)
        ? ""
        : "Nothing of this capture took time. Record system calls, calls of functions, block requests or interrupts, or compute a span under Info.",
    make: (parts) => new SlicesTab(parts),
  },
  {
    key: "samples",
    title: "Samples",
    lacks: (context) =>
      has(context, ({ kind }) => kind === "samples") ? "" : "This capture has no sampled stacks. Record a profile.",
    make: (parts) => new SamplesTab(parts),
  },
  {
    key: "latency",
    title: "Run-queue latency",
    lacks: (context) =>
      has(context, ({ name, rule }) => name === LATENCY && rule !== "")
        ? ""
        : `It is not known how long threads waited for a CPU. ${NEEDS_THREADS}`,
    make: (parts) => new WaitsTab(parts),
  },
  {
    key: "counters",
    title: "Counters",
    lacks: ({ hasCounts }) =>
      hasCounts ? "" : "This capture has no counters. Record the source “Counts” with events or files of the kernel.",
    make: (parts) => new CountersTab(parts),
  },
  {
    key: "wakeups",
    title: "Wake-ups",
    lacks: (context) =>
      has(context, ({ name, rule }) => name === LATENCY && rule !== "")
        ? ""
        : `It is not known who woke whom. ${NEEDS_THREADS}`,
    make: (parts) => new WakeupsTab(parts),
  },
  {
    key: "bytes",
    title: "Bytes",
    lacks: (context) =>
      has(context, ({ row, columns }) => row !== "counter" && row !== "snapshot" && columns.some(isBytes))
        ? ""
        : "No row of this capture says how many bytes. Record system calls, or block:block_rq_issue and block:block_rq_complete.",
    make: (parts) => new AmountsTab(parts),
  },
  {
    key: "path",
    title: "Critical path",
    lacks: ({ info }) =>
      info.streams.some(({ row, name }) => row === "state" && name === "thread states")
        ? ""
        : "This capture has no states of threads. Record the source “Thread states”.",
    make: (parts) => new PathTab(parts),
  },
];
