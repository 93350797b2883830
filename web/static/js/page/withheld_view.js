// A view that a share does not show: its tab is there, and says why.

import { PanelView } from "../view/panel_view.js";

/** Stands for the view. */
export class WithheldView extends PanelView {
  /**
   * @param {import("./capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   * @param {string} reason
   */
  constructor(context, panel, reason) {
    super(context, panel);
    this.reason = reason;
    panel.append(this.problem);
  }

  load() {
    this.stale = false;
    this.empty(this.reason);
  }
}
