// The reference of the probe language: examples that run, then every word of it.

import { get } from "../lib/api.js";
import { mayRecord } from "../lib/commands.js";
import { byId, h, inputOf, prose, put } from "../lib/dom.js";
import { showError, waitFor } from "../lib/notice.js";
import { editorLink } from "../kind/script.js";
import { scriptText } from "../lib/script_text.js";
import { keepInAddress } from "../lib/search_address.js";
import { startShell } from "./shell.js";

/** @import { Language, LanguageEntry, LanguageExample } from "../../../api.js" */

/** @type {LanguageEntry[]} */
let words = [];

/** @param {string} text */
const anchor = (text) => text.toLowerCase().replace(/\W+/g, "-");

/** @param {LanguageExample} one */
function example({ name, title, about, script }) {
  const open = mayRecord() && h("a", { class: "button", href: editorLink(script), text: "Open in the editor" });
  return h(
    "article",
    { class: "example", id: `example-${name}` },
    h("div", {}, h("h3", { text: title }), h("p", {}, ...prose(about)), open),
    scriptText(script),
  );
}

/**
 * @param {string} part
 * @param {string} title
 * @param {...HTMLElement} content
 */
function section(part, title, ...content) {
  return h("section", { id: anchor(`${part} ${title}`) }, h("h2", { text: title }), ...content);
}

function showWords() {
  const wanted = inputOf("word-filter").value.trim().toLowerCase();
  const fits = words.filter(({ signature, about }) => `${signature} ${about}`.toLowerCase().includes(wanted));
  const groups = Map.groupBy(fits, ({ group }) => group);
  /** @param {LanguageEntry[]} entries */
  const list = (entries) =>
    h(
      "dl",
      { class: "word-list" },
      ...entries.flatMap(({ signature, about }) => [
        h("dt", {}, h("code", { text: signature })),
        h("dd", {}, ...prose(about)),
      ]),
    );
  put(
    byId("words"),
    ...[...groups].map(([group, entries]) => section("words", group, list(entries))),
    fits.length === 0 && h("p", { class: "empty", text: "No match." }),
  );
}

/** @param {Language} answer */
function show({ examples, entries }) {
  words = entries;
  const groups = Map.groupBy(examples, ({ section: name }) => name);
  put(byId("examples"), ...[...groups].map(([title, items]) => section("examples", title, ...items.map(example))));
  /**
   * @param {string} part
   * @param {string[]} titles
   */
  const links = (part, titles) =>
    titles.map((title) => h("a", { href: `#${anchor(`${part} ${title}`)}`, text: title }));
  const kinds = [...new Set(entries.map(({ group }) => group))];
  put(
    byId("contents"),
    h("h2", { text: "Examples" }),
    ...links("examples", [...groups.keys()]),
    h("h2", { text: "Words" }),
    ...links("words", kinds),
  );
  showWords();
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

async function load() {
  try {
    show(await waitFor("Reading the reference", get("/api/language")));
  } catch (error) {
    showError(byId("words"), error, load);
  }
}

startShell();
keepInAddress(inputOf("word-filter"));
inputOf("word-filter").addEventListener("input", showWords);
load();
