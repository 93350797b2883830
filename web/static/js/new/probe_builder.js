// Probes of one's own in the form for ftrace: a text of definitions, checked while it is written, and a builder that puts
// lines into it: a function, where in it, and what of its parameters.

import { Latest, get, problemOf, send } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { byId, fieldOf, h, inputOf, put, settled } from "../lib/dom.js";
import { definitionOf, probeLines } from "../lib/probe_text.js";

/** @import { Answers, Variables } from "../../../api.js" */

const MOST = 40;
/** Members that are offered one by one; others can be typed. */
const MOST_MEMBERS = 60;

/**
 * The check of a text: what it becomes, or what is wrong where.
 * @param {Answers["POST"]["/api/dynamic/check"]} answer
 * @param {string[]} lines of the text
 */
function shownCheck({ probes, messages, skipped, answers, notes }, lines) {
  const wrong = messages.map((message) =>
    h(
      "div",
      { class: "probe-wrong" },
      h(
        "p",
        {},
        h("strong", {
          text:
            message.line > 0 && lines.length > 1
              ? `Line ${message.line}, column ${message.column}: `
              : `Column ${message.column}: `,
        }),
        message.message,
      ),
      h("pre", {
        class: "mono small",
        text: `${lines[message.line - 1] ?? ""}\n${" ".repeat(Math.max(0, message.column - 1))}^`,
      }),
    ),
  );
  const right = probes.map((probe) =>
    h(
      "div",
      { class: "probe-right" },
      h("code", { text: probe.line }),
      ...probe.notes.map((note) => h("p", { class: "quiet small", text: note })),
    ),
  );
  const passed = skipped.map(({ text, why }) =>
    h("p", { class: "quiet small" }, h("code", { text }), ` is skipped: ${why}.`),
  );
  const read = notes.map((text) => h("p", { class: "quiet small", text: `${text}.` }));
  const answered = answers.map(({ asked, lines: told }) =>
    h(
      "div",
      { class: "probe-answer" },
      h("p", { class: "small" }, h("code", { text: asked }), " asks a question and adds no probe:"),
      h("pre", { class: "mono small", tabindex: "0", text: told.join("\n") }),
    ),
  );
  return [...wrong, ...read, ...answered, ...right, ...passed];
}

/** A text of definitions, checked while it is written. */
export class ProbeText {
  #checks = new Latest();

  /** @param {string} id of the text; its check is shown in the element of that id with `-checked` behind it */
  constructor(id) {
    this.input = fieldOf(id);
    this.checked = byId(`${id}-checked`);
    this.input.addEventListener(
      "input",
      settled(250, () => this.check()),
    );
  }

  /** What was filled in from elsewhere is checked. */
  filled() {
    if (this.input.value.trim()) this.check();
  }

  /**
   * Puts a line behind the others.
   * @param {string} line
   */
  add(line) {
    this.input.value = [this.input.value.trimEnd(), line].filter(Boolean).join("\n");
    this.check();
  }

  /** Says what the text becomes, or what is wrong in it. */
  async check() {
    const text = this.input.value;
    if (!text.trim()) {
      put(this.checked);
      return;
    }
    try {
      const answer = await this.#checks.run((signal) => send("POST", "/api/dynamic/check", {}, { text }, signal));
      if (answer) put(this.checked, ...shownCheck(answer, text.split("\n")));
    } catch (error) {
      put(this.checked, h("p", { class: "quiet small", text: problemOf(error).why || problemOf(error).message }));
    }
  }
}

/** The editor of probes. */
export class ProbeBuilder {
  #variables = new Latest();
  #previews = new Latest();
  /** @type {Variables["variables"]} */
  #known = [];
  #asked = " ";

