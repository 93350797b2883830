// Saves what the page of a capture shows as one file that opens without a server: asks which tabs, reads what they need, tells how large the
// file becomes, and saves it.

import { get, isAborted, traffic } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { bytes, exact, plural } from "../lib/format.js";
import { errorNotice } from "../lib/notice.js";
import { saveBlob } from "../lib/save_text.js";
import { formatView } from "./url_state.js";
import { checkedFile, drawNonce, fileName, stylesOf, textOf } from "./file_parts.js";
import { SAVED_VERSION } from "./saved_answers.js";
import { classicScript, filesOf, savedHtml } from "./saved_html.js";
import { addressesOf, newestWindow, rowPagesOf, trackZoomsOf, wholeFlamesOf, zoomsOf } from "./save_plan.js";

/** @import { CaptureContext } from "./capture_context.js" */
/** @import { SavedAnswer } from "./saved_answers.js" */

/** The most bytes of the windows of a file's timeline. */
const MOST_WINDOW_BYTES = 10e6;
/** A view has what it needs when nothing was asked for so long. */
const QUIET_MS = 400;
const AT_ONCE = 4;
/** What is not in files, as it needs a server. */
const NOT_IN_FILES = new Set(["share_dialog.js", "rights_dialog.js", "sql_view.js", "against_dialog.js"]);

/**
 * What can be saved of a capture: its tabs by name and title, those that a share shows.
 * @typedef {{name: string, title: string}} SavedTab
 */

/**
 * Asks, makes the file, saves it.
 * @param {CaptureContext} context
 * @param {SavedTab[]} tabs
 */
export function savePage(context, tabs) {
  const before = document.activeElement;
  const giveUp = new AbortController();
  const told = h("p", { role: "status" });
  const problem = h("div");
  const bar = h("progress", { "aria-label": "How much has been read", hidden: true });
  const boxes = tabs.map(({ name, title }) => {
    const box = h("input", { type: "checkbox", value: name, checked: name === context.view.tab });
    return { name, title, box, label: h("label", { class: "check" }, box, ` ${title}`) };
  });
  const main = h("button", { class: "primary", text: "Prepare" });
  const close = () => {
    giveUp.abort();
    dialog.close();
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  };
  /** @type {{name: string, html: Blob, leftOut: string[]}|null} */
  let made = null;
  const prepare = async () => {
    const chosen = boxes.filter(({ box }) => box.checked);
    if (chosen.length === 0) {
      told.textContent = "Choose at least one tab.";
      return;
    }
    put(problem);
    for (const { box } of boxes) box.disabled = true;
    main.disabled = true;
    bar.hidden = false;
    try {
      made = await makeFile(context, chosen, giveUp.signal, (text, share) => {
        told.textContent = text;
        if (share === null) bar.removeAttribute("value");
        else bar.value = share;
      });
      told.textContent = wordsOf(made);
      main.textContent = "Save";
    } catch (error) {
      if (isAborted(error)) return;
      told.textContent = "";
      put(problem, errorNotice(error));
      for (const { box } of boxes) box.disabled = false;
    }
    main.disabled = false;
    bar.hidden = true;
    main.focus();
  };
  const form = h(
    "form",
    {
      class: "stack",
      on: {
        submit: (event) => {
          event.preventDefault();
          if (!made) return void prepare();
          saveBlob(made.name, made.html);
          close();
        },
      },
    },
    h("h2", { id: "save-page-head", text: "Save this view as a file" }),
    h("p", {
      text: "One HTML file that opens in a browser without Bathyscope and without a network: this view with its range and filter, other zooms of it, and its rows to sort and search. Whoever has the file can read all that is in it.",
    }),
    h("fieldset", { class: "row" }, h("legend", { text: "Tabs in it" }), ...boxes.map(({ label }) => label)),
    told,
    bar,
    problem,
    h("div", { class: "row" }, main, h("button", { type: "button", text: "Cancel", on: { click: close } })),
  );
  const dialog = h("dialog", { class: "keep-dialog", id: "save-page", "aria-labelledby": "save-page-head" }, form);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {{html: Blob, leftOut: string[]}} made */
function wordsOf({ html, leftOut }) {
  return [`The file has ${bytes(html.size)}.`, ...leftOut].join(" ");
}

/**
 * @param {CaptureContext} context
 * @param {SavedTab[]} tabs
 * @param {AbortSignal} signal
 * @param {(text: string, share: number|null) => void} tell
 */
async function makeFile(context, tabs, signal, tell) {
  tell("Showing each tab once.", null);
  await showEach(context, tabs, signal);
  const reader = new AnswerReader(signal, tell);
  const leftOut = await readAll(context, reader);
  tell("Writing the file.", null);
  const page = {
    version: SAVED_VERSION,
    view: formatView(context.view),
    from: context.info.public_url
      ? context.info.public_url + context.state.address()
      : location.origin + context.state.address(),
    saved_unix_ms: Date.now(),
    tabs: tabs.map(({ name }) => name),
    left_out: leftOut,
    answers: reader.answers,
  };
  const text = savedHtml({
    title: context.info.title,
    nonce: drawNonce(),
    styles: await stylesOf(document, signal),
    script: await scriptOf(document, signal),
    body: await partsOf(signal),
    page,
  });
  const html = checkedFile(text, "select a shorter range, or leave out a tab");
  return { name: fileName(context.info.title, context.id), html, leftOut };
}

/**
 * Shows each tab, so that it asks for what it needs, and goes back to the first one.
 * @param {CaptureContext} context
 * @param {SavedTab[]} tabs
 * @param {AbortSignal} signal
 */
async function showEach(context, tabs, signal) {
  const { tab } = context.view;
  try {
    for (const { name } of tabs) {
      context.state.set({ tab: name });
      context.emit("again", null);
      await quiet(signal);
    }
  } finally {
    context.state.set({ tab });
  }
}

/**
 * Waits until nothing is asked for any more.
 * @param {AbortSignal} signal
 */
async function quiet(signal) {
  let since = performance.now();
  let seen = traffic.asked.size;
  while (performance.now() - since < QUIET_MS) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    signal.throwIfAborted();
    if (traffic.open > 0 || traffic.asked.size !== seen) since = performance.now();
    seen = traffic.asked.size;
  }
}

