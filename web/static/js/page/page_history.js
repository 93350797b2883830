// The history: all captures, searched on the server, deleted so that they can be restored for a day.

import { Latest, get, send } from "../lib/api.js";
import { CaptureTable } from "./capture_list.js";
import { mayRecord } from "../lib/commands.js";
import { DeletedList } from "./deleted_list.js";
import { byId, h, inputOf, put, settled } from "../lib/dom.js";
import { exact, plural } from "../lib/format.js";
import { HistoryFilters } from "./history_filters.js";
import { HistorySelection } from "./history_selection.js";
import { isConditionsOnly, unsearchedText } from "./history_words.js";
import { importButton } from "./import_files.js";
import { bind } from "../lib/keys.js";
import { note, noteError, showError, waitFor } from "../lib/notice.js";
import { NextList } from "./next_list.js";
import { PINS, ruleText } from "./retention.js";
import { listSamples } from "./samples.js";
import { savedSearches } from "./saved_searches.js";
import { keepInAddress, paramOf, writeAddress, writeParam } from "../lib/search_address.js";
import { startShell } from "./shell.js";

/** @import { CaptureItem } from "../../../api.js" */

const PAGE = 100;
/** How often the list is read again. */
const RENEW_MS = 15_000;
const UNDO_MS = 10_000;
/** How captures are sorted if nobody says otherwise. */
const NEWEST = "started";
const COLUMNS = ["title", "state", "target", "host", "owner", "started", "duration", "rows", "bytes", "lost"];
/** With when each goes, where there is a rule of age. */
const WITH_KEPT = [...COLUMNS, "kept"];

const place = byId("history");
const search = inputOf("history-search");
const counted = byId("history-count");
const rule = byId("history-rule");
const latest = new Latest();
/**
 * Captures that are being deleted.
 * @type {Set<string>}
 */
const leaving = new Set();
/** What was deleted, for those who may delete. */
const deleted = mayRecord() ? new DeletedList(byId("history-deleted"), () => load()) : null;
const next = new NextList(byId("history-next"));
next.details.hidden = true;
/** @type {CaptureItem[]} */
let items = [];
let total = 0;
/** Whether there are more than `total`. */
let isExceeded = false;
/** @type {string|null} */
let hint = null;
/** @type {CaptureTable|null} */
let table = null;
let columns = COLUMNS;
/** How they are sorted: as a heading was pressed, else as the search says. */
let chosenSort = paramOf("sort");
let sort = chosenSort || NEWEST;
const unsearched = h("p", { class: "quiet small", role: "status" });

const selection = new HistorySelection({
  shown: () => items.filter((one) => !leaving.has(one.id)),
  changed: draw,
  reload: () => load(),
  remove: (chosen) => removeAll(chosen),
});

/** @param {string} wanted */
function setSort(wanted) {
  const saysOne = /(^|\s)sort:/.test(search.value);
  chosenSort = wanted === NEWEST && !saysOne ? "" : wanted;
  writeParam("sort", chosenSort);
  load();
}

function draw() {
  const shown = items.filter((one) => !leaving.has(one.id));
  const many = `${isExceeded ? "more than " : ""}${plural(total, "capture")}`;
  counted.textContent = search.value.trim() ? `${many} found` : many;
  if (items.length === 0) {
    if (search.value.trim()) nothingFound();
    else nothingYet();
    return;
  }
  if (!table) {
    const below = h("div", { id: "more" });
    const above = h("div");
    put(place, selection.bar, above, below);
    const sorting = { now: () => sort, set: setSort };
    table = new CaptureTable(above, columns, mayRecord() ? buttons : undefined, sorting, selection);
  }
  table.show(shown);
  selection.draw();
  put(
    byId("more"),
    (items.length < total || isExceeded) &&
      h(
        "p",
        { class: "row" },
        h("button", {
          type: "button",
          text: `Show ${exact(isExceeded ? PAGE : Math.min(PAGE, total - items.length))} more`,
          on: { click: () => load(items.length) },
        }),
      ),
  );
}

function nothingFound() {
  table = null;
  put(
    place,
    h(
      "div",
      { class: "empty" },
      h("p", {
        text: isConditionsOnly(search.value)
          ? "No capture fulfils these conditions."
          : "No match in titles, tags, descriptions, notes, owners, hosts, targets, specs, scripts, names of processes, texts of events and output.",
      }),
      hint && h("p", { text: hint }),
    ),
  );
}

function nothingYet() {
  table = null;
  const list = h("ul");
  put(
    place,
    h(
      "div",
      { class: "empty" },
      h("p", {
        text: "Every capture that is recorded here is kept and listed on this page, with what it lost and its size.",
      }),
      mayRecord() && h("p", { class: "row" }, h("a", { class: "button primary", href: "/new", text: "New capture" })),
      h("p", { text: "Or open a sample:" }),
      h("div", { class: "way" }, list),
    ),
  );
  listSamples(list);
}

/** @param {CaptureItem} one */
function buttons(one) {
  const pin =
    one.can_pin &&
    h("button", {
      type: "button",
      class: "plain pin",
      title: PINS,
      "aria-label": `${one.pinned ? "Unpin" : "Pin"} ${one.title}`,
      text: one.pinned ? "Unpin" : "Pin",
      on: { click: () => setPinned(one, !one.pinned) },
    });
  return h("span", {}, pin, deleteButton(one));
}

/**
 * @param {CaptureItem} one
 * @param {boolean} pinned
 */
async function setPinned(one, pinned) {
  try {
    await send("PATCH", "/api/captures/{id}", { id: one.id }, { pinned });
    one.pinned = pinned;
    draw();
    note(pinned ? `“${one.title}” stays until somebody deletes it.` : `“${one.title}” is unpinned.`, { ms: 3000 });
  } catch (error) {
    noteError(error);
  }
}

