// The script beside the form of the builder: its editor, what the server says of it, and how form and script stand to each
// other.

import { get, send } from "../lib/api.js";
import { byId, h, prose, put } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { errorNotice, noteError } from "../lib/notice.js";

/** @import { Target } from "../../../api.js" */
/** @typedef {import("./script_editor.js").ScriptEditor} Editor */
/** @typedef {import("./script_editor.js").Verdict} Verdict */

/** The editor is loaded when it is shown for the first time. */
export class BuiltScript {
  /** @type {Editor|null} */
  #editor = null;
  /** @type {Promise<void>|null} */
  #loading = null;
  #text = "";
  /** Whether the form does not say what the script does. */
  isApart = false;

  /**
   * @param {object} parts
   * @param {() => void} parts.edited
   * @param {() => void} parts.run
   * @param {() => void} parts.back makes the script that of the form again
   * @param {() => Target} parts.target
   */
  constructor(parts) {
    this.parts = parts;
  }

  get text() {
    return this.#editor?.text ?? this.#text;
  }

  set text(text) {
    this.#text = text;
    if (this.#editor && this.#editor.text !== text) this.#editor.text = text;
  }

  /** Loads the editor. */
  show() {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Says whether scripts can be run here, before one is built. Resolves to that. */
  async #about() {
    const { may_run: mayRun, why } = await get("/api/scripts");
    if (!mayRun)
      put(byId("build-about"), h("div", { class: "notice" }, h("p", { text: `Scripts cannot be run here: ${why}.` })));
    return mayRun;
  }

  async #load() {
    const { ScriptEditor } = await import("./script_editor.js");
    // The server compiles for those who may run scripts; for others there is a sentence above the form instead.
    const allowed = this.#about().catch((error) => {
      noteError(error);
      return true;
    });
    const editor = new ScriptEditor(byId("build-editor"), {
      text: this.#text,
      check: async (text, signal) =>
        (await allowed) ? send("POST", "/api/scripts/check", {}, { text, target: this.parts.target() }, signal) : null,
      complete: async (text, offset, signal) =>
        (await allowed) ? send("POST", "/api/scripts/complete", {}, { text, offset }, signal) : null,
      explain: async (text, offset, signal) =>
        (await allowed) ? (await send("POST", "/api/scripts/hover", {}, { text, offset }, signal)).hover : null,
      run: () => this.parts.run(),
    });
    this.#editor = editor;
    editor.on("verdict", (verdict) => this.judge(verdict));
    editor.on("change", () => this.parts.edited());
  }

  /**
   * Says how form and script stand to each other.
   * @param {string} words
   * @param {{bad?: boolean, apart?: boolean}} [how] `apart` says that the form does not say what the script does
   */
  tell(words, { bad = false, apart = false } = {}) {
    const place = byId("build-state");
    place.classList.toggle("bad", bad);
    place.textContent = words;
    const form = byId("build-form");
    form.classList.toggle("is-apart", apart);
    form.inert = apart;
    this.isApart = apart;
    put(
      byId("build-held"),
      apart &&
        h("button", { type: "button", text: "Back to the script of the form", on: { click: () => this.parts.back() } }),
    );
  }

  /** @param {Verdict|null} verdict what the compiler says */
  judge(verdict) {
    const messages = verdict?.messages ?? [];
    const errors = messages.filter(({ severity }) => severity === "error").length;
    const place = byId("build-verdict");
    place.classList.toggle("bad", errors > 0);
    if (!verdict) put(place);
    else if ("error" in verdict) put(place, errorNotice(verdict.error));
    else if ("probes" in verdict && verdict.ok) {
      const sites = verdict.probes.reduce((sum, { attached }) => sum + attached, 0);
      put(place, `Compiles: ${plural(verdict.probes.length, "program")} at ${plural(sites, "probe site")}.`);
    } else put(place, `Cannot run: ${plural(errors, "error")}.`);
    put(
      byId("build-problems"),
      ...messages.map((one) =>
        h(
          "li",
          { class: one.severity === "error" ? "stop" : "loss" },
          h("button", {
            type: "button",
            class: "plain mono",
            title: "Go there",
            text: `${one.line}:${one.column}`,
            on: { click: () => this.#editor?.reveal(one) },
          }),
          h("span", {}, ...prose(one.message), one.hint && h("span", { class: "quiet" }, " ", ...prose(one.hint))),
        ),
      ),
    );
  }
}

/**
 * Whether a script is, letter for letter, what the builder writes: so what it made is opened in it again.
 * @param {string} text
 */
export async function isOfBuilder(text) {
  try {
    const { forms, messages } = await send("POST", "/api/builder/read", {}, { text });
    if (forms.length === 0 || messages.length > 0) return false;
    return (await send("POST", "/api/builder/write", {}, { forms })).script === text;
  } catch {
    // The editor takes every script.
    return false;
  }
}
