// A page that was saved as a file: reads what is in it, answers with it, says what it is, and leads from an investigation to its views
// and back.

import { NOT_IN_FILE, SAVED_DATA, traffic } from "../lib/api.js";
import { byId, h, put } from "../lib/dom.js";
import { wall } from "../lib/format.js";
import { hasKeys, isTyping } from "../lib/keys.js";
import { note } from "../lib/notice.js";
import { SAVED_VERSION, SavedAnswers, readAddress } from "./saved_answers.js";
import { isElsewhere, placeAddress, readPlace } from "./saved_place.js";
import { standAt } from "./url_state.js";

/** @import { SavedAnswer, SavedFile, SavedView } from "./saved_answers.js" */

/** Why something that needs the server is not there. */
const WHY = "this file does not have it";

/** The addresses of a capture's facts and notes. */
const CAPTURE = /^\/api\/captures\/[0-9a-f]{16}(\/notes)?$/;
/** What whoever made the file might do, and nobody does in it. */
const READ_ONLY = { can_change: false, can_delete: false, can_pin: false, can_give: false, can_write: false };
/** Buttons of views that ask the server for something else, by the tab that they are in. @type {Record<string, string[]>} */
const ASKING = {
  calls: ["Whole", "By CPU", "By thread", "By interrupt", "Threads", "CPUs"],
  events: ["Values", "Group", "Pairs", "Save"],
  timeline: ["Find", "States", "CPUs", "Threads"],
  flame: ["Callers and callees", "Time order", "Compare…"],
  distribution: ["Over time", "Offset in the second", "Utilisation", "Single rows"],
};
/** Choices that do. */
const CHOICES = [
  '#panel-flame select[aria-label="What is counted"]',
  '#panel-flame select[aria-label="The first level"]',
  '#panel-calls select[aria-label="Thread"]',
  '#panel-calls input[aria-label="Only calls longer than"]',
  '#panel-distribution select[aria-label="Rows"]',
  '#panel-distribution select[aria-label="Buckets"]',
  "#panel-distribution input.spread-limit",
  '#panel-maps select[aria-label="Key"]',
  "#panel-events .pivot-row select",
].join();
/** Buttons of lines and groups that do, wherever they are in a view. */
const OF_LINES = [
  '.against-lines button[aria-label^="Only "]',
  '.syscall-view button[aria-label^="Only "]',
  ".pivot-chip button",
].join();

/**
 * What of an investigation's blocks is in a file.
 * @typedef {object} SavedBlocks
 * @property {string} id of the investigation
 * @property {(block: string) => {href: string|null, why: string}} view the address of the view that opens at a block; null where there
 *   is only a picture, with the reason
 * @property {(address: string) => Promise<string>} picture an address in this file of what was at an address
 * @property {() => string} at the block that the address names; empty for none
 */

/** @param {SavedAnswer} answer */
async function unpack({ gzip }) {
  const text = atob(gzip);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) packed[i] = text.charCodeAt(i);
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/**
 * @param {SavedFile} file
 * @param {number[]} which of its answers
 */
function answerFrom(file, which) {
  const answers = new SavedAnswers(
    which.map((at) => file.answers[at]),
    unpack,
  );
  traffic.window = (address, window) => answers.window(address, window);
  traffic.answer = async (path) => {
    const found = await answers.find(path);
    if (found && CAPTURE.test(readAddress(path).path)) {
      const info = JSON.parse(new TextDecoder().decode(/** @type {ArrayBuffer} */ (found.body)));
      return Response.json({ ...info, ...READ_ONLY });
    }
    if (found)
      return new Response(found.body, {
        status: found.type === "refused" ? 400 : 200,
        headers: { "content-type": found.type === "bytes" ? "application/octet-stream" : "application/json" },
      });
    document.dispatchEvent(new CustomEvent("unanswered", { detail: path }));
    const where = file.from ? ` The rest is at ${file.from}` : "";
    const remedy = `A file has what its view showed when it was saved.${where}`;
    return Response.json({ error: { kind: "saved", doing: "Reading this file", why: WHY, remedy } }, { status: 501 });
  };
}

/**
 * Says what the file is. Addresses of pages of the console lead nowhere here.
 * @param {SavedFile} file
 * @param {string[]} leftOut what is not in it of what is open
 * @param {string|null} back where the view leads back to; null where there is nothing else
 */
function say({ from, saved_unix_ms: saved }, leftOut, back) {
  const link = from && h("a", { href: from, rel: "noopener noreferrer", target: "_blank", text: "where it was saved" });
  put(
    byId("share-line"),
    back && h("a", { class: "button", id: "saved-back", href: back, text: "Back to the investigation" }),
    back && " ",
    h("strong", { text: "A file" }),
    ` · saved ${wall(saved * 1e6)} · read only`,
    link && " · ",
    link,
    leftOut.length > 0 && ` · ${leftOut.join(" ")}`,
  );
  document.addEventListener(
    "click",
    (event) => {
      const target = event.target instanceof Element ? event.target.closest("a[href]") : null;
      const href = target?.getAttribute("href") ?? "#";
      if (href.startsWith("#") || href.startsWith("blob:") || /^[a-z]+:/i.test(href)) return;
      event.preventDefault();
      event.stopPropagation();
      note(`That is not in this file.${from ? ` It is at ${new URL(href, from)}` : ""}`);
    },
    { capture: true },
  );
}

