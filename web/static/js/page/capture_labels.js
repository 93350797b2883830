// What people say of a capture to find it by: its tags, each a link to all captures that have it, and a description.

import { get, send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { Draft } from "../lib/drafts.js";
import { wordsOf } from "../lib/form_values.js";
import { note, noteError } from "../lib/notice.js";
import { tagChip } from "./tag_chip.js";

/** The section of the Info tab. It is of one piece: facts that are drawn again do not take away what is being written. */
export class CaptureLabels {
  /** @param {import("./capture_context.js").CaptureContext} context */
  constructor(context) {
    this.context = context;
    this.tags = h("p", { class: "row tags" });
    this.about = h("div", { class: "about-box" });
    this.known = h("datalist", { id: "known-tags" });
    this.element = h("div", {}, this.tags, this.about, this.known);
    this.asked = false;
    this.editing = false;
  }

  get #mayChange() {
    return this.context.info.can_change && !this.context.gone;
  }

  /** Draws what is said now, but for what is being written. */
  draw() {
    if (!this.tags.contains(document.activeElement)) this.#drawTags();
    if (!this.editing) this.#drawDescription();
    return this.element;
  }

  #drawTags() {
    const { tags } = this.context.info;
    put(
      this.tags,
      tags.length === 0 && h("span", { class: "quiet", text: "No tags." }),
      ...tags.map((tag) =>
        h(
          "span",
          { class: "tag-kept" },
          tagChip(tag),
          this.#mayChange &&
            h("button", {
              type: "button",
              class: "plain",
              "aria-label": `Remove the tag ${tag}`,
              title: "Remove this tag",
              text: "×",
              on: { click: () => this.#change({ remove_tags: [tag] }) },
            }),
        ),
      ),
      this.#mayChange && this.#field(),
    );
  }

  #field() {
    const field = h("input", {
      type: "text",
      class: "tag-field",
      size: "14",
      maxlength: "200",
      list: "known-tags",
      placeholder: "Add a tag",
      "aria-label": "Add a tag",
      autocomplete: "off",
      on: {
        focus: () => this.#loadKnown(),
        keydown: (event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          const tags = wordsOf(/** @type {HTMLInputElement} */ (field).value);
          if (tags.length) this.#change({ add_tags: tags }, true);
        },
      },
    });
    return field;
  }

  async #loadKnown() {
    if (this.asked) return;
    this.asked = true;
    try {
      const { items } = await get("/api/tags", {});
      put(this.known, ...items.map(({ tag }) => h("option", { value: tag })));
    } catch {
      // Tags can be written without suggestions.
      this.asked = false;
    }
  }

  #drawDescription() {
    const { description } = this.context.info;
    put(
      this.about,
      description && h("p", { class: "about", text: description }),
      this.#mayChange &&
        h("button", {
          type: "button",
          class: "plain",
          text: description ? "Edit the description" : "Describe this capture",
          on: { click: () => this.#edit() },
        }),
    );
  }

  #edit() {
    this.editing = true;
    const text = /** @type {HTMLTextAreaElement} */ (
      h("textarea", { rows: "4", maxlength: "4096", "aria-label": "Description" })
    );
    text.value = this.context.info.description;
    const draft = new Draft(text, `description ${this.context.id}`);
    const done = (isSaved = false) => {
      if (!isSaved && draft.isChanged)
        note("Your text is not saved. This tab keeps it, and offers it when you edit it.");
      draft.close(isSaved);
      this.editing = false;
      this.#drawDescription();
      this.about.querySelector("button")?.focus();
    };
    const save = async () => {
      const seen = this.context.info.description;
      if (await this.#change({ description: { seen, text: text.value } })) done(true);
    };
    text.addEventListener("keydown", (event) => {
      if (event.key === "Escape") done();
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    const offered = h("p", { class: "quiet row", hidden: !draft.isOffered }, "This was typed before and not saved.");
    const discard = () => {
      draft.discard();
      offered.hidden = true;
      text.focus();
    };
    offered.append(h("button", { type: "button", class: "plain", text: "Discard it", on: { click: discard } }));
    put(
      this.about,
      offered,
      text,
      h(
        "p",
        { class: "row" },
        h("button", { type: "button", class: "primary", text: "Save", title: "Ctrl+Enter", on: { click: save } }),
        h("button", { type: "button", text: "Cancel", title: "Escape", on: { click: () => done() } }),
      ),
    );
    text.focus();
  }

  /**
   * Changes what is said, and reads what others have said meanwhile.
   * @param {object} change as `PATCH /api/captures/{id}` takes it
   * @param {boolean} [again] whether the field for tags keeps the focus
   */
  async #change(change, again = false) {
    const { id, info } = this.context;
    let done = true;
    try {
      await send("PATCH", "/api/captures/{id}", { id }, change);
    } catch (error) {
      noteError(error);
      done = false;
    }
    try {
      const { tags, description } = await get("/api/captures/{id}", { id });
      Object.assign(info, { tags, description });
      if (done || !again) this.#drawTags();
      if (again && done) this.tags.querySelector("input")?.focus();
    } catch (error) {
      noteError(error);
    }
    return done;
  }
}
