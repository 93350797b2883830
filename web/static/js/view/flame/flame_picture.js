// The frames of a flame graph: nodes of the page while they are few, else on a canvas, for the same keys and the same pointer.

import { closest, h, put, s } from "../../lib/dom.js";
import { FRAME, drawFlame } from "./flame_draw.js";

/** @import { FlameModel } from "./flame_model.js" */
/** @import { FlameLook } from "./flame_draw.js" */

/** With more frames than these the page's own nodes take longer than a frame of the screen. */
export const MOST_NODES = 2000;

/**
 * @typedef {object} PictureOwner what is done with frames
 * @property {(i: number) => void} tell the pointer is over a frame, or over none (-1)
 * @property {(i: number) => void} pick
 * @property {(event: KeyboardEvent) => void} press
 * @property {(error: unknown) => void} failed
 * @property {() => void} [leave] the pointer left the graph
 * @property {() => void} [reset] a double click
 * @property {(i: number, event: MouseEvent) => void} [menu]
 */

/** The frames. */
export class FlamePicture {
  /** @type {import("./flame_canvas.js").FlameCanvas|null} */
  #canvas = null;
  #current = -1;
  #loading = false;
  /** Whether the keyboard was at it before it was drawn on what is still loaded. */
  #waiting = false;
  /** @type {{model: FlameModel, width: number, look: FlameLook}|null} */
  #drawn = null;

  /**
   * @param {string} label
   * @param {PictureOwner} owner
   */
  constructor(label, owner) {
    this.label = label;
    this.owner = owner;
    this.height = 0;
    this.svg = s("svg", { class: "flame", tabindex: "0", role: "application", "aria-label": label });
    this.stage = h("div", { class: "flame-stage", hidden: true });
    /** What is put on the page. */
    this.parts = [this.svg, this.stage];
    const index = (/** @type {Event} */ event) => Number(closest(event, "g[data-i]")?.dataset.i ?? -1);
    this.listen(this.svg, index);
    this.svg.addEventListener("pointerover", (event) => owner.tell(index(event)));
  }

  /**
   * Takes the events of what frames are drawn on.
   * @param {GlobalEventHandlers} element
   * @param {(event: MouseEvent) => number} index which frame an event is about; -1 for none
   */
  listen(element, index) {
    const { owner } = this;
    element.addEventListener("pointerleave", () => owner.leave?.());
    element.addEventListener("dblclick", () => owner.reset?.());
    element.addEventListener("keydown", (event) => owner.press(event));
    element.addEventListener("click", (event) => {
      const i = index(event);
      if (i >= 0) owner.pick(i);
    });
    element.addEventListener("contextmenu", (event) => {
      const i = index(event);
      if (i >= 0) owner.menu?.(i, event);
    });
  }

  /** What has the keyboard's focus. */
  get element() {
    return this.#canvas && !this.stage.hidden ? this.#canvas.element : this.svg;
  }

  /** Gives it the keyboard's focus. */
  focus() {
    this.element.focus();
  }

  /**
   * Draws a graph.
   * @param {FlameModel} model
   * @param {number} width pixels
   * @param {FlameLook} look
   */
  draw(model, width, look) {
    const focused = document.activeElement === this.element;
    const many = model.count > MOST_NODES;
    this.#drawn = { model, width, look };
    this.height = (model.maxDepth + 1) * FRAME;
    this.stage.hidden = !many;
    this.stage.classList.toggle("is-down", look.down);
    this.svg.classList.toggle("is-down", look.down);
    this.svg.style.display = many ? "none" : "";
    for (const part of this.parts) part.style.height = `${this.height}px`;
    if (many) {
      put(this.svg);
      this.#drawMany();
    } else {
      put(this.svg, drawFlame(model, width, look));
      this.#canvas?.clear();
    }
    this.#waiting = focused && !this.#canvas;
    if (focused) this.focus();
    this.mark(this.#current);
  }

  #drawMany() {
    if (this.#drawn && this.#canvas) this.#canvas.show(this.#drawn.model, this.#drawn.width, this.#drawn.look);
    else if (!this.#loading) void this.#load();
  }

  async #load() {
    this.#loading = true;
    try {
      const { FlameCanvas } = await import("./flame_canvas.js");
      this.#canvas = new FlameCanvas(this);
      if (!this.stage.hidden) this.#drawMany();
      this.mark(this.#current);
      if (this.#waiting && document.activeElement === document.body) this.focus();
    } catch (error) {
      this.owner.failed(error);
    } finally {
      this.#loading = false;
    }
  }

  /** Draws nothing. */
  clear() {
    this.#drawn = null;
    this.height = 0;
    put(this.svg);
    this.svg.style.height = "0";
    this.stage.hidden = true;
    this.#canvas?.clear();
  }

  /**
   * Marks the frame that the keyboard is at; -1 for none.
   * @param {number} i
   */
  mark(i) {
    this.#current = i;
    this.#canvas?.mark(i);
    this.svg.querySelector(".is-current")?.classList.remove("is-current");
    if (i >= 0) this.svg.children[i]?.classList.add("is-current");
  }

  /**
   * Where a frame is in the window; null for none.
   * @param {number} i
   */
  box(i) {
    if (this.#canvas && !this.stage.hidden) return this.#canvas.box(i);
    return this.svg.children[i]?.getBoundingClientRect() ?? null;
  }
}
