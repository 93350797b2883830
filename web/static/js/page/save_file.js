// Saves what a page shows as one file that opens without a server: asks what of it, has the console make the file, and tells how large it
// is and what is not in it before it is saved. Pictures of views too: few pages need either.

import { getFile, isAborted } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { bytes } from "../lib/format.js";
import { errorNotice } from "../lib/notice.js";
import { saveBlob } from "../lib/save_text.js";
import { savePicture } from "./save_picture.js";
import { formatView } from "./url_state.js";

/** @import { CaptureContext } from "./capture_context.js" */
/** @typedef {Awaited<ReturnType<typeof getFile>>} MadeFile */

export const saveDrawn = savePicture;

/**
 * What is asked before a file is made.
 * @typedef {object} FileQuestion
 * @property {string} title
 * @property {string} about
 * @property {HTMLElement|null} choice what can be chosen
 * @property {() => string} lacks what is still to be chosen, as a sentence; empty for nothing
 * @property {(signal: AbortSignal) => Promise<MadeFile>} make
 */

/**
 * What a made file is, in sentences.
 * @param {MadeFile} made
 */
const wordsOf = ({ content, leftOut }) => [`The file has ${bytes(content.size)}.`, leftOut].filter(Boolean).join(" ");

/** @param {FileQuestion} question */
function askForFile({ title, about, choice, lacks, make }) {
  const before = document.activeElement;
  const giveUp = new AbortController();
  const told = h("p", { role: "status" });
  const problem = h("div");
  const bar = h("progress", { "aria-label": "The file is being made", hidden: true });
  const main = h("button", { class: "primary", text: "Prepare" });
  const inputs = [...(choice?.querySelectorAll("input") ?? [])];
  const close = () => {
    giveUp.abort();
    dialog.close();
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  };
  /** @type {MadeFile|null} */
  let made = null;
  const isMaking = (/** @type {boolean} */ isBusy) => {
    for (const input of inputs) input.disabled = isBusy || made !== null;
    main.disabled = isBusy;
    bar.hidden = !isBusy;
  };
  const prepare = async () => {
    told.textContent = lacks();
    if (told.textContent !== "") return;
    put(problem);
    isMaking(true);
    told.textContent = "Reading what the file is to have.";
    try {
      made = await make(giveUp.signal);
      told.textContent = wordsOf(made);
      main.textContent = "Save";
    } catch (error) {
      if (isAborted(error)) return;
      told.textContent = "";
      put(problem, errorNotice(error));
    }
    isMaking(false);
    main.focus();
  };
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (!made) return void prepare();
    saveBlob(made.name, made.content);
    close();
  };
  const form = h(
    "form",
    { class: "stack", on: { submit } },
    h("h2", { id: "save-page-head", text: title }),
    h("p", { text: about }),
    choice,
    told,
    bar,
    problem,
    h("div", { class: "row" }, main, h("button", { type: "button", text: "Cancel", on: { click: close } })),
  );
  const dialog = h("dialog", { class: "keep-dialog", id: "save-page", "aria-labelledby": "save-page-head" }, form);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * Saves the view of a capture.
 * @param {CaptureContext} context
 * @param {{name: string, title: string}[]} tabs that can be in it
 */
export function saveFile(context, tabs) {
  const boxes = tabs.map(({ name, title }) => {
    const box = h("input", { type: "checkbox", value: name, checked: name === context.view.tab });
    return { name, box, label: h("label", { class: "check" }, box, ` ${title}`) };
  });
  const chosen = () => boxes.filter(({ box }) => box.checked).map(({ name }) => name);
  askForFile({
    title: "Save this view as a file",
    about:
      "One HTML file that opens in a browser without Bathyscope and without a network: this view with its range and filter, other zooms of it, and its rows to sort and search. Whoever has the file can read all that is in it.",
    choice: h("fieldset", { class: "row" }, h("legend", { text: "Tabs in it" }), ...boxes.map(({ label }) => label)),
    lacks: () => (chosen().length === 0 ? "Choose at least one tab." : ""),
    make: (signal) => {
      const view = formatView(context.view).slice(1);
      return getFile("/api/captures/{id}/file", { id: context.id, view, tabs: chosen().join(",") }, signal);
    },
  });
}

/**
 * Saves an investigation.
 * @param {string} id
 */
export function saveWritten(id) {
  askForFile({
    title: "Save this investigation as a file",
    about:
      "One HTML file that opens in a browser without Bathyscope and without a network: the page as it is now, and its views, which open at a click to be zoomed, searched and sorted. Whoever has the file can read all that is in it.",
    choice: null,
    lacks: () => "",
    make: (signal) => getFile("/api/investigations/{id}/file", { id }, signal),
  });
}
