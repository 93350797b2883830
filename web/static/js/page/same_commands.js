// "The same as": the commands of other tools and of the terminal that ask for a capture, each to be copied.

import { Latest, send } from "../lib/api.js";
import { copyText, h, put, settled } from "../lib/dom.js";
import { note, showError } from "../lib/notice.js";

/** @import { SameCommand, Target } from "../../../api.js" */
/**
 * @typedef {object} Wanted
 * @property {object|null} spec null where there is none yet
 * @property {string[]} [problems] why there is none
 * @property {SameCommand[]} [more] commands that are known
 */

const NONE = "No other tool asks for this in a command.";
const NOT_YET = "The commands are listed as soon as the form has everything that it needs:";

/**
 * The terminal's command for a recipe.
 * @param {string} name
 * @param {Target|undefined} target
 * @param {boolean} isChanged whether the form asks for something else than the recipe by now
 * @param {(words: string[]) => string} join turns words into a command line
 * @returns {SameCommand}
 */
export function recipeCommand(name, target, isChanged, join) {
  const differs = isChanged ? ["what was changed in the form since the recipe was opened"] : [];
  const text = `bathyscope record --recipe ${name}`;
  if (target === undefined || target === "system") return { text, differs };
  if (typeof target === "object" && target.process)
    return { text: `${text} -P ${target.process.pid}${target.process.children ? " -c" : ""}`, differs };
  if (typeof target === "object" && target.command)
    return {
      text: `${text} -F${target.command.children ? " -c" : ""} -- ${join(target.command.argv)}`,
      differs: target.command.user ? [...differs, "as whom the command runs"] : differs,
    };
  return { text, differs: [...differs, "whose events: the whole system"] };
}

/** @param {SameCommand} command */
function listed({ text, differs }) {
  const tool = text.split(/\s/, 1)[0];
  return h(
    "li",
    { class: "same-command" },
    h("pre", { class: "mono small", tabindex: "0", text }),
    h("button", {
      type: "button",
      class: "plain small",
      "aria-label": `Copy the command of ${tool}: ${text}`,
      text: "Copy",
      on: {
        click: async () =>
          note(
            (await copyText(text))
              ? "Copied the command."
              : "This browser did not allow copying. Select the command and copy it by hand.",
            { ms: 2500 },
          ),
      },
    }),
    h("p", {
      class: "quiet small",
      text: differs.length ? `It differs in ${differs.join("; ")}.` : "It asks for exactly the same.",
    }),
  );
}

/** The list, which is read when it is opened. */
export class SameCommands {
  #latest = new Latest();
  /** What the list was made for, as JSON. */
  #shown = "";

  /** @param {() => Wanted} wanted what the commands are to ask for, now */
  constructor(wanted) {
    this.wanted = wanted;
    this.list = h("div", { class: "same-commands", "aria-live": "polite" });
    this.element = h("details", { class: "same-as" }, h("summary", { text: "The same as a command" }), this.list);
    this.element.addEventListener("toggle", () => this.refresh());
    this.changed = settled(250, () => this.refresh());
  }

  /** Reads it again if it is open and something else is wanted now. */
  async refresh() {
    if (!(/** @type {HTMLDetailsElement} */ (this.element).open)) return;
    const { spec, problems = [], more = [] } = this.wanted();
    const wanted = JSON.stringify([spec, problems, more]);
    if (wanted === this.#shown) return;
    this.#shown = wanted;
    if (!spec) {
      put(this.list, h("p", { class: "quiet small", text: [NOT_YET, ...problems].join(" ") }));
      return;
    }
    try {
      const answer = await this.#latest.run((signal) => send("POST", "/api/commands/same", {}, spec, signal));
      if (!answer) return;
      const items = [...more, ...answer.items];
      put(this.list, items.length ? h("ul", {}, ...items.map(listed)) : h("p", { class: "quiet small", text: NONE }));
    } catch (error) {
      this.#shown = "";
      showError(this.list, error, () => this.refresh());
    }
  }
}
