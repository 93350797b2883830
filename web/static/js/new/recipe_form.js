// Saves what the form has as a recipe of one's own.

import { problemOf, send } from "../lib/api.js";
import { byId, h, inputOf, put } from "../lib/dom.js";
import { errorNotice, waitFor } from "../lib/notice.js";

/** @import { RecipeTarget, RecipeView } from "../../../api.js" */
/** @import { AskedSpec } from "../lib/spec.js" */
/** @import { Form } from "./spec_form.js" */
/** @typedef {Pick<AskedSpec, "limits"|"sources">} Asked */
/** @typedef {{name: string, question: string, of: RecipeTarget, opens: RecipeView|null} & Asked} NewRecipe */

/**
 * Whose events a recipe is usually of, by the target of the form.
 * @param {string} target
 * @returns {RecipeTarget}
 */
export function usualTarget(target) {
  if (target === "process" || target === "thread") return "process";
  return target === "command" ? "command" : "system";
}

/**
 * The form with a target that is whole: a recipe has none, so that what is missing of it is nothing wrong.
 * @param {Form} form
 * @returns {Form}
 */
export function withoutTarget(form) {
  const target = usualTarget(form.target);
  return { ...form, target, pid: "1", argv: "true", runAs: "", during: false };
}

/** The fields below the title. */
export class RecipeForm {
  /**
   * @param {object} form
   * @param {() => {recipe: Omit<NewRecipe, "name"|"question">, problems: string[]}} form.read what the form has now
   */
  constructor(form) {
    this.form = form;
    this.place = byId("recipe-saved");
    byId("save-recipe").addEventListener("click", () => this.#save(false));
  }

  /**
   * Shows what the recipe was called that the form is filled from, if it may be replaced.
   * @param {string} name
   * @param {string} question
   */
  fill(name, question) {
    inputOf("recipe-name").value = name;
    inputOf("recipe-question").value = question;
  }

  /** @param {boolean} replace */
  async #save(replace) {
    const { recipe, problems } = this.form.read();
    if (problems.length) {
      put(this.place, h("div", { class: "notice notice-stop" }, ...problems.map((text) => h("p", { text }))));
      return;
    }
    const [name, question] = [inputOf("recipe-name").value.trim(), inputOf("recipe-question").value.trim()];
    try {
      const body = { ...recipe, name, question, replace };
      const saved = await waitFor("Saving the recipe", send("POST", "/api/recipes", {}, body));
      put(
        this.place,
        h(
          "p",
          {},
          "Saved. The start page lists it as ",
          h("a", { href: `/new?recipe=${encodeURIComponent(saved.name)}`, text: saved.question || saved.name }),
          ".",
        ),
      );
    } catch (error) {
      const button = h("button", { type: "button", text: "Replace it", on: { click: () => this.#save(true) } });
      put(this.place, errorNotice(error), problemOf(error).status === 409 && !replace && button);
    }
  }
}
