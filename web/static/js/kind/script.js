// Scripts as a kind of source: what the pages know of it. Pure but for what Info shows.

import { h } from "../lib/dom.js";
import { entry } from "../lib/facts.js";
import { scriptText } from "../lib/script_text.js";
import { joinWords } from "../lib/words.js";

/** @import { ScriptSpec } from "../../../api.js" */
/** @import { Kind } from "./kind.js" */
/** @typedef {ReturnType<typeof empty>} TextForm */

const empty = () => ({ text: "", file: "", params: /** @type {string[]} */ ([]), allow_unsafe: false });

/**
 * Without what is as usual.
 * @param {TextForm} script
 * @returns {ScriptSpec}
 */
function specOf({ text, file, params, allow_unsafe }) {
  return {
    text,
    ...(file ? { file } : {}),
    ...(params.length ? { params } : {}),
    ...(allow_unsafe ? { allow_unsafe } : {}),
  };
}

/**
 * The form for this script.
 * @param {ScriptSpec} script
 * @returns {TextForm}
 */
function formOf(script) {
  return { ...empty(), ...script };
}

/** @param {ScriptSpec} script */
function entries(script) {
  return entry(
    "Script",
    script.file && h("code", { text: script.file }),
    script.params && h("code", { text: ` ${joinWords(script.params)}` }),
    scriptText(script.text),
  );
}

/** @satisfies {Kind<TextForm, ScriptSpec>} */
export const script = {
  name: /** @type {const} */ ("script"),
  title: "script",
  command: "write a script",
  empty,
  specOf,
  formOf,
  fields: {},
  meantBy: ["tool", "script"],
  beginsEmpty: true,
  entries,
  scriptText: ({ text = "" }) => text,
};

/**
 * Where a script opens in the editor.
 * @param {string} text
 */
export function editorLink(text) {
  return `/new?${new URLSearchParams({ method: script.name, script: text })}`;
}

/**
 * Where a script of the library opens in the editor.
 * @param {number} id
 */
export const keptScriptLink = (id) => `/new?method=${script.name}&kept=${id}`;

/**
 * Where a tool's script opens in the editor.
 * @param {string} tool
 */
export function toolLink(tool) {
  return `/new?method=${script.name}&tool=${encodeURIComponent(tool)}`;
}
