// Suggestions below the filter of a capture: columns, operators, and the values that occur.

import { get } from "../../lib/api.js";
import { Combobox } from "../../lib/combobox.js";
import { byId, h, inputOf } from "../../lib/dom.js";
import { filledFilter, filterPlace, offers, wantsValues } from "../../lib/filter_complete.js";
import { canName } from "../../lib/filter_text.js";
import { count } from "../../lib/format.js";

/** @import { FilterPlace, Offer } from "../../lib/filter_complete.js" */
/** @import { TableColumn } from "../../lib/virtual_table.js" */

const MOST_VALUES = 20;
/** How many rows are looked at for values: who types waits for them. */
const VALUE_ROWS = 2_000_000;

/**
 * Offers what can stand where the caret is.
 * @param {import("../../page/capture_context.js").CaptureContext} context
 */
export function startSuggestions(context) {
  const input = inputOf("filter");
  const list = h("ul", { class: "popup", role: "listbox", "aria-label": "What can stand here", hidden: true });
  byId("filter-form").append(list);

  /** The streams that a filter can be about: the one whose rows are shown first. */
  const streams = () => {
    const all = context.info.streams.map((stream, number) => ({ stream, number }));
    return all.toSorted((a, b) => Number(b.stream === context.stream) - Number(a.stream === context.stream));
  };
  const columns = () => {
    /** @type {Map<string, TableColumn>} */
    const found = new Map();
    for (const { stream } of streams())
      for (const column of stream.columns) if (!found.has(column.name)) found.set(column.name, column);
    return [...found.values()];
  };

  /**
   * @param {FilterPlace} place
   * @param {AbortSignal} signal
   * @returns {Promise<Offer[]>}
   */
  const values = async (place, signal) => {
    const isWanted = (/** @type {TableColumn} */ { name, type }) =>
      place.operator === "has stack frame" ? type === "stack" : name === place.column && type !== "stack";
    const of = streams().find(({ stream }) => stream.columns.some(isWanted));
    const column = of?.stream.columns.find(isWanted);
    if (!of || !column || column.display === "time_ns") return [];
    const { start, end } = context.view;
    const name = column.name.replace(/[\\,]/g, "\\$&");
    const query = { stream: of.number, start, end, columns: name, limit: MOST_VALUES, search: place.prefix };
    const answer = await get("/api/captures/{id}/facets", { id: context.id, ...query, rows: VALUE_ROWS }, signal);
    return answer.facets[0].values.flatMap(({ literal, rows }) =>
      literal === null ? [] : [{ label: literal, insert: literal, detail: count(rows) }],
    );
  };

  const combobox = new Combobox({
    input,
    list,
    keepsText: true,
    source: async (text, signal) => {
      const caret = input.selectionStart ?? text.length;
      const place = filterPlace(text, caret);
      const found = wantsValues(place) ? await values(place, signal) : offers(place, columns(), canName);
      return found.map(({ label, insert, detail }) => {
        const fills = filledFilter(text, caret, place, insert);
        // Tab takes what was begun; where nothing is typed yet it goes on to the next field.
        return { label, detail, ...(place.prefix ? { fills } : { text: fills.text, value: fills }) };
      });
    },
    pick: ({ value }) => {
      input.value = value.text;
      input.setSelectionRange(value.caret, value.caret);
      input.dispatchEvent(new Event("input"));
      void combobox.refresh();
    },
  });
  void combobox.refresh();
}
