// The tracks of queries below a timeline without a tree: they share its window, selection and losses. What they are is in the address.

import { h, put } from "../../lib/dom.js";
import { SqlTrackRow } from "./sql_track_row.js";
import { readTracks } from "../../lib/sql_track.js";

/** All of them. */
export class SqlTracks {
  #hidden = false;

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {import("./rows/rows_lanes.js").RowsLanes} lanes
   * @param {import("./sql_track_row.js").TimelineParts} parts what the timeline does for its tracks
   */
  constructor(context, lanes, parts) {
    this.context = context;
    this.lanes = lanes;
    this.parts = parts;
    /** @type {SqlTrackRow[]} */
    this.rows = [];
    this.visible = false;
    this.element = h("div", { class: "sql-tracks", role: "group", "aria-label": "Tracks of queries", hidden: true });
    lanes.on("rows", () => this.#sync());
    this.#sync();
  }

  /**
   * The timeline is in sight, or not.
   * @param {boolean} visible
   */
  show(visible) {
    this.visible = visible;
    this.want();
  }

  /** Whether they are shown elsewhere. */
  set isHidden(/** @type {boolean} */ hidden) {
    this.#hidden = hidden;
    this.element.hidden = hidden || this.rows.length === 0;
  }

  /** Another window is shown. */
  want() {
    for (const row of this.rows) if (this.visible) row.want();
  }

  /** Something that all tracks show has changed. */
  redraw() {
    for (const row of this.rows) row.redraw();
  }

  /** Rows stay as they are where their query does, so that a name can be written and answers are kept. */
  #sync() {
    const left = [...this.rows];
    const wanted = readTracks(this.context.view.tracks);
    const rows = wanted.map((entry, i) => {
      const { data } = this.lanes.queries[i];
      const at = left.findIndex(({ query }) => query === data);
      const row =
        at >= 0
          ? left.splice(at, 1)[0]
          : new SqlTrackRow(this.context, data, {
              ...this.parts,
              change: (one, patch) => this.#change(one, patch),
            });
      row.set(entry);
      return row;
    });
    const same = rows.length === this.rows.length && rows.every((row, i) => row === this.rows[i]);
    this.rows = rows;
    this.element.hidden = this.#hidden || rows.length === 0;
    if (!same) put(this.element, ...rows.map(({ element }) => element));
    this.want();
  }

  /**
   * Changes a track in the address; null removes it.
   * @param {SqlTrackRow} row
   * @param {import("./sql_track_row.js").Patch|null} patch
   */
  #change(row, patch) {
    const at = this.rows.indexOf(row);
    this.lanes.change(this.lanes.queries[at]?.key ?? "", patch);
    if (!patch)
      (this.rows[Math.min(at, this.rows.length - 1)]?.element.querySelector("button") ?? this.parts.back()).focus();
  }
}
