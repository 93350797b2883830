// Text as a file that the browser saves.

import { h } from "../../../lib/dom.js";

/**
 * Saves text as a file.
 * @param {string} name
 * @param {string} text
 */
export function saveText(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = h("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(href);
}
