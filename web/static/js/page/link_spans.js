// Spans that a person defined are a part of the link of a view that shows them: who opens it where the capture does not have them,
// or not any more, computes them with one click.

import { send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { showError } from "../lib/notice.js";

/** @import { ComputedRule } from "../../../api.js" */
/** @typedef {import("./capture_context.js").CaptureContext} Context */

/** Between spans in the address; the text of a span is one line. */
const SEPARATOR = "\n";
/** As much as the address takes. */
const MOST_CHARS = 4096;
/** The parts of a view that can be of a span's stream. */
const SHOWING = ["stream", "picked", "hit", "opened"];

/**
 * The spans of a link, as people write them.
 * @param {string} spans
 */
export const spansOf = (spans) => [...new Set(spans.split(SEPARATOR).filter(Boolean))];

/**
 * What a span is called.
 * @param {string} text
 */
export const spanName = (text) => text.split(": begin")[0];

/**
 * The spans of a link with one more, or as they are if it does not fit.
 * @param {string} spans
 * @param {string} text
 */
export function withSpan(spans, text) {
  const all = [...new Set([...spansOf(spans), text])].join(SEPARATOR);
  return all.length > MOST_CHARS ? spans : all;
}

/**
 * The spans of a link that a capture does not have: with `other` where a span of this name is there that is defined otherwise.
 * @param {string} spans
 * @param {ComputedRule[]} rules
 * @returns {{text: string, name: string, other: boolean}[]}
 */
export function missingSpans(spans, rules) {
  const isThere = (/** @type {ComputedRule} */ { state }) => state !== "removed" && state !== "failed";
  const there = rules.filter(isThere);
  return spansOf(spans)
    .filter((text) => !there.some(({ span }) => span === text))
    .map((text) => {
      const name = spanName(text);
      return { text, name, other: there.some((rule) => rule.name === name) };
    });
}

/**
 * The spans of one's own that a view shows: in its table, what is picked or was found, the histogram that is open.
 * @param {{stream: number|null, picked: string, hit: string, opened: string}} view
 * @param {{rules: ComputedRule[], streams: {name: string}[]}} capture
 * @returns {string[]} their texts
 */
export function shownSpans({ stream, picked, hit, opened }, { rules, streams }) {
  const numbers = [stream, Number.parseInt(picked, 10), Number.parseInt(hit, 10)];
  return rules.flatMap((rule) => {
    const isShown = rule.streams.some(
      (number) => numbers.includes(number) || opened.startsWith(`${streams[number]?.name}/`),
    );
    return rule.span !== null && isShown ? [rule.span] : [];
  });
}

/**
 * What is said of spans that do not fit into the link.
 * @param {string[]} names
 */
export const noRoom = (names) =>
  `The link of this view cannot hold the ${names.length === 1 ? "definition of the span" : "definitions of the spans"} ` +
  `${names.map((name) => `“${name}”`).join(", ")} (it takes ${MOST_CHARS} characters): somebody who opens it where the ` +
  `capture does not have ${names.length === 1 ? "this span" : "these spans"} is not offered to compute ` +
  `${names.length === 1 ? "it" : "them"}.`;

/** Keeps the spans in the link, and offers those that the capture lacks. */
export class LinkSpans {
  #told = "";
  /**
   * Names of spans that are shown and do not fit into the link.
   * @type {string[]}
   */
  leftOut = [];

  /**
   * @param {Context} context
   * @param {HTMLElement} place where it says what is missing
   */
  constructor(context, place) {
    this.context = context;
    this.problem = h("div");
    this.list = h("div");
    place.append(this.list, this.problem);
    context.on("info", () => this.#show());
    context.state.on("change", ({ parts }) => {
      if (SHOWING.some((part) => parts.has(part))) this.#keep();
      if (parts.has("spans")) this.#show();
    });
    this.#keep();
    this.#show();
  }

  /** What the view shows goes into its link; what does not fit is told. */
  #keep() {
    const { view, info, state } = this.context;
    const shown = shownSpans(view, { rules: info.computed.rules, streams: info.streams });
    const spans = shown.reduce(withSpan, view.spans);
    this.leftOut = shown.filter((text) => !spansOf(spans).includes(text)).map(spanName);
    state.set({ spans });
    this.#show();
  }

  #show() {
    const { view, info } = this.context;
    const missing = missingSpans(view.spans, info.computed.rules);
    const { is_busy: isBusy } = info.computed;
    const told = JSON.stringify([missing, this.leftOut, isBusy, info.can_change, info.running]);
    if (told === this.#told) return;
    this.#told = told;
    put(
      this.list,
      this.leftOut.length > 0 &&
        h("p", {
          class: "notice",
          role: "status",
          text: noRoom(this.leftOut),
        }),
      ...missing.map(({ text, name, other }) =>
        h(
          "p",
          { class: "notice", role: "status" },
          h("span", { text: `This link shows the span “${name}”, which this capture does not have: ` }),
          h("span", { class: "mono", text }),
          h("span", { text: ". " }),
          this.#offer({ text, other, isBusy }),
          " ",
          h("button", { type: "button", text: "Leave it out", on: { click: () => this.#leave(text) } }),
        ),
      ),
    );
  }

  /** @param {{text: string, other: boolean, isBusy: boolean}} missing */
  #offer({ text, other, isBusy }) {
    const { running, can_change: canChange } = this.context.info;
    if (other) return "The capture has another span of this name; remove that one under Info first.";
    if (running) return "It can be computed when the capture has ended.";
    if (!canChange) return "Whoever made the capture, or an admin, can compute it.";
    if (isBusy) return "Streams are being computed.";
    return h("button", { type: "button", text: "Compute it", on: { click: () => void this.#compute(text) } });
  }

  /** @param {string} text */
  #leave(text) {
    const { state, view } = this.context;
    state.set({
      spans: spansOf(view.spans)
        .filter((one) => one !== text)
        .join(SEPARATOR),
    });
  }

  /** @param {string} text */
  async #compute(text) {
    try {
      put(this.problem);
      await send("POST", "/api/captures/{id}/computed", { id: this.context.id }, { span_text: text });
      await this.context.refresh();
    } catch (error) {
      showError(this.problem, error);
    }
  }
}
