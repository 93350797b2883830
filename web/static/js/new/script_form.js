// The Script tab of the form for a new capture: the editor, the server's verdict on it, tools to begin with, parameters.

import { builderLink } from "../kind/build.js";
import { ApiError, get, send } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { byId, h, inputOf, put } from "../lib/dom.js";
import { duration, plural } from "../lib/format.js";
import { errorNotice, note, noteError } from "../lib/notice.js";
import { joinWords, splitWords } from "../lib/words.js";
import { missingParameters } from "./script_messages.js";
import { ToolForm } from "./tool_form.js";

/** @import { CheckedProbe, ScriptMessage, CheckedScript } from "../../../api.js" */
/** @typedef {import("./script_editor.js").ScriptEditor} Editor */
/** @typedef {import("./script_editor.js").Verdict} Verdict */
/** @typedef {import("../kind/script.js").TextForm} TextForm */
/** @import { FormPage } from "./form_part.js" */

/** What the editor shows first. */
const FIRST = `// Which processes open which files. Ctrl+Enter runs it; Ctrl+Space shows what fits.
tracepoint:syscalls:sys_enter_openat {
  printf("%-6d %-16s %s\\n", pid, comm, str(args.filename));
}
`;

/**
 * What the places of a kind of probe are called.
 * @param {string} name
 */
function placeWord(name) {
  if (/^(kprobe|kretprobe|k|kr|fentry|fexit|kfunc|kretfunc|uprobe|uretprobe|u|ur):/.test(name)) return "function";
  return /^(tracepoint|t|rawtracepoint|rt):/.test(name) ? "tracepoint" : "place";
}

/**
 * How many places each pattern stands for, before anything is attached.
 * @param {CheckedProbe[]} probes
 */
