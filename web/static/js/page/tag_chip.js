// A tag of a capture, as it is shown everywhere.

import { category } from "../lib/color.js";
import { h } from "../lib/dom.js";

/**
 * A tag. Its colour follows from its name, so it is the same everywhere.
 * @param {string} tag
 */
export function tagChip(tag) {
  return h("a", {
    class: "tag",
    href: `/captures?q=${encodeURIComponent(`tag:${tag}`)}`,
    title: `All captures tagged ${tag}`,
    data: { cat: String(category(tag)) },
    text: tag,
  });
}
