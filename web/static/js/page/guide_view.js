// The guided start on the start page: a question at a time, and what this host offers for an answer. The answers are in the address.

import { get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { showError } from "../lib/notice.js";
import { GUIDE } from "./guide_tree.js";
import { guidePath, offersOf, walkGuide } from "./guide.js";

const PART = "ask";

/** The answers of the address. */
const pathNow = () => new URLSearchParams(location.search).get(PART) ?? "";

/** The guided start. */
export class GuideView {
  /** @type {import("./guide.js").GuideHost|null} */
  #host = null;

  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    addEventListener("popstate", () => this.#show());
    this.#show();
  }

  /**
   * Goes to another place, which can be gone back from.
   * @param {string} path
   */
  #go(path) {
    const params = new URLSearchParams(location.search);
    if (path) params.set(PART, path);
    else params.delete(PART);
    const query = params.toString();
    history.pushState(history.state, "", `${location.pathname}${query ? `?${query}` : ""}`);
    this.#show();
    // Who came by keyboard goes on from the new question.
    this.place.querySelector("h2")?.focus();
  }

  #show() {
    const { asked, now } = walkGuide(GUIDE, pathNow());
    put(
      this.place,
      asked.length > 0 && this.#trail(asked),
      h("h2", { id: "guide-title", tabindex: "-1", text: now.question ?? now.text }),
      now.choices ? this.#choices(guidePath(asked), now.choices) : this.#ways(now),
    );
  }

  /**
   * What was answered, each with the way back to it.
   * @param {ReturnType<typeof walkGuide>["asked"]} asked
   */
  #trail(asked) {
    const back = (/** @type {number} */ at) => ({ click: () => this.#go(guidePath(asked.slice(0, at))) });
    const step = (/** @type {typeof asked[number]} */ { question, answer }, /** @type {number} */ at) =>
      h(
        "li",
        {},
        h("button", {
          type: "button",
          class: "plain",
          "aria-label": `Change the answer to “${question.question}”: ${answer.text}`,
          text: answer.text,
          on: back(at),
        }),
      );
    return h("ol", { class: "guide-trail", "aria-label": "Your answers" }, ...asked.map(step));
  }

  /**
   * @param {string} before
   * @param {import("./guide_tree.js").Choice[]} choices
   */
  #choices(before, choices) {
    const one = (/** @type {import("./guide_tree.js").Choice} */ { id, text }) =>
      h(
        "li",
        {},
        h("button", { type: "button", text, on: { click: () => this.#go([before, id].filter(Boolean).join(".")) } }),
      );
    return h("ul", { class: "guide-choices" }, ...choices.map(one));
  }

  /** @param {import("./guide_tree.js").Choice} leaf */
  #ways(leaf) {
    if (!this.#host) {
      void this.#load();
      return h("p", { class: "quiet", role: "status", text: "Asking what this host can do…" });
    }
    const [first, ...others] = offersOf(leaf, this.#host);
    const way = (/** @type {import("./guide.js").Offer} */ { label, href, why, cost, missing }, isFirst = false) =>
      h(
        "li",
        { class: missing ? "guide-missing" : "" },
        h("a", { href, class: isFirst && !missing ? "button primary" : "", text: label }),
        h("p", { class: "small", text: why }),
        cost && !missing && h("p", { class: "quiet small", text: cost }),
        missing && h("p", { class: "small way-why", text: `Not possible here: ${missing}` }),
      );
    return h(
      "div",
      { role: "group", "aria-label": "What to record" },
      first
        ? h("ul", { class: "guide-ways" }, way(first, true), ...others.map((offer) => way(offer)))
        : h("p", { class: "empty", text: "Nothing is known for this answer." }),
    );
  }

  async #load() {
    try {
      const [{ items: recipes }, { items: tools }, { capabilities, agent, facts }] = await Promise.all([
        get("/api/recipes"),
        get("/api/tools"),
        get("/api/host"),
      ]);
      this.#host = {
        recipes,
        tools,
        capabilities,
        hasAgent: agent.state === "connected",
        release: facts.kernel_release,
      };
      this.#show();
    } catch (error) {
      showError(this.place, error, () => this.#show());
    }
  }
}
