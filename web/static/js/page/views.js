// The views of a capture: from this table follow the tabs and their keys, the panels, what an address may name, and who is
// told when a running capture grows.

import { CountsView } from "../view/table/counts_view.js";
import { OutputView } from "../view/table/output_view.js";
import { LateEvents } from "./late_events.js";
import { LateInfo } from "./late_info.js";
import { LateView } from "../view/late_view.js";

/** Why a link to a part of a capture does not show something. */
const OF_ALL = "tells of all of the capture, and this share shows only a part of it.";
/** Why a link that removes something does not. */
const NOT_CLEANED = "cannot be shown without what this share removes.";

/**
 * @typedef {object} View
 * @property {string} name in the address
 * @property {string} title of its tab
 * @property {(capture: import("./capture_context.js").CaptureContext) => boolean} shows whether a capture has it
 * @property {(capture: import("./capture_context.js").CaptureContext, panel: HTMLElement) => import("../view/panel_view.js").PanelView} make
 * @property {(share: NonNullable<import("../../../api.js").CapturePage["share"]>) => string} [withheld] why a share does not show it;
 *   empty if it does
 * @property {(capture: import("./capture_context.js").CaptureContext) => boolean} [compares] whether it shows two sides, as the address
 *   says it now
 */

/** @type {View[]} In the order of the tabs. */
export const VIEWS = [
  {
    name: "calls",
    title: "Calls",
    shows: ({ hasCalls }) => hasCalls,
    compares: () => true,
    make: (capture, panel) =>
      new LateView(capture, panel, async () => {
        const { CallsView } = await import("../view/calls/calls_view.js");
        return new CallsView(capture, panel);
      }),
  },
  {
    name: "systemcalls",
    title: "System calls",
    shows: ({ hasSyscalls }) => hasSyscalls,
    compares: () => true,
    make: (capture, panel) =>
      new LateView(capture, panel, async () => {
        const { SyscallsView } = await import("../view/syscalls/syscalls_view.js");
        return new SyscallsView(capture, panel);
      }),
  },
  {
    name: "counts",
    title: "Counts",
    shows: ({ hasCounts }) => hasCounts,
    make: (capture, panel) => new CountsView(capture, panel),
  },
  {
    name: "maps",
    title: "Maps",
    shows: ({ hasMaps }) => hasMaps,
    compares: () => true,
    make: (capture, panel) =>
      new LateView(capture, panel, async () => {
        const { MapsView } = await import("../view/maps/maps_view.js");
        return new MapsView(capture, panel);
      }),
  },
  {
    name: "output",
    title: "Output",
    withheld: ({ removes }) => (removes.length > 0 ? `What the script printed ${NOT_CLEANED}` : ""),
    shows: ({ isScript }) => isScript,
    make: (capture, panel) => new OutputView(capture, panel),
  },
  {
    name: "events",
    title: "Events",
    shows: () => true,
    // Rows of two recordings are not the same; groups and values of columns are.
    compares: ({ view }) => view.groupby !== "" || view.facets !== "",
    make: (capture, panel) => new LateEvents(capture, panel),
  },
  {
    name: "timeline",
    title: "Timeline",
    shows: () => true,
    make: (capture, panel) =>
      new LateView(capture, panel, async () => {
        const { TimelineView } = await import("../view/timeline/timeline.js");
        return new TimelineView(capture, panel);
      }),
  },
  {
    name: "flame",
    title: "Flame graph",
    shows: ({ isCounts }) => !isCounts,
    compares: ({ hasStacks, foldsMaps }) => hasStacks && !foldsMaps,
    make: (capture, panel) =>
      new LateView(capture, panel, async () => {
        const { FlameView } = await import("../view/flame/flame.js");
        return new FlameView(capture, panel);
      }),
  },
  {
    name: "processes",
    title: "Processes",
    withheld: ({ part, removes }) =>
      part ? `The tree of processes ${OF_ALL}` : removes.length > 0 ? `The tree of processes ${NOT_CLEANED}` : "",
    shows: ({ isCounts }) => !isCounts,
    make: (capture, panel) =>
      new LateView(capture, panel, async () => {
        const { ProcessesView } = await import("../view/processes/processes_view.js");
        return new ProcessesView(capture, panel);
      }),
  },
  {
    name: "distribution",
    title: "Distribution",
    shows: ({ info }) => info.streams.some(({ columns }) => columns.length > 0),
    compares: ({ view }) => view.spread === "heat",
    make: (capture, panel) =>
      new LateView(capture, panel, async () => {
        const { DistributionView } = await import("../view/distribution/distribution_view.js");
        return new DistributionView(capture, panel);
      }),
  },
  { name: "info", title: "Info", shows: () => true, make: (capture, panel) => new LateInfo(capture, panel) },
  {
    name: "sql",
    title: "SQL",
    withheld: () => "A share has no SQL: it shows what views show, and nothing else can be asked.",
    shows: () => true,
    make: (capture, panel) =>
      new LateView(capture, panel, async () => {
        const { SqlView } = await import("../view/sql/sql_view.js");
        return new SqlView(capture, panel);
      }),
  },
];
