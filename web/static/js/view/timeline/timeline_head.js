// What stands above the tracks: which ones, how many, what their colours stand for, and what is not shown.

import { h, put } from "../../lib/dom.js";
import { plural } from "../../lib/format.js";
import { leftOutWords } from "./path/arrows.js";
import { rowsIn } from "./timeline_decode.js";
import { legend } from "./timeline_legend.js";
import { stateLegend, tickLegend } from "./track_legend.js";

/** @import { Timeline } from "./timeline_decode.js" */
/** @import { TrackLayer } from "./track_layer.js" */

/** What a track is called. */
const TRACKS = { cpu: "CPU", thread: "thread", counter: "counter", stream: "stream" };

/** What a filter of rows does in the tree. */
const UNFILTERED =
  "The filter counts for samples, events and outputs. States and slices are all there, as they are drawn from sums that have no other columns; so are counters, queries and maps.";

/** The head. */
export class TimelineHead {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {TrackLayer} layer
   */
  constructor(context, layer) {
    this.context = context;
    this.layer = layer;
    this.groups = h(
      "span",
      { class: "segments timeline-groups", role: "group", "aria-label": "Tracks" },
      this.#groupButton("tree", "States"),
      this.#groupButton("cpu", "CPUs"),
      this.#groupButton("thread", "Threads"),
    );
    this.find = h("input", {
      type: "search",
      class: "track-find",
      placeholder: "Find tracks",
      "aria-label": "Find tracks by name, process or thread",
      value: context.view.name,
      on: { input: () => context.state.set({ name: this.find.value }) },
    });
    this.more = h("span", { class: "quiet" });
    this.unhide = h("button", { type: "button", hidden: true, on: { click: () => layer.showHidden() } });
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "Colours" });
    this.arrows = h("span", { class: "quiet" });
    this.filtered = h("span", { class: "quiet" });
  }

  /**
   * @param {"tree"|"cpu"|"thread"} name
   * @param {string} label
   */
  #groupButton(name, label) {
    return h("button", {
      type: "button",
      data: { group: name },
      text: label,
      on: { click: () => this.context.state.set({ group: name }) },
    });
  }

  /**
   * Says which tracks can be shown, and which are.
   * @param {string} group
   * @param {boolean} hasTracks whether there are tracks of states or slices
   */
  drawGroups(group, hasTracks) {
    this.groups.hidden = this.context.isCounts;
    this.find.hidden = group !== "tree";
    const hasStates = this.layer.list === null || this.layer.list.tracks.length > 0;
    for (const button of this.groups.querySelectorAll("button")) {
      // Where nothing has states, the tree has outputs of scripts, samples and events.
      if (button.dataset.group === "tree") button.textContent = hasStates ? "States" : "Tracks";
      button.hidden = button.dataset.group === "tree" && !hasTracks;
      button.setAttribute("aria-pressed", String(button.dataset.group === group));
    }
  }

  /** Tells of the tree. */
  drawTree() {
    const { layer } = this;
    const tracks = layer.rows.filter(({ row }) => row.kind === "tracks").length;
    const { hiddenTracks, binned } = layer;
    const uncounted =
      binned.heads.more > 0 ? `; samples and events of ${plural(binned.heads.more, "more thread")} are not shown` : "";
    this.more.textContent = layer.list ? plural(tracks, "track") + uncounted : "";
    this.filtered.textContent = this.context.view.filter ? UNFILTERED : "";
    this.unhide.hidden = hiddenTracks === 0;
    this.unhide.textContent = `Show ${plural(hiddenTracks, "hidden track")}`;
    const { streams } = this.context.info;
    const ticks = new Set([...binned.heads.tick_streams, ...this.context.outputs.map(({ index }) => index)]);
    put(this.legend, ...stateLegend(layer.list), ...tickLegend([...ticks].flatMap((index) => streams[index] ?? [])));
  }

  /** Tells which arrows are not drawn. */
  drawArrows() {
    const words = leftOutWords(this.layer.arrows.left);
    if (this.arrows.textContent !== words) this.arrows.textContent = words;
  }

  /**
   * Tells of tracks of bins.
   * @param {Timeline|null} current
   * @param {{start: number, end: number}} shown
   */
  drawBins(current, shown) {
    this.unhide.hidden = true;
    this.arrows.textContent = "";
    this.filtered.textContent = "";
    if (!current) return;
    const { tracks, more_tracks: more, group, has_values: values } = current;
    const empty = !values && tracks.every((track) => rowsIn(track, current, shown) === 0);
    this.more.textContent = empty
      ? "No rows here"
      : more > 0
        ? `${plural(tracks.length, TRACKS[group])} shown, the busiest; ${plural(more, "more track")} not shown`
        : plural(tracks.length, TRACKS[group]);
    put(
      this.legend,
      ...(values
        ? [
            h("span", {
              class: "quiet",
              text: "Each has a scale of its own, up to the value beside it. The band is from the least to the greatest value of a pixel.",
            }),
          ]
        : legend(current, shown)),
    );
  }
}
