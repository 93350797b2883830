// Whether all who are logged in may read a capture, and the way to say who may. The tab Info has it.

import { h } from "../lib/dom.js";
import { noteError } from "../lib/notice.js";

/**
 * Asks who may read a capture, and says it.
 * @param {import("./capture_context.js").CaptureContext} context
 */
export async function askReaders(context) {
  try {
    const { captureRights } = await import("./rights_dialog.js");
    await captureRights(context.id, () => context.refresh());
  } catch (error) {
    noteError(error);
  }
}

/** @param {import("./capture_context.js").CaptureContext} context */
export function rightsLine(context) {
  const { is_limited: isLimited, can_give: canGive } = context.info;
  return h(
    "div",
    {},
    h("p", {
      text: isLimited
        ? "A list says who may read this capture: its own, or that of a tag."
        : "Everybody who is logged in may read this capture.",
    }),
    canGive &&
      !context.gone &&
      h("button", {
        type: "button",
        class: "plain",
        text: "Say who may read it",
        on: { click: () => void askReaders(context) },
      }),
  );
}
