// A view that few captures have: its modules are loaded when its tab is in sight first.

import { PanelView } from "./panel_view.js";

/**
 * Stands for the view, and hands on what it is told.
 * @template {PanelView} [V=PanelView]
 */
export class LateView extends PanelView {
  /** @type {Promise<V>|null} */
  #view = null;

  /**
   * @param {import("../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   * @param {() => Promise<V>} make
   */
  constructor(context, panel, make) {
    super(context, panel);
    this.make = make;
  }

  show() {
    this.visible = true;
    void this.load();
  }

  /** Shows the view, which is made now if it was not before. */
  async load() {
    try {
      this.problem.remove();
      this.#view ??= this.make();
      const view = await this.#view;
      if (this.visible) view.show();
    } catch (error) {
      this.#view = null;
      this.panel.append(this.problem);
      this.failed(error);
    }
  }

  hide() {
    super.hide();
    void this.tell((view) => view.hide());
  }

  grown() {
    void this.tell((view) => view.grown());
  }

  cancel() {
    void this.tell((view) => view.cancel());
  }

  /** Makes the view although nobody sees it yet: what comes in the meantime is kept there. */
  begin() {
    this.#view ??= this.make();
    void this.tell(() => {});
  }

  /**
   * Hands something on. One that was not made has nothing to hear, and who waits for one that cannot be made tells why.
   * @param {(view: V) => void} what
   */
  async tell(what) {
    const view = await this.#view?.catch(() => null);
    if (view) what(view);
  }
}
