// The list of investigations: found by words, begun empty or from a template, deleted and restored.

import { get, send } from "../lib/api.js";
import { byId, h, inputOf, put, settled } from "../lib/dom.js";
import { plural, wall } from "../lib/format.js";
import { note, noteError, showError, waitFor } from "../lib/notice.js";
import { investigationAddress, stateWords } from "./investigation_words.js";
import { listTable, titleCell } from "./list_table.js";
import { startShell } from "./shell.js";

/** @import { InvestigationHead, InvestigationList } from "../../../api.js" */

/** @type {import("./list_table.js").Head[]} */
const HEADS = [["Investigation"], ["State"], ["Begun by"], ["Last change"], ["Blocks", true], ["Actions"]];

/** @param {InvestigationHead} one */
function row(one) {
  const isDeleted = one.deleted_unix_ns !== null;
  const turn = async () => {
    try {
      if (isDeleted) await send("POST", "/api/investigations/{id}/restore", { id: one.id });
      else await send("DELETE", "/api/investigations/{id}", { id: one.id });
      await load();
      const undo = async () => {
        try {
          await send("POST", "/api/investigations/{id}/restore", { id: one.id });
          await load();
        } catch (error) {
          noteError(error);
        }
      };
      if (isDeleted) note(`Restored “${one.title}”.`);
      else note(`Deleted “${one.title}”. It can be restored for 30 days.`, { label: "Undo", run: () => void undo() });
    } catch (error) {
      showError(byId("investigations-problem"), error);
    }
  };
  return h(
    "tr",
    {},
    titleCell(one.title, isDeleted ? null : investigationAddress(one.id)),
    h("td", {}, h("span", { class: "investigation-state", data: { state: one.state }, text: stateWords(one.state) })),
    h("td", {}, one.owner, h("div", { class: "quiet", text: wall(one.created_unix_ns) })),
    h("td", {}, one.changed_by, h("div", { class: "quiet", text: wall(one.changed_unix_ns) })),
    h("td", { class: "num", text: String(one.blocks) }),
    h(
      "td",
      {},
      one.can_delete &&
        h("button", {
          type: "button",
          class: "plain",
          "aria-label": `${isDeleted ? "Restore" : "Delete"} ${one.title}`,
          text: isDeleted ? "Restore" : "Delete",
          on: { click: () => void turn() },
        }),
    ),
  );
}

/** @param {InvestigationList} list */
function showNew({ templates, can_write: canWrite }) {
  const place = byId("investigations-new");
  if (!canWrite || place.childElementCount > 0) return;
  const title = h("input", {
    type: "text",
    maxlength: "200",
    size: "40",
    "aria-label": "Title",
    placeholder: "What is looked for",
  });
  const template = h(
    "select",
    { "aria-label": "Begin with" },
    h("option", { value: "", text: "An empty page" }),
    ...templates.map((one) => h("option", { value: one.name, text: one.title })),
  );
  const begin = async () => {
    try {
      const asked = { title: title.value, template: template.value || null };
      const { id } = await waitFor("Beginning the investigation", send("POST", "/api/investigations", {}, asked));
      location.assign(investigationAddress(id));
    } catch (error) {
      showError(byId("investigations-problem"), error);
    }
  };
  put(
    place,
    h(
      "form",
      {
        class: "investigation-new",
        on: {
          submit: (event) => {
            event.preventDefault();
            void begin();
          },
        },
      },
      title,
      template,
      h("button", { class: "primary", text: "Begin an investigation" }),
    ),
  );
}

async function load() {
  const q = inputOf("investigations-search").value;
  const deleted = inputOf("investigations-deleted").checked;
  try {
    const list = await get("/api/investigations", { q, deleted: deleted ? "true" : "" });
    put(byId("investigations-problem"));
    showNew(list);
    byId("investigations-count").textContent = plural(list.items.length, "investigation");
    const none = deleted
      ? "No investigation was deleted in the last 30 days."
      : q
        ? "No match in titles, owners and states."
        : "There is no investigation yet. Begin one here, or with Shift+I on a capture.";
    put(
      byId("investigations"),
      list.items.length === 0 ? h("p", { class: "empty", text: none }) : listTable(HEADS, list.items.map(row)),
    );
  } catch (error) {
    showError(byId("investigations-problem"), error, load);
  }
}

startShell();
inputOf("investigations-search").addEventListener(
  "input",
  settled(200, () => void load()),
);
inputOf("investigations-deleted").addEventListener("change", () => void load());
document.addEventListener("written", (event) => {
  const { investigations = [], missed = false } = event instanceof CustomEvent ? event.detail : {};
  if (missed || investigations.length > 0) void load();
});
void load();
