// The text of a page that is saved as a file: markup, styles, one classic script, and what the server had answered. Pure.

import { SAVED_DATA } from "../lib/api.js";

/** @import { SavedPage } from "./saved_answers.js" */

/**
 * The joined modules of a page as one classic script. They have the form that the build gives them (`build/bundle.rs`): each is a
 * constant with `$` before its name.
 * @param {{name: string, text: string}[]} files what others need first, the page itself last
 */
export function classicScript(files) {
  const names = new Set(files.map(({ name }) => name));
  const joined = files.map(({ text }) =>
    text
      .split("\n")
      .filter((line) => !/^import .* from ["]\.\/[^"]+";$/.test(line) && !/^export (\{|const \{)/.test(line))
      .join("\n")
      .replaceAll(/await import\("\.\/([\w.]+)\.js"\)/g, (_all, name) =>
        names.has(`${name}.js`)
          ? `await $${name}`
          : `await Promise.reject(new Error("A file does not have this part"))`,
      ),
  );
  return `"use strict";\n(() => {\n${joined.join("\n")}\n})();\n`;
}

/**
 * The names of the files that a joined file loads at once, and of those that it loads later.
 * @param {string} text
 */
export function filesOf(text) {
  const all = (/** @type {RegExp} */ pattern) => [...text.matchAll(pattern)].map(([, name]) => name);
  return { now: all(/^import .* from ["]\.\/([^"]+)";$/gm), later: all(/await import\("\.\/([\w.]+)"\)/g) };
}

/**
 * Text for within a `script` element, which ends at no text but its own end.
 * @param {string} script
 */
function withinScript(script) {
  return script.replaceAll(/<(?=\/script|!--|script)/gi, "\\x3C");
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/**
 * The head of a file, which loads and sends nothing.
 * @param {object} parts
 * @param {string} parts.title
 * @param {string} parts.nonce what only this file's own script and styles have
 * @param {string} parts.styles
 * @param {boolean} parts.hasScript
 */
function fileHead({ title, nonce, styles, hasScript }) {
  const policy = [
    "default-src 'none'",
    hasScript && `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    hasScript ? "img-src data: blob:" : "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.filter(Boolean).join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)} · Bathyscope</title>
<style nonce="${nonce}">
${styles}
</style>
</head>`;
}

/**
 * A file that only shows what is in it.
 * @param {object} parts
 * @param {string} parts.title
 * @param {string} parts.nonce
 * @param {string} parts.styles
 * @param {string} parts.body markup that a browser wrote of elements
 */
export function stillHtml({ title, nonce, styles, body }) {
  return `${fileHead({ title, nonce, styles, hasScript: false })}
<body class="shared saved" data-shared data-record="false" data-role="">
<main id="main" tabindex="-1">
${body}
</main>
</body>
</html>
`;
}

/**
 * The file of a capture's page.
 * @param {object} parts
 * @param {string} parts.title
 * @param {string} parts.nonce what only this file's own script and styles have
 * @param {string} parts.styles
 * @param {string} parts.script
 * @param {string[]} parts.body markup of the page's parts, as the server sends it
 * @param {SavedPage} parts.page
 */
export function savedHtml({ title, nonce, styles, script, body, page }) {
  const data = JSON.stringify(page).replaceAll("<", "\\u003c");
  return `${fileHead({ title, nonce, styles, hasScript: true })}
<body class="shared saved" data-shared data-record="false" data-role="">
<main id="main" tabindex="-1">
<noscript><p class="notice notice-stop">This file needs JavaScript in the browser.</p></noscript>
<div class="share-line" id="share-line" role="status"></div>
${body.join("\n")}
</main>
<script type="application/json" id="${SAVED_DATA}">${data}</script>
<script nonce="${nonce}">
${withinScript(script)}
</script>
</body>
</html>
`;
}
