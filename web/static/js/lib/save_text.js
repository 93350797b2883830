// What is copied, and files that the browser saves.

import { copyText, h } from "./dom.js";
import { plural } from "./format.js";
import { note } from "./notice.js";

/**
 * Copies rows and says so, or what to do where the browser does not let a page copy.
 * @param {string} text
 * @param {number} count
 * @param {string} what one of them is
 */
export async function copyRows(text, count, what) {
  if (await copyText(text)) note(`Copied ${plural(count, what)}.`, { ms: 2000 });
  else note(`The browser does not let this page copy. Save the ${what}s as CSV instead.`, { stop: true });
}

/**
 * Saves something as a file.
 * @param {string} name
 * @param {Blob} content
 */
export function saveBlob(name, content) {
  const href = URL.createObjectURL(content);
  const link = h("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/**
 * Saves text as a file.
 * @param {string} name
 * @param {string} text
 * @param {string} [type] of its content
 */
export const saveText = (name, text, type = "text/csv") => saveBlob(name, new Blob([text], { type }));
