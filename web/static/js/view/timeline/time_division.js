// How the timeline divides time: without its long empty parts, or with two ranges side by side. It is in the address.

import { Latest, get } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { duration, moment, plural } from "../../lib/format.js";
import { noteError } from "../../lib/notice.js";
import { TimeFold, emptyParts } from "../../lib/time_fold.js";

/** Bins that are looked at for empty time. */
const BINS = 2000;

/** The choices, and what follows from them. */
export class TimeDivision {
  #latest = new Latest();

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {{show: (start: number, end: number) => void, changed: () => void}} parts
   */
  constructor(context, parts) {
    this.context = context;
    this.parts = parts;
    /** @type {TimeFold|null} */
    this.fold = null;
    /**
     * The first of two ranges, until the second is chosen.
     * @type {{start: number, end: number}|null}
     */
    this.first = null;
    this.foldButton = h("button", { type: "button", text: "Fold empty time", on: { click: () => this.turnFold() } });
    this.besideButton = h("button", { type: "button", on: { click: () => this.putBeside() } });
    this.words = h("span", { class: "quiet" });
    this.element = h("span", { class: "time-division" }, this.foldButton, this.besideButton);
    void this.#load();
    this.#tell();
  }

  /** What is folded, and how much later what stands beside begins. Two ranges beside each other are not folded. */
  get now() {
    const { beside, fold } = this.context.view;
    return { fold: fold && beside === null ? this.fold : null, beside };
  }

  /** Whether time is not one line. */
  get isDivided() {
    const { fold, beside } = this.now;
    return beside !== null || (fold !== null && fold.gaps.length > 0);
  }

  /** @returns {{start: number, end: number}|null} what is selected */
  get #selection() {
    const { start, end } = this.context.range;
    return start === null || end === null ? null : { start, end };
  }

  /** Whether a range can be put beside another one, or two are. */
  get canPut() {
    return this.context.view.beside !== null || this.#selection !== null;
  }

  /** Folds, or unfolds. */
  turnFold() {
    this.context.state.set({ fold: !this.context.view.fold, beside: null });
  }

  /** Keeps the selected range as the first, puts the selected one beside that, or shows one alone again. */
  putBeside() {
    const selection = this.#selection;
    if (this.context.view.beside !== null) this.context.state.set({ beside: null });
    else if (!selection) return;
    else if (!this.first) {
      this.first = selection;
      this.context.select(null);
    } else {
      const { start, end } = this.first;
      this.first = null;
      this.context.select(null);
      this.context.state.set({ beside: Math.round(selection.start - start), fold: false });
      this.parts.show(start, start + Math.max(end - start, selection.end - selection.start));
    }
    this.#tell();
  }

  /**
   * Follows the address.
   * @param {Set<string>} changed parts of it
   */
  follow(changed) {
    if (changed.has("filter")) this.fold = null;
    if (["fold", "filter"].some((part) => changed.has(part))) void this.#load();
    if (["fold", "beside", "start", "end", "from", "to"].some((part) => changed.has(part))) this.#tell();
    if (["fold", "beside"].some((part) => changed.has(part))) this.parts.changed();
  }

  /** Looks for empty time, once it is wanted. */
  async #load() {
    const { context } = this;
    if (!context.view.fold || this.fold) return;
    try {
      const query = { id: context.id, bins: BINS, filter: context.view.filter };
      const rate = await this.#latest.run((signal) => get("/api/captures/{id}/rate", query, signal));
      if (!rate) return;
      const counts = new Float64Array(rate.bins);
      for (const stream of rate.streams) stream.counts.forEach((count, i) => (counts[i] += count));
      this.fold = new TimeFold(emptyParts(counts, rate));
    } catch (error) {
      noteError(error);
    }
    this.#tell();
    this.parts.changed();
  }

  #tell() {
    const { fold, beside } = this.context.view;
    this.foldButton.setAttribute("aria-pressed", String(fold));
    this.foldButton.hidden = beside !== null;
    this.besideButton.textContent =
      beside !== null ? "One range alone" : this.first ? "Put this range beside the first" : "Put a range beside…";
    this.besideButton.disabled = !this.canPut;
    this.words.textContent = this.#wordsNow();
  }

  #wordsNow() {
    const { fold, beside, from } = this.context.view;
    const queries = this.context.view.tracks ? "; tracks of queries are not shown meanwhile" : "";
    if (beside !== null)
      return `from ${moment(from ?? 0)} s and from ${moment((from ?? 0) + beside)} s, aligned at their starts${queries}`;
    if (this.first)
      return `The first range is ${moment(this.first.start)} to ${moment(this.first.end)} s; select the second`;
    if (!fold || !this.fold) return "";
    const { gaps } = this.fold;
    const sum = gaps.reduce((all, { start, end }) => all + end - start, 0);
    return gaps.length > 0
      ? `${duration(sum)} without rows folded, in ${plural(gaps.length, "part")}${queries}`
      : "There is no long time without rows to fold";
  }
}
