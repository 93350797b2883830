// The table of rows, whose modules are loaded when its tab is in sight first, or when there are rows of a running capture to keep.

import { LateView } from "../view/late_view.js";

/** @import { EventsView } from "../view/table/events_view.js" */

/**
 * The tab.
 * @extends {LateView<EventsView>}
 */
export class LateEvents extends LateView {
  /**
   * @param {import("./capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, async () => {
      const { EventsView } = await import("../view/table/events_view.js");
      return new EventsView(context, panel);
    });
    if (context.info.running) this.begin();
  }

  /**
   * Switches between live rows and stored ones.
   * @param {boolean} running
   */
  setRunning(running) {
    void this.tell((view) => view.setRunning(running));
  }

  /**
   * Rows of a running capture.
   * @param {Parameters<EventsView["liveRows"]>[0]} message
   */
  liveRows(message) {
    void this.tell((view) => view.liveRows(message));
  }
}
