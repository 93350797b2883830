// The page of an investigation. Each block has a version of its own: who saves second is shown both texts. What is being written stays
// when others change the page.

import { ApiError, IS_SAVED, SHARE, get, send } from "../lib/api.js";
import { byId, copyText, h, put } from "../lib/dom.js";
import { wall } from "../lib/format.js";
import { drawMarkdown } from "../lib/markdown.js";
import { note, noteError, sentence, showError } from "../lib/notice.js";
import { TextForm } from "../lib/text_form.js";
import { blockContent } from "./investigation_block.js";
import { INVESTIGATION_STATES, headWords, movedBefore, stateWords } from "./investigation_words.js";
import { linkTo } from "./link_address.js";
import { placeAddress } from "./saved_place.js";
import { SHARE_OVER, shownWords } from "./share_words.js";

/** @import { BlockItem, InvestigationAnswer, MarkdownNode } from "../../../api.js" */

const BLOCKS = "/api/investigations/{id}/blocks/{block}";
/** What a text of a block is called where it is written. @type {Record<string, string>} */
const TEXTS = { text: "Text", task: "Task", step: "Question", view: "Caption", comparison: "Caption" };

/**
 * The text of a block that people write; none where it has none of its own.
 * @param {BlockItem["content"]} content
 * @returns {{text: string, body: MarkdownNode[]}|null}
 */
function ownText(content) {
  if (content.kind === "text" || content.kind === "task" || content.kind === "step") return content;
  if (content.kind === "view" || content.kind === "comparison")
    return { text: content.caption, body: [{ tag: "text", text: content.caption }] };
  return null;
}

/**
 * A block as it is written, with another text.
 * @param {BlockItem["content"]} content
 * @param {string} text
 */
function withText(content, text) {
  switch (content.kind) {
    case "task":
      return { kind: "task", text, done: content.done };
    case "step":
      return { kind: "step", text, recipe: content.recipe, capture: content.capture, view: content.view };
    case "view":
    case "comparison":
      return { kind: content.kind, capture: content.capture, view: content.view, caption: text };
    default:
      return { kind: "text", text };
  }
}

/** What a share of one shows. */
const SHARED = { investigation: "", part: null, views: false };

/** The page. */
class InvestigationPage {
  /** Forms that are open, by what they write: a block's id, `title`, `conclusion`, or `new`. @type {Map<string, TextForm>} */
  #forms = new Map();
  /** @type {InvestigationAnswer|null} */
  #page = null;
  #dragged = "";
  /** Says that the share shows nothing any more; none where somebody is logged in. @type {(() => void)|null} */
  #over = null;

