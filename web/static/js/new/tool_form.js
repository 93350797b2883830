// What the Script tab shows of a tool: what it is for, a field for each parameter, what it needs and whether this host has it, and
// what it prints.

import { get } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { byId, h, put } from "../lib/dom.js";
import { knownHost, missingOfTool } from "../lib/needs.js";
import { namesFor, ownerOf } from "./tool_names.js";
import { kindOf, valuesOf, wordsOf, wrongWith } from "./tool_params.js";

/** @import { Tool } from "../../../api.js" */
/** @typedef {import("./tool_params.js").Parameter} Parameter */

/** What the views of a tool's results are called. @type {Record<string, string>} */
const VIEWS = {
  table: "a table",
  histogram: "a histogram",
  heatmap: "a heat map",
  flame: "a flame graph",
  timeline: "a timeline",
};

export class ToolForm {
  /** @type {Tool|null} */
  #tool = null;
  /** @type {Map<string, HTMLInputElement>} */
  #fields = new Map();

  /** @param {(words: string[]) => void} change takes the words of the parameters */
  constructor(change) {
    this.change = change;
    this.place = byId("tool-form");
  }

  /**
   * Shows a tool; none where there is no tool.
   * @param {Tool|null} tool
   * @param {string[]} [words] the parameters
   */
  show(tool, words = []) {
    this.#tool = tool;
    this.#fields.clear();
    if (!tool) return put(this.place);
    const fields = tool.parameters.map((parameter) => this.#field(parameter));
    const missing = h("p", { class: "small", role: "status" });
    const needs = [...tool.needs, ...(tool.since ? [`Linux ${tool.since} or later`] : [])].join(", ");
    put(
      this.place,
      h("h2", {}, h("code", { text: tool.name }), ` ${tool.title}`),
      h("p", { text: tool.purpose }),
      fields.length > 0 && h("div", { class: "tool-fields" }, ...fields),
      h("p", {
        class: "quiet small",
        text: `Needs: ${needs}. Its results are shown as ${VIEWS[tool.view] ?? tool.view} first.`,
      }),
      missing,
      tool.usual && h("p", { class: "quiet small", text: `Other tools use ${tool.usual}.` }),
      tool.example &&
        h(
          "details",
          {},
          h("summary", { text: "An example of what it prints" }),
          h("pre", { class: "mono small", tabindex: "0", "aria-label": `Output of ${tool.name}`, text: tool.example }),
        ),
    );
    this.follow(words);
    this.#judge(tool, missing);
  }

  /**
   * The parameters were changed elsewhere.
   * @param {string[]} words
   */
  follow(words) {
    if (!this.#tool) return;
    const values = valuesOf(this.#tool.parameters, words);
    for (const [name, input] of this.#fields) {
      input.disabled = values === null;
      const value = values?.get(name) ?? "";
      if (input.type === "checkbox") input.checked = value === "true";
      else if (input !== document.activeElement) input.value = value;
    }
  }

  /** Why it cannot be started, in words. */
  problems() {
    return (this.#tool?.parameters ?? []).flatMap((parameter) => {
      const input = this.#fields.get(parameter.name);
      const wrong = input && !input.disabled ? wrongWith(parameter, this.#value(parameter.name)) : "";
      return wrong ? [`${parameter.name}: ${wrong}`] : [];
    });
  }

  /** @param {string} name */
  #value(name) {
    const input = this.#fields.get(name);
    if (!input) return "";
    return input.type === "checkbox" ? String(input.checked) : input.value;
  }

  /** @param {Parameter} parameter */
  #field(parameter) {
    const kind = kindOf(parameter);
    const { name, about, default: usual } = parameter;
    const id = `tool-${name.replace(/\W/g, "")}`;
    const input = h("input", {
      id,
      type: kind === "flag" ? "checkbox" : "text",
      spellcheck: "false",
      ...(kind === "number" ? { inputmode: "numeric", class: "num", size: "10" } : {}),
      ...(kind === "place" ? { class: "mono", required: true } : {}),
      ...(usual && kind !== "flag" ? { placeholder: usual } : {}),
    });
    const problem = h("p", { class: "small stop", role: "alert" });
    const changed = () => {
      problem.textContent = wrongWith(parameter, this.#value(name));
      if (this.#tool) this.change(wordsOf(this.#tool.parameters, (one) => this.#value(one)));
    };
    input.addEventListener(kind === "flag" ? "change" : "input", changed);
    this.#fields.set(name, input);
    const option = h("code", { class: "quiet", text: name });
    if (kind === "flag") return h("label", { class: "check" }, input, ` ${about} `, option);
    const field = h("div", { class: "field" }, h("label", { for: id }, `${about} `, option), input, problem);
    if (parameter.takes) this.#suggest(parameter, input, changed);
    return field;
  }

  /**
   * Suggests names of this host.
   * @param {Parameter} parameter
   * @param {HTMLInputElement} input
   * @param {() => void} pick
   */
  #suggest(parameter, input, pick) {
    const owner = ownerOf(this.#tool?.parameters ?? [], parameter);
    new Combobox({
      input,
      keepsText: true,
      source: (query, signal) => namesFor(parameter.takes, owner ? this.#value(owner.name).trim() : "", query, signal),
      pick,
    });
  }

  /**
   * Says whether it runs here.
   * @param {Tool} tool
   * @param {HTMLElement} place
   */
  async #judge(tool, place) {
    try {
      const missing = missingOfTool(tool, knownHost(await get("/api/host")));
      put(
        place,
        missing
          ? h("span", { class: "stop", text: `It does not run here: ${missing}` })
          : "This host has what it needs.",
      );
    } catch {
      // The server says the same where the script is checked.
    }
  }
}
