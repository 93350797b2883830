// What a block of an investigation shows: a text, a task, a view with its picture, a note, a result of a query, a step.

import { SHARE, addressOf } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { plural, wall } from "../lib/format.js";
import { drawMarkdown } from "../lib/markdown.js";
import { authorWords, placeWords } from "../view/notes/note_words.js";
import { captureAddress, noteAddress, viewWords } from "./investigation_words.js";
import { listTable } from "./list_table.js";

/** @import { BlockItem, NoteItem, ToldBlock } from "../../../api.js" */
/** @typedef {import("../lib/dom.js").Child} Child */
/** @template {ToldBlock["kind"]} K @typedef {Extract<ToldBlock, {kind: K}>} OfKind */

const GONE = "The capture is gone: it was deleted, or retention removed it, or you may not read it.";

/**
 * @typedef {object} BlockPlace where a block is shown
 * @property {string} investigation its id
 * @property {boolean} canWrite
 * @property {boolean} shared whether somebody sees it without a login: nothing leads to captures
 * @property {boolean} [opens] whether views can be opened by whoever sees it without a login
 * @property {(done: boolean) => void} check turns its task
 * @property {import("./saved_page.js").SavedBlocks|null} [saved] what of it is in a file; null where there is a server
 */

/**
 * @param {BlockItem} block
 * @param {BlockPlace} place
 * @returns {Child[]}
 */
export function blockContent(block, place) {
  const { content } = block;
  switch (content.kind) {
    case "text":
      return [drawMarkdown(content.body)];
    case "task":
      return [task(content, place)];
    case "view":
    case "comparison":
      return [viewCard(block, content, place)];
    case "note":
      return [noteCard(content, place)];
    case "query":
      return queryResult(content, place);
    case "step":
      return [drawMarkdown(content.body), step(block, content, place)];
    case "left_out":
      return [h("p", { class: "quiet", text: `${content.what} stands here, which this share does not show.` })];
    default:
      return [h("p", { class: "quiet", text: "A later release wrote this block; this one cannot show it." })];
  }
}

/**
 * @param {OfKind<"task">} content
 * @param {BlockPlace} place
 */
function task({ body, done, text }, { canWrite, check }) {
  const box = h("input", { type: "checkbox", "aria-label": text.slice(0, 200), disabled: !canWrite });
  box.checked = done;
  box.addEventListener("change", () => check(box.checked));
  return h("div", { class: done ? "block-task is-done" : "block-task" }, box, drawMarkdown(body));
}

/**
 * The address of the picture of a block's view.
 * @param {string} investigation
 * @param {Pick<BlockItem, "id"|"version">} block
 */
export function pictureAddress(investigation, { id, version }) {
  return addressOf("/api/investigations/{id}/blocks/{block}/picture", { id: investigation, block: id, v: version });
}

/**
 * The picture of a view. What cannot be drawn is said by the view itself.
 * @param {string} address
 * @param {boolean} isFlame
 * @param {BlockPlace["saved"]} saved
 */
function viewPicture(address, isFlame, saved) {
  const words = "The picture of this view could not be made; the view itself says why.";
  const picture = h("div", {});
  const none = () => put(picture, h("p", { class: "quiet", text: words }));
  const image = h("img", {
    class: isFlame ? "" : "is-rate",
    alt: isFlame ? "The flame graph of this view" : "Rows over time, with the range of this view",
    ...(saved ? {} : { loading: "lazy", src: address }),
  });
  image.addEventListener("error", none);
  put(picture, image);
  saved?.picture(address).then((inFile) => (image.src = inFile), none);
  return picture;
}

/**
 * @param {BlockItem} block
 * @param {{kind?: string, capture: string|null, title: string|null, view: string, caption: string}} content
 * @param {BlockPlace} place
 */
function viewCard(
  { id, version },
  { kind, capture, title, view, caption },
  { investigation, shared, opens, saved = null },
) {
  if (capture === null || title === null)
    return h("p", { class: "notice", text: `${caption ? `${caption}. ` : ""}${GONE}` });
  const isFlame = new URLSearchParams(view).get("tab") === "flame";
  const { href, why } = saved?.view(id) ?? { href: null, why: "" };
  const words = [
    caption && h("p", { text: caption }),
    viewPicture(pictureAddress(investigation, { id, version }), isFlame, saved),
    h("p", { class: "quiet", text: [title, viewWords(view)].filter(Boolean).join(" · ") }),
    why && h("p", { class: "quiet small", text: why }),
  ];
  if (href) return h("a", { class: "block-view", href }, ...words);
  if (opens && kind === "view")
    return h("a", { class: "block-view", href: `${SHARE}/blocks/${id}${captureAddress(capture, view)}` }, ...words);
  return shared
    ? h("div", { class: "block-view" }, ...words)
    : h("a", { class: "block-view", href: captureAddress(capture, view) }, ...words);
}

/**
 * @param {OfKind<"note">} content
 * @param {BlockPlace} place
 */
function noteCard({ capture, title, note, answers }, { shared }) {
  if (!note) return h("p", { class: "notice", text: title === null ? GONE : "The note is gone: it was removed." });
  const words = placeWords(note, []);
  const said = (/** @type {NoteItem} */ one) => [
    h("p", { class: "quiet", text: `${authorWords(one)}, ${wall(one.created_unix_ns)}` }),
    drawMarkdown(one.body),
  ];
  return h(
    "div",
    { class: "block-note" },
    h(
      "p",
      {},
      shared ? words : h("a", { href: noteAddress(capture, note), text: words }),
      h("span", { class: "quiet", text: ` on ${title}${note.resolved_by ? `, resolved by ${note.resolved_by}` : ""}` }),
    ),
    ...said(note),
    ...answers.map((answer) => h("div", { class: "block-note" }, ...said(answer))),
  );
}

/**
 * @param {OfKind<"query">} content
 * @param {BlockPlace} place
 */
function queryResult({ capture, title, sql, caption, result }, { shared }) {
  const { columns, rows, cut, asked_unix_ns: asked } = result;
  const view = new URLSearchParams({ v: "3", tab: "sql", sql }).toString();
  const about = `${title ?? "a capture that is gone"}, asked ${wall(asked)}: ${plural(rows.length, "row")}${cut ? ", and more that are not kept" : ""}`;
  const cells = rows.map((row) =>
    h("tr", {}, ...row.map((cell) => h("td", { class: cell === null ? "quiet" : "mono", text: cell ?? "missing" }))),
  );
  return [
    caption && h("p", { text: caption }),
    h("pre", { class: "mono", tabindex: "0", text: sql }),
    h(
      "div",
      { class: "block-result" },
      listTable(
        columns.map((name) => /** @type {[string]} */ ([name])),
        cells,
      ),
    ),
    h(
      "p",
      { class: "quiet" },
      about,
      !shared && title !== null && " · ",
      !shared && title !== null && h("a", { href: captureAddress(capture, view), text: "Ask again" }),
    ),
  ];
}

/**
 * @param {BlockItem} block
 * @param {OfKind<"step">} content
 * @param {BlockPlace} place
 */
function step(block, { recipe, capture, title, view }, place) {
  if (capture !== null) return viewCard(block, { capture, title, view, caption: "" }, place);
  const query = new URLSearchParams({ recipe, investigation: place.investigation, block: block.id });
  return h(
    "p",
    {},
    place.canWrite
      ? h("a", { class: "button", href: `/new?${query}`, text: `Record with the recipe ${recipe}` })
      : h("span", { class: "quiet", text: `To be recorded with the recipe ${recipe}` }),
  );
}
