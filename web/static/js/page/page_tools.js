// The tools page.

import { get } from "../lib/api.js";
import { BUILT_TOOLS, builtToolLink } from "../kind/built_tools.js";
import { toolLink } from "../kind/script.js";
import { mayRecord } from "../lib/commands.js";
import { byId, h, inputOf, put } from "../lib/dom.js";
import { knownHost, missingOfTool } from "../lib/needs.js";
import { showError, waitFor } from "../lib/notice.js";
import { keepInAddress } from "../lib/search_address.js";
import { startShell } from "./shell.js";

/** @import { Tool } from "../../../api.js" */

/** @type {Record<string, string>} */
const GROUPS = {
  processes: "Processes",
  cpu: "CPU and scheduler",
  memory: "Memory",
  files: "Files and storage",
  network: "Network",
  general: "General",
};

/** @typedef {Pick<Tool, "name"|"title"|"purpose"|"group"|"view"|"needs"|"since"> & {isBuilt?: boolean}} ListedTool */

/** Tools that are forms of the probe builder. @type {ListedTool[]} */
const BUILT = BUILT_TOOLS.map((tool) => ({ ...tool, group: "general", needs: [], since: null, isBuilt: true }));

/** @type {ListedTool[]} */
let tools = [];
/** @type {import("../lib/needs.js").KnownHost|null} */
let host = null;

/** @param {ListedTool} tool */
function row(tool) {
  const name = h("code", { text: tool.name });
  const missing = host ? missingOfTool(tool, host) : "";
  const address = tool.isBuilt ? builtToolLink(tool.name) : toolLink(tool.name);
  const link = mayRecord() ? h("a", { href: address }, name) : name;
  return h(
    "tr",
    {},
    h("td", {}, link),
    h("td", { class: "wide", title: tool.purpose || tool.title, text: tool.title }),
    h(
      "td",
      {},
      (tool.isBuilt ? "probe builder" : tool.needs.join(", ")) + (tool.since ? `, Linux ${tool.since}` : ""),
      missing && h("div", { class: "small stop", title: missing, text: "not on this host" }),
    ),
    h("td", { text: tool.view }),
  );
}

/**
 * @param {string} group
 * @param {ListedTool[]} items
 */
function section(group, items) {
  const head = h(
    "thead",
    {},
    h("tr", {}, ...["Tool", "What it shows", "Needs", "View"].map((text) => h("th", { scope: "col", text }))),
  );
  return h(
    "section",
    {},
    h("h2", { text: group }),
    h(
      "div",
      { class: "scroll-x", tabindex: "0" },
      h("table", { class: "list tools-list" }, head, h("tbody", {}, ...items.map(row))),
    ),
  );
}

function show() {
  const words = inputOf("tool-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = tools.filter((tool) =>
    words.every((word) => `${tool.name} ${tool.title} ${tool.purpose} ${tool.group}`.toLowerCase().includes(word)),
  );
  const groups = Map.groupBy(fits, ({ group }) => group);
  put(
    byId("tools"),
    ...[...groups].map(([group, items]) => section(GROUPS[group] ?? group, items)),
    fits.length === 0 &&
      h("p", {
        class: "empty",
        text: "No matching tool. You can also write a script of your own: New capture, Script.",
      }),
  );
}

async function load() {
  try {
    const { items } = await waitFor("Reading the tools", get("/api/tools"));
    tools = [...items, ...BUILT].sort((a, b) => (a.name < b.name ? -1 : 1));
    show();
    host = knownHost(await get("/api/host"));
    show();
  } catch (error) {
    showError(byId("tools"), error, load);
  }
}

startShell();
keepInAddress(inputOf("tool-filter"));
inputOf("tool-filter").addEventListener("input", show);
load();
