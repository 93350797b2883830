// Two captures beside each other.

import { get } from "../lib/api.js";
import { byId, h, put } from "../lib/dom.js";
import { note, showError, waitFor } from "../lib/notice.js";
import { compareAddress, readCompare } from "./compare_address.js";
import { chooseOther } from "./compare_choice.js";
import {
  functionsSection,
  headSection,
  missingSection,
  namesSection,
  specSection,
  streamSection,
} from "./compare_sections.js";
import { startShell } from "./shell.js";

/** @import { ComparedCaptures } from "../../../api.js" */

/** @param {ComparedCaptures} found */
function draw(found) {
  const ids = { a: found.a.id, b: found.b.id };
  document.title = `${found.a.title} and ${found.b.title} · Bathyscope`;
  const other = (/** @type {"a"|"b"} */ side) => async () => {
    const kept = side === "a" ? found.b : found.a;
    const id = await chooseOther(kept.id);
    if (id) location.assign(side === "a" ? compareAddress(id, ids.b) : compareAddress(ids.a, id));
  };
  put(
    byId("compare-head"),
    h(
      "p",
      { class: "row" },
      h("a", { class: "button", href: compareAddress(ids.b, ids.a), text: "Swap" }),
      h("button", { type: "button", text: "Another before", on: { click: other("a") } }),
      h("button", { type: "button", text: "Another now", on: { click: other("b") } }),
    ),
  );
  put(
    byId("compare"),
    found.cautions.length > 0 &&
      h("ul", { class: "notice compare-cautions" }, ...found.cautions.map((text) => h("li", { text }))),
    headSection(found),
    specSection(found.spec),
    ...found.rows.streams.map((stream) => streamSection(stream, ids)),
    found.rows.streams.length === 0 &&
      h("p", { class: "empty", text: "They have no stream in common: nothing of their rows can be compared." }),
    namesSection(found, ids),
    functionsSection(found, ids),
    missingSection(found.rows),
    h("p", {
      class: "quiet small",
      text: "What a difference is worth: the time of each is cut into 32 parts, which are drawn again 400 times; more than chance is what that gives in one of a hundred such tables. A difference that lost rows can explain is not called one.",
    }),
  );
}

async function load() {
  const asked = readCompare(location.search);
  if (!asked) {
    put(
      byId("compare"),
      h(
        "div",
        { class: "empty" },
        h("p", {
          text: "Two captures are compared here. Select them in the history, or take Compare with… on the page of one.",
        }),
        h("p", { class: "row" }, h("a", { class: "button primary", href: "/captures", text: "History" })),
      ),
    );
    return;
  }
  if (asked.newer) note("This link was made by a later release: some of it may be shown otherwise.");
  try {
    const found = await waitFor("Comparing the captures", get("/api/compare", { a: asked.a, b: asked.b }));
    put(byId("compare-problem"));
    draw(found);
  } catch (error) {
    showError(byId("compare-problem"), error, load);
  }
}

startShell();
void load();
