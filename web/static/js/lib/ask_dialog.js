// A question in a dialog: a form with fields, and two buttons.

import { h, put } from "./dom.js";
import { errorNotice } from "./notice.js";

/**
 * Asks. Gives true when the form was sent, false when it was closed.
 * @param {string} title
 * @param {string} doing what the button says
 * @param {...import("./dom.js").Child} fields
 * @returns {Promise<boolean>}
 */
export function askInDialog(title, doing, ...fields) {
  return actInDialog(title, doing, fields, () => Promise.resolve());
}

/**
 * Asks, and does what is asked for. What is refused is said in the dialog, which keeps what was typed. Gives true when it was done,
 * false when the form was closed.
 * @param {string} title
 * @param {string} doing what the button says
 * @param {import("./dom.js").Child[]} fields
 * @param {() => Promise<unknown>} act
 * @returns {Promise<boolean>}
 */
export function actInDialog(title, doing, fields, act) {
  const problem = h("div", {});
  const button = h("button", { class: "primary", text: doing });
  const before = document.activeElement;
  return new Promise((resolve) => {
    const close = (/** @type {boolean} */ sent) => {
      dialog.close();
      dialog.remove();
      if (before instanceof HTMLElement || before instanceof SVGElement) before.focus();
      resolve(sent);
    };
    const submit = async () => {
      if (button.disabled) return;
      button.disabled = true;
      try {
        await act();
        close(true);
      } catch (error) {
        put(problem, errorNotice(error));
        button.disabled = false;
        problem.scrollIntoView({ block: "nearest" });
      }
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
              void submit();
            },
          },
        },
        h("h2", { text: title }),
        ...fields,
        problem,
        h(
          "div",
          { class: "row" },
          button,
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
