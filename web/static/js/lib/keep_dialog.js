// Keeps something by name in the library: asks for the name, what it is for, and whether everybody may use it.

import { send } from "./api.js";
import { h, put } from "./dom.js";
import { errorNotice, note, waitFor } from "./notice.js";

/** @import { LibraryThing } from "../../../api.js" */

/**
 * Asks, and keeps it.
 * @param {{kind: LibraryThing["kind"], what: string, text: string, name?: string}} thing `what` it is, as in "this query"
 */
export function keepThing({ kind, what, text, name = "" }) {
  const nameInput = h("input", { type: "text", class: "mono", maxlength: "64", spellcheck: "false", id: "keep-name" });
  const about = h("input", { type: "text", maxlength: "500", id: "keep-about" });
  const shared = h("input", { type: "checkbox" });
  nameInput.value = name;
  const problem = h("div", { role: "alert" });
  const before = document.activeElement;
  const close = () => {
    dialog.close();
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  };
  const keep = async () => {
    const body = {
      kind,
      text,
      name: nameInput.value.trim(),
      description: about.value,
      shared: shared.checked,
    };
    try {
      const kept = await waitFor("Keeping it", send("POST", "/api/library", {}, body));
      close();
      note(`Kept ${what} as ${kept.name}. The page Library has it.`);
    } catch (error) {
      put(problem, errorNotice(error));
    }
  };
  const dialog = h(
    "dialog",
    { class: "keep-dialog", "aria-labelledby": "keep-title" },
    h(
      "form",
      {
        class: "stack",
        on: {
          submit: (event) => {
            event.preventDefault();
            keep();
          },
        },
      },
      h("h2", { id: "keep-title", text: `Keep ${what}` }),
      h("pre", { class: "mono small", text }),
      h("div", { class: "field" }, h("label", { for: "keep-name", text: "Name" }), nameInput),
      h("div", { class: "field" }, h("label", { for: "keep-about", text: "What for" }), about),
      h("label", { class: "check" }, shared, " everybody may read and use it"),
      problem,
      h(
        "div",
        { class: "row" },
        h("button", { class: "primary", text: "Keep" }),
        h("button", { type: "button", text: "Cancel", on: { click: close } }),
      ),
    ),
  );
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  document.body.append(dialog);
  dialog.showModal();
  nameInput.focus();
}
