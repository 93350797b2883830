// What files of pages are made of: the page's styles, a nonce, a name, and the most bytes that one has.

import { bytes } from "../lib/format.js";

/** The most bytes of a file. */
const MOST_BYTES = 20e6;

/**
 * @param {string} address
 * @param {AbortSignal} [signal]
 */
export async function textOf(address, signal) {
  const response = await fetch(address, { credentials: "same-origin", signal });
  if (!response.ok) throw new Error(`${address}: the server answered ${response.status}`);
  return response.text();
}

/**
 * All styles of a page.
 * @param {Document} page
 * @param {AbortSignal} [signal]
 */
export async function stylesOf(page, signal) {
  const links = [...page.querySelectorAll('link[rel="stylesheet"]')];
  const texts = await Promise.all(links.map((link) => textOf(link.getAttribute("href") ?? "", signal)));
  return texts.join("\n");
}

/** What only a file's own script and styles have. */
export const drawNonce = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/**
 * A file of this text, if it is not too large.
 * @param {string} html
 * @param {string} remedy what makes it smaller
 */
export function checkedFile(html, remedy) {
  const file = new Blob([html], { type: "text/html" });
  if (file.size > MOST_BYTES)
    throw new Error(`the file would have ${bytes(file.size)}, and a file has at most ${bytes(MOST_BYTES)}: ${remedy}`);
  return file;
}

/**
 * What a file is called.
 * @param {string} title of what it shows
 * @param {string} id
 */
export const fileName = (title, id) => `${`${title}-${id}`.replace(/[^\w.-]+/g, "_").slice(0, 80)}.html`;
