// Searches of the history that are kept by name: the menu that offers them, and keeping the one that is shown.

import { get } from "../lib/api.js";
import { mayRecord } from "../lib/commands.js";
import { h } from "../lib/dom.js";
import { Menu } from "../lib/menu.js";
import { noteError } from "../lib/notice.js";

/** The most that the menu lists; the library has all. */
const MOST = 30;

/**
 * A button with the menu.
 * @param {() => string} shown the search as it is shown, with its order
 * @param {(text: string) => void} use shows another one
 */
export function savedSearches(shown, use) {
  const menu = new Menu((isOpen) => button.setAttribute("aria-expanded", String(isOpen)));
  const open = async () => {
    if (menu.isOpen) {
      menu.close();
      return;
    }
    try {
      menu.open("Saved searches", await items(shown(), use));
    } catch (error) {
      noteError(error);
    }
  };
  const button = h("button", {
    type: "button",
    "aria-haspopup": "true",
    "aria-expanded": "false",
    text: "Saved searches",
    on: { click: open },
  });
  return h("div", { class: "menu" }, button, menu.element);
}

/**
 * @param {string} text
 * @param {(text: string) => void} use
 */
async function items(text, use) {
  const { items: saved } = await get("/api/library", { kind: "search" });
  const keep = async () => {
    const { keepThing } = await import("../lib/keep_dialog.js");
    keepThing({ kind: "search", what: "this search", text });
  };
  const show = async (/** @type {number} */ id) => {
    try {
      use((await get("/api/library/{id}", { id })).text);
    } catch (error) {
      noteError(error);
    }
  };
  return [
    ...(mayRecord() ? [{ label: "Save this search", disabled: !text, run: keep }] : []),
    ...saved.slice(0, MOST).map(({ id, name, description, shared, owner }) => ({
      label: name,
      hint: description || (shared ? `shared by ${owner}` : "your own"),
      run: () => show(id),
    })),
    ...(saved.length > MOST ? [{ label: "All in the library", run: () => location.assign("/library") }] : []),
    ...(saved.length === 0 && !mayRecord() ? [{ label: "No saved searches", disabled: true }] : []),
  ];
}
