// Adds what a capture's page shows to an investigation: the view, the comparison, the query with its result, or the selected note.

import { get, send } from "../lib/api.js";
import { actInDialog } from "../lib/ask_dialog.js";
import { h } from "../lib/dom.js";
import { note, noteError, waitFor } from "../lib/notice.js";
import { firstLine } from "../view/notes/note_words.js";
import { investigationAddress } from "./investigation_words.js";
import { VIEWS } from "./views.js";

/** @import { InvestigationHead } from "../../../api.js" */
/** @typedef {{label: string, content: (caption: string) => Record<string, unknown>}} Addable */

/**
 * What of the page can be added, the likeliest first.
 * @param {import("./capture_context.js").CaptureContext} context
 * @param {string} tab that is shown
 * @returns {Addable[]}
 */
function addables(context, tab) {
  const { id, view, state, notes } = context;
  const query = state.addressWith({ tab, note: "", notes: false }).split("?")[1] ?? "";
  const selected = notes.one(view.note);
  const isCompared = view.against !== "" && (VIEWS.find(({ name }) => name === tab)?.compares?.(context) ?? false);
  const kind = isCompared ? "comparison" : "view";
  /** @type {Addable[]} */
  const all = [];
  if (tab === "sql" && view.sql)
    all.push({
      label: "The query, which is asked again, and its result",
      content: (caption) => ({ kind: "query", capture: id, sql: view.sql, caption }),
    });
  all.push({
    label: isCompared ? "This comparison" : "This view",
    content: (caption) => ({ kind, capture: id, view: query, caption }),
  });
  if (selected)
    all.push({
      label: `The selected note: ${firstLine(selected).slice(0, 60)}`,
      content: () => ({ kind: "note", capture: id, note: selected.id }),
    });
  return all;
}

/** The last investigation that something was added to, so that the next goes there. */
const LAST = "bathyscope-investigation";

/**
 * Asks where, and adds it.
 * @param {import("./capture_context.js").CaptureContext} context
 * @param {string} tab that is shown
 */
export async function addToInvestigation(context, tab) {
  try {
    const list = await waitFor("Reading investigations", get("/api/investigations"));
    const items = list.items.filter(({ state }) => state !== "closed");
    const all = addables(context, tab);
    const asked = question(items, all);
    let id = "";
    const done = await actInDialog("Add to an investigation", "Add", asked.fields, async () => {
      // One that was made is not made twice where adding to it is refused.
      id = asked.where.value || id || (await send("POST", "/api/investigations", {}, { title: asked.title.value })).id;
      const content = all[asked.chosen()].content(asked.caption.value);
      await waitFor(
        "Adding to the investigation",
        send("POST", "/api/investigations/{id}/blocks", { id }, { content }),
      );
    });
    if (!done) return;
    sessionStorage.setItem(LAST, id);
    const title = items.find((one) => one.id === id)?.title ?? asked.title.value;
    note(`Added to “${title}”.`, { label: "Open", run: () => location.assign(investigationAddress(id)), ms: 10_000 });
  } catch (error) {
    noteError(error);
  }
}

/**
 * The fields of the dialog.
 * @param {InvestigationHead[]} items
 * @param {Addable[]} all
 */
function question(items, all) {
  const last = sessionStorage.getItem(LAST) ?? items[0]?.id ?? "";
  const where = h(
    "select",
    { on: { change: () => show() } },
    ...items.map((one) => h("option", { value: one.id, selected: one.id === last, title: one.title, text: one.title })),
    h("option", { value: "", text: "A new investigation" }),
  );
  const title = h("input", { type: "text", maxlength: "200", placeholder: "What is looked for" });
  const named = field("Title of the new investigation", title);
  const caption = h("input", { type: "text", maxlength: "200", placeholder: "What there is to see" });
  const choices = all.map(({ label }, i) => {
    const button = h("input", { type: "radio", name: "investigate-what", value: String(i), checked: i === 0 });
    return { button, element: h("label", { class: "check" }, button, label) };
  });
  const show = () => {
    named.hidden = where.value !== "";
  };
  show();
  return {
    where,
    title,
    caption,
    chosen: () =>
      Math.max(
        0,
        choices.findIndex(({ button }) => button.checked),
      ),
    fields: [
      field("Investigation", where),
      named,
      h("fieldset", {}, h("legend", { text: "What" }), ...choices.map(({ element }) => element)),
      field("Caption", caption),
    ],
  };
}

/**
 * @param {string} label
 * @param {HTMLElement} input
 */
const field = (label, input) => h("label", { class: "field" }, h("span", { text: label }), input);
