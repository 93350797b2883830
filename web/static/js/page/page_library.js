// The library: what people keep by name, with the texts that it had.

import { Latest, addressOf, get, send } from "../lib/api.js";
import { mayRecord } from "../lib/commands.js";
import { byId, copyText, fieldOf, h, inputOf, put, settled } from "../lib/dom.js";
import { ago, plural, wall } from "../lib/format.js";
import { LIBRARY_KINDS, kindAbout, tagsOf, useOf, whereUsed } from "./library_model.js";
import { exportItems, importFiles } from "./library_files.js";
import { listTable } from "./list_table.js";
import { note, noteError, showError, waitFor } from "../lib/notice.js";
import { startShell } from "./shell.js";

/** @import { LibraryEntryItem, LibraryThing } from "../../../api.js" */
/** @typedef {import("./library_model.js").Kind} Kind */

const list = byId("library-list");
const place = byId("library-thing");
const search = inputOf("library-search");
const kindField = byId("library-kind", HTMLSelectElement);
const deleted = inputOf("library-deleted");
const latest = new Latest();
/** @type {LibraryEntryItem[]} */
let items = [];
let canKeep = false;
/** Which is open; "new" for one that is not kept yet. */
let open = "";

function writeState() {
  const params = new URLSearchParams();
  if (kindField.value) params.set("kind", kindField.value);
  if (search.value.trim()) params.set("q", search.value.trim());
  if (deleted.checked) params.set("deleted", "true");
  if (open) params.set("id", open);
  const query = params.toString();
  history.replaceState(history.state, "", `/library${query ? `?${query}` : ""}`);
}

function readState() {
  const params = new URLSearchParams(location.search);
  kindField.value = params.get("kind") ?? "";
  search.value = params.get("q") ?? "";
  deleted.checked = params.get("deleted") === "true";
  open = params.get("id") ?? "";
}

/** @param {LibraryEntryItem} item */
function row(item) {
  const about = [item.description, ...item.tags.map((tag) => `#${tag}`)].filter(Boolean).join(" ");
  return h(
    "tr",
    { "aria-current": String(String(item.id) === open) },
    h(
      "td",
      {},
      h("button", { type: "button", class: "plain", text: item.name, on: { click: () => show(String(item.id)) } }),
    ),
    h("td", { text: kindAbout(item.kind).one }),
    h("td", { class: "wide", title: about, text: about }),
    h("td", { text: item.owner }),
    h("td", { text: item.shared ? "yes" : "" }),
    h("td", {
      title: wall(item.changed_unix_ns, true),
      text: ago(item.deleted_unix_ns ?? item.changed_unix_ns, Date.now()),
    }),
  );
}

function drawList() {
  byId("library-count").textContent = plural(items.length, "entry", "entries");
  if (items.length) {
    const heads = ["Name", "Kind", "Description", "Owner", "Shared", deleted.checked ? "Deleted" : "Changed"];
    put(
      list,
      listTable(
        heads.map((head) => [head]),
        items.map(row),
      ),
    );
    return;
  }
  const isSearched = search.value.trim() || kindField.value;
  const why = deleted.checked
    ? "No entry was deleted in the last 30 days."
    : isSearched
      ? "No match."
      : "The library is empty. Paste a command such as perf probe --add 'vfs_read count' into the box at the top, save a script or a recipe from the New capture form, or save a query from the SQL tab of a capture.";
  put(list, h("p", { class: "empty", text: why }));
}

async function load() {
  try {
    const params = {
      ...(kindField.value ? { kind: kindField.value } : {}),
      ...(search.value.trim() ? { q: search.value.trim() } : {}),
      ...(deleted.checked ? { deleted: true } : {}),
    };
    const answer = await latest.run((signal) => get("/api/library", params, signal));
    if (!answer) return;
    items = answer.items;
    canKeep = answer.can_keep;
    drawActions();
    drawList();
  } catch (error) {
    showError(list, error, load);
  }
}

function drawActions() {
  const exporting = h("button", {
    type: "button",
    id: "library-export",
    text: "Export the list",
    title: "A tar archive with a text file for each entry of the list",
    disabled: items.length === 0 || deleted.checked,
    on: { click: () => exportItems(items) },
  });
  if (!canKeep) return put(byId("library-actions"), exporting);
  const file = h("input", { type: "file", class: "offscreen", multiple: true, "aria-label": "Files to import" });
  file.addEventListener("change", () => takeFiles([...(file.files ?? [])]));
  put(
    byId("library-actions"),
    h("button", { type: "button", id: "library-new", text: "New entry", on: { click: () => show("new") } }),
    h("button", { type: "button", text: "Import", on: { click: () => file.click() } }),
    file,
    exporting,
  );
}

