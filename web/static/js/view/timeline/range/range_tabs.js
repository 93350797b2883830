// What can be read from a selected range: a line for each tab of its panel.

import { StatesTab } from "./states_tab.js";

/** @import { CaptureContext } from "../../../page/capture_context.js" */
/** @import { TrackLayer } from "../track_layer.js" */
/** @import { RangeOver } from "./range_over.js" */

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

/** @type {RangeTab[]} In the order of the tabs. */
export const RANGE_TABS = [
  {
    key: "threads",
    title: "States by thread",
    lacks: ({ info }) =>
      info.streams.some(({ row, name }) => row === "state" && name === "thread states")
        ? ""
        : "This capture has no states of threads. Record the source “Thread states”.",
    make: (parts) => new StatesTab(parts),
  },
];
