// What a capture is compared with: one chip for all of its tabs, which says with what and ends it, and the button that asks.

import { IS_SAVED, NOT_IN_FILE, get } from "../lib/api.js";
import { addCommands } from "../lib/commands.js";
import { byId, h, put } from "../lib/dom.js";
import { wall } from "../lib/format.js";
import { note, noteError } from "../lib/notice.js";
import { NO_COMPARISON, otherWords } from "../view/against/against_model.js";

/** @typedef {import("./capture_context.js").CaptureContext} CaptureContext */

const WATCHED = [
  "against",
  "againststart",
  "againstend",
  "againstfilter",
  "againstsame",
  "tab",
  "start",
  "end",
  "filter",
  "groupby",
  "facets",
  "spread",
];

/** Titles of other captures, by id. */
class Titles {
  /** @type {Map<string, string>} */
  #known = new Map();

  /**
   * What a capture is called; as if nobody knew where it cannot be read.
   * @param {string} id
   */
  async of(id) {
    const known = this.#known.get(id);
    if (known) return known;
    let title = "another capture";
    try {
      const { title: name, started_unix_ns: began } = await get("/api/captures/{id}", { id });
      title = `${name}, ${wall(began)}`;
    } catch {
      // Its page, or the answer to the comparison, says why.
    }
    this.#known.set(id, title);
    return title;
  }
}

/**
 * Shows the chip, and the button where a tab compares.
 * @param {CaptureContext} context
 * @param {(tab: string) => boolean} compares whether a tab does
 */
export function startAgainst(context, compares) {
  const { state } = context;
  const line = byId("against-line");
  const titles = new Titles();
  const choose = async () => {
    try {
      const { chooseComparison } = await import("../view/against/against_dialog.js");
      await chooseComparison(context);
    } catch (error) {
      noteError(error);
    }
  };
  const end = () => state.set(NO_COMPARISON);
  // Of what else it could be compared with a file has nothing; the view alone is in it.
  const change = () =>
    h("button", {
      type: "button",
      class: "plain",
      text: "Change",
      title: IS_SAVED ? NOT_IN_FILE : "Compare with something else",
      "aria-disabled": IS_SAVED ? "true" : null,
      on: { click: () => (IS_SAVED ? note(NOT_IN_FILE) : void choose()) },
    });
  const chip = (/** @type {import("../lib/dom.js").Child} */ what) => {
    const isShown = compares(state.view.tab);
    const words = otherWords(state.view);
    const more = [words, isShown ? "" : "not in this tab"].filter(Boolean).join("; ");
    put(
      line,
      h(
        "span",
        { class: `chip against-chip${isShown ? "" : " quiet"}` },
        "against ",
        what,
        more && h("span", { class: "quiet", text: ` (${more})` }),
        change(),
        h("button", {
          type: "button",
          class: "plain",
          text: "×",
          "aria-label": "End the comparison",
          title: "End the comparison",
          on: { click: end },
        }),
      ),
    );
  };
  const write = async () => {
    const { against, tab } = state.view;
    if (against === "") {
      put(
        line,
        compares(tab) &&
          !IS_SAVED &&
          h("button", {
            type: "button",
            class: "against-choose",
            text: "Against…",
            title: "Compare this view with another capture, range or filter",
            on: { click: () => void choose() },
          }),
      );
      return;
    }
    const ids = against === "self" ? [] : against.split(",");
    if (ids.length !== 1) {
      chip(ids.length === 0 ? "itself" : `the median of ${ids.length} captures`);
      return;
    }
    const link = h("a", { class: "cut", href: `/captures/${ids[0]}`, text: "another capture" });
    chip(link);
    const title = await titles.of(ids[0]);
    link.textContent = title;
    link.title = title;
  };
  state.on("change", ({ parts }) => WATCHED.some((part) => parts.has(part)) && void write());
  if (!IS_SAVED)
    addCommands({ name: "Compare this view with another capture, range or filter", run: () => void choose() });
  void write();
}
