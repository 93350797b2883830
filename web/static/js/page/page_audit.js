// The audit log: who did what, when, newest first. For admins.

import { Latest, get } from "../lib/api.js";
import { byId, h, inputOf, put, settled } from "../lib/dom.js";
import { exact, plural, wall } from "../lib/format.js";
import { showError, waitFor } from "../lib/notice.js";
import { keepInAddress, writeAddress } from "../lib/search_address.js";
import { AuditSearch, objectAddress } from "./audit_search.js";
import { listTable } from "./list_table.js";
import { startShell } from "./shell.js";

/** @import { AuditLine } from "../../../api.js" */

/** @type {import("./list_table.js").Head[]} */
const HEADS = [["When"], ["Who"], ["What"], ["Of what"], ["More"]];

const place = byId("audit");
const search = inputOf("audit-search");
const looked = byId("audit-looked");
const latest = new Latest();
/** @type {AuditSearch} */
let shown;

/** @param {AuditLine} entry */
function row(entry) {
  const href = objectAddress(entry);
  return h(
    "tr",
    {},
    h("td", { text: wall(entry.time_unix_ns) }),
    h("td", { class: "name" }, entry.user, " ", h("span", { class: "quiet", text: entry.role })),
    h("td", { class: "mono", text: entry.action }),
    h(
      "td",
      { class: "mono cut", title: entry.object },
      href === null ? entry.object : h("a", { href, text: entry.object }),
    ),
    h("td", { class: "audit-detail", text: entry.detail }),
  );
}

function draw() {
  const { found, words, isAtBeginning } = shown;
  const all = isAtBeginning ? "all" : "the last";
  looked.textContent = words.length
    ? `${plural(found.length, "entry", "entries")} of ${all} ${exact(shown.looked)}`
    : isAtBeginning
      ? plural(found.length, "entry", "entries")
      : "";
  const further = h("button", {
    type: "button",
    text: words.length ? "Look further back" : "Show older entries",
    on: { click: () => void load(shown) },
  });
  put(
    place,
    found.length === 0
      ? h("p", {
          class: "empty",
          text: isAtBeginning ? "No match." : `No match in the newest ${exact(shown.looked)} entries.`,
        })
      : listTable(HEADS, found.map(row)),
    !isAtBeginning && h("p", { class: "row" }, further),
  );
}

/** @param {AuditSearch} wanted what is looked for, or looked further for */
async function load(wanted) {
  try {
    const found = await latest.run((signal) => {
      /** @type {(before: number, limit: number) => Promise<AuditLine[]>} */
      const read = async (before, limit) => (await get("/api/audit", { before, limit }, signal)).items;
      return waitFor("Reading the audit log", wanted.more(read));
    });
    if (found === undefined) return;
    shown = found;
    draw();
  } catch (error) {
    showError(place, error, () => load(wanted));
  }
}

const begin = () => load(new AuditSearch(search.value));

startShell();
keepInAddress(search);
search.addEventListener("input", settled(150, begin));
search.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !search.value) return;
  search.value = "";
  writeAddress("");
  void begin();
  event.preventDefault();
});
begin();
