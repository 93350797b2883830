// Streams that are computed from what a capture has recorded: which there are, what could not be told, and spans of one's own.

import { send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { bytes, exact } from "../lib/format.js";
import { note, showError } from "../lib/notice.js";
import { openedSlices } from "../view/timeline/range/range_text.js";
import { withSpan } from "./link_spans.js";
import { listTable } from "./list_table.js";

/** @import { ComputedRule, ComputedStreams, Stream } from "../../../api.js" */
/** @typedef {import("./capture_context.js").CaptureContext} Context */
/** @typedef {import("./list_table.js").Head} Head */

/** @type {Record<ComputedRule["state"], string>} */
const STATES = {
  following: "follows the recording",
  computing: "being computed",
  complete: "complete",
  failed: "failed",
  removed: "removed",
};

/**
 * How far a rule is, in words; empty where nothing is being computed.
 * @param {ComputedStreams} computed
 */
export function progressText({ is_busy: isBusy, progress }) {
  if (!isBusy) return "";
  if (!progress || progress.of === 0) return "Streams wait to be computed.";
  return `Streams are being computed: ${Math.floor((100 * progress.done) / progress.of)} %.`;
}

/**
 * What of a rule's streams could not be told: in a few words, and each part.
 * @param {ComputedRule} rule
 * @returns {{head: string, parts: string[]}}
 */
export function untoldText({ untold, untold_note: note }) {
  const parts = untold.map(({ count, words }) => `${exact(count)} ${words}`);
  const head = untold.some((one) => one.proves_loss) ? "events are missing" : "not all was known";
  if (note) parts.push(note);
  return { head: parts.length ? head : "nothing", parts };
}

/**
 * A span as the server takes it, from what the form has; or what is wrong with it, in words.
 * @param {Record<string, string>} form
 */
export function spanOf({
  name = "",
  begin = "",
  beginKey = "",
  beginIf = "",
  end = "",
  endKey = "",
  endIf = "",
  pairing = "nested",
}) {
  /** @param {string} text */
  const columns = (text) =>
    text
      .split(",")
      .map((column) => column.trim())
      .filter(Boolean);
  const keys = { begin: columns(beginKey), end: columns(endKey || beginKey) };
  if (!name.trim()) return { problem: "A span needs a name: its stream gets it." };
  if (keys.begin.length === 0)
    return { problem: "A span needs a key: the columns that are equal at its begin and its end." };
  /**
   * @param {string} stream
   * @param {string[]} key
   * @param {string} condition
   */
  const edge = (stream, key, condition) => ({
    stream,
    key,
    ...(condition.trim() ? { condition: condition.trim() } : {}),
  });
  return {
    span: { name: name.trim(), begin: edge(begin, keys.begin, beginIf), end: edge(end, keys.end, endIf), pairing },
  };
}

/**
 * The same, with its parts behind it.
 * @param {ComputedRule} rule
 */
function untoldCell(rule) {
  const { head, parts } = untoldText(rule);
  if (parts.length === 0) return head;
  return h("details", {}, h("summary", { text: head }), h("ul", {}, ...parts.map((text) => h("li", { text }))));
}

const NO_END_OF_FAULTS =
  "Page faults are moments here: the kernel has an event for their begin and none for their end. A script that enters and leaves the function handle_mm_fault measures most of it, where kernel functions can be probed.";

/**
 * Whether somebody could expect page faults among what is computed.
 * @param {Pick<Stream, "name">[]} streams
 */
export const hasFaults = (streams) => streams.some(({ name }) => name.startsWith("exceptions:page_fault_"));

/** The part of the Info tab that tells of computed streams. It keeps what is typed while the capture's facts are read anew. */
export class ComputedView {
  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.problem = h("div", {});
    this.form = this.#form();
    this.details = h(
      "details",
      {},
      h("summary", { text: "Add a span of your own" }),
      h("p", {
        class: "quiet prose",
        text: "A span lasts from a row to the next row with the same key, such as from a request to its answer. It becomes a stream with its duration.",
      }),
      this.form,
    );
  }

  /** What it shows now; nothing of a capture that has no such streams and can have none. */
  content() {
    const { computed, can_change: canChange, running } = this.context.info;
    const adds = canChange && !running;
    if (computed.rules.length === 0 && (running || (computed.possible.length === 0 && !adds))) return null;
    const progress = progressText(computed);
    const text = "Computed from what was recorded, which stays as it is. They can be removed and computed again.";
    return h(
      "section",
      { id: "info-computed", "aria-labelledby": "info-computed-title" },
      h("h2", { id: "info-computed-title", text: "Computed streams" }),
      h("p", { class: "quiet prose", text }),
      hasFaults(this.context.info.streams) &&
        h("p", { class: "quiet prose", id: "faults-without-end", text: NO_END_OF_FAULTS }),
      progress && h("p", { role: "status", text: progress }),
      this.problem,
      computed.rules.length > 0 && this.#table(computed.rules, canChange),
      adds && computed.possible.length > 0 && !computed.is_busy && this.#possible(computed.possible),
      adds && this.details,
    );
  }

  /**
   * @param {ComputedRule[]} rules
   * @param {boolean} canChange
   */
  #table(rules, canChange) {
    /** @type {Head[]} */
    const heads = [["Name"], ["State"], ["Rows", true], ["Size", true], ["Actions"], ["Not told"]];
    return listTable(
      heads,
      rules.map((rule) => this.#row(rule, canChange)),
    );
  }

  /**
   * @param {ComputedRule} rule
   * @param {boolean} canChange
   */
  #row(rule, canChange) {
    const losses = rule.untold.some((one) => one.proves_loss);
    const names = rule.streams.map((stream) => this.context.info.streams[stream]?.name ?? "").join(", ");
    const isThere = rule.state === "complete" || rule.state === "computing";
    const button = (/** @type {string} */ text, /** @type {() => void} */ click) =>
      h("button", { type: "button", class: "plain", text, on: { click } });
    const ends = canChange && !this.context.info.running;
    const { span } = rule;
    return h(
      "tr",
      {},
      h("td", { title: names, text: rule.name }),
      h("td", { text: rule.reason ? `${STATES[rule.state]}: ${rule.reason}` : STATES[rule.state] }),
      h("td", { class: "num", text: exact(rule.rows) }),
      h("td", { class: "num", text: bytes(rule.bytes) }),
      h(
        "td",
        {},
        h(
          "span",
          { class: "row" },
          this.#takesTime(rule) && button("Histogram", () => this.#histogram(rule)),
          isThere &&
            ends &&
            button(rule.state === "computing" ? "Cancel" : "Remove", () => this.#remove(rule.number, rule.name)),
          span !== null &&
            !isThere &&
            ends &&
            button("Compute again", () => this.#compute({ span_text: span }, rule.name)),
        ),
      ),
      h("td", { class: losses ? "loss told" : "told" }, rule.state === "complete" && untoldCell(rule)),
    );
  }

  /**
   * Whether a rule gave a stream of spans without a name column: all of it is one line of the panel of a range.
   * @param {ComputedRule} rule
   */
  #takesTime({ span, state, rows }) {
    return span !== null && state === "complete" && rows > 0;
  }

  /**
   * Shows how long the rows of a span took, over all of the capture.
   * @param {ComputedRule} rule
   */
  #histogram({ streams: [number], span }) {
    const { info, state, duration, view } = this.context;
    const name = info.streams[number]?.name ?? "";
    state.set({
      tab: "timeline",
      group: "tree",
      start: 0,
      end: Math.ceil(duration),
      picked: "",
      panel: "slices",
      over: "",
      ranked: "",
      opened: openedSlices(name, name),
      spans: span === null ? view.spans : withSpan(view.spans, span),
    });
  }

  /** @param {string[]} names */
  #possible(names) {
    const button = (/** @type {string} */ name) =>
      h("button", {
        type: "button",
        text: `Compute ${name}`,
        on: { click: () => this.#compute({ rule: name }, name) },
      });
    return h("p", { class: "row" }, ...names.map(button));
  }

  #form() {
    /**
     * @param {string} name
     * @param {string} label
     * @param {string} placeholder
     */
    const input = (name, label, placeholder) =>
      h(
        "label",
        {},
        h("span", { text: label }),
        h("input", { name, placeholder, autocomplete: "off", spellcheck: "false" }),
      );
    /**
     * @param {string} name
     * @param {string} label
     * @param {[value: string, text: string][]} options
     */
    const select = (name, label, options) =>
      h(
        "label",
        {},
        h("span", { text: label }),
        h("select", { name }, ...options.map(([value, text]) => h("option", { value, text }))),
      );
    /** @type {(stream: Stream) => boolean} */
    const isRecorded = (stream) => stream.columns.length > 0 && !stream.rule && stream.kind !== "map";
    const streams = this.context.info.streams
      .filter(isRecorded)
      .map(({ name }) => /** @type {[string, string]} */ ([name, name]));
    return h(
      "form",
      { class: "span-form", on: { submit: (event) => this.#add(event) } },
      input("name", "Name", "requests"),
      select("begin", "Begins with a row of", streams),
      input("beginKey", "Key: its columns", "tid"),
      input("beginIf", "If", "every row"),
      select("end", "Ends with a row of", streams),
      input("endKey", "Key: its columns", "as above"),
      input("endIf", "If", "every row"),
      select("pairing", "Of several open ones, an end belongs to", [
        ["nested", "the last: they are nested"],
        ["overlapping", "the first: as in a queue"],
        ["exclusive", "the last, and there is only one at a time"],
      ]),
      h("button", { type: "submit", text: "Compute" }),
    );
  }

  /** @param {Event} event */
  #add(event) {
    event.preventDefault();
    const data = /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(this.form)));
    const { span, problem } = spanOf(data);
    if (!span) {
      put(this.problem, h("p", { class: "notice notice-stop", role: "alert", text: problem }));
      return;
    }
    this.#compute({ span }, span.name);
  }

  /**
   * @param {object} wanted
   * @param {string} name
   */
  async #compute(wanted, name) {
    try {
      put(this.problem);
      await send("POST", "/api/captures/{id}/computed", { id: this.context.id }, wanted);
      note(`${name}: computed in the background.`);
      await this.context.refresh();
    } catch (error) {
      showError(this.problem, error);
    }
  }

  /**
   * @param {number} number of the rule
   * @param {string} name
   */
  async #remove(number, name) {
    try {
      put(this.problem);
      await send("DELETE", "/api/captures/{id}/computed/{number}", { id: this.context.id, number });
      note(`${name}: its streams were removed.`);
      await this.context.refresh();
    } catch (error) {
      showError(this.problem, error);
    }
  }
}
