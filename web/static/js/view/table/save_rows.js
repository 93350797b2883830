// Saves the rows of the table as they are seen: its columns, their order and formats, its order. The server sends the rows, and the
// file is written here, by what writes the cells of the table.

import { h, put } from "../../lib/dom.js";
import { bytes, exact, plural } from "../../lib/format.js";
import { note, noteError } from "../../lib/notice.js";
import { saveBlob } from "../../lib/save_text.js";
import { FILES, LineSplitter, rowsWriter } from "./rows_file.js";

/** @import { TableCell, TableColumn } from "../../lib/virtual_table.js" */
/** @import { RowsFormat } from "./rows_file.js" */

/** How much text is put together before it is handed to the browser. */
const PART_CHARS = 1 << 20;

/**
 * @typedef {object} Seen
 * @property {string} name of the file, without its end
 * @property {TableColumn[]} columns as the table shows them
 * @property {number} count of rows
 * @property {string} address of the rows; empty where they are `rows`
 * @property {TableCell[][]} rows
 */

/**
 * Asks in which format, and saves.
 * @param {Seen} seen
 */
export function saveRows(seen) {
  const before = document.activeElement;
  const controller = new AbortController();
  const told = h("p", {
    role: "status",
    text: `${plural(seen.count, "row")} with ${plural(seen.columns.length, "column")}, as the table shows them.`,
  });
  const progress = h("progress", { max: String(Math.max(1, seen.count)), value: "0", hidden: true });
  const buttons = h("div", { class: "row" });
  const close = () => {
    controller.abort();
    dialog.close();
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  };
  const save = async (/** @type {RowsFormat} */ format) => {
    progress.hidden = false;
    for (const button of buttons.querySelectorAll("button.primary")) button.setAttribute("disabled", "");
    try {
      const { parts, rows, missing } = await written(seen, format, controller.signal, (done, size) => {
        progress.value = done;
        told.textContent = `${exact(done)} of ${plural(seen.count, "row")}, ${bytes(size)}`;
      });
      saveBlob(`${seen.name}.${format}`, new Blob(parts, { type: FILES[format].type }));
      close();
      note(`Saved ${plural(rows, "row")}.${missing ? ` The capture lacks some: ${missing}.` : ""}`, { ms: 6000 });
    } catch (error) {
      if (controller.signal.aborted) return;
      close();
      noteError(error);
    }
  };
  const formats = /** @type {RowsFormat[]} */ (Object.keys(FILES));
  put(
    buttons,
    ...formats.map((format) =>
      h("button", { type: "button", class: "primary", text: FILES[format].title, on: { click: () => save(format) } }),
    ),
    h("button", { type: "button", text: "Cancel", on: { click: close } }),
  );
  const title = h("h2", { text: "Save rows" });
  const dialog = h("dialog", { class: "keep-dialog", "aria-label": "Save rows" }, title, told, progress, buttons);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * The file in parts, and how many rows are in it.
 * @param {Seen} seen
 * @param {RowsFormat} format
 * @param {AbortSignal} signal
 * @param {(rows: number, size: number) => void} told
 */
async function written({ address, columns, rows: known }, format, signal, told) {
  const { head, line } = rowsWriter(format, columns);
  /** @type {string[]} */
  const parts = [];
  let [text, rows, size, missing] = [head, 0, 0, ""];
  const add = (/** @type {TableCell[]} */ row) => {
    text += line(row);
    rows += 1;
    if (text.length < PART_CHARS) return;
    size += text.length;
    parts.push(text);
    text = "";
    told(rows, size);
  };
  if (address === "") known.forEach(add);
  else missing = await eachRow(address, signal, add);
  parts.push(text);
  return { parts, rows, missing };
}

/**
 * Hands on each row that the server sends; gives what the capture lacks, in words.
 * @param {string} address
 * @param {AbortSignal} signal
 * @param {(row: TableCell[]) => void} add
 */
async function eachRow(address, signal, add) {
  const response = await fetch(address, { signal });
  if (!response.ok || !response.body) throw new Error(await problemIn(response));
  const lines = new LineSplitter();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let isHead = true;
  for (;;) {
    const { done, value } = await reader.read();
    for (const line of lines.push(decoder.decode(value, { stream: !done }))) {
      if (!isHead) add(JSON.parse(line));
      isHead = false;
    }
    if (done) break;
  }
  if (!lines.isWhole) throw new Error("the rows broke off; the log of the server says why");
  return response.headers.get("bathyscope-losses") ?? "";
}

/** @param {Response} response */
async function problemIn(response) {
  try {
    const { error } = await response.json();
    return `${error.doing}: ${error.why}`;
  } catch {
    return `the server answered ${response.status}`;
  }
}
