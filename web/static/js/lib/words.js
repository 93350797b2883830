// A command line as words. No shell is ever started, so there is nothing here but quoting: no variables, no wildcards,
// no pipes. Pure.

const SHELL_ONLY = new Map([
  ["|", "a pipe"],
  [">", "a redirection"],
  ["<", "a redirection"],
  ["&", "a background or list operator"],
  [";", "a list operator"],
  ["$", "a variable"],
  ["`", "a command substitution"],
  ["*", "a wildcard"],
  ["?", "a wildcard"],
]);

/**
 * Splits text into words. Blanks separate; `'…'` is taken as it is; in `"…"` a backslash keeps `"` and `\`; elsewhere a
 * backslash keeps the next character.
 * @param {string} text
 * @returns {{words: string[], problem: string, notes: string[]}} `problem` is empty where the text is complete; `notes`
 * tell which characters a shell would have treated in another way
 */
export function splitWords(text) {
  const words = [];
  const notes = new Set();
  let word = null;
  let quote = "";
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (quote) {
      if (c === quote) quote = "";
      else if (quote === '"' && c === "\\" && (text[i + 1] === '"' || text[i + 1] === "\\")) word += text[(i += 1)];
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      word ??= "";
    } else if (c === "\\") {
      if (i + 1 >= text.length)
        return {
          words,
          problem: "The backslash at the end escapes nothing; add a character or remove it.",
          notes: [...notes],
        };
      word = (word ?? "") + text[(i += 1)];
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      if (SHELL_ONLY.has(c))
        notes.add(`No shell is started: ${c} is passed to the program as it is, not taken as ${SHELL_ONLY.get(c)}.`);
      word = (word ?? "") + c;
    }
  }
  if (word !== null) words.push(word);
  const problem = quote ? `The quote ${quote} is not closed.` : "";
  return { words, problem, notes: [...notes] };
}

/**
 * Text that splits into exactly these words.
 * @param {string[]} words
 */
export function joinWords(words) {
  /** @param {string} word */
  const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  return words.map(quoted).join(" ");
}
