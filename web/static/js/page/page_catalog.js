// The catalogue: everything of this host that can be traced, searched while one types.

import { Latest, get, send } from "../lib/api.js";
import { formatAddress, KINDS, parseAddress } from "./catalog_address.js";
import { entryView } from "./catalog_entry.js";
import { CatalogSource } from "./catalog_source.js";
import { addCommands } from "../lib/commands.js";
import { byId, closest, h, inputOf, put, settled } from "../lib/dom.js";
import { count, exact, plural } from "../lib/format.js";
import { bind } from "../lib/keys.js";
import { sentence, showError, waitFor } from "../lib/notice.js";
import { startShell } from "./shell.js";
import { VirtualTable } from "../lib/virtual_table.js";

/** @import { WireKind } from "../../../api.js" */
/** @typedef {ReturnType<typeof parseAddress>} View */
/** @typedef {NonNullable<View["entry"]>} Shown the entry that is shown */

const COLUMNS = [
  { name: "name", type: "text", width: "minmax(22ch, 4fr)" },
  { name: "kind", type: "text", width: "12ch" },
  { name: "in", type: "text", width: "minmax(4ch, 1fr)" },
  { name: "how, what for", type: "text", width: "minmax(14ch, 6fr)" },
];
/** What the others are, for a list that is not there. */
/** @type {Record<string, string>} */
const EMPTY = {
  user: "Functions of programs and libraries are read file by file: choose a file from the list “Programs and libraries”, or write its path into the address as in=/usr/bin/bash.",
  marker:
    "USDT probes of programs and libraries are read file by file: choose a file from the list “Programs and libraries”.",
  probe: "There are no dynamic probes on this host.",
  program: "No BPF program is loaded on this host.",
};

const search = inputOf("catalog-search");
const pane = byId("catalog-entry");
const source = new CatalogSource();
const details = new Latest();
let view = parseAddress(location.search);
/** @type {WireKind[]} */
let kinds = [];

const table = new VirtualTable({
  label: "Entries",
  // Where the kernel has no means at all, that is said above the list and does not grey all of it.
  off: (index) => {
    const entry = source.entry(index);
    return Boolean(entry && !entry.works && entry.note);
  },
  move: () => open(table.row),
  open: () => {
    open(table.row);
    /** @type {HTMLElement|null} */ (pane.querySelector("a.button, button"))?.focus();
  },
});

const writeAddress = settled(250, () => history.replaceState(null, "", `${location.pathname}${formatAddress(view)}`));

/** @param {Partial<View>} patch */
function change(patch) {
  view = { ...view, ...patch };
  writeAddress();
}

/** @param {WireKind} one */
function facet({ kind, title, count: all, state, error }) {
  const found = source.kinds.get(kind);
  const shown = view.q.trim() || view.within ? (found ?? 0) : (all ?? found);
  const side =
    state === "reading"
      ? "…"
      : state === "failed" && !all
        ? "!"
        : shown === undefined || shown === null
          ? ""
          : count(shown);
  return h(
    "button",
    {
      type: "button",
      "aria-pressed": String(view.kind === kind),
      title: error ?? (shown ? plural(shown, "entry", "entries") : ""),
      on: { click: () => choose(view.kind === kind ? "" : kind) },
    },
    h("span", { text: title }),
    h("span", { class: error ? "num stop" : "num quiet", text: side }),
  );
}

function drawKinds() {
  const total = [...source.kinds.values()].reduce((sum, one) => sum + one, 0);
  put(
    byId("catalog-kinds"),
    h(
      "button",
      { type: "button", "aria-pressed": String(view.kind === ""), on: { click: () => choose("") } },
      h("span", { text: "Everything" }),
      h("span", { class: "num quiet", text: total ? count(total) : "" }),
    ),
    ...kinds.map(facet),
  );
  /** @type {Map<string, string>} */
  const notes = new Map();
  for (const one of kinds.filter(({ kind }) => !view.kind || kind === view.kind))
    for (const { what, remedy } of one.hidden) notes.set(what, remedy);
  put(
    byId("catalog-notes"),
    notes.size > 0 &&
      h(
        "details",
        { class: "notice", open: notes.size === 1 && view.kind !== "" },
        h("summary", { text: `What this host does not show or cannot do (${notes.size})` }),
        ...[...notes].map(([what, remedy]) =>
          h("p", {}, what, remedy && h("span", { class: "quiet", text: ` ${remedy}` })),
        ),
      ),
  );
}

/** @param {string} kind */
function choose(kind) {
  change({ kind, within: ["user", "marker", "function", ""].includes(kind) ? view.within : "" });
  load();
}

function drawWithin() {
  put(
    byId("catalog-within"),
    view.within &&
      h(
        "button",
        {
          type: "button",
          class: "plain",
          title: "Search all of the host",
          on: {
            click: () => {
              change({ within: "" });
              load();
            },
          },
        },
        "in ",
        h("code", { text: view.within }),
        " ×",
      ),
  );
}

