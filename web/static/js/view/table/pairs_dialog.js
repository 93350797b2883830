// Which rows are told of the row before and the row after: those that are equal in some columns.

import { askInDialog } from "../../lib/ask_dialog.js";
import { h } from "../../lib/dom.js";
import { readNames, writeNames } from "../../lib/name_list.js";

/** @import { TableColumn } from "../../lib/virtual_table.js" */

/** As many columns as the server takes. */
const MOST_KEYS = 3;
const MOST_VALUES = 4;

/**
 * Asks, and gives what the address says then; nothing if it was closed.
 * @param {TableColumn[]} columns of the stream
 * @param {{pairs: string, neighbours: string}} view
 * @returns {Promise<{pairs: string, neighbours: string}|undefined>}
 */
export async function choosePairs(columns, { pairs, neighbours }) {
  const usual = columns.some(({ name }) => name === "tid") ? ["tid"] : [];
  const chosen = { keys: pairs === "" ? usual : readNames(pairs), values: readNames(neighbours) };
  const boxes = (/** @type {string} */ legend, /** @type {string[]} */ on, /** @type {number} */ most) => {
    const inputs = columns.map(({ name }) => {
      const input = h("input", { type: "checkbox", value: name });
      input.checked = on.includes(name);
      return input;
    });
    const limit = () => {
      const count = inputs.filter(({ checked }) => checked).length;
      for (const input of inputs) input.disabled = !input.checked && count >= most;
    };
    limit();
    const labels = inputs.map((input) => h("label", { class: "check mono" }, input, ` ${input.value}`));
    const set = h(
      "fieldset",
      { class: "pairs-columns", on: { change: limit } },
      h("legend", { text: legend }),
      ...labels,
    );
    return { set, names: () => inputs.filter(({ checked }) => checked).map(({ value }) => value) };
  };
  const keys = boxes(`Rows belong together that are equal in (up to ${MOST_KEYS})`, chosen.keys, MOST_KEYS);
  const values = boxes(`Also tell of the rows before and after (up to ${MOST_VALUES})`, chosen.values, MOST_VALUES);
  const about = h("p", {
    class: "quiet prose",
    text: "Each row is told how long ago the row before it was and how long until the row after it is, among the rows that the filter and the range leave.",
  });
  const off = h("input", { type: "checkbox" });
  off.checked = pairs !== "";
  const label = h("label", { class: "check" }, off, " Show these columns");
  off.checked = true;
  if (!(await askInDialog("Previous and next row", "Show", about, keys.set, values.set, label))) return undefined;
  if (!off.checked) return { pairs: "", neighbours: "" };
  // Without a key, which the address must not leave out, all rows belong together.
  return { pairs: writeNames(keys.names()) || ",", neighbours: writeNames(values.names()) };
}
