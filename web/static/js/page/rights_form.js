// A list of who may read and change captures, as a form: everybody, or only these people and groups.

import { h } from "../lib/dom.js";

/** @import { CaptureRight, GivenRight, GroupsElsewhere, RightHolder } from "../../../api.js" */

/** @typedef {{people: string[], groups: string[], elsewhere: GroupsElsewhere}} Known who can be named */

/** @type {[CaptureRight, string][]} */
const RIGHTS = [
  ["read", "may read"],
  ["change", "may read and change"],
];
const EVERYBODY = "everybody";
/** @type {[prefix: string, of: (name: string) => RightHolder][]} */
const PREFIXES = [
  ["group ", (group) => ({ group })],
  // Groups elsewhere are none of this console's, whatever they are called.
  ["proxy group ", (name) => ({ proxy_group: name })],
  ["provider group ", (name) => ({ oidc_group: name })],
];
const [GROUP, PROXY_GROUP, OIDC_GROUP] = PREFIXES.map(([prefix]) => prefix);

/**
 * Somebody as the field for who has it.
 * @param {RightHolder} holder
 */
export function holderText(holder) {
  if (typeof holder === "string") return EVERYBODY;
  if ("group" in holder) return GROUP + holder.group;
  if ("proxy_group" in holder) return PROXY_GROUP + holder.proxy_group;
  return "oidc_group" in holder ? OIDC_GROUP + holder.oidc_group : holder.person;
}

/**
 * The same the other way.
 * @param {string} text
 * @returns {RightHolder}
 */
export function holderOf(text) {
  const trimmed = text.trim();
  if (trimmed === EVERYBODY) return EVERYBODY;
  const found = PREFIXES.find(([prefix]) => trimmed.startsWith(prefix));
  return found ? found[1](trimmed.slice(found[0].length).trim()) : { person: trimmed };
}

/**
 * Who can be named, as the field has it.
 * @param {Known} known
 */
export function holderOptions({ people, groups, elsewhere: { proxy, oidc } }) {
  return [
    EVERYBODY,
    ...groups.map((name) => GROUP + name),
    ...(oidc ?? []).map((name) => OIDC_GROUP + name),
    ...(proxy ?? []).map((name) => PROXY_GROUP + name),
    ...people,
  ];
}

/**
 * What else can be written in the field than is offered, in words.
 * @param {GroupsElsewhere} elsewhere
 */
export function elsewhereWords({ proxy, oidc, provider }) {
  const of = [
    oidc && `“provider group NAME” is a group of ${provider}`,
    proxy && "“proxy group NAME” one of the proxy",
  ];
  const said = of.filter(Boolean).join(", ");
  return said && `${said}, spelt as there: whoever is in it by their login, not by a token.`;
}

/**
 * A list in words.
 * @param {GivenRight[]|null} list
 */
export function rightsWords(list) {
  if (list === null) return "everybody who is logged in";
  if (list.length === 0) return "only the owner and admins";
  return list.map(({ to, may }) => `${holderText(to)}${may === "change" ? " (also changes)" : ""}`).join(", ");
}

/** A form of a list. */
export class RightsForm {
  /**
   * @param {GivenRight[]|null} list
   * @param {Known} known
   * @param {string} unlimited what it is when there is no list
   */
  constructor(list, known, unlimited) {
    this.lines = h("div", { class: "rights-lines" });
    const choice = (/** @type {string} */ value, /** @type {boolean} */ checked) =>
      h("input", { type: "radio", name: "rights", value, checked, on: { change: () => this.#draw() } });
    this.all = choice("all", list === null);
    this.some = choice("some", list !== null);
    this.add = h("button", { type: "button", text: "Add somebody", on: { click: () => this.#addLine(null, true) } });
    const options = holderOptions(known);
    const more = elsewhereWords(known.elsewhere);
    this.element = h(
      "div",
      { class: "stack" },
      h("label", { class: "check" }, this.all, ` ${unlimited}`),
      h("label", { class: "check" }, this.some, " Only the owner, admins, and these:"),
      h("datalist", { id: "rights-known" }, ...options.map((value) => h("option", { value }))),
      this.lines,
      this.add,
      more && h("p", { class: "quiet small", text: more }),
    );
    (list ?? []).forEach((given) => this.#addLine(given, false));
    this.#draw();
  }

  #draw() {
    const isLimited = this.some.checked;
    this.lines.hidden = !isLimited;
    this.add.hidden = !isLimited;
  }

  /**
   * @param {GivenRight|null} given
   * @param {boolean} isNew
   */
  #addLine(given, isNew) {
    const who = h("input", {
      type: "text",
      list: "rights-known",
      maxlength: "280",
      placeholder: "name, group NAME, or everybody",
      "aria-label": "Who",
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: "false",
    });
    who.value = given ? holderText(given.to) : "";
    const may = h(
      "select",
      { "aria-label": "What they may do" },
      ...RIGHTS.map(([value, text]) => h("option", { value, text, selected: value === given?.may })),
    );
    const remove = h("button", { type: "button", class: "plain", text: "Remove", "aria-label": "Remove this line" });
    const line = h("div", { class: "row" }, who, may, remove);
    remove.addEventListener("click", () => {
      line.remove();
      this.add.focus();
    });
    this.lines.append(line);
    if (isNew) who.focus();
  }

  /** What is to be; lines without a name are none. @returns {GivenRight[]|null} */
  read() {
    if (this.all.checked) return null;
    /** @type {GivenRight[]} */
    const list = [];
    for (const line of this.lines.children) {
      const [who, may] = [line.querySelector("input"), line.querySelector("select")];
      if (!who || !may || who.value.trim() === "") continue;
      list.push({ to: holderOf(who.value), may: may.value === "change" ? "change" : "read" });
    }
    return list;
  }
}
