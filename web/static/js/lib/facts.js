// Facts as entries of a definition list.

import { h } from "./dom.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * @param {string} name
 * @param {...Child} value
 */
export const entry = (name, ...value) => [h("dt", { text: name }), h("dd", {}, ...value)];
