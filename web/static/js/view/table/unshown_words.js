// What is said of rows that the table does not show. Pure.

import { plural } from "../../lib/format.js";

/** @import { CapturePage } from "../../../../api.js" */

/**
 * What became of rows of a running capture that the table has let go.
 * @param {number} missing
 * @param {boolean} isFlight whether a flight recorder has them, which stores nothing until it fires
 */
export function missingWords(missing, isFlight) {
  const rows = plural(missing, "row");
  return isFlight
    ? `${rows} before them not shown here: what is still in memory is stored when the flight recorder fires`
    : `${rows} kept in the capture and not shown here`;
}

/**
 * Why a stream has no rows.
 * @param {{info: Pick<CapturePage, "ledger"|"spec"|"firing"|"running">}} context
 */
export function noRowsWords({ info: { ledger, spec, firing, running } }) {
  const counts = "The Info tab has the counts.";
  if (!firing && spec.limits?.flight) {
    const left = ledger.losses.filter(({ stage }) => stage === "not_kept").reduce((sum, { count }) => sum + count, 0);
    const gone = left > 0 ? ` ${plural(left, "row")} left its memory and ${left === 1 ? "was" : "were"} not kept.` : "";
    return running
      ? `A flight recorder stores no rows of its own: they are in memory until it fires, and then are in a capture of their own.${gone}`
      : `A flight recorder stores no rows of its own. What it stored when it fired is in captures of their own, which the Info tab lists.${gone}`;
  }
  return `This stream has no rows: the probe was not hit, or every hit was filtered. ${counts}`;
}
