// One entry of the catalogue in full: facts, means, fields, texts, and what can be done with it.

import { withParams } from "../lib/api.js";
import { copyText, h } from "../lib/dom.js";
import { note, sentence } from "../lib/notice.js";
import { scriptText } from "../lib/script_text.js";

/** @import { DescribedField, WireAction, WireCode, WireEntry, WireMeans } from "../../../api.js" */

/**
 * @param {string} text
 * @param {string} what
 */
const copy = (text, what) => async () => {
  if (await copyText(text)) note(`Copied ${what}.`, { ms: 2000 });
};

/**
 * @param {WireMeans[]} means
 * @returns {HTMLElement|false}
 */
function meansList(means) {
  if (means.length === 0) return false;
  return h(
    "section",
    {},
    h("h3", { text: "How it can be traced" }),
    h(
      "ul",
      { class: "means" },
      ...means.map(({ id, purpose, works, why_not: why }) =>
        h(
          "li",
          { class: works ? "" : "quiet" },
          h(
            "span",
            { class: `state state-${works ? "available" : "missing_kernel_feature"}` },
            h("code", { text: id }),
          ),
          h(
            "span",
            {},
            h("span", { text: purpose }),
            why && h("span", { class: "means-why", text: sentence(`${works ? "" : "Not here: "}${why}`) }),
          ),
        ),
      ),
    ),
  );
}

/** @param {DescribedField[]} fields */
function fieldTable(fields) {
  if (fields.length === 0) return false;
  /** @param {DescribedField} field */
  const row = ({ name, type, kind, recordable, note: why }) =>
    h(
      "tr",
      { class: recordable ? "" : "quiet", title: why || null },
      h("td", {}, h("code", { text: name })),
      h("td", {}, h("code", { text: type })),
      h("td", { text: recordable ? kind : "not recordable" }),
    );
  return h(
    "section",
    {},
    h("h3", { text: `Fields (${fields.length})` }),
    h("div", { class: "scroll-x", tabindex: "0" }, h("table", { class: "list" }, h("tbody", {}, ...fields.map(row)))),
  );
}

/** @param {WireCode} code */
function text({ title, language, text: content }) {
  return h(
    "section",
    {},
    h(
      "div",
      { class: "row" },
      h("h3", { text: title }),
      h("button", { type: "button", class: "plain", text: "Copy", on: { click: copy(content, title.toLowerCase()) } }),
    ),
    language === "script" ? scriptText(content) : h("pre", { class: "script", tabindex: "0", text: content }),
  );
}

/**
 * The pieces that show an entry.
 * @param {WireEntry} entry
 * @param {() => void} close
 * @returns {import("../lib/dom.js").Child[]}
 */
export function entryView(entry, close) {
  const name = entry.shown ?? entry.name;
  const facts = [
    ...(entry.raw ? [{ label: "symbol", value: entry.raw }] : []),
    ...entry.facts.filter(({ label }) => label !== "symbol"),
  ];
  const [main, ...others] = entry.actions;
  /**
   * @param {WireAction} one
   * @param {boolean} primary
   */
  const action = ({ label, path, params }, primary) =>
    h("a", {
      class: primary ? "button primary" : "button",
      href: withParams(path, Object.fromEntries(params)),
      text: label,
    });
  return [
    h(
      "div",
      { class: "entry-head" },
      h("div", {}, h("p", { class: "quiet small", text: entry.title }), h("h2", { class: "mono", text: name })),
      h("button", { type: "button", class: "plain", on: { click: close } }, "Close ", h("kbd", { text: "Esc" })),
    ),
    h(
      "div",
      { class: "row entry-actions" },
      main && action(main, true),
      ...others.map((one) => action(one, false)),
      h("button", { type: "button", text: "Copy name", on: { click: copy(entry.raw ?? entry.name, "the name") } }),
    ),
    facts.length > 0 &&
      h(
        "dl",
        { class: "facts" },
        ...facts.flatMap(({ label, value }) => [h("dt", { text: label }), h("dd", { text: value })]),
      ),
    meansList(entry.means),
    fieldTable(entry.fields),
    ...entry.code.map(text),
  ];
}
