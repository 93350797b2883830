// The arrows over the tree of tracks: those of the critical path, and of all that leads to what is picked and on from it.

import { AXIS } from "../timeline_axis.js";
import { placedArrows } from "./arrows.js";
import { drawArrows } from "./arrows_draw.js";

/** @import { CriticalPath } from "../../../../../api.js" */
/** @import { Canvas } from "../../../lib/canvas.js" */
/** @import { Pane } from "../../../lib/time_fold.js" */
/** @import { TrackLayer } from "../track_layer.js" */
/** @import { Arrow, LeftOut } from "./arrows.js" */

/** The arrows. */
export class ArrowsLayer {
  /**
   * Of which path the arrows are known.
   * @type {CriticalPath|null}
   */
  #path = null;
  /** @type {Arrow[]} */
  #ofPath = [];

  /** @param {TrackLayer} layer */
  constructor(layer) {
    this.layer = layer;
    /**
     * Those in sight that were not drawn in the last picture.
     * @type {LeftOut}
     */
    this.left = { near: 0, absent: 0 };
  }

  /**
   * Draws them over the tree.
   * @param {Canvas} canvas
   * @param {{panes: Pane[], scroll: number}} model
   */
  draw(canvas, model) {
    this.left = { near: 0, absent: 0 };
    this.#drawPath(canvas, model);
    this.#drawFlows(canvas, model);
  }

  /**
   * @param {Canvas} canvas
   * @param {{panes: Pane[], scroll: number}} model
   */
  #drawPath(canvas, { panes, scroll }) {
    const { data } = this.layer.path;
    if (data !== this.#path) {
      this.#path = data;
      const key = (/** @type {number} */ thread) => `tid:${data?.threads[thread].tid}`;
      const arrow = (/** @type {CriticalPath["waits"][number]} */ { woken, waker, thread }) => ({
        time: woken,
        from: key(waker),
        to: key(thread),
      });
      this.#ofPath = (data?.waits ?? []).map(arrow).sort((a, b) => a.time - b.time);
    }
    if (this.#ofPath.length === 0) return;
    /** @type {Map<string, number>} */
    const middles = new Map();
    for (const { row, top, places } of this.layer.rows) {
      const [first] = places;
      if (first) middles.set(row.key, AXIS + top + first.top + first.height / 2 - scroll);
    }
    const look = { color: canvas.colors["--accent"], width: 1 };
    this.#draw(canvas, panes, this.#ofPath, (row) => middles.get(row) ?? null, look);
  }

  /**
   * @param {Canvas} canvas
   * @param {{panes: Pane[], scroll: number}} model
   */
  #drawFlows(canvas, { panes, scroll }) {
    const { picked, rows } = this.layer;
    if (!picked) return;
    const own = picked.lane.id;
    const arrows = picked.moment.flows.flows.flatMap(({ way, track, time }) =>
      track === null ? [] : [{ time, ...(way === "from" ? { from: track, to: own } : { from: own, to: track }) }],
    );
    if (arrows.length === 0) return;
    const wanted = new Set(arrows.flatMap(({ from, to }) => [from, to]));
    /** @type {Map<string, number>} */
    const middles = new Map();
    for (const { row, top, places } of rows)
      if (row.kind === "tracks")
        for (const place of places)
          if (wanted.has(place.lane.id) && !middles.has(place.lane.id))
            middles.set(place.lane.id, AXIS + top + place.top + place.height / 2 - scroll);
    const look = { color: canvas.colors["--text"], width: 1.5 };
    this.#draw(
      canvas,
      panes,
      arrows.sort((a, b) => a.time - b.time),
      (id) => middles.get(id) ?? null,
      look,
    );
  }

  /**
   * @param {Canvas} canvas
   * @param {Pane[]} panes
   * @param {Arrow[]} arrows in order of time
   * @param {(key: string) => number|null} middleOf
   * @param {{color: string, width: number}} look
   */
  #draw(canvas, panes, arrows, middleOf, look) {
    for (const shown of panes) {
      const { drawn, near, absent } = placedArrows(arrows, shown, middleOf);
      this.left.near += near;
      this.left.absent += absent;
      drawArrows(canvas, drawn, shown, look);
    }
  }
}