/** Reads answers, some at once, and packs them. */
class AnswerReader {
  /** @type {SavedAnswer[]} */
  answers = [];
  /** @type {Set<string>} */
  #read = new Set();

  /**
   * @param {AbortSignal} signal
   * @param {(text: string, share: number) => void} tell
   */
  constructor(signal, tell) {
    this.signal = signal;
    this.tell = tell;
    this.size = 0;
  }

  /**
   * Reads what is not there yet.
   * @param {string[]} addresses
   * @param {(address: string, text: string) => void} [seen] each answer that is JSON
   */
  async read(addresses, seen = () => {}) {
    const wanted = addresses.filter((address) => !this.#read.has(address));
    let [next, done] = [0, 0];
    const one = async () => {
      while (next < wanted.length) {
        const address = wanted[next];
        next += 1;
        await this.#one(address, seen);
        done += 1;
        this.tell(
          `${exact(done)} of ${plural(wanted.length, "answer")} read: ${bytes(this.size)} so far.`,
          done / wanted.length,
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  }

  /**
   * @param {string} address
   * @param {(address: string, text: string) => void} seen
   */
  async #one(address, seen) {
    this.#read.add(address);
    const response = await fetch(address, { credentials: "same-origin", signal: this.signal });
    // What cannot be answered now cannot be in the file: a view that needs it says so.
    if (!response.ok) return;
    const type = (response.headers.get("content-type") ?? "").startsWith("application/json") ? "json" : "bytes";
    const body = await response.arrayBuffer();
    if (type === "json") seen(address, new TextDecoder().decode(body));
    const gzip = await packed(body);
    this.size += gzip.length;
    this.answers.push({ address, type, gzip });
  }
}

/**
 * Reads all that the file has; gives what it has not, in sentences.
 * @param {CaptureContext} context
 * @param {AnswerReader} reader
 */
async function readAll(context, reader) {
  const { start, end, filter } = context.view;
  const addresses = addressesOf(traffic.asked, context.path, { start, end, filter });
  /** @type {Map<string, number>} */
  const matched = new Map();
  await reader.read(addresses, (address, text) => {
    if (address.split("?")[0].endsWith("/rows")) matched.set(address, JSON.parse(text).matched);
  });
  const { pages, left } = rowPagesOf(addresses, (address) => matched.get(address) ?? 0);
  await reader.read([...wholeFlamesOf(addresses), ...pages]);
  const leftOut = left.map(({ rows, of }) => `Of ${plural(of, "row")} it has the first ${exact(rows)}.`);
  const windows = await windowsOf(context);
  const before = reader.size;
  for (let at = 0; at < windows.length; at += AT_ONCE) {
    if (reader.size - before > MOST_WINDOW_BYTES) {
      leftOut.push("Its timeline is not as fine everywhere as that of Bathyscope.");
      break;
    }
    await reader.read(windows.slice(at, at + AT_ONCE));
  }
  return leftOut;
}

/**
 * Windows of the timelines that were shown.
 * @param {CaptureContext} context
 */
async function windowsOf(context) {
  const { asked } = traffic;
  const bins = newestWindow(asked, `${context.path}/timeline`);
  const tracks = newestWindow(asked, `${context.path}/tracks/window`);
  const found = bins ? zoomsOf(bins, context.duration) : [];
  if (!tracks) return found;
  const list = await get("/api/captures/{id}/tracks", { id: context.id });
  const ids = list.tracks.map(({ id }) => id);
  return [...found, ...trackZoomsOf(tracks, context.duration, ids)];
}

/**
 * Compressed, in base64.
 * @param {ArrayBuffer} body
 * @returns {Promise<string>}
 */
async function packed(body) {
  const stream = new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
  const blob = await new Response(stream).blob();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/**
 * The page's modules and those that it loads later, as one script.
 * @param {Document} page
 * @param {AbortSignal} signal
 */
async function scriptOf(page, signal) {
  const entry = page.querySelector('script[type="module"]')?.getAttribute("src") ?? "";
  const [folder, name] = [entry.slice(0, entry.lastIndexOf("/") + 1), entry.slice(entry.lastIndexOf("/") + 1)];
  /** @type {Map<string, string>} */
  const files = new Map();
  /** @param {string} file */
  const read = async (file) => {
    if (files.has(file) || NOT_IN_FILES.has(file) || file.startsWith("vendor/")) return;
    files.set(file, "");
    const text = await textOf(folder + file, signal);
    const { now, later } = filesOf(text);
    for (const other of [...now, ...later]) await read(other);
    // In the order in which they can be evaluated: what is needed first is first.
    files.delete(file);
    files.set(file, text);
  };
  await read(name);
  const all = [...files].map(([file, text]) => ({ name: file, text }));
  const isEntry = (/** @type {{name: string}} */ file) => file.name === name;
  const isCore = (/** @type {{name: string}} */ file) => file.name === "core.js";
  const others = all.filter((file) => !isEntry(file) && !isCore(file));
  return classicScript([...all.filter(isCore), ...others, ...all.filter(isEntry)]);
}

/** Where the parts of a page that a file has begin, and what stands behind them. */
const PARTS = [
  ['<div id="capture"', "</main>"],
  ['<dialog id="help"', "</body>"],
];

/**
 * The parts of this page that a file has, as the server sends them.
 * @param {AbortSignal} signal
 */
async function partsOf(signal) {
  const text = await textOf(location.pathname, signal);
  return PARTS.map(([first, last]) => text.slice(text.indexOf(first), text.indexOf(last, text.indexOf(first))));
}
