// The menu Views of a capture: views and filters that are kept in the library, and keeping those that are shown.

import { h } from "../lib/dom.js";
import { Menu } from "../lib/menu.js";
import { noteError } from "../lib/notice.js";

/**
 * The menu with its button.
 * @param {import("./capture_context.js").CaptureContext} context
 */
export function keptViews(context) {
  const button = h("button", { type: "button", "aria-haspopup": "true", "aria-expanded": "false", text: "Views" });
  const menu = new Menu((isOpen) => button.setAttribute("aria-expanded", String(isOpen)));
  button.addEventListener("click", async () => {
    if (menu.isOpen) return menu.close();
    try {
      const { keptItems } = await import("./kept_items.js");
      menu.open("Views", await keptItems(context));
    } catch (error) {
      noteError(error);
    }
  });
  return h("div", { class: "menu" }, button, menu.element);
}
