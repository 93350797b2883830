// An investigation as one file that opens without a server and without a network: its texts, notes, results and pictures of views, as they
// are now. It has no script.

import { SHARE } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { bytes, wall } from "../lib/format.js";
import { drawMarkdown } from "../lib/markdown.js";
import { note, waitFor } from "../lib/notice.js";
import { saveBlob } from "../lib/save_text.js";
import { checkedFile, drawNonce, fileName, stylesOf, textOf } from "./file_parts.js";
import { stillHtml } from "./saved_html.js";

/** @import { InvestigationAnswer } from "../../../api.js" */

/**
 * What the page draws its parts with. It has them already, and what is loaded later brings them to no other page.
 * @typedef {object} Drawing
 * @property {typeof import("./investigation_block.js").blockContent} blockContent
 * @property {typeof import("./investigation_block.js").pictureAddress} pictureAddress
 * @property {typeof import("./investigation_words.js").headWords} headWords
 * @property {typeof import("./investigation_words.js").stateWords} stateWords
 */

/**
 * Makes the file and saves it.
 * @param {InvestigationAnswer} page
 * @param {Drawing} drawing
 */
export async function saveInvestigation(page, drawing) {
  const giveUp = new AbortController();
  const making = fileOf(page, drawing, giveUp.signal);
  const file = await waitFor("Reading the pictures of views", making, () => giveUp.abort());
  saveBlob(fileName(page.head.title, page.head.id), file);
  note(`Saved: ${bytes(file.size)}, to be opened without Bathyscope.`);
}

/**
 * @param {InvestigationAnswer} page
 * @param {Drawing} drawing
 * @param {AbortSignal} signal
 */
async function fileOf(page, drawing, signal) {
  const nonce = drawNonce();
  const pictures = await picturesOf(page, drawing, signal);
  // The page may load no picture from within itself, so what stands for one is replaced in the text. No text of people has the nonce.
  const marks = new Map([...pictures.keys()].map((address, at) => [address, `${nonce}-${at}`]));
  let body = new XMLSerializer().serializeToString(bodyOf(page, drawing, marks));
  for (const [address, mark] of marks)
    body = body.replace(`data-picture="${mark}"`, () => `src="${pictures.get(address)}"`);
  const html = stillHtml({ title: page.head.title, nonce, styles: await stylesOf(document, signal), body });
  return checkedFile(html, "leave out some of its views");
}

/**
 * The page without anything that needs a server.
 * @param {InvestigationAnswer} page
 * @param {Drawing} drawing
 * @param {Map<string, string>} pictures what marks their places, by their addresses
 */
function bodyOf({ head, blocks, conclusion_body: conclusion, public_url: publicUrl }, drawing, pictures) {
  const place = { investigation: head.id, canWrite: false, shared: true, check: () => {}, pictures };
  // A share's own address opens nothing elsewhere.
  const from = SHARE ? null : (publicUrl ?? location.origin) + location.pathname;
  const link = from && h("a", { href: from, rel: "noopener noreferrer", target: "_blank", text: "where it was saved" });
  const body = h(
    "div",
    { id: "investigation" },
    h(
      "div",
      { class: "share-line" },
      h("strong", { text: "A file" }),
      ` · saved ${wall(Date.now() * 1e6)} · read only`,
      link && " · ",
      link,
    ),
    h(
      "header",
      { id: "investigation-head" },
      h(
        "div",
        { class: "title-row" },
        h("h1", { text: head.title }),
        h("span", { class: "investigation-state", data: { state: head.state }, text: drawing.stateWords(head.state) }),
      ),
      h("p", { class: "quiet", text: drawing.headWords(head) }),
    ),
    h(
      "ol",
      { id: "investigation-blocks", "aria-label": "Blocks" },
      ...blocks.map((block) =>
        h(
          "li",
          { class: "block" },
          h("div"),
          h(
            "div",
            { class: "block-body" },
            ...drawing.blockContent(block, place),
            h("p", { class: "quiet small", text: `${block.changed_by}, ${wall(block.changed_unix_ns)}` }),
          ),
        ),
      ),
    ),
    h(
      "section",
      { id: "investigation-end", "aria-label": "Conclusion" },
      h("h2", { text: "Conclusion" }),
      conclusion.length > 0
        ? drawMarkdown(conclusion)
        : h("p", { class: "quiet", text: "Nobody had written a conclusion." }),
    ),
  );
  for (const box of body.querySelectorAll("input")) if (box.checked) box.setAttribute("checked", "");
  // Pages of the console are nowhere else; a file has no address that they could begin with.
  for (const one of body.querySelectorAll("a[href^='/']"))
    one.setAttribute("href", (publicUrl ?? location.origin) + one.getAttribute("href"));
  return body;
}

/**
 * The pictures of all views, as addresses that hold them; those that cannot be made are left out.
 * @param {InvestigationAnswer} page
 * @param {Drawing} drawing
 * @param {AbortSignal} signal
 */
async function picturesOf({ head, blocks }, { pictureAddress }, signal) {
  /** @type {Map<string, string>} */
  const pictures = new Map();
  for (const block of blocks) {
    const { content } = block;
    if (!("view" in content) || !content.capture || content.title === null) continue;
    const address = pictureAddress(head.id, block);
    try {
      pictures.set(address, svgAddress(await textOf(address, signal)));
    } catch (error) {
      if (signal.aborted) throw error;
    }
  }
  return pictures;
}

/** @param {string} svg */
function svgAddress(svg) {
  let text = "";
  for (const byte of new TextEncoder().encode(svg)) text += String.fromCharCode(byte);
  return `data:image/svg+xml;base64,${btoa(text)}`;
}