  constructor() {
    this.text = new ProbeText("trace-dynamic");
    this.file = inputOf("probe-file");
    this.func = inputOf("probe-function");
    this.at = fieldOf("probe-at");
    this.offset = inputOf("probe-offset");
    this.more = inputOf("probe-more");
    this.list = byId("probe-arguments");
    this.preview = byId("probe-preview");
    this.adding = byId("probe-add", HTMLButtonElement);
    const preview = settled(200, () => this.#preview());
    for (const input of [this.file, this.func, this.offset, this.more]) input.addEventListener("input", preview);
    this.at.addEventListener("change", () => {
      this.#showOffset();
      this.#showVariables();
    });
    this.file.addEventListener("change", () => this.#lookUp());
    this.func.addEventListener("change", () => this.#lookUp());
    this.list.addEventListener("change", () => this.#preview());
    this.adding.addEventListener("click", () => this.#add());
    new Combobox({
      input: this.func,
      keepsText: true,
      empty: "No matching function.",
      source: async (query, signal) => {
        const { items } = await get(
          "/api/dynamic/functions",
          { q: query.trim(), file: this.file.value.trim(), limit: MOST },
          signal,
        );
        return items.map((label) => ({ label }));
      },
      pick: () => {
        this.#lookUp();
      },
    });
    this.#showOffset();
  }

  #showOffset() {
    byId("probe-offset-row").hidden = this.at.value !== "offset";
    this.#preview();
  }

  /** Asks for the parameters, unless it is the same function as before: what is chosen stays then. */
  async #lookUp() {
    const asked = `${this.file.value.trim()} ${this.func.value.trim()}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#known = [];
    const func = this.func.value.trim();
    if (!func) {
      put(this.list, "");
      this.#preview();
      return;
    }
    try {
      const found = await this.#variables.run((signal) =>
        get("/api/dynamic/variables", { function: func, file: this.file.value.trim() }, signal),
      );
      if (!found) return;
      this.#known = found.variables;
      this.#showVariables(found.notes);
    } catch (error) {
      put(this.list, h("p", { class: "quiet small", text: problemOf(error).why || problemOf(error).message }));
    }
    this.#preview();
  }

  /** @param {string[]} [notes] */
  #showVariables(notes = []) {
    if (this.#known.length === 0) return;
    const returns = this.at.value === "return";
    const wanted = this.#known.filter(({ name }) => (name === "$retval" ? returns : this.at.value === "entry"));
    const rows = wanted.map((one) => {
      const box = h("input", { type: "checkbox", value: one.name, disabled: one.argument === null });
      const label = h("label", { class: "check" }, box, h("code", { text: one.declaration }));
      if (one.members.length === 0) return h("div", { class: "probe-argument" }, label);
      const between = one.pointer ? "->" : ".";
      const member = h(
        "select",
        { class: "mono", "aria-label": `Member of ${one.name}` },
        h("option", { value: "", text: "add a member" }),
        ...one.members
          .slice(0, MOST_MEMBERS)
          .map((name) => h("option", { value: `${one.name}${between}${name}`, text: `${between}${name}` })),
      );
      member.addEventListener("change", () => {
        if (!member.value) return;
        this.more.value = `${this.more.value.trim()} ${member.value}`.trim();
        member.value = "";
        this.#preview();
      });
      return h("div", { class: "probe-argument" }, label, member);
    });
    const none =
      this.at.value === "offset"
        ? "Within a function, parameters can be in any register or on the stack: write registers."
        : "The function has no parameters.";
    put(
      this.list,
      ...notes.map((note) => h("p", { class: "quiet small", text: note })),
      ...(rows.length ? rows : [h("p", { class: "quiet small", text: none })]),
    );
  }

  /** The definition as it is now; empty without a function. */
  #definition() {
    const chosen = [...this.list.querySelectorAll("input")].filter((box) => box.checked).map((box) => box.value);
    return definitionOf({
      func: this.func.value,
      at: this.at.value,
      offset: this.offset.value,
      chosen,
      more: this.more.value,
    });
  }

  async #preview() {
    const definition = this.#definition();
    this.adding.disabled = !definition;
    if (!definition) {
      put(this.preview);
      return;
    }
    try {
      const file = this.file.value.trim();
      const answer = await this.#previews.run((signal) =>
        send("POST", "/api/dynamic/check", {}, { text: definition, ...(file ? { file } : {}) }, signal),
      );
      if (answer) put(this.preview, ...shownCheck(answer, [definition]));
    } catch (error) {
      put(this.preview, h("p", { class: "quiet small", text: problemOf(error).why || problemOf(error).message }));
    }
  }

  #add() {
    const definition = this.#definition();
    if (!definition) return;
    const file = this.file.value.trim();
    const [line] = probeLines([file ? { typed: definition, file } : definition]);
    this.text.add(line);
    this.func.value = "";
    this.more.value = "";
    this.#lookUp();
    this.func.focus();
  }
}
