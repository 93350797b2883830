// A page that was saved as a file: reads what is in it, answers with it, and says what it is.

import { SAVED_DATA, traffic } from "../lib/api.js";
import { byId, h, put } from "../lib/dom.js";
import { wall } from "../lib/format.js";
import { note } from "../lib/notice.js";
import { SAVED_VERSION, SavedAnswers, readAddress } from "./saved_answers.js";

/** @import { SavedAnswer, SavedPage } from "./saved_answers.js" */

/** Why something that needs the server is not there. */
const WHY = "this file does not have it";

/** The address of a capture's facts. */
const CAPTURE = /^\/api\/captures\/[0-9a-f]{16}$/;
/** Buttons of views that ask the server for something else. */
const ASKING = new Set([
  "Functions",
  "Call tree",
  "Callers and callees",
  "Time order",
  "Compare…",
  "Values",
  "Group",
  "Pairs",
  "Save",
  "Find",
  "States",
  "CPUs",
  "Threads",
]);
const GREY = "This needs Bathyscope: it is not in this file.";

/** @param {SavedAnswer} answer */
async function unpack({ gzip }) {
  const text = atob(gzip);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) packed[i] = text.charCodeAt(i);
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** @param {SavedPage} page */
function answerFrom(page) {
  const answers = new SavedAnswers(page.answers, unpack);
  traffic.window = (address, window) => answers.window(address, window);
  traffic.answer = async (path) => {
    const found = await answers.find(path);
    if (found && CAPTURE.test(readAddress(path).path)) {
      const info = JSON.parse(new TextDecoder().decode(/** @type {ArrayBuffer} */ (found.body)));
      return Response.json({ ...info, can_change: false, can_delete: false, can_pin: false, can_give: false });
    }
    if (found)
      return new Response(found.body, {
        headers: { "content-type": found.type === "json" ? "application/json" : "application/octet-stream" },
      });
    const remedy = `A file has what its view showed when it was saved. The rest is at ${page.from}`;
    return Response.json({ error: { kind: "saved", doing: "Reading this file", why: WHY, remedy } }, { status: 501 });
  };
}

/** @param {SavedPage} page */
function say(page) {
  const link = h("a", { href: page.from, rel: "noopener noreferrer", target: "_blank", text: "where it was saved" });
  put(
    byId("share-line"),
    h("strong", { text: "A file" }),
    ` · saved ${wall(page.saved_unix_ms * 1e6)} · read only · `,
    link,
    page.left_out.length > 0 && ` · ${page.left_out.join(" ")}`,
  );
  // Addresses of pages of the console lead nowhere here.
  document.addEventListener(
    "click",
    (event) => {
      const target = event.target instanceof Element ? event.target.closest("a[href]") : null;
      if (!target || target === link || target.getAttribute("href")?.startsWith("#")) return;
      if (target.hasAttribute("download") && target.getAttribute("href")?.startsWith("blob:")) return;
      event.preventDefault();
      event.stopPropagation();
      note(`That is not in this file. It is at ${page.from}`);
    },
    { capture: true },
  );
}

/** Greys what asks the server for something else, as often as views are drawn anew; a click tells why. */
function greyOut() {
  const place = byId("capture");
  let waits = false;
  const look = () => {
    waits = false;
    for (const button of place.querySelectorAll(".panel-bar button")) {
      if (!ASKING.has(button.textContent ?? "") || button.getAttribute("aria-pressed") === "true") continue;
      button.setAttribute("aria-disabled", "true");
      button.setAttribute("title", GREY);
    }
  };
  new MutationObserver(() => {
    if (!waits) requestAnimationFrame(look);
    waits = true;
  }).observe(place, { childList: true, subtree: true });
  place.addEventListener(
    "click",
    (event) => {
      const button =
        event.target instanceof Element ? event.target.closest(".panel-bar button[aria-disabled=true]") : null;
      if (!button) return;
      event.stopPropagation();
      note(GREY);
    },
    { capture: true },
  );
}

/**
 * Reads the file.
 * @returns {SavedPage}
 */
export function openSaved() {
  /** @type {SavedPage} */
  const page = JSON.parse(byId(SAVED_DATA).textContent ?? "");
  if (page.version > SAVED_VERSION) note("This file was made by a later release; a part of it may be missing.");
  answerFrom(page);
  say(page);
  greyOut();
  return page;
}
