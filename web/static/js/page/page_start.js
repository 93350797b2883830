// The start page.

import { get, send } from "../lib/api.js";
import { startBusy } from "./busy_view.js";
import { CaptureTable } from "./capture_list.js";
import { mayRecord } from "../lib/commands.js";
import { byId, h, put } from "../lib/dom.js";
import { GuideView } from "./guide_view.js";
import { agentNotice, shortCapabilities, troubleNotice } from "./host_view.js";
import { importButton } from "./import_files.js";
import { note, noteError, showError, waitFor } from "../lib/notice.js";
import { listSamples } from "./samples.js";
import { startShell } from "./shell.js";

/** @import { RecipeItem } from "../../../api.js" */

const RECENT = 8;

async function host() {
  try {
    const { facts, agent, capabilities, trouble } = await waitFor("Asking what this host can do", get("/api/host"));
    if (facts.hostname) byId("host-line").textContent = `What do you want to see on ${facts.hostname}?`;
    put(byId("agent"), troubleNotice(trouble), agentNotice(agent));
    put(
      byId("caps"),
      capabilities.length
        ? shortCapabilities(capabilities)
        : h("p", { class: "empty", text: "Not known: there is no agent." }),
    );
    if (!mayRecord()) return;
    /** @param {string} id */
    const found = (id) => capabilities.find((one) => one.id === id);
    /** @param {...string} ids */
    const why = (...ids) => {
      if (agent.state !== "connected") return "Not possible while there is no agent.";
      return ids.some((id) => found(id)?.state === "available")
        ? ""
        : `Not possible here: ${found(ids[0])?.finding ?? "it was not tried"}`;
    };
    offer("go-events", why("tracepoint"));
    offer("go-script", why("ring_buffer"));
    offer("go-profile", why("cpu_clock_sampling", "pmu"));
  } catch (error) {
    showError(byId("caps"), error, host);
  }
}

/**
 * A way that does not work is still reachable, to be read about, but is not offered first.
 * @param {string} id
 * @param {string} why
 */
function offer(id, why) {
  const link = byId(id);
  link.classList.toggle("primary", !why);
  link.closest(".way")?.querySelector(".way-why")?.remove();
  if (why) link.closest(".way > *:last-child")?.before(h("p", { class: "way-why small", text: why }));
}

async function recent() {
  const place = byId("recent");
  try {
    const { items } = await get("/api/captures", { limit: RECENT });
    if (items.length) new CaptureTable(place, ["title", "state", "started", "duration", "rows", "lost"]).show(items);
    else
      put(
        place,
        h("p", {
          class: "empty",
          text: "Captures that are recorded here appear in this list and stay until they are deleted. There is none yet.",
        }),
      );
  } catch (error) {
    showError(place, error, recent);
  }
}

/** What people ask first, each with what is recorded for an answer. */
async function questions() {
  const place = byId("questions");
  try {
    const { items } = await get("/api/recipes");
    const own = items.filter(({ owner }) => owner !== null);
    const ask = (/** @type {RecipeItem} */ { name, question, about, cost }) =>
      h(
        "li",
        {},
        h("a", { href: `/new?recipe=${encodeURIComponent(name)}`, text: question }),
        h("span", { class: "quiet small", title: cost, text: about }),
      );
    put(
      place,
      h("ul", { class: "question-list" }, ...items.filter(({ owner }) => owner === null).map(ask)),
      own.length > 0 && h("h3", { text: "Saved here" }),
      own.length > 0 && h("ul", { class: "question-list" }, ...own.map(ownQuestion)),
    );
  } catch (error) {
    showError(place, error, questions);
  }
}

/**
 * A question that somebody has saved.
 * @param {RecipeItem} recipe
 */
function ownQuestion({ name, question, owner, sources, can_delete }) {
  const about = `${name}, by ${owner}: ${sources.map(({ id }) => id).join(", ")}`;
  return h(
    "li",
    {},
    h("a", { href: `/new?recipe=${encodeURIComponent(name)}`, text: question || name }),
    h("span", { class: "quiet small", text: about }),
    can_delete &&
      h("button", {
        type: "button",
        class: "plain small",
        "aria-label": `Delete the recipe ${name}`,
        text: "Delete",
        on: { click: () => deleteQuestion(name) },
      }),
  );
}

/** @param {string} name */
async function deleteQuestion(name) {
  try {
    await waitFor("Deleting the recipe", send("DELETE", "/api/recipes/{name}", { name }));
    note(`Deleted the recipe ${name}.`);
  } catch (error) {
    noteError(error);
  }
  questions();
}

startShell();
host();
if (mayRecord()) {
  new GuideView(byId("guide"));
  questions();
}
startBusy();
recent();
listSamples(byId("samples"));
if (mayRecord()) byId("recent-title").append(importButton());
