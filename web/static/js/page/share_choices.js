// What the maker of a share chooses that it does not tell, and whether chats show a preview of it.

import { h } from "../lib/dom.js";

/** @import { ShareItem } from "../../../api.js" */
/** @typedef {ShareItem["removes"][number]} RemovedKind */

/** What can be removed: its word, and what it is. @type {[kind: RemovedKind, words: string][]} */
const KINDS = [
  ["arguments", "arguments: data of programs, such as those of calls and probes, command lines, scripts"],
  ["paths", "paths: of files, programs and libraries"],
  ["names", "names: of processes, users, containers, groups and the host; functions keep theirs"],
  ["addresses", "addresses: of networks and of memory, and ports"],
];

/**
 * @param {{isInvestigation: boolean, changed: () => void}} about `changed` is called when something was chosen
 * @returns {{element: HTMLElement, chosen: () => {remove: RemovedKind[], notes: boolean, results: boolean, preview: boolean, views: boolean}}}
 */
export function shareChoices({ isInvestigation, changed }) {
  const remove = KINDS.map(([kind, words]) => {
    const box = h("input", { type: "checkbox", id: `share-remove-${kind}`, value: kind });
    return { kind, box, label: h("label", { class: "check" }, box, ` ${words}`) };
  });
  const notes = h("input", { type: "checkbox", id: "share-notes", disabled: true });
  const results = h("input", { type: "checkbox", id: "share-results", disabled: true });
  const preview = h("input", { type: "checkbox", id: "share-preview" });
  const views = h("input", { type: "checkbox", id: "share-views" });
  const kinds = () => remove.filter(({ box }) => box.checked).map(({ kind }) => kind);
  const update = () => {
    const isWhole = kinds().length === 0;
    for (const box of [notes, results]) {
      box.disabled = isWhole;
      if (isWhole) box.checked = false;
    }
    changed();
  };
  const left = isInvestigation
    ? "Texts, tasks and captions on the page are shown as they were written, and so is the title."
    : "The title is shown as you write it. The link opens the tab and the range, without filters and searches. Output, processes, the script and the file of the capture cannot be cleaned: they are not in it.";
  const element = h(
    "div",
    { class: "stack", on: { change: update } },
    h(
      "fieldset",
      { class: "share-removes" },
      h("legend", { text: "Remove from what it shows" }),
      ...remove.map(({ label }) => label),
      h("p", {
        class: "quiet small",
        text: `Each is replaced by a placeholder, the same for the same value. Text that may be anything goes with each of them; a path can hold names. ${left}`,
      }),
      h("label", { class: "check" }, notes, " show notes all the same, as they were written"),
      isInvestigation && h("label", { class: "check" }, results, " show results of queries all the same"),
    ),
    isInvestigation && h("label", { class: "check" }, views, " views can be opened, each at its range and filter"),
    h("label", { class: "check" }, preview, " preview in chats"),
    h("p", {
      class: "quiet small",
      text: "Then whoever sees the address is shown the title and a picture of how much there was over time, without its token: a chat's servers too.",
    }),
  );
  return {
    element,
    chosen: () => ({
      remove: kinds(),
      notes: notes.checked,
      results: results.checked,
      preview: preview.checked,
      views: views.checked,
    }),
  };
}