function patterns(probes) {
  const found = probes
    .filter(({ name }) => /[*?[]/.test(name))
    .map(({ name, attached }) => `${name}: ${plural(attached, placeWord(name))}`);
  return found.length ? ` ${found.join("; ")}.` : "";
}

/**
 * What a script that can run will do.
 * @param {CheckedScript} verdict
 */
function compiled({ probes, maps, compile_ms: ms }) {
  const sites = probes.reduce((sum, { attached }) => sum + attached, 0);
  const kept = maps.length ? `, keeps ${maps.map(({ name }) => name).join(", ")}` : "";
  return `Compiles in ${duration(ms * 1e6)}: ${plural(probes.length, "program")} at ${plural(sites, "probe site")}${kept}.${patterns(probes)}`;
}

/** The tab. The editor is loaded when it is shown for the first time. */
export class ScriptForm {
  /** @type {Editor|null} */
  #editor = null;
  /** @type {Promise<void>|null} */
  #loading = null;
  #text = "";
  #file = "";

  /** @param {FormPage} page */
  constructor(page) {
    this.page = page;
    this.params = inputOf("script-params");
    this.params.addEventListener("input", () => {
      this.#showWords();
      this.tool.follow(splitWords(this.params.value).words);
    });
    this.tool = new ToolForm((words) => {
      this.params.value = joinWords(words);
      this.#showWords();
      page.changed();
    });
    byId("keep-script").addEventListener("click", () => this.#keep());
    byId("script-to-builder").addEventListener("click", () => location.assign(builderLink(this.value().text)));
    new Combobox({
      input: inputOf("script-tool"),
      keepsText: true,
      empty: "No matching tool.",
      source: async (query, signal) => {
        const wanted = query.trim().toLowerCase();
        const { items } = await get("/api/tools", {}, signal);
        const fits = items.filter(({ name, title }) => `${name} ${title}`.toLowerCase().includes(wanted));
        const kept = (await get("/api/library", { kind: "script", q: wanted }, signal)).items;
        return [
          ...kept.map(({ id, name, description }) => ({
            label: name,
            detail: description,
            group: "Library",
            value: { id },
          })),
          ...fits.map((tool) => ({ label: tool.name, detail: tool.title, group: "Tools", value: tool })),
        ];
      },
      pick: ({ value }) => (value.id === undefined ? this.openTool(value.name) : this.openKept(String(value.id))),
    });
  }

  async #keep() {
    const text = this.#editor?.text ?? this.#text;
    if (!text.trim()) {
      note("There is no script to keep.");
      return;
    }
    const { keepThing } = await import("../lib/keep_dialog.js");
    keepThing({ kind: "script", what: "this script", text, name: this.#file.replace(/\.bt$/, "") });
  }

  /** Says whether scripts can be run here, before one is written. Resolves to that. */
  async #about() {
    const { may_run: mayRun, allow_unsafe: unsafe, why } = await get("/api/scripts");
    byId("script-unsafe-line").hidden = !unsafe;
    if (!mayRun)
      put(byId("script-about"), h("div", { class: "notice" }, h("p", { text: `Scripts cannot be run here: ${why}.` })));
    return mayRun;
  }

  /**
   * Puts a tool's script into the editor.
   * @param {string} name
   */
  async openTool(name) {
    try {
      const tool = await get("/api/tools/{name}", { name });
      this.setText(tool.text ?? "");
      this.#file = tool.name;
      this.tool.show(tool, splitWords(this.params.value).words);
      this.page.named(tool.name);
      await this.show();
      this.#editor?.focus();
    } catch (error) {
      put(byId("script-verdict"), errorNotice(error));
    }
  }

  /**
   * Puts a script of the library into the editor.
   * @param {string} id
   */
  async openKept(id) {
    try {
      const kept = await get("/api/library/{id}", { id });
      this.setText(kept.text);
      this.tool.show(null);
      this.#file = `${kept.name}.bt`;
      this.page.named(kept.name);
      await this.show();
      this.#editor?.focus();
    } catch (error) {
      put(byId("script-verdict"), errorNotice(error));
    }
  }

  /** The tab is in sight. */
  show() {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** The tab was chosen. */
  shown() {
    this.show().then(() => this.focus());
  }

  /**
   * Begins with the tool or the script of the address.
   * @param {URLSearchParams} params
   */
  async begin(params) {
    const [tool, text] = ["tool", "script"].map((name) => params.get(name));
    const kept = params.get("kept");
    if (tool !== null) await this.openTool(tool);
    else if (kept !== null) await this.openKept(kept);
    else if (text !== null) this.setText(text);
    return tool !== null || kept !== null || text !== null;
  }

  /** Puts the caret into the editor. */
  focus() {
    this.#editor?.focus();
  }

  /**
   * A whole form, as a spec has it.
   * @param {TextForm} script
   */
  fill({ text, file, params, allow_unsafe }) {
    this.setText(text);
    this.#file = file;
    this.params.value = joinWords(params);
    this.#showTool(file, params);
    inputOf("script-unsafe").checked = allow_unsafe;
    this.#showWords();
  }

  /**
   * Shows the tool that a script was, if it is one.
   * @param {string} file
   * @param {string[]} params
   */
  async #showTool(file, params) {
    this.tool.show(null);
    if (!/^[a-z0-9-]+$/.test(file)) return;
    const tool = await get("/api/tools/{name}", { name: file }).catch(() => null);
    if (tool && tool.text === this.value().text) this.tool.show(tool, params);
  }

  /**
   * Another script.
   * @param {string} text
   */
  setText(text) {
    this.#text = text;
    if (this.#editor) this.#editor.text = text;
  }

  /** @param {TextForm} form gets what the tab holds */
  read(form) {
    Object.assign(form, this.value());
  }

  /** What the form holds, for the spec. */
  value() {
    return {
      text: this.#editor?.text ?? this.#text,
      file: this.#file,
      params: splitWords(this.params.value).words,
      allow_unsafe: inputOf("script-unsafe").checked,
    };
  }

  /** Why it cannot be started, in words. */
  problems() {
    const found = this.tool.problems();
    if (this.value().text.trim() === "") found.push("Write a script, or begin with a tool.");
    const { problem } = splitWords(this.params.value);
    if (problem) found.push(problem);
    return found;
  }

  /**
   * What the server said of a start that it refused: its diagnostics go where they belong.
   * @param {unknown} error
   */
  refused(error) {
    const messages = error instanceof ApiError ? (error.body.error?.diagnostics ?? []) : [];
    if (messages.length === 0) return false;
    this.#show({ ok: false, messages });
    return true;
  }

  async #load() {
    const { ScriptEditor } = await import("./script_editor.js");
    // The server compiles for those who may run scripts; for others there is a sentence above the editor instead.
    const allowed = this.#about().catch((error) => {
      noteError(error);
      return true;
    });
    const editor = new ScriptEditor(byId("script-editor"), {
      text: this.#text || FIRST,
      check: async (text, signal) =>
        (await allowed) ? send("POST", "/api/scripts/check", {}, { ...this.value(), text }, signal) : null,
      complete: async (text, offset, signal) =>
        (await allowed) ? send("POST", "/api/scripts/complete", {}, { text, offset }, signal) : null,
      explain: async (text, offset, signal) =>
        (await allowed) ? (await send("POST", "/api/scripts/hover", {}, { text, offset }, signal)).hover : null,
      run: () => this.page.start(),
    });
    this.#editor = editor;
    editor.on("verdict", (verdict) => this.#show(verdict));
    editor.on("change", () => this.page.changed());
  }

  /** @param {Verdict|null} verdict */
  #show(verdict) {
    if (verdict?.pasted && this.#editor) {
      // What runs is what stands there.
      this.#editor.text = verdict.pasted.text;
      note(verdict.pasted.notes.map((text) => `${text}.`).join(" "));
    }
    const place = byId("script-verdict");
    const messages = verdict?.messages ?? [];
    const missing = missingParameters(messages);
    if (missing) {
      // Nothing is wrong yet: whoever opened a tool has still to say of what.
      put(byId("script-problems"));
      place.classList.remove("bad");
      put(place, `Give ${missing} first: the script is checked then.`);
      return;
    }
    put(byId("script-problems"), ...messages.map((one) => this.#problem(one)));
    const errors = messages.filter(({ severity }) => severity === "error").length;
    place.classList.toggle("bad", errors > 0);
    if (!verdict) put(place);
    else if ("error" in verdict) put(place, errorNotice(verdict.error));
    else put(place, "probes" in verdict && verdict.ok ? compiled(verdict) : `Cannot run: ${plural(errors, "error")}.`);
  }

  /** @param {ScriptMessage} one */
  #problem(one) {
    const { line, column, message, hint, severity } = one;
    const go = h("button", {
      type: "button",
      class: "plain mono",
      title: "Go there",
      text: `${line}:${column}`,
      on: { click: () => this.#editor?.reveal(one) },
    });
    return h(
      "li",
      { class: severity === "error" ? "stop" : "loss" },
      go,
      h("span", {}, h("span", { text: message }), hint && h("span", { class: "quiet", text: ` ${hint}` })),
    );
  }

  #showWords() {
    const { words, problem } = splitWords(this.params.value);
    put(
      byId("script-words"),
      words.length > 0 &&
        h(
          "div",
          { class: "words" },
          ...words.map((word, i) => h("code", { text: word.startsWith("--") ? word : `$${i + 1} = ${word}` })),
        ),
      problem && h("p", { class: "word-note stop", text: problem }),
    );
  }
}
