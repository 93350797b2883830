// The form in which a text of Markdown is written or changed: of a note, of a block. Ctrl+Enter saves, Escape leaves. What was typed
// stays when what is around it is drawn anew, and when saving fails; who saves second is shown what the first has written.

import { ApiError } from "./api.js";
import { h, put } from "./dom.js";
import { Draft } from "./drafts.js";
import { drawMarkdown } from "./markdown.js";
import { errorNotice, note } from "./notice.js";

/** @import { MarkdownNode } from "../../../api.js" */

const COLOURS = 8;
/** In characters; the server counts bytes. */
const MOST = 8000;

/** A form. */
export class TextForm {
  /**
   * @param {{label: string, text: string, place: string, colour?: number|null, hasColour?: boolean}} about `place`: by which what
   *   is typed is kept
   * @param {{save: (written: {text: string, colour: number|null}) => Promise<void>, leave: () => void,
   *   now?: () => {by: string, body: MarkdownNode[]}|null}} does `now`: what it says now and who wrote that, where a text is changed
   */
  constructor({ label, text, place, colour = null, hasColour = false }, does) {
    this.does = does;
    this.field = h("textarea", { rows: "3", maxlength: String(MOST), "aria-label": label });
    this.field.value = text;
    this.draft = new Draft(this.field, place);
    this.offered = h("div");
    if (this.draft.isOffered) put(this.offered, this.#offer());
    const none = h("option", { value: "", text: "No colour", selected: colour === null });
    const colours = Array.from({ length: COLOURS }, (_one, i) =>
      h("option", { value: String(i), text: `Colour ${i + 1}`, selected: colour === i }),
    );
    this.colour = h("select", { "aria-label": "Colour of the note", hidden: !hasColour }, none, ...colours);
    this.problem = h("div");
    this.element = h(
      "form",
      {
        class: "note-form",
        on: {
          submit: (event) => {
            event.preventDefault();
            void this.#save();
          },
          keydown: (event) => this.#key(event),
        },
      },
      this.offered,
      this.field,
      this.problem,
      h(
        "div",
        { class: "row" },
        this.colour,
        h("button", { class: "primary", text: "Save" }),
        h("button", { type: "button", text: "Cancel", on: { click: () => this.#leave() } }),
        h("span", { class: "quiet small", text: "Markdown. Ctrl+Enter saves" }),
      ),
    );
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Escape") this.#leave();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.#save();
    else {
      // Keys of lists and views around it are text here.
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** What was typed before is in the field: it can be given up. */
  #offer() {
    const discard = () => {
      this.draft.discard();
      put(this.offered);
      this.field.focus();
    };
    const older = this.draft.isOlder ? " Somebody has changed it since then, which saving would undo." : "";
    return h(
      "p",
      { class: "quiet row" },
      `This was typed before and not saved.${older}`,
      h("button", { type: "button", class: "plain", text: "Discard it", on: { click: discard } }),
    );
  }

  #leave() {
    if (this.draft.isChanged) note("Your text is not saved. This tab keeps it, and offers it where it was written.");
    this.draft.close();
    this.does.leave();
  }

  async #save() {
    const colour = this.colour.value === "" ? null : Number(this.colour.value);
    // What is drawn when it is saved offers nothing that is saved.
    this.draft.close(true);
    try {
      await this.does.save({ text: this.field.value, colour });
    } catch (error) {
      this.draft.reopen();
      const now = error instanceof ApiError && error.status === 409 ? (this.does.now?.() ?? null) : null;
      put(this.problem, now ? this.#both(now) : errorNotice(error));
    }
  }

  /** @param {{by: string, body: MarkdownNode[]}} now */
  #both({ by, body }) {
    return h(
      "div",
      { class: "notice", role: "alert" },
      h("p", { text: `${by} has changed it meanwhile. It says now:` }),
      drawMarkdown(body),
      h("p", { class: "quiet", text: "Save puts your text in its place. Take over first what must stay." }),
    );
  }
}
