// A script as coloured text, where it is only read. It uses the editor's tokens without the editor.

import { h } from "./dom.js";
import { startState, token } from "./script_language.js";

/** One line as `token` reads it. */
class Line {
  /** @param {string} string */
  constructor(string) {
    this.string = string;
    this.pos = 0;
  }

  next() {
    return this.string[this.pos++];
  }

  peek() {
    return this.string[this.pos];
  }

  skipToEnd() {
    this.pos = this.string.length;
  }

  eatSpace() {
    const from = this.pos;
    while (/\s/.test(this.string[this.pos] ?? "")) this.pos += 1;
    return this.pos > from;
  }

  /**
   * @param {string|RegExp} what
   * @returns {RegExpMatchArray|string[]|null}
   */
  match(what) {
    const rest = this.string.slice(this.pos);
    const found = typeof what === "string" ? (rest.startsWith(what) ? [what] : null) : rest.match(what);
    if (found) this.pos += found[0].length;
    return found;
  }
}

/**
 * The script's pieces, in order: together they are the text.
 * @param {string} text
 * @returns {{text: string, style: string|null}[]}
 */
export function pieces(text) {
  const state = startState();
  /** @type {{text: string, style: string|null}[]} */
  const found = [];
  text.split("\n").forEach((string, number, all) => {
    const line = new Line(string);
    while (line.pos < string.length) {
      const from = line.pos;
      const style = token(line, state);
      found.push({ text: string.slice(from, line.pos), style });
    }
    if (number + 1 < all.length) found.push({ text: "\n", style: null });
  });
  return found;
}

/**
 * The script as an element.
 * @param {string} text
 */
export function scriptText(text) {
  return h(
    "pre",
    { class: "script", tabindex: "0" },
    ...pieces(text).map((piece) =>
      piece.style ? h("span", { class: `sc-${piece.style}`, text: piece.text }) : piece.text,
    ),
  );
}
