// Which columns of the table are shown, in which order, which of them stay at the left, and how their cells are written.

import { askInDialog } from "../../lib/ask_dialog.js";
import { h, put } from "../../lib/dom.js";
import { FORMATS, chosenColumns, formatsOf, usualColumns, writeColumns } from "./column_list.js";

/** @import { TableColumn } from "../../lib/virtual_table.js" */
/** @import { ShownColumn } from "./column_list.js" */

/**
 * Asks, and gives what the address says of the columns then; nothing if it was closed.
 * @param {TableColumn[]} all
 * @param {string} text what the address says
 * @param {number} own how many columns the stream itself has
 * @returns {Promise<string|undefined>}
 */
export async function chooseColumns(all, text, own) {
  const shown = chosenColumns(all, text, own);
  const names = new Set(shown.map(({ name }) => name));
  /** @type {(ShownColumn & {on: boolean})[]} */
  let list = [
    ...shown.map((column) => ({ ...column, on: true })),
    ...usualColumns(all.filter(({ name }) => !names.has(name))).map((column) => ({ ...column, on: false })),
  ];
  const body = h("tbody");
  /**
   * @param {number} from
   * @param {number} by
   */
  const move = (from, by) => {
    const to = from + by;
    if (to < 0 || to >= list.length) return;
    const [moved] = list.splice(from, 1);
    list.splice(to, 0, moved);
    draw();
    body.rows[to]?.querySelectorAll("button")[by < 0 ? 0 : 1]?.focus();
  };
  const draw = () =>
    put(
      body,
      ...list.map((one, i) => {
        const column = all.find(({ name }) => name === one.name);
        const check = h("input", { type: "checkbox", "aria-label": `Show ${one.name}` });
        check.checked = one.on;
        check.addEventListener("change", () => (one.on = check.checked));
        const pin = h("input", { type: "checkbox", "aria-label": `Keep ${one.name} at the left` });
        pin.checked = one.pinned;
        pin.addEventListener("change", () => (one.pinned = pin.checked));
        const formats = column ? formatsOf(column) : [];
        const format = h(
          "select",
          { "aria-label": `How ${one.name} is written`, disabled: formats.length === 0 },
          h("option", { value: "", text: "default" }),
          ...formats.map((name) => h("option", { value: name, text: FORMATS[name].title })),
        );
        format.value = one.format;
        format.addEventListener("change", () => (one.format = format.value));
        const arrow = (/** @type {string} */ text, /** @type {number} */ by, /** @type {string} */ where) =>
          h("button", {
            type: "button",
            class: "plain",
            text,
            "aria-label": `Move ${one.name} ${where}`,
            disabled: i + by < 0 || i + by >= list.length,
            on: { click: () => move(i, by) },
          });
        return h(
          "tr",
          {},
          h("td", {}, check),
          h("td", { class: "mono", text: one.name }),
          h("td", {}, pin),
          h("td", {}, format),
          h("td", {}, arrow("↑", -1, "up"), arrow("↓", 1, "down")),
        );
      }),
    );
  draw();
  const every = (/** @type {boolean} */ on) => {
    for (const one of list) one.on = on;
    draw();
  };
  const reset = () => {
    list = usualColumns(all).map((column) => ({ ...column, on: true }));
    draw();
  };
  const button = (/** @type {string} */ label, /** @type {() => void} */ run) =>
    h("button", { type: "button", class: "plain", text: label, on: { click: run } });
  const head = ["", "column", "at the left", "written as", "order"].map((word) =>
    h("th", { scope: "col", text: word }),
  );
  const table = h("table", { class: "columns-table" }, h("thead", {}, h("tr", {}, ...head)), body);
  const sent = await askInDialog(
    "Columns",
    "Show",
    h("div", { class: "columns-list" }, table),
    h(
      "div",
      { class: "row" },
      button("All", () => every(true)),
      button("None", () => every(false)),
      button("Default", reset),
    ),
  );
  if (!sent) return undefined;
  const chosen = list.filter(({ on }) => on);
  const written = writeColumns(chosen);
  return written === writeColumns(usualColumns(all)) || chosen.length === 0 ? "" : written;
}
