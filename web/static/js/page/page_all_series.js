// Series: what was recorded more than once, each with its runs, the last and the baseline.

import { get } from "../lib/api.js";
import { byId, h, put } from "../lib/dom.js";
import { plural, wall } from "../lib/format.js";
import { showError } from "../lib/notice.js";
import { listTable, titleCell } from "./list_table.js";
import { seriesAddress } from "./series_address.js";
import { startShell } from "./shell.js";

/** @import { SeriesItem } from "../../../api.js" */

/** @type {import("./list_table.js").Head[]} */
const HEADS = [["What"], ["Host"], ["Runs", true], ["First"], ["Last"], ["Baseline"]];
/** So many are told by the server at most. */
const MOST = 1000;

const field = /** @type {HTMLInputElement} */ (byId("series-search"));
/** @type {SeriesItem[]} */
let all = [];

/** @param {SeriesItem} series */
function row({ id, title, host, runs, first_unix_ns: first, last_unix_ns: last, last: newest, baseline }) {
  return h(
    "tr",
    {},
    titleCell(title || "without a title", seriesAddress(id)),
    h("td", { class: "cut", title: host, text: host }),
    h("td", { class: "num", text: runs >= MOST ? "1,000 or more" : String(runs) }),
    h("td", { text: wall(first) }),
    h("td", {}, h("a", { href: `/captures/${newest}`, text: wall(last) })),
    h("td", {}, baseline === null ? "none" : h("a", { href: `/captures/${baseline}`, text: "its capture" })),
  );
}

function draw() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter(({ title, host }) => words.every((word) => `${title} ${host}`.toLowerCase().includes(word)));
  const count = all.length >= MOST ? "the last 1,000 series" : plural(all.length, "series", "series");
  byId("series-count").textContent = words.length === 0 ? count : `${found.length} of ${count}`;
  const empty =
    all.length === 0 ? "Nothing was recorded twice. Run a capture again: both are then runs of a series." : "No match.";
  put(
    byId("all-series"),
    found.length === 0 ? h("p", { class: "empty", text: empty }) : listTable(HEADS, found.map(row)),
  );
}

async function load() {
  try {
    all = (await get("/api/series")).items;
    draw();
  } catch (error) {
    showError(byId("all-series"), error, load);
  }
}

startShell();
field.addEventListener("input", draw);
void load();