  /**
   * @param {string} id
   * @param {import("./saved_page.js").SavedBlocks|null} saved what of it is in a file; null where there is a server
   */
  constructor(id, saved) {
    this.id = id;
    this.saved = saved;
    // What is dropped below all blocks goes to the end.
    const end = byId("investigation-add");
    end.addEventListener("dragover", (event) => this.#dragged && event.preventDefault());
    end.addEventListener("drop", (event) => {
      event.preventDefault();
      if (this.#dragged) void this.#move(this.#dragged, null);
    });
  }

  /** Reads the page, and draws it. */
  async load() {
    try {
      this.#page = await get("/api/investigations/{id}", { id: this.id });
      put(byId("investigation-problem"));
      this.#draw(this.#page);
      this.#standAt();
      if (this.#page.share && !this.#over) {
        const { startShareLine } = await import("./share_line.js");
        this.#over = startShareLine(
          this.#page.share,
          shownWords({ ...SHARED, views: this.#page.share.views }),
          () => void this.load(),
        );
      }
    } catch (error) {
      const gone = error instanceof ApiError && error.status === 404;
      if (gone && this.#page) put(byId("investigation-problem"), this.#gone());
      if (gone && this.#over) this.#over();
      else if (gone && this.#page) return;
      else showError(byId("investigation-problem"), error, () => void this.load());
    }
  }

  #gone() {
    return h("p", {
      class: "notice",
      role: "alert",
      text: SHARE ? SHARE_OVER : "This investigation was deleted while it was open. What you see is what it was.",
    });
  }

  /** @param {InvestigationAnswer} page */
  #draw(page) {
    const held = document.activeElement;
    const key = held instanceof HTMLElement ? held.closest("[data-block]") : null;
    const block = key instanceof HTMLElement ? key.dataset.block : undefined;
    const isGrip = held?.classList.contains("block-grip") ?? false;
    this.#drawHead(page);
    put(byId("investigation-blocks"), ...page.blocks.map((one) => this.#block(one, page)));
    if (page.blocks.length === 0) put(byId("investigation-blocks"), this.#empty(page));
    this.#drawAdd(page);
    this.#drawEnd(page);
    if (held instanceof HTMLElement && held !== document.activeElement) {
      if (document.body.contains(held)) held.focus();
      else if (block && isGrip) this.#focusGrip(block);
    }
  }

  /** @param {InvestigationAnswer} page */
  #empty({ can_write: canWrite }) {
    const how = canWrite ? " Write a text or a task here, or press Shift+I on a capture to add what it shows." : "";
    return h("li", {}, h("p", { class: "empty", text: `This investigation has no blocks yet.${how}` }));
  }

  /** @param {InvestigationAnswer} page */
  #drawHead({ head, can_write: canWrite, no_shares: noShares }) {
    const { title, state } = head;
    document.title = `${title} · Bathyscope`;
    const states = h(
      "select",
      { "aria-label": "State", on: { change: () => void this.#change({ state: states.value }) } },
      ...INVESTIGATION_STATES.map((one) => h("option", { value: one, selected: one === state, text: stateWords(one) })),
    );
    const form = this.#forms.get("title");
    put(
      byId("investigation-head"),
      form
        ? form.element
        : h(
            "div",
            { class: "title-row" },
            h("h1", { text: title }),
            canWrite ? states : h("span", { class: "investigation-state", data: { state }, text: stateWords(state) }),
            h("span", { class: "grow" }),
            canWrite && this.#button("Rename", () => this.#writeHead("title", "Title", title, [])),
            !IS_SAVED && this.#button("Save as file", () => void this.#saveFile()),
            !SHARE &&
              h("button", {
                type: "button",
                id: "share",
                text: "Share",
                title: noShares,
                "aria-disabled": noShares ? "true" : null,
                on: { click: () => void this.#share() },
              }),
            !SHARE && this.#button("Copy link", () => void this.#copyLink()),
          ),
      h("p", { class: "quiet", text: headWords(head) }),
    );
  }

  async #copyLink() {
    const { url, words } = linkTo(this.#page?.public_url ?? null, location.origin, location.pathname, "this page");
    note((await copyText(url)) ? words : `This browser did not allow copying. The link: ${url}`);
  }

  async #share() {
    const page = this.#page;
    if (!page) return;
    if (page.no_shares) {
      note(sentence(page.no_shares));
      return;
    }
    try {
      const { shareDialog } = await import("./share_dialog.js");
      shareDialog({
        object: { investigation: this.id },
        title: page.head.title,
        publicUrl: page.public_url,
        opens: "this investigation",
        tells:
          "It shows all that stands on the page, also what is written later: texts, tasks, notes with their answers, results of queries, titles of captures, and pictures of views. The captures themselves cannot be opened with it, but for views where you choose so.",
        only: null,
      });
    } catch (error) {
      noteError(error);
    }
  }

  async #saveFile() {
    try {
      const { saveWritten } = await import("./save_file.js");
      saveWritten(this.id);
    } catch (error) {
      noteError(error);
    }
  }

  /** Shows the block at which a file is opened: who comes back from a view stands where they left. */
  #standAt() {
    const at = this.saved?.at() ?? "";
    const line = at && byId("investigation-blocks").querySelector(`[data-block="${at}"]`);
    if (!line) return;
    const show = () => line.scrollIntoView({ block: "center" });
    show();
    // Pictures above move it when they are there.
    for (const image of byId("investigation-blocks").querySelectorAll("img"))
      image.addEventListener("load", show, { once: true });
    const link = line.querySelector("a.block-view");
    if (link instanceof HTMLElement) link.focus({ preventScroll: true });
  }

  /**
   * @param {BlockItem} block
   * @param {InvestigationAnswer} page
   */
  #block(block, { can_write: canWrite, blocks }) {
    const { id, content, changed_by: changer, changed_unix_ns: changed } = block;
    const place = {
      investigation: this.id,
      canWrite,
      shared: Boolean(SHARE),
      opens: Boolean(SHARE && this.#page?.share?.views),
      saved: this.saved,
      check: (/** @type {boolean} */ done) => void this.#check(block, done),
    };
    const form = this.#forms.get(id);
    const own = ownText(content);
    const ids = blocks.map((one) => one.id);
    const grip =
      canWrite &&
      h("button", {
        type: "button",
        class: "block-grip",
        draggable: "true",
        title: "Drag, or press Alt+↑ and Alt+↓, to move this block",
        "aria-label": `Move block ${ids.indexOf(id) + 1} of ${ids.length}: Alt and arrow keys`,
        text: "⠿",
        on: {
          keydown: (event) => this.#gripKey(event, ids, id),
          dragstart: (event) => {
            this.#dragged = id;
            event.dataTransfer?.setData("text/plain", id);
          },
          dragend: () => (this.#dragged = ""),
        },
      });
    const line = h(
      "li",
      {
        class: "block",
        data: { block: id },
        on: {
          dragover: (event) => {
            if (!this.#dragged) return;
            event.preventDefault();
            line.classList.add("is-over");
          },
          dragleave: () => line.classList.remove("is-over"),
          drop: (event) => {
            event.preventDefault();
            line.classList.remove("is-over");
            if (this.#dragged && this.#dragged !== id) void this.#move(this.#dragged, id);
          },
        },
      },
      h("div", {}, grip),
      h(
        "div",
        { class: "block-body" },
        ...(form ? [form.element] : blockContent(block, place)),
        h(
          "div",
          { class: "block-foot" },
          h("span", { class: "quiet small", text: `${changer}, ${wall(changed)}` }),
          canWrite && own && !form && this.#button("Edit", () => this.#edit(block)),
          canWrite && this.#button("Delete", () => void this.#remove(block)),
        ),
      ),
    );
    return line;
  }

  /**
   * @param {KeyboardEvent} event
   * @param {string[]} ids
   * @param {string} id
   */
  #gripKey(event, ids, id) {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    event.stopPropagation();
    const before = movedBefore(ids, id, event.key === "ArrowUp" ? "up" : "down");
    if (before !== undefined) void this.#move(id, before);
  }

  /** @param {string} id */
  #focusGrip(id) {
    const line = [...byId("investigation-blocks").children].find(
      (one) => one instanceof HTMLElement && one.dataset.block === id,
    );
    const grip = line?.querySelector(".block-grip");
    if (grip instanceof HTMLElement) grip.focus();
  }

  /** @param {InvestigationAnswer} page */
  #drawAdd({ can_write: canWrite }) {
    const form = this.#forms.get("new");
    const place = byId("investigation-add");
    if (!canWrite) return put(place);
    put(
      place,
      form
        ? form.element
        : h(
            "div",
            { class: "block-adds" },
            this.#button("Add a text", () => this.#write("text")),
            this.#button("Add a task", () => this.#write("task")),
            h(
              "span",
              { class: "quiet" },
              "Views, notes and queries: ",
              h("kbd", { text: "Shift+I" }),
              " on a capture.",
            ),
          ),
    );
  }

  /** @param {InvestigationAnswer} page */
  #drawEnd({ conclusion, conclusion_body: body, can_write: canWrite }) {
    const form = this.#forms.get("conclusion");
    put(
      byId("investigation-end"),
      h("h2", { text: "Conclusion" }),
      form
        ? form.element
        : body.length > 0
          ? drawMarkdown(body)
          : h("p", { class: "quiet", text: "Nobody has written a conclusion yet." }),
      !form &&
        canWrite &&
        this.#button(conclusion ? "Edit the conclusion" : "Write the conclusion", () =>
          this.#writeHead("conclusion", "Conclusion", conclusion, body),
        ),
    );
  }

  /**
   * @param {string} key
   * @param {TextForm} form
   */
  #open(key, form) {
    this.#forms.set(key, form);
    if (this.#page) this.#draw(this.#page);
    form.field.focus();
  }

  /** @param {string} key */
  #close(key) {
    this.#forms.delete(key);
    if (this.#page) this.#draw(this.#page);
  }

  /** @param {"text"|"task"} kind */
  #write(kind) {
    const form = new TextForm(
      { label: TEXTS[kind], text: "", place: `investigation ${this.id} new ${kind}` },
      {
        save: async ({ text }) => {
          await send("POST", "/api/investigations/{id}/blocks", { id: this.id }, { content: { kind, text } });
          this.#forms.delete("new");
          await this.load();
        },
        leave: () => this.#close("new"),
      },
    );
    this.#open("new", form);
  }

  /** @param {BlockItem} block */
  #edit(block) {
    const own = ownText(block.content);
    if (!own) return;
    const { id } = block;
    let seen = block;
    const form = new TextForm(
      { label: TEXTS[block.content.kind] ?? "Text", text: own.text, place: `investigation ${this.id} ${id}` },
      {
        save: async ({ text }) => {
          const body = { version: seen.version, content: withText(seen.content, text) };
          try {
            this.#page = await send("PATCH", BLOCKS, { id: this.id, block: id }, body);
          } catch (error) {
            if (error instanceof ApiError && error.status === 409) await this.load();
            throw error;
          }
          this.#close(id);
        },
        leave: () => this.#close(id),
        now: () => {
          seen = this.#page?.blocks.find((one) => one.id === id) ?? seen;
          return { by: seen.changed_by, body: ownText(seen.content)?.body ?? [] };
        },
      },
    );
    this.#open(id, form);
  }

  /**
   * @param {"title"|"conclusion"} key
   * @param {string} label
   * @param {string} text
   * @param {MarkdownNode[]} body
   */
  #writeHead(key, label, text, body) {
    let version = this.#page?.head.version ?? 1;
    const form = new TextForm(
      { label, text, place: `investigation ${this.id} ${key}` },
      {
        save: async (written) => {
          const asked = key === "title" ? { title: written.text } : { conclusion: written.text };
          try {
            this.#page = await send("PATCH", "/api/investigations/{id}", { id: this.id }, { version, ...asked });
          } catch (error) {
            if (error instanceof ApiError && error.status === 409) await this.load();
            throw error;
          }
          this.#close(key);
        },
        leave: () => this.#close(key),
        now: () => {
          const page = this.#page;
          version = page?.head.version ?? version;
          const by = page?.head.changed_by ?? "Somebody";
          return {
            by,
            body: key === "title" ? [{ tag: "text", text: page?.head.title ?? text }] : (page?.conclusion_body ?? body),
          };
        },
      },
    );
    this.#open(key, form);
  }

