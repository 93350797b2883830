// A dialog that shows what is shown only once: a link that somebody is given, or a token.

import { copyText, h } from "../lib/dom.js";
import { note } from "../lib/notice.js";

/**
 * @param {{title: string, label: string, text: string, words: string, more?: string}} what `text` is what is copied
 * @returns {Promise<void>} when it was closed
 */
export function showOnce({ title, label, text, words, more = "" }) {
  const before = document.activeElement;
  return new Promise((resolve) => {
    const field = h("input", { type: "text", class: "mono", readonly: true, id: "once-text", "aria-label": label });
    field.value = text;
    const copy = async () => {
      const done = await copyText(text);
      if (!done) field.select();
      note(done ? `${label} copied.` : "This browser did not allow copying. It is selected: copy it.");
    };
    const close = () => {
      dialog.close();
      dialog.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      resolve();
    };
    const dialog = h(
      "dialog",
      { class: "keep-dialog once-dialog", "aria-labelledby": "once-head" },
      h(
        "div",
        { class: "stack" },
        h("h2", { id: "once-head", tabindex: "-1", text: title }),
        field,
        h("p", { text: words }),
        more && h("p", { class: "notice", text: more }),
        h(
          "div",
          { class: "row" },
          h("button", { type: "button", class: "primary", text: `Copy ${label.toLowerCase()}`, on: { click: copy } }),
          h("button", { type: "button", text: "Close", on: { click: close } }),
        ),
      ),
    );
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close();
    });
    document.body.append(dialog);
    dialog.showModal();
    field.select();
  });
}
