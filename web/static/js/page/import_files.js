// Imports captures from files: dropped anywhere on a page, or chosen with a button.

import { ApiError, withParams } from "../lib/api.js";
import { addCommands, mayRecord } from "../lib/commands.js";
import { h, put } from "../lib/dom.js";
import { bytes, percent, plural } from "../lib/format.js";
import { errorNotice, note } from "../lib/notice.js";

/** @import { ImportAnswer } from "../../../api.js" */

/** What is sent, and the files that wait for their turn. */
let sending = /** @type {ReturnType<typeof post>|null} */ (null);
/** @type {File[]} */
const waiting = [];
/** @type {ImportAnswer[]} */
const imported = [];

/** Where an import says how far it is, above the page. */
function panel() {
  let place = document.getElementById("import-panel");
  if (!place) {
    place = h("section", { id: "import-panel", class: "import-panel", "aria-label": "Import" });
    document.body.append(place);
  }
  return place;
}

function clear() {
  document.getElementById("import-panel")?.remove();
}

/**
 * Sends a file; `tell` gets how many of its bytes are sent.
 * @param {File} file
 * @param {(sent: number) => void} tell
 * @returns {{done: Promise<ImportAnswer|null>, cancel: () => void}} `done` is null where it was cancelled
 */
function post(file, tell) {
  const request = new XMLHttpRequest();
  /** @type {Promise<ImportAnswer|null>} */
  const done = new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", ({ loaded }) => tell(loaded));
    request.addEventListener("abort", () => resolve(null));
    request.addEventListener("error", () =>
      reject(
        new ApiError({
          doing: "Sending the file",
          why: "the server does not answer",
          remedy: "Check that Bathyscope still runs and that this computer reaches it. Nothing was stored.",
        }),
      ),
    );
    request.addEventListener("load", () => {
      const body = request.response ?? {};
      if (request.status < 300) resolve(body);
      else if (request.status === 401)
        location.assign(withParams("/login", { next: `${location.pathname}${location.search}` }));
      else
        reject(
          new ApiError({
            status: request.status,
            doing: "Importing the file",
            why: `the server answered ${request.status}`,
            ...(body.error ?? {}),
            body,
          }),
        );
    });
  });
  request.open("POST", withParams("/api/captures/import", { name: file.name }));
  request.responseType = "json";
  request.setRequestHeader("content-type", "application/octet-stream");
  request.send(file);
  return { done, cancel: () => request.abort() };
}

/** @param {File} file */
async function importOne(file) {
  const said = h("span", { role: "status" });
  const bar = h("progress", { max: Math.max(1, file.size), value: 0, "aria-label": `Import of ${file.name}` });
  /** @param {number} sent */
  const tell = (sent) => {
    bar.value = sent;
    const left = waiting.length ? `; ${plural(waiting.length, "more file")}` : "";
    said.textContent =
      sent < file.size
        ? `Sending ${file.name}: ${percent(sent, file.size)} of ${bytes(file.size)}${left}`
        : `Reading ${file.name}, ${bytes(file.size)}${left}`;
    // How long reading takes is not known.
    if (sent >= file.size) bar.removeAttribute("value");
  };
  const sent = post(file, tell);
  sending = sent;
  put(
    panel(),
    h("p", {}, said),
    bar,
    h("button", {
      type: "button",
      text: "Cancel",
      on: {
        click: () => {
          waiting.length = 0;
          sending?.cancel();
        },
      },
    }),
  );
  tell(0);
  const answer = await sent.done;
  if (answer) imported.push(answer);
  return Boolean(answer);
}

async function importAll() {
  /** @type {File|undefined} */
  let file;
  try {
    while ((file = waiting.shift())) {
      if (!(await importOne(file))) note(`The import of ${file.name} was cancelled; nothing of it was stored.`);
    }
    clear();
  } catch (error) {
    const rest = waiting.splice(0);
    put(
      panel(),
      h("h2", { text: `${file?.name} was not imported` }),
      errorNotice(error),
      rest.length > 0 &&
        h("p", { text: `Nor ${rest.length === 1 ? "was" : "were"} ${rest.map(({ name }) => name).join(", ")}.` }),
      h("button", { type: "button", text: "Close", on: { click: clear } }),
    );
    panel().querySelector("button")?.focus();
  } finally {
    sending = null;
  }
  const done = imported.splice(0);
  if (done.length === 1 && file === undefined) location.assign(done[0].url);
  else if (done.length > 0)
    note(`${plural(done.length, "capture")} imported.`, {
      label: "History",
      run: () => location.assign("/captures"),
      ms: 20000,
    });
}

/**
 * Imports files, one after the other.
 * @param {Iterable<File>} files
 */
export function importFiles(files) {
  waiting.push(...files);
  if (!sending && waiting.length) importAll();
}

/** Lets somebody choose files to import. */
export function chooseFiles() {
  const input = h("input", {
    type: "file",
    multiple: true,
    accept: ".bathy",
    on: { change: () => importFiles(input.files ?? []) },
  });
  input.click();
}

/** A button for it. */
export function importButton() {
  return h("button", {
    type: "button",
    text: "Import a file",
    title: "A capture that was exported as .bathy; it can also be dropped on any page",
    on: { click: chooseFiles },
  });
}

/** @param {DragEvent} event */
const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

/** Takes files that are dropped anywhere. A browser would open them instead of this page. */
export function startDrop() {
  const target = h(
    "div",
    { class: "drop-here", hidden: true },
    h("p", {
      text: mayRecord() ? "Drop to import a capture (.bathy)" : "You may read only: importing needs the role operator",
    }),
  );
  document.body.append(target);
  /** @param {DragEvent} event */
  const over = (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.dataTransfer) event.dataTransfer.dropEffect = mayRecord() ? "copy" : "none";
    target.hidden = false;
  };
  const options = { capture: true };
  document.addEventListener("dragenter", over, options);
  document.addEventListener("dragover", over, options);
  document.addEventListener(
    "dragleave",
    (event) => {
      if (!event.relatedTarget) target.hidden = true;
    },
    options,
  );
  document.addEventListener(
    "drop",
    (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.stopPropagation();
      target.hidden = true;
      if (mayRecord()) importFiles(event.dataTransfer?.files ?? []);
    },
    options,
  );
  if (mayRecord()) addCommands({ name: "Import a capture from a file", run: chooseFiles });
}
