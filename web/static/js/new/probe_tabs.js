// The probes of the script that the builder writes: one of them is in the form, the others are a press away.

import { byId, h, put } from "../lib/dom.js";

/** @import { ProbeForm } from "../../../api.js" */

/** The most probes of one script. */
const MOST = 16;

export class ProbeTabs {
  /**
   * @param {object} parts
   * @param {(at: number) => void} parts.choose
   * @param {() => void} parts.add
   * @param {() => void} parts.remove takes the one in the form out
   */
  constructor(parts) {
    this.parts = parts;
    this.place = byId("build-probes");
  }

  /**
   * @param {readonly ProbeForm[]} forms
   * @param {number} at the number of the one in the form
   */
  show(forms, at) {
    const isOne = forms.length === 1;
    this.place.hidden = isOne && forms[0]?.sites.length === 0;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.key : undefined;
    put(
      this.place,
      ...(isOne ? [] : forms.map((form, number) => this.#tab(form, number, number === at))),
      h("button", {
        type: "button",
        class: "plain",
        "data-key": "add",
        disabled: forms.length >= MOST || forms.some(({ sites }) => sites.length === 0),
        text: "Add another probe",
        title: "Records at another probe site too, with values and an action of its own, in the same script",
        on: { click: () => this.parts.add() },
      }),
      !isOne &&
        h("button", {
          type: "button",
          class: "plain",
          "data-key": "remove",
          text: `Remove probe ${at + 1}`,
          on: { click: () => this.parts.remove() },
        }),
    );
    // What has the focus is made anew.
    const same = focused && this.place.querySelector(`[data-key="${focused}"]`);
    if (same instanceof HTMLElement) same.focus();
  }

  /**
   * @param {ProbeForm} form
   * @param {number} number
   * @param {boolean} on
   */
  #tab({ sites, until }, number, on) {
    const [first] = sites;
    const more = sites.length + (until?.sites.length ?? 0) - 1;
    return h(
      "button",
      {
        type: "button",
        class: "build-probe",
        "data-key": String(number),
        "aria-pressed": String(on),
        on: { click: () => this.parts.choose(number) },
      },
      `Probe ${number + 1} `,
      first ? h("code", { text: first }) : h("span", { class: "quiet", text: "no probe site yet" }),
      more > 0 && h("span", { class: "quiet", text: ` and ${more} more` }),
    );
  }
}