/**
 * The buttons of views that ask for something else, but for the one that is pressed.
 * @param {Element} place
 */
function askingButtons(place) {
  const streams = [...place.querySelectorAll('.panel-bar [aria-label="Stream"] button')];
  const named = Object.entries(ASKING).flatMap(([tab, names]) =>
    [...place.querySelectorAll(`#panel-${tab} .panel-bar button`)].filter(({ textContent }) =>
      names.includes(textContent ?? ""),
    ),
  );
  return [...streams, ...named, ...place.querySelectorAll(OF_LINES)].filter(
    // One that leads to a dialog asks when it is pressed, too.
    (button) => button.getAttribute("aria-pressed") !== "true" || button.textContent?.endsWith("…"),
  );
}

/** Greys what asks the server for something else, as often as views are drawn anew; a click tells why. */
function greyOut() {
  const place = byId("capture");
  let waits = false;
  const look = () => {
    waits = false;
    for (const button of askingButtons(place)) {
      button.setAttribute("aria-disabled", "true");
      button.setAttribute("title", NOT_IN_FILE);
    }
    for (const choice of place.querySelectorAll(CHOICES)) {
      choice.setAttribute("disabled", "");
      choice.setAttribute("title", NOT_IN_FILE);
    }
  };
  new MutationObserver(() => {
    if (!waits) requestAnimationFrame(look);
    waits = true;
  }).observe(place, { childList: true, subtree: true });
  place.addEventListener(
    "click",
    (event) => {
      const button = event.target instanceof Element ? event.target.closest("button[aria-disabled=true]") : null;
      if (button?.getAttribute("title") !== NOT_IN_FILE) return;
      event.stopPropagation();
      note(NOT_IN_FILE);
    },
    { capture: true },
  );
}

/**
 * Opens the file anew where the address shows something else than what is open: a view begins from nothing, as a page does.
 * @param {SavedView|null} open
 */
function followAddress(open) {
  addEventListener("hashchange", () => {
    const at = open && { block: open.block ?? "", view: "" };
    const wanted = readPlace(location.hash);
    const shown = wanted && { ...wanted, view: wanted.view === null ? null : "" };
    // The view of a file of one view is what it shows without an address too.
    if (open?.block === null && wanted?.view === null) return;
    if (isElsewhere(at, shown)) location.reload();
  });
}

/**
 * The way back to the investigation: a link, and Escape where nothing else is to be closed.
 * @param {string} back
 */
function leadBack(back) {
  hasKeys("file");
  // All keys of the page are asked before.
  addEventListener("keydown", (event) => {
    const isOurs = event.key === "Escape" && !event.defaultPrevented && !event.isComposing && !isTyping(event);
    if (!isOurs || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    location.hash = back;
  });
}

/**
 * What an investigation's page is told of its blocks.
 * @param {SavedFile} file
 * @param {NonNullable<SavedFile["investigation"]>} investigation
 * @returns {SavedBlocks}
 */
function blocksOf({ views }, { id, pictures }) {
  const opened = new Map(views.map((view) => [view.block, placeAddress(view.block ?? "", view.view)]));
  const whys = new Map(pictures.map(({ block, why }) => [block, why]));
  return {
    id,
    view: (block) => ({ href: opened.get(block) ?? null, why: whys.get(block) ?? "" }),
    picture: async (address) => {
      const answer = await traffic.answer?.(address);
      if (!answer?.ok) throw new Error(WHY);
      return URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: "image/svg+xml" }));
    },
    at: () => readPlace(location.hash)?.block ?? "",
  };
}

/**
 * Reads the file: what of it is open now, as the address says.
 * @returns {{view: SavedView|null, blocks: SavedBlocks|null}}
 */
export function openSaved() {
  /** @type {SavedFile} */
  const file = JSON.parse(byId(SAVED_DATA).textContent ?? "");
  if (file.version > SAVED_VERSION) note("This file was made by a later release; a part of it may be missing.");
  const { investigation, views } = file;
  const place = readPlace(location.hash);
  const named = investigation ? views.find(({ block }) => place?.view !== null && block === place?.block) : views[0];
  const view = named ? { ...named, view: place?.view ?? named.view } : null;
  const back = investigation && view ? placeAddress(view.block ?? "") : null;
  answerFrom(file, (view ?? investigation)?.answers ?? []);
  say(file, view?.left_out ?? file.left_out, back);
  followAddress(view);
  const pages = {
    capture: document.getElementById("capture"),
    investigation: document.getElementById("investigation"),
  };
  if (pages.capture) pages.capture.hidden = !view;
  if (pages.investigation) pages.investigation.hidden = Boolean(view);
  if (!view) return { view, blocks: investigation && blocksOf(file, investigation) };
  standAt(view.block ?? "");
  byId("capture").dataset.id = view.capture;
  byId("cap-title").textContent = view.title;
  document.title = `${view.title} · Bathyscope`;
  if (back) leadBack(back);
  greyOut();
  return { view, blocks: null };
}
