// Where what begins at the first place of the builder ends: a choice of places that belong to it, one's own place, and the key
// that tells which end is of which begin.

import { byId, h, put } from "../lib/dom.js";
import { paired } from "./builder_model.js";
import { SiteFind } from "./site_find.js";

/** @import { Partner, ProbeForm } from "../../../api.js" */

export class PairChoice {
  /**
   * @param {object} parts
   * @param {() => ProbeForm} parts.form
   * @param {(form: ProbeForm, how?: {draws?: boolean}) => void} parts.change
   * @param {(why: string) => void} parts.say
   */
  constructor(parts) {
    this.parts = parts;
    const input = h("input", { type: "text", class: "mono", id: "build-end-site", placeholder: "another place" });
    const scope = h("span", {});
    byId("build-until").append(
      h(
        "div",
        { class: "field" },
        h("label", { for: "build-end-site", text: "Other probe site where it ends" }),
        h("div", { class: "row build-find" }, scope, input),
      ),
    );
    this.find = new SiteFind({
      input,
      scope,
      pick: (site) => this.#choose({ site, key: ["tid"], end_key: ["tid"], meaning: "" }),
      say: parts.say,
    });
  }

  /** @param {Partner|null} partner */
  #choose(partner) {
    this.parts.change(paired(this.parts.form(), partner), { draws: true });
  }

  /** @param {Partner[]} partners of the first place */
  show(partners) {
    const { until, sites } = this.parts.form();
    byId("build-until").hidden = sites.length === 0;
    const chosen = until?.sites.join(", ") ?? "";
    const known = partners.some(({ site }) => site === chosen);
    const own = until && !known ? { site: chosen, key: until.key, end_key: until.end_key, meaning: "" } : null;
    const place = byId("build-partners");
    const focused = place.contains(document.activeElement);
    put(
      place,
      this.#choice(null, until === null),
      ...partners.map((one) => this.#choice(one, one.site === chosen)),
      own && this.#choice(own, true),
    );
    if (focused) /** @type {HTMLElement|null} */ (place.querySelector("input:checked"))?.focus();
    this.#showKeys();
  }

  /**
   * @param {Partner|null} partner
   * @param {boolean} on
   */
  #choice(partner, on) {
    const radio = h("input", { type: "radio", name: "build-partner", on: { change: () => this.#choose(partner) } });
    radio.checked = on;
    return h(
      "label",
      { class: "check" },
      radio,
      partner ? h("code", { text: partner.site }) : "each hit is a row",
      partner?.meaning && h("span", { class: "quiet small", text: partner.meaning }),
    );
  }

  #showKeys() {
    const { until } = this.parts.form();
    const place = byId("build-pair");
    if (!until) put(place);
    else if (!place.contains(document.activeElement))
      put(
        place,
        h(
          "div",
          { class: "row build-keys" },
          h("span", { class: "quiet small", text: "An end belongs to the begin with the same" }),
          this.#key("key", "at its begin"),
          this.#key("end_key", "at its end"),
        ),
      );
  }

  /**
   * @param {"key"|"end_key"} which
   * @param {string} label
   */
  #key(which, label) {
    const input = h("input", {
      type: "text",
      class: "mono",
      size: "20",
      spellcheck: "false",
      on: {
        input: () => {
          const form = this.parts.form();
          const parts = input.value.split(",").map((part) => part.trim());
          if (form.until) this.parts.change({ ...form, until: { ...form.until, [which]: parts } });
        },
      },
    });
    input.value = this.parts.form().until?.[which].join(", ") ?? "";
    return h("label", { class: "small" }, `${label} `, input);
  }
}
