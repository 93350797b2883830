// The field in which the track of a query gets another name, over its label in the tree.

import { h } from "../../../lib/dom.js";
import { NAME_CHARS } from "../../../lib/sql_track.js";
import { AXIS, gutter } from "../timeline_axis.js";

/** @import { TrackLayer } from "../track_layer.js" */

/** The field. */
export class NameField {
  #key = "";

  /**
   * @param {TrackLayer} layer
   * @param {{scroll: () => number, back: () => void}} timeline `scroll`: pixels; `back`: where the focus goes then
   */
  constructor(layer, { scroll, back }) {
    this.layer = layer;
    this.scroll = scroll;
    this.back = back;
    this.element = h("input", {
      type: "text",
      class: "name-field",
      maxlength: String(NAME_CHARS),
      spellcheck: "false",
      hidden: true,
      "aria-label": "Name of the track; Enter saves, Escape leaves",
      on: { keydown: (event) => this.#typed(event), blur: () => this.#leave() },
    });
  }

  /**
   * Shows it over the label of a query's row.
   * @param {string} key
   */
  open(key) {
    const shown = this.layer.rows.find(({ row }) => row.key === key);
    const lane = this.layer.own.queries.find((one) => one.key === key);
    if (!shown || !lane) return;
    this.#key = key;
    this.element.value = lane.name;
    this.element.style.top = `${Math.max(AXIS, AXIS + shown.top - this.scroll())}px`;
    this.element.style.width = `${gutter.width - 8}px`;
    this.element.hidden = false;
    this.element.focus();
    this.element.select();
  }

  /** @param {KeyboardEvent} event */
  #typed(event) {
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    if (event.key === "Enter") this.layer.own.change(this.#key, { name: this.element.value.trim() });
    this.#leave();
  }

  #leave() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.back();
  }
}