  /** @param {{state: string}} change */
  async #change(change) {
    const version = this.#page?.head.version ?? 1;
    try {
      this.#page = await send("PATCH", "/api/investigations/{id}", { id: this.id }, { version, ...change });
      this.#draw(this.#page);
    } catch (error) {
      noteError(error);
      await this.load();
    }
  }

  /**
   * @param {BlockItem} block
   * @param {boolean} done
   */
  async #check({ id, version, content }, done) {
    if (content.kind !== "task") return;
    const body = { version, content: { kind: "task", text: content.text, done } };
    try {
      this.#page = await send("PATCH", BLOCKS, { id: this.id, block: id }, body);
      this.#draw(this.#page);
    } catch (error) {
      noteError(error);
      await this.load();
    }
  }

  /**
   * @param {string} id
   * @param {string|null} before
   */
  async #move(id, before) {
    try {
      await send("POST", "/api/investigations/{id}/blocks/{block}/move", { id: this.id, block: id }, { before });
      await this.load();
      this.#focusGrip(id);
    } catch (error) {
      noteError(error);
      await this.load();
    }
  }

  /** @param {BlockItem} block */
  async #remove({ id }) {
    const path = { id: this.id, block: id };
    try {
      await send("DELETE", BLOCKS, path);
      this.#forms.delete(id);
      await this.load();
      const undo = async () => {
        try {
          await send("POST", "/api/investigations/{id}/blocks/{block}/restore", path);
          await this.load();
        } catch (error) {
          noteError(error);
        }
      };
      note("The block is deleted.", { label: "Undo", run: () => void undo(), ms: 10_000 });
    } catch (error) {
      noteError(error);
    }
  }

  /**
   * @param {string} text
   * @param {() => void} click
   */
  #button(text, click) {
    return h("button", { type: "button", text, on: { click } });
  }
}

/**
 * In a file, Back leads from a view to the block that it was opened at.
 * @param {MouseEvent} event
 */
function rememberPlace({ target }) {
  const link = target instanceof Element ? target.closest("a.block-view") : null;
  const line = link?.closest("[data-block]");
  if (line instanceof HTMLElement) history.replaceState(null, "", placeAddress(line.dataset.block ?? ""));
}

/**
 * Shows the investigation that the page is about, and follows what others change.
 * @param {import("./saved_page.js").SavedBlocks|null} [saved] what of it is in a file; null where there is a server
 */
export function startInvestigation(saved = null) {
  const id = saved?.id ?? byId("investigation").dataset.id ?? "";
  const page = new InvestigationPage(id, saved);
  void page.load();
  if (saved) {
    byId("investigation-blocks").addEventListener("click", rememberPlace);
    return;
  }
  document.addEventListener("written", (event) => {
    const { investigations = [], notes = [], missed = false } = event instanceof CustomEvent ? event.detail : {};
    if (missed || investigations.includes(id) || notes.length > 0) void page.load();
  });
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void page.load());
}
