// The probe builder, which makes a script: what the pages know of it. Pure but for what Info shows.

import { script } from "./script.js";

/** @import { ScriptSpec } from "../../../api.js" */
/** @import { Kind } from "./kind.js" */
/** @typedef {ReturnType<typeof empty>} BuiltForm */

const empty = () => ({ text: "" });

/** @satisfies {Kind<BuiltForm, ScriptSpec>} */
export const build = {
  name: /** @type {const} */ ("build"),
  title: "probe builder",
  command: "build a probe",
  recordedAs: script.name,
  empty,
  specOf: ({ text }) => ({ text }),
  formOf: ({ text = "" }) => ({ text }),
  fields: {},
  meantBy: ["site"],
  beginsEmpty: true,
  entries: script.entries,
};

/**
 * Where the builder opens with a script.
 * @param {string} text
 */
export function builderLink(text) {
  return `/new?${new URLSearchParams({ method: build.name, script: text })}`;
}