/** @param {CaptureItem} one */
function deleteButton(one) {
  if (one.state === "recording") return null;
  return h("button", {
    type: "button",
    class: "plain danger",
    "aria-label": `Delete ${one.title}`,
    text: "Delete",
    on: { click: () => remove(one) },
  });
}

/** @param {CaptureItem} one */
const remove = (one) => removeAll([one]);

/**
 * Deletes captures one after another; *Undo* and the list of deleted captures restore them.
 * @param {CaptureItem[]} chosen
 */
async function removeAll(chosen) {
  for (const { id } of chosen) leaving.add(id);
  draw();
  /** @type {CaptureItem[]} */
  const gone = [];
  /** @type {string[]} */
  const restorable = [];
  for (const one of chosen) {
    try {
      const { restorable_until_unix_ns: until } = await send("DELETE", "/api/captures/{id}", { id: one.id });
      gone.push(one);
      if (until !== null) restorable.push(one.id);
    } catch (error) {
      noteError(error);
    }
    leaving.delete(one.id);
  }
  items = items.filter((one) => !gone.includes(one));
  total -= gone.length;
  draw();
  deleted?.changed();
  if (gone.length === 0) return;
  // What all captures take is told anew, unless more than the first ones are shown.
  if (items.length < PAGE) load();
  const what = gone.length === 1 ? `“${gone[0].title}”` : plural(gone.length, "capture");
  const lost = gone.length - restorable.length;
  if (lost === gone.length) note(`Deleted ${what} for good: there is no room to keep it for a day.`);
  else {
    const some = lost ? `, ${plural(lost, "capture")} of them for good` : "";
    note(`Deleted ${what}${some}.`, { label: "Undo", run: () => restoreAll(restorable), ms: UNDO_MS });
  }
}

/** @param {string[]} ids */
async function restoreAll(ids) {
  try {
    for (const id of ids) await send("POST", "/api/deleted/{id}/restore", { id });
  } catch (error) {
    noteError(error);
  }
  deleted?.changed();
  load();
}

/**
 * @param {number} offset of the first that is read
 * @param {boolean} isByItself whether nobody has asked for it: what is shown stays then, if it fails
 */
async function load(offset = 0, isByItself = false) {
  try {
    const page = await latest.run((signal) =>
      waitFor(
        "Reading the list of captures",
        get("/api/captures", { q: search.value.trim(), sort: chosenSort, limit: PAGE, offset }, signal),
      ),
    );
    if (page === undefined) return;
    items = offset ? [...items, ...page.items] : page.items;
    // Behind a page that is not full is nothing, however many were counted.
    isExceeded = page.total_exceeded && page.items.length === PAGE;
    total = page.total_exceeded && !isExceeded ? items.length : page.total;
    hint = page.hint;
    rule.textContent = ruleText(page.retention);
    unsearched.textContent = unsearchedText(page.unsearched, plural);
    unsearched.hidden = unsearched.textContent === "";
    filters.offer(items);
    if (page.sort !== sort) table = null;
    sort = page.sort;
    const hasRules = page.retention.keep_days !== null || page.retention.keep_for.length > 0;
    const wanted = hasRules ? WITH_KEPT : COLUMNS;
    next.details.hidden = !hasRules && page.retention.keep_bytes === null;
    if (wanted !== columns) {
      columns = wanted;
      table = null;
    }
    draw();
  } catch (error) {
    if (isByItself) return;
    table = null;
    showError(place, error, () => load());
  }
}

/**
 * Shows what another search finds.
 * @param {string} text
 */
function use(text) {
  search.value = text;
  chosenSort = "";
  writeParam("sort", "");
  search.dispatchEvent(new Event("input"));
}

/**
 * Shows what a search of the library finds; the address is that of the search from then on.
 * @param {string} id
 */
async function showSaved(id) {
  try {
    const { text } = await waitFor("Reading the saved search", get("/api/library/{id}", { id: Number(id) }));
    writeParam("saved", "");
    use(text);
  } catch (error) {
    showError(place, error, () => showSaved(id));
  }
}

/** The search that is shown, with its order. */
function shownSearch() {
  const words = search.value.trim();
  if (!chosenSort) return words;
  const others = words.split(/\s+/).filter((word) => !word.startsWith("sort:"));
  return [...others, `sort:${chosenSort}`].join(" ").trim();
}

/**
 * Reads the list again, as others record and delete: not while somebody is about to do something with it, or has turned pages, and
 * not where it cannot be seen.
 */
function renew() {
  const isUsed = place.contains(document.activeElement) || selection.chosen.length > 0 || leaving.size > 0;
  if (document.visibilityState === "visible" && !isUsed && table && items.length <= PAGE) void load(0, true);
}

startShell();
setInterval(renew, RENEW_MS);
document.addEventListener("visibilitychange", renew);
if (mayRecord()) counted.after(importButton());
counted.after(savedSearches(shownSearch, use));
rule.before(unsearched);
keepInAddress(search);
const filters = new HistoryFilters(byId("history-filters", HTMLDetailsElement), search);
if (paramOf("saved")) showSaved(paramOf("saved"));
else load();
search.addEventListener(
  "input",
  settled(150, () => load()),
);
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") /** @type {HTMLElement|null} */ (place.querySelector("tr[tabindex='0']"))?.focus();
  else if (event.key === "Escape" && search.value) {
    search.value = "";
    writeAddress("");
    load();
  } else return;
  event.preventDefault();
});
bind("history.search", () => search.focus());
