// Tags that say who may read what has them, and groups of people: sections of the page of people.

import { get, send } from "../lib/api.js";
import { actInDialog, askInDialog } from "../lib/ask_dialog.js";
import { byId, h, put } from "../lib/dom.js";
import { showError, waitFor } from "../lib/notice.js";
import { acting } from "./list_act.js";
import { listTable } from "./list_table.js";
import { RightsForm, rightsWords } from "./rights_form.js";

/** @import { GroupItem, RightsPage, TagRights } from "../../../api.js" */

const doing = acting("rights-problem", () => showRights());

/** @param {RightsPage} page */
const known = ({ people, groups, elsewhere }) => ({ people, elsewhere, groups: groups.map((group) => group.name) });

/**
 * @param {RightsPage} page
 * @param {TagRights|null} changed
 */
async function editTag(page, changed) {
  const tag = h("input", { type: "text", id: "rights-tag", required: true, maxlength: "48", autocomplete: "off" });
  tag.value = changed?.tag ?? "";
  tag.readOnly = changed !== null;
  const form = new RightsForm(changed?.list ?? [], known(page), "Everybody who is logged in may read what has it");
  const fields = [
    h("div", { class: "field" }, h("label", { for: "rights-tag", text: "Tag" }), tag),
    form.element,
    h("p", {
      class: "quiet small",
      text: "It counts for captures without a list of their own. Of several tags, each list must let somebody read.",
    }),
  ];
  const title = changed ? `Captures with the tag ${changed.tag}` : "Limit captures of a tag";
  const done = await actInDialog(title, "Save", fields, () => {
    const said = send("PUT", "/api/rights/tags/{tag}", { tag: tag.value.trim() }, { list: form.read() });
    return waitFor("Saying who may read", said);
  });
  if (done) await doing("", async () => {}, `${tag.value.trim()}: ${rightsWords(form.read())}.`);
}

/** @param {GroupItem|null} changed */
async function editGroup(changed) {
  const name = h("input", { type: "text", id: "group-name", required: true, maxlength: "64", autocomplete: "off" });
  name.value = changed?.name ?? "";
  name.readOnly = changed !== null;
  const people = h("textarea", { id: "group-people", rows: "6", spellcheck: "false", autocapitalize: "none" });
  people.value = (changed?.people ?? []).join("\n");
  const fields = [
    h("div", { class: "field" }, h("label", { for: "group-name", text: "Name" }), name),
    h("div", { class: "field" }, h("label", { for: "group-people", text: "People, one in a line" }), people),
    h("p", { class: "quiet small", text: "Names as people are logged in by, with an account or without." }),
  ];
  const done = await actInDialog(changed ? `Group ${changed.name}` : "Make a group", "Save", fields, () => {
    const list = people.value
      .split(/[\n,]/)
      .map((one) => one.trim())
      .filter(Boolean);
    const said = send("PUT", "/api/rights/groups/{name}", { name: name.value.trim() }, { people: list });
    return waitFor("Saving the group", said);
  });
  if (done) await doing("", async () => {}, `Group ${name.value.trim()} is saved.`);
}

/** @param {GroupItem} group */
async function removeGroup({ name }) {
  const what = h("p", {
    text: "What was given to it goes with it. Captures and tags that only it could read stay closed.",
  });
  if (!(await askInDialog(`Remove the group ${name}`, "Remove", what))) return;
  await doing(
    "Removing the group",
    () => send("DELETE", "/api/rights/groups/{name}", { name }),
    `Group ${name} is removed.`,
  );
}

/**
 * @param {string} text
 * @param {string} label
 * @param {() => Promise<void>} run
 */
const button = (text, label, run) =>
  h("button", { type: "button", class: "plain", "aria-label": label, text, on: { click: () => void run() } });

/** Reads both, and shows them. */
export async function showRights() {
  try {
    const page = await get("/api/rights");
    const tagRow = (/** @type {TagRights} */ one) =>
      h(
        "tr",
        {},
        h("td", { class: "name", text: one.tag }),
        h("td", { text: rightsWords(one.list) }),
        h(
          "td",
          {},
          button("Change", `Change who may read ${one.tag}`, () => editTag(page, one)),
        ),
      );
    const groupRow = (/** @type {GroupItem} */ one) =>
      h(
        "tr",
        {},
        h("td", { class: "name", text: one.name }),
        h("td", { text: one.people.join(", ") || "nobody" }),
        h(
          "td",
          {},
          h(
            "div",
            { class: "row" },
            button("Change", `Change the group ${one.name}`, () => editGroup(one)),
            button("Remove", `Remove the group ${one.name}`, () => removeGroup(one)),
          ),
        ),
      );
    put(
      byId("rights"),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", text: "Limit captures of a tag", on: { click: () => void editTag(page, null) } }),
        h("button", { type: "button", text: "Make a group", on: { click: () => void editGroup(null) } }),
      ),
      page.tags.length === 0
        ? h("p", {
            class: "empty",
            text: "No tag limits who may read what has it. A capture is limited on its own page, by its owner.",
          })
        : listTable([["Tag"], ["Read by, beside owners and admins"], ["Actions"]], page.tags.map(tagRow)),
      page.groups.length > 0 && listTable([["Group"], ["People"], ["Actions"]], page.groups.map(groupRow)),
    );
  } catch (error) {
    showError(byId("rights-problem"), error, showRights);
  }
}
