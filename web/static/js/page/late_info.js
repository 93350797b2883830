// The Info tab, whose modules are loaded when it is in sight first.

import { LateView } from "../view/late_view.js";

/** @import { InfoView } from "./info_view.js" */

/**
 * The tab.
 * @extends {LateView<InfoView>}
 */
export class LateInfo extends LateView {
  /**
   * @param {import("./capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, async () => {
      const { InfoView } = await import("./info_view.js");
      return new InfoView(context, panel);
    });
  }

  /**
   * Shows a section.
   * @param {string} id
   */
  reveal(id) {
    void this.tell((view) => view.reveal(id));
  }
}
