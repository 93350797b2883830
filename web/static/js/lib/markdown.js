// Markdown on the page: elements made one by one of the tree that the server sends. Nothing of a text becomes markup.

import { h } from "./dom.js";

/** @import { MarkdownNode } from "../../../api.js" */
/** @typedef {import("./dom.js").Child} Child */

/** @type {Record<string, keyof HTMLElementTagNameMap>} */
const ELEMENTS = {
  strong: "strong",
  emphasis: "em",
  struck: "s",
  paragraph: "p",
  quote: "blockquote",
  list: "ul",
  item: "li",
  row: "tr",
  cell: "td",
};
/** Where links lead: to the web, or to a page of this console. */
const TARGET = /^(https?:\/\/|\/(?![/\\]))/i;
/** Headings of a text stand below those of its page. */
const BELOW = 2;

/**
 * The elements of a text.
 * @param {MarkdownNode[]} nodes
 */
export function drawMarkdown(nodes) {
  return h("div", { class: "markdown" }, ...nodes.map(element));
}

/**
 * What a text says, without marks: of its first paragraph up to the end of a line.
 * @param {MarkdownNode[]} nodes
 */
export function firstWords(nodes) {
  /** @type {string[]} */
  const words = [];
  const take = (/** @type {MarkdownNode} */ node) => {
    if (node.tag === "break") return false;
    if (node.text) words.push(node.tag === "pre" ? node.text.split("\n")[0] : node.text);
    return (node.children ?? []).every(take);
  };
  const [first] = nodes;
  if (first) take(first);
  return words.join("").trim();
}

/**
 * @param {MarkdownNode} node
 * @returns {Child}
 */
function element({ tag, text = "", href = "", level = 1, children = [] }) {
  const inside = children.map(element);
  switch (tag) {
    case "text":
      return text;
    case "code":
      return h("code", { text });
    case "break":
      return h("br");
    case "rule":
      return h("hr");
    case "pre":
      return h("pre", { class: "mono", tabindex: "0", text });
    case "done":
    case "todo":
      return h("input", { type: "checkbox", disabled: true, checked: tag === "done", "aria-label": tag });
    case "link":
      return link(href, inside);
    case "heading":
      return h(/** @type {"h3"} */ (`h${Math.min(6, level + BELOW)}`), {}, ...inside);
    case "numbered":
      return h("ol", { start: String(level) }, ...inside);
    case "table":
      return h("div", { class: "table-scroll" }, h("table", { class: "list" }, ...inside));
    case "head":
      return h("tr", {}, ...children.map((cell) => h("th", {}, ...(cell.children ?? []).map(element))));
    default:
      return h(ELEMENTS[tag] ?? "span", {}, ...inside);
  }
}

/**
 * @param {string} href
 * @param {Child[]} inside
 */
function link(href, inside) {
  if (!TARGET.test(href)) return h("span", {}, ...inside);
  const away = href.startsWith("/") ? {} : { rel: "noopener noreferrer", target: "_blank" };
  return h("a", { href, ...away }, ...inside);
}