/** @param {File[]} files */
async function takeFiles(files) {
  open = (await importFiles(files)) || open;
  await load();
  await show(open);
}

/**
 * Opens one.
 * @param {string} which its id, "new", or nothing
 */
async function show(which) {
  open = which;
  writeState();
  drawList();
  if (!which) return put(place);
  if (which === "new") return drawForm(null);
  try {
    drawForm(await get("/api/library/{id}", { id: which }));
  } catch (error) {
    showError(place, error, () => show(which));
  }
}

/**
 * @param {string} id
 * @param {string} label
 * @param {HTMLElement} input
 */
function field(id, label, input) {
  input.id = id;
  return h("div", { class: "field" }, h("label", { for: id, text: label }), input);
}

/**
 * The form of a thing; of one that may not be changed, what it has.
 * @param {LibraryThing|null} thing
 */
function drawForm(thing) {
  const kinds = h(
    "select",
    { disabled: thing !== null },
    ...LIBRARY_KINDS.map(({ kind, one }) => h("option", { value: kind, text: one })),
  );
  kinds.value = thing?.kind ?? (kindField.value || "probe");
  const readOnly = thing !== null && (!thing.can_change || thing.deleted_unix_ns !== null);
  const name = h("input", { type: "text", class: "mono", maxlength: "64", spellcheck: "false", readonly: readOnly });
  const description = h("input", { type: "text", maxlength: "500", readonly: readOnly });
  const tags = h("input", { type: "text", spellcheck: "false", readonly: readOnly, placeholder: "disk latency" });
  const shared = h("input", { type: "checkbox", disabled: readOnly, id: "thing-shared" });
  const text = h("textarea", { class: "mono", spellcheck: "false", readonly: readOnly, rows: "4" });
  name.value = thing?.name ?? "";
  description.value = thing?.description ?? "";
  tags.value = thing?.tags.join(" ") ?? "";
  shared.checked = thing?.shared ?? false;
  text.value = thing?.text ?? "";
  const about = h("p", { class: "quiet small" });
  const showAbout = () => {
    const { about: words, example } = kindAbout(/** @type {Kind} */ (kinds.value));
    about.textContent = words;
    text.placeholder = example;
    name.placeholder = kinds.value === "probe" ? "from the definition" : "";
  };
  kinds.addEventListener("change", showAbout);
  showAbout();
  const problem = h("div", { role: "alert" });
  const save = async () => {
    const body = {
      name: name.value.trim(),
      description: description.value,
      tags: tagsOf(tags.value),
      shared: shared.checked,
      text: text.value,
    };
    try {
      const saved =
        thing === null
          ? await waitFor("Saving the entry", send("POST", "/api/library", {}, { ...body, kind: kinds.value }))
          : await waitFor(
              "Saving the entry",
              send("PATCH", "/api/library/{id}", { id: thing.id }, changed(thing, body)),
            );
      note(`Saved ${saved.name}.`, { ms: 3000 });
      await load();
      await show(String(saved.id));
    } catch (error) {
      showError(problem, error);
    }
  };
  put(
    place,
    h(
      "form",
      {
        class: "library-form",
        "aria-label": thing?.name ?? "New entry",
        on: {
          submit: (/** @type {Event} */ event) => {
            event.preventDefault();
            save();
          },
        },
      },
      h("div", { class: "library-head" }, h("h2", { text: thing?.name ?? "New entry" }), ...buttons(thing)),
      thing && h("p", { class: "quiet small", text: told(thing) }),
      field("thing-kind", "Kind", kinds),
      field("thing-name", "Name", name),
      field("thing-description", "Description", description),
      field("thing-tags", "Tags", tags),
      field("thing-text", "Text", text),
      about,
      h("label", { class: "check" }, shared, " Shared: everybody can read and use it"),
      problem,
      !readOnly && h("div", { class: "row" }, h("button", { class: "primary", text: "Save" })),
    ),
    thing && versions(thing, readOnly),
  );
  if (thing === null) kinds.focus();
}

/**
 * What the change names: the name of a probe only where somebody has typed another one.
 * @template {{name: string}} Body
 * @param {LibraryThing} thing
 * @param {Body} body
 */
function changed(thing, { name, ...body }) {
  return { seen: thing.version, ...body, ...(name !== thing.name ? { name } : {}) };
}

