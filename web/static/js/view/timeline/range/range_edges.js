// Keys that select a range without a pointer, and choose the track that it is read over.

import { bind } from "../../../lib/keys.js";

/** @import { CaptureContext } from "../../../page/capture_context.js" */

/**
 * The range after one of its ends was put at a moment: the other end stays if it lies on its side, else the range reaches to the
 * end of what is in sight.
 * @param {"start"|"end"} edge
 * @param {number} time
 * @param {{start: number|null, end: number|null}} range what is selected
 * @param {{start: number, end: number}} shown what is in sight
 */
export function withEdge(edge, time, range, shown) {
  if (edge === "start") return { start: time, end: range.end !== null && range.end > time ? range.end : shown.end };
  return { start: range.start !== null && range.start < time ? range.start : shown.start, end: time };
}

/**
 * @param {CaptureContext} context
 * @param {object} timeline
 * @param {() => boolean} timeline.when keys count
 * @param {() => {start: number, end: number}} timeline.shown
 * @param {() => number|null} timeline.cursor its time
 * @param {() => string} timeline.over how the address says that the range is over the row at the cursor; empty for no row
 */
export function startRangeEdges(context, { when, shown, cursor, over }) {
  const put = (/** @type {"start"|"end"} */ edge) => {
    const time = cursor();
    if (time !== null) context.select(withEdge(edge, time, context.range, shown()));
  };
  const hasCursor = () => when() && cursor() !== null;
  bind("timeline.begin", () => put("start"), { when: hasCursor });
  bind("timeline.end", () => put("end"), { when: hasCursor });
  bind("timeline.over", () => context.state.set({ over: context.view.over === over() ? "" : over() }), {
    when: () => when() && context.range.start !== null && (over() !== "" || context.view.over !== ""),
  });
}
