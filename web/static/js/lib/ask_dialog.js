// A question in a dialog: a form with fields, and two buttons.

import { h } from "./dom.js";

/**
 * Asks. Gives true when the form was sent, false when it was closed.
 * @param {string} title
 * @param {string} doing what the button says
 * @param {...import("./dom.js").Child} fields
 * @returns {Promise<boolean>}
 */
export function askInDialog(title, doing, ...fields) {
  const before = document.activeElement;
  return new Promise((resolve) => {
    const close = (/** @type {boolean} */ sent) => {
      dialog.close();
      dialog.remove();
      if (before instanceof HTMLElement || before instanceof SVGElement) before.focus();
      resolve(sent);
    };
    const dialog = h(
      "dialog",
      { class: "keep-dialog", "aria-label": title },
      h(
        "form",
        {
          class: "stack",
          on: {
            submit: (event) => {
              event.preventDefault();
              close(true);
            },
          },
        },
        h("h2", { text: title }),
        ...fields,
        h(
          "div",
          { class: "row" },
          h("button", { class: "primary", text: doing }),
          h("button", { type: "button", text: "Cancel", on: { click: () => close(false) } }),
        ),
      ),
    );
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close(false);
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("input")?.focus();
  });
}