/** @param {LibraryThing} thing */
function told({ owner, version, changed_unix_ns: at, deleted_unix_ns: gone, kind }) {
  const when = gone === null ? `version ${version}, changed ${wall(at)}` : `deleted ${wall(gone)}`;
  return [`Owner: ${owner}; ${when}.`, whereUsed(kind)].filter(Boolean).join(" ");
}

/** @param {LibraryThing|null} thing */
function buttons(thing) {
  if (!thing) return [button("Close", () => show(""))];
  const use = thing.deleted_unix_ns === null ? useOf(thing, mayRecord()) : null;
  return [
    h(
      "div",
      { class: "row" },
      use && h("a", { class: "button", href: use.path, text: use.label }),
      button("Copy", async () =>
        note(
          (await copyText(thing.text))
            ? "Copied the text."
            : "This browser did not allow copying. Select the text and copy it by hand.",
        ),
      ),
      h("a", {
        class: "button",
        href: addressOf("/api/library/{id}/file", { id: thing.id }),
        download: true,
        text: "Export",
      }),
      thing.can_change && thing.deleted_unix_ns === null && button("Delete", () => remove(thing)),
      thing.can_change && thing.deleted_unix_ns !== null && button("Restore", () => bringBack(thing)),
      button("Close", () => show("")),
    ),
  ];
}

/**
 * @param {string} text
 * @param {() => void} click
 */
const button = (text, click) => h("button", { type: "button", text, on: { click } });

/** @param {LibraryThing} thing */
async function remove(thing) {
  try {
    await waitFor("Deleting the entry", send("DELETE", "/api/library/{id}", { id: thing.id }));
    note(`Deleted ${thing.name}. It can be restored for 30 days.`, {
      label: "Undo",
      run: () => bringBack(thing),
      ms: 10_000,
    });
    await load();
    await show("");
    search.focus();
  } catch (error) {
    noteError(error);
  }
}

/** @param {LibraryThing} thing */
async function bringBack(thing) {
  try {
    await waitFor("Restoring the entry", send("POST", "/api/library/{id}/undelete", { id: thing.id }));
    note(`Restored ${thing.name}.`, { ms: 3000 });
    deleted.checked = false;
    await load();
    await show(String(thing.id));
  } catch (error) {
    noteError(error);
  }
}

/**
 * The texts that it had.
 * @param {LibraryThing} thing
 * @param {boolean} readOnly
 */
function versions(thing, readOnly) {
  const restore = async (/** @type {number} */ version) => {
    try {
      const body = { seen: thing.version, restore: version };
      const saved = await waitFor("Restoring the version", send("PATCH", "/api/library/{id}", { id: thing.id }, body));
      await load();
      await show(String(thing.id));
      note(`Restored version ${version} as version ${saved.version}.`);
    } catch (error) {
      noteError(error);
    }
  };
  const one = (/** @type {LibraryThing["versions"][number]} */ { version, author, saved_unix_ns: at, text }) =>
    h(
      "li",
      {},
      h(
        "div",
        { class: "row" },
        h("span", { text: `Version ${version}` }),
        h("span", { class: "quiet small", text: `${wall(at)} by ${author}` }),
        !readOnly &&
          version !== thing.version &&
          h("button", {
            type: "button",
            class: "plain small",
            "aria-label": `Restore version ${version}`,
            text: "Restore",
            on: { click: () => restore(version) },
          }),
      ),
      h("pre", { class: "mono small", tabindex: "0", text }),
    );
  return h(
    "details",
    { open: thing.versions.length > 1 },
    h("summary", { text: `${plural(thing.versions.length, "version")}; the last 100 are kept` }),
    h("ul", { class: "library-versions" }, ...thing.versions.map(one)),
  );
}

startShell();
put(
  kindField,
  h("option", { value: "", text: "All kinds" }),
  ...LIBRARY_KINDS.map(({ kind, many }) => h("option", { value: kind, text: many })),
);
readState();
const again = settled(120, () => {
  writeState();
  load();
});
search.addEventListener("input", again);
for (const part of [kindField, deleted])
  part.addEventListener("change", () => {
    writeState();
    load();
  });
fieldOf("library-search").addEventListener("keydown", (event) => {
  if (event instanceof KeyboardEvent && event.key === "Enter" && items[0]) show(String(items[0].id));
});
// A line that was pasted into the box on top has changed it.
document.addEventListener("library", () => load());
load().then(() => show(open));
