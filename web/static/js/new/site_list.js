// The places that are probed, with what is to be known of each: whether it can be, what a pattern stands for, how often it
// fires.

import { Latest, get, problemOf, send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { exact, plural } from "../lib/format.js";

/** @import { SiteFacts } from "../../../api.js" */

/** How long hits are counted, in milliseconds. */
const SAMPLE_MS = 200;

/**
 * How often something fired, in words.
 * @param {number} hits
 * @param {number} ns in which
 */
export function rateWords(hits, ns) {
  const ms = Math.round(ns / 1e6);
  if (hits === 0) return `no hits in ${ms} ms`;
  const each = ns > 0 ? (hits * 1e9) / ns : 0;
  return `${plural(hits, "hit")} in ${ms} ms, ${exact(Math.round(each))} per second`;
}

/**
 * What a pattern stands for, in words.
 * @param {Pick<SiteFacts, "count"|"left_out_count">} facts
 */
export function countWords({ count, left_out_count: left }) {
  if (count === null) return "";
  return `${plural(count, "probe site")}${left ? `; ${exact(left)} left out` : ""}`;
}

/** One place of the list. */
export class SiteItem {
  #latest = new Latest();
  /** @type {SiteFacts|null} */
  facts = null;

  /**
   * @param {string} site
   * @param {object} parts
   * @param {() => void} parts.remove
   * @param {(site: string) => void} parts.instead puts another place in its stead
   * @param {(facts: SiteFacts) => void} parts.known
   */
  constructor(site, parts) {
    this.site = site;
    this.parts = parts;
    this.words = h("span", { class: "quiet small", role: "status" });
    this.more = h("div", {});
    this.element = h(
      "li",
      { class: "build-site" },
      h(
        "div",
        { class: "row" },
        h("code", { text: site }),
        h("span", { class: "grow" }),
        h("button", {
          type: "button",
          class: "plain small",
          text: "How often?",
          "aria-label": `How often? Count hits of ${site}`,
          title: `Counts its hits for ${SAMPLE_MS} ms`,
          on: { click: () => this.#sample() },
        }),
        h("button", {
          type: "button",
          class: "plain small",
          text: "Remove",
          "aria-label": `Remove ${site}`,
          on: { click: parts.remove },
        }),
      ),
      this.words,
      this.more,
    );
    this.#look();
  }

  async #look() {
    try {
      const facts = await this.#latest.run((signal) => get("/api/builder/site", { site: this.site }, signal));
      if (!facts) return;
      this.facts = facts;
      this.#show(facts);
      this.parts.known(facts);
    } catch (error) {
      this.words.textContent = problemOf(error).why;
    }
  }

  /** @param {SiteFacts} facts */
  #show(facts) {
    this.words.textContent = facts.prototype || countWords(facts);
    put(
      this.more,
      facts.why_not &&
        h(
          "div",
          { class: "notice notice-stop" },
          h("p", { text: `It cannot be probed here: ${facts.why_not}.` }),
          facts.nearest.length > 0 && h("p", { text: "The nearest site that can be probed:" }),
          ...facts.nearest.map((site) =>
            h(
              "p",
              {},
              h("button", { type: "button", class: "mono", text: site, on: { click: () => this.parts.instead(site) } }),
            ),
          ),
        ),
      facts.left_out.length > 0 &&
        h(
          "details",
          { class: "small" },
          h("summary", { text: `Left out: ${exact(facts.left_out_count)}` }),
          h(
            "ul",
            {},
            ...facts.left_out.map(({ name, why }) => h("li", {}, h("code", { text: name }), `: ${why}`)),
            facts.left_out_count > facts.left_out.length &&
              h("li", { text: `and ${exact(facts.left_out_count - facts.left_out.length)} more` }),
          ),
        ),
    );
  }

  async #sample() {
    this.words.textContent = "Counting its hits …";
    try {
      const text = `${this.site} { @ = count(); }`;
      const { probes, duration_ns, reason } = await send(
        "POST",
        "/api/builder/try",
        {},
        { text, duration_ms: SAMPLE_MS },
      );
      const hits = probes.reduce((sum, probe) => sum + probe.hits, 0);
      this.words.textContent = `${rateWords(hits, duration_ns)}${reason ? `; ${reason}` : ""}`;
    } catch (error) {
      const { why, message } = problemOf(error);
      this.words.textContent = `Not counted: ${why || message}`;
    }
  }
}
