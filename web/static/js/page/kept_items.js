// What the menu Views of a capture lists. It is loaded when the menu is opened first.

import { get } from "../lib/api.js";
import { mayRecord } from "../lib/commands.js";
import { searchOf, selectionOf } from "./library_model.js";

/**
 * Asks for a name, and keeps it.
 * @param {{kind: "selection"|"filter", what: string, text: string}} shown
 */
async function keep(shown) {
  const { keepThing } = await import("../lib/keep_dialog.js");
  keepThing(shown);
}

/** The most views and filters that are listed. */
const MOST = 12;

/**
 * The items, and above them what keeps what is shown.
 * @param {import("./capture_context.js").CaptureContext} context
 */
export async function keptItems(context) {
  const lists = await Promise.all([
    get("/api/library", { kind: "selection" }),
    get("/api/library", { kind: "filter" }),
  ]);
  const [views, filters] = lists.map((list) => list.items);
  const { filter } = context.view;
  const search = new URL(context.state.address(), location.origin).search;
  const keeping = mayRecord()
    ? [
        {
          label: "Keep this view",
          run: () => keep({ kind: "selection", what: "this view", text: selectionOf(search) }),
        },
        {
          label: "Keep the filter",
          disabled: !filter,
          run: () => keep({ kind: "filter", what: "this filter", text: filter }),
        },
      ]
    : [];
  return [
    ...keeping,
    ...views.slice(0, MOST).map(({ id, name, description }) => ({
      label: name,
      hint: description || "view",
      run: async () => {
        const { text } = await get("/api/library/{id}", { id });
        location.assign(`${location.pathname}?${searchOf(text)}`);
      },
    })),
    ...filters.slice(0, MOST).map(({ id, name, description }) => ({
      label: name,
      hint: description || "filter",
      run: async () => {
        const { text } = await get("/api/library/{id}", { id });
        context.state.set({ filter: text, row: null });
      },
    })),
    ...(views.length > MOST || filters.length > MOST
      ? [{ label: "All in the library", run: () => location.assign("/library") }]
      : []),
    ...(views.length + filters.length + keeping.length === 0
      ? [{ label: "No kept views or filters", disabled: true }]
      : []),
  ];
}
