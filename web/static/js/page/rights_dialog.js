// Who may read and change a capture, asked and said in a dialog.

import { get, send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { errorNotice, note, waitFor } from "../lib/notice.js";
import { RightsForm, rightsWords } from "./rights_form.js";

/** @import { CaptureRights } from "../../../api.js" */

/**
 * What counts while a capture has no list of its own.
 * @param {CaptureRights} rights
 */
export function unlimitedWords({ tags }) {
  if (tags.length === 0) return "Everybody who is logged in may read it";
  const lists = tags.map(({ tag, list }) => `${tag}: ${rightsWords(list)}`);
  return `Whoever its tags let read it (${lists.join("; ")})`;
}

/**
 * Asks who may read a capture, and says it to the console.
 * @param {string} id
 * @param {() => unknown} done what is done when it is others
 */
export async function captureRights(id, done) {
  const rights = await waitFor("Reading who may read it", get("/api/captures/{id}/rights", { id }));
  const form = new RightsForm(rights.list, rights, unlimitedWords(rights));
  const problem = h("div", { role: "alert" });
  const before = document.activeElement;
  const close = () => {
    dialog.close();
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  };
  const save = async () => {
    try {
      const list = form.read();
      const said = send("PUT", "/api/captures/{id}/rights", { id }, { list });
      await waitFor("Saying who may read it", said);
      close();
      note(list === null ? "Read as its tags and roles say." : `Read by: ${rightsWords(list)}.`);
      done();
    } catch (error) {
      put(problem, errorNotice(error));
    }
  };
  const links =
    rights.links > 0 &&
    h("p", {
      class: "notice",
      text: `${plural(rights.links, "link")} ${rights.links === 1 ? "shows" : "show"} it to people without a login all the same, until revoked.`,
    });
  const dialog = h(
    "dialog",
    { class: "keep-dialog", "aria-labelledby": "rights-head" },
    h(
      "form",
      {
        class: "stack",
        on: {
          submit: (event) => {
            event.preventDefault();
            void save();
          },
        },
      },
      h("h2", { id: "rights-head", text: "Who may read this capture" }),
      form.element,
      h("p", {
        class: "quiet small",
        text: `To others it is not there: in no list, search, comparison or series. ${rights.owner}, who owns it, and admins always may. To change is what its owner may: rename, tag, pin, stop, delete; viewers only read.`,
      }),
      links,
      problem,
      h(
        "div",
        { class: "row" },
        h("button", { class: "primary", text: "Save" }),
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
  (form.some.checked ? form.some : form.all).focus();
}
