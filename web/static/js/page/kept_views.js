// The menu Views of a capture: views and filters that are kept in the library, and keeping those that are shown.

import { get } from "../lib/api.js";
import { mayRecord } from "../lib/commands.js";
import { h } from "../lib/dom.js";
import { keepThing } from "../lib/keep_dialog.js";
import { Menu } from "../lib/menu.js";
import { noteError } from "../lib/notice.js";
import { searchOf, selectionOf } from "./library_model.js";

/** The most views and filters that are listed. */
const MOST = 12;

/**
 * The menu with its button.
 * @param {import("./capture_context.js").CaptureContext} context
 */
export function keptViews(context) {
  const button = h("button", { type: "button", "aria-haspopup": "true", "aria-expanded": "false", text: "Views" });
  const menu = new Menu((isOpen) => button.setAttribute("aria-expanded", String(isOpen)));
  button.addEventListener("click", async () => {
    if (menu.isOpen) return menu.close();
    try {
      menu.open("Views", await items(context));
    } catch (error) {
      noteError(error);
    }
  });
  return h("div", { class: "menu" }, button, menu.element);
}

/** @param {import("./capture_context.js").CaptureContext} context */
async function items(context) {
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
          run: () => keepThing({ kind: "selection", what: "this view", text: selectionOf(search) }),
        },
        {
          label: "Keep the filter",
          disabled: !filter,
          run: () => keepThing({ kind: "filter", what: "this filter", text: filter }),
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
    ...(views.length + filters.length + keeping.length === 0 ? [{ label: "Nothing is kept yet", disabled: true }] : []),
  ];
}
