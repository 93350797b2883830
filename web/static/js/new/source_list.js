// The sources of a capture on the form: one is edited at a time, the others wait in a list.

import { kindNamed, kindOf } from "../kind/table.js";
import { byId, h, put } from "../lib/dom.js";

/** @import { Sources } from "../lib/spec.js" */
/** @typedef {Sources[number]} Source */

/** The most sources of one capture. */
const MOST = 16;

/**
 * An id that none of the others has: the wanted one, or that with a number behind it.
 * @param {string} wanted
 * @param {string[]} taken
 */
export function freeId(wanted, taken) {
  if (!taken.includes(wanted)) return wanted;
  let number = 2;
  while (taken.includes(`${wanted}-${number}`)) number += 1;
  return `${wanted}-${number}`;
}

/**
 * All sources in their order, with ids of their own.
 * @param {Source[]} others that are not edited
 * @param {number} at where the edited one stands among them
 * @param {Source} edited
 * @returns {Source[]}
 */
export function together(others, at, edited) {
  const taken = others.map(({ id }) => id);
  return others.toSpliced(at, 0, { ...edited, id: freeId(edited.id, taken) });
}

/** The list above the form. */
export class SourceList {
  /**
   * @param {object} form
   * @param {() => {source: Source, problems: string[]}} form.read what the form has now
   * @param {() => {id: string, method: string}} form.called what that is called, and its kind
   * @param {(source: Source|null) => void} form.show puts a source into the form; null for a new one
   * @param {(problems: string[]) => void} form.refuse says what must be mended before another source is shown
   */
  constructor(form) {
    this.form = form;
    /** @type {Source[]} */
    this.others = [];
    this.at = 0;
    this.place = byId("sources");
    byId("add-source").addEventListener("click", () => this.#turnTo(null));
    this.draw();
  }

  /**
   * Begins with these sources, of which the first is edited.
   * @param {Source[]} sources
   */
  begin(sources) {
    this.others = sources.slice(1);
    this.at = 0;
    this.draw();
  }

  /**
   * All sources, with what the form has now.
   * @param {Source} edited
   */
  all(edited) {
    return together(this.others, this.at, edited);
  }

  /**
   * Keeps what the form has, and shows another source or a new one.
   * @param {number|null} index of it among all; null for a new one
   */
  #turnTo(index) {
    const { source, problems } = this.form.read();
    if (problems.length) return this.form.refuse(problems);
    const all = this.all(source);
    this.at = index ?? all.length;
    this.others = all.filter((_one, i) => i !== this.at);
    this.form.show(all[this.at] ?? null);
    this.draw();
  }

  /** @param {number} index of a source that is not edited */
  #remove(index) {
    this.others.splice(index < this.at ? index : index - 1, 1);
    if (index < this.at) this.at -= 1;
    this.draw();
    byId("add-source").focus();
  }

  /** Leaves the edited source out, and shows its neighbour. */
  #removeEdited() {
    const at = Math.min(this.at, this.others.length - 1);
    const [next] = this.others.splice(at, 1);
    this.at = at;
    this.form.show(next);
    this.draw();
  }

  draw() {
    const count = this.others.length + 1;
    const [called, ids] = [this.form.called(), this.others.map(({ id }) => id)];
    this.place.hidden = count < 2;
    byId("add-source", HTMLButtonElement).disabled = count >= MOST;
    byId("source-optional-line").hidden = count < 2;
    const before = this.others.slice(0, this.at).map((source, i) => this.#other(source, i));
    const behind = this.others.slice(this.at).map((source, i) => this.#other(source, this.at + 1 + i));
    put(
      this.place,
      ...before,
      h(
        "div",
        { class: "source edited", "aria-current": "true" },
        h("b", { text: freeId(called.id, ids) }),
        h("span", { text: kindNamed(called.method)?.title ?? "" }),
        h("button", {
          type: "button",
          class: "plain",
          "aria-label": "Leave the source below out",
          title: "Leave it out",
          text: "×",
          on: { click: () => this.#removeEdited() },
        }),
      ),
      ...behind,
    );
  }

  /**
   * @param {Source} source
   * @param {number} index among all
   */
  #other(source, index) {
    const kind = kindOf(source.method)?.kind.title ?? "";
    const optional = source.required === false ? ", if possible" : "";
    return h(
      "div",
      { class: "source" },
      h(
        "button",
        { type: "button", class: "plain", title: `Edit ${source.id}`, on: { click: () => this.#turnTo(index) } },
        h("b", { text: source.id }),
        h("span", { class: "quiet", text: `${kind}${optional}` }),
      ),
      h("button", {
        type: "button",
        class: "plain",
        "aria-label": `Leave ${source.id} out`,
        title: "Leave it out",
        text: "×",
        on: { click: () => this.#remove(index) },
      }),
    );
  }
}