async function readKinds() {
  try {
    ({ kinds } = await get("/api/catalog/kinds"));
    drawKinds();
  } catch {
    /* the list itself says what is wrong */
  }
}

function load() {
  drawWithin();
  return waitFor("Reading the catalogue", source.reset({ q: view.q.trim(), kind: view.kind, in: view.within }));
}

/**
 * Where a function went that this kernel does not have; empty for what is no name of one.
 * @param {string} name
 */
function movedTo(name) {
  const place = h("p", { role: "status" });
  if (/^[A-Za-z_][\w.]*$/.test(name) && ["", "function"].includes(view.kind)) {
    // Without an answer the list is empty all the same.
    get("/api/dynamic/functions", { q: name, limit: 1 }).then(
      ({ hint }) => put(place, hint && sentence(hint)),
      () => {},
    );
  }
  return place;
}

function nothing() {
  const words = view.q.trim()
    ? `No match${view.within ? ` in ${view.within}` : ""}.`
    : (EMPTY[view.kind] ?? "There is nothing of this kind on this host.");
  const others = view.kind && [...source.kinds.values()].some((found) => found > 0);
  return h(
    "div",
    { class: "empty" },
    h("p", { text: words }),
    movedTo(view.q.trim()),
    others &&
      h(
        "p",
        { class: "row" },
        h("button", { type: "button", text: "Search everything", on: { click: () => choose("") } }),
      ),
  );
}

source.on("rows", ({ first }) => {
  if (first) {
    byId("catalog-count").textContent = `${exact(source.count)} ${source.count === 1 ? "entry" : "entries"}`;
    if (source.count === 0) put(byId("catalog-list"), nothing());
    else if (!table.element.isConnected) put(byId("catalog-list"), table.element);
    table.source = source;
    table.row = -1;
    table.scroll.show(0, "top");
    table.element.scrollTop = table.scroll.settle();
    readKinds();
  }
  table.changed();
});
source.on("error", (error) => {
  byId("catalog-count").textContent = "";
  showError(byId("catalog-list"), error, load);
  readKinds();
});

function close() {
  details.cancel();
  change({ entry: null });
  put(pane);
  pane.hidden = true;
  table.row = -1;
  table.redraw();
}

/** @param {Shown} entry */
async function show(entry) {
  change({ entry });
  pane.hidden = false;
  try {
    const answer = await details.run((signal) =>
      waitFor(
        "Reading the entry",
        get("/api/catalog/entry", { kind: entry.kind, name: entry.name, in: entry.within }, signal),
      ),
    );
    if (answer) put(pane, ...entryView(answer, close));
  } catch (error) {
    showError(pane, error, () => show(entry));
  }
}

/** @param {number} index */
function open(index) {
  const entry = source.entry(index);
  if (entry) show({ kind: entry.kind, name: entry.raw ?? entry.name, within: entry.in ?? "" });
}

async function refresh() {
  await waitFor("Reading everything again", send("POST", "/api/catalog/refresh"));
  await load();
}

/**
 * Links of the pane to this page do not have to load it again.
 * @param {MouseEvent} event
 */
function follow(event) {
  const link = closest(event, "a[href^='/catalog']");
  if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const asked = parseAddress(new URL(link.href).search);
  view = asked;
  search.value = view.q;
  put(pane);
  pane.hidden = true;
  writeAddress();
  load();
}

startShell();
table.setColumns(COLUMNS);
pane.hidden = true;
search.value = view.q;
search.addEventListener(
  "input",
  settled(60, () => {
    change({ q: search.value });
    load();
  }),
);
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" && source.count > 0) {
    table.element.focus();
    table.go(0);
  } else if (event.key === "Enter" && source.count > 0) table.go(0);
  else if (event.key === "Escape" && search.value) {
    search.value = "";
    change({ q: "" });
    load();
  } else return;
  event.preventDefault();
});
table.element.addEventListener(
  "keydown",
  (event) => {
    if (event.key === "ArrowUp" && table.row <= 0) {
      search.focus();
      event.preventDefault();
      event.stopPropagation();
    }
  },
  { capture: true },
);
pane.addEventListener("click", follow);
byId("catalog-refresh").addEventListener("click", refresh);
addCommands({ name: "Read the catalogue again", run: refresh });
// On this page the search is what is asked for; > opens the omnibox.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key === "/" && !closest(event, "input, textarea, select")) {
      event.preventDefault();
      event.stopPropagation();
      search.select();
      search.focus();
    }
  },
  { capture: true },
);
bind(
  "catalogue.close",
  () => {
    close();
    table.element.focus();
  },
  { when: () => !pane.hidden },
);
put(byId("catalog-kinds"), ...KINDS.map((kind) => h("span", { class: "offscreen", text: kind })));
readKinds();
load();
if (view.entry) show(view.entry);
else search.focus();
