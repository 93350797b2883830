// What all views of a capture have in common: a view is in sight or not, what it shows is still true or not, and what it
// asks the server for is awaited with words and a way to cancel. What goes wrong is told in one place: below the filter
// where that is wrong, else in the view, with a button to try again.

import { Latest } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { isFilterProblem, showError, waitFor } from "../lib/notice.js";

/** The base of the views. */
export class PanelView {
  #latest = new Latest();

  /**
   * @param {import("../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   * @param {string[]} [parts] of the address that it depends on: it is asked again when one changes
   */
  constructor(context, panel, parts = []) {
    this.context = context;
    this.panel = panel;
    this.visible = false;
    /** Whether what it shows is no longer what the address says or what is stored. */
    this.stale = true;
    /** Where errors are told, and why there is nothing to see. */
    this.problem = h("div");
    if (parts.length > 0) {
      context.state.on("change", ({ parts: others }) => {
        if (parts.some((part) => others.has(part))) this.changed(others);
      });
    }
  }

  /** Whether it shows only rows that match the filter. */
  get takesFilter() {
    return false;
  }

  /** The tab is in sight. */
  show() {
    this.visible = true;
    if (this.stale) this.load();
  }

  /** The tab is not in sight. */
  hide() {
    this.visible = false;
  }

  /** Shows what the address says. */
  load() {}

  /**
   * A part of the address that it depends on has changed.
   * @param {Set<string>} _parts that have
   */
  changed(_parts) {
    this.expire();
  }

  /** The capture has grown. */
  grown() {
    this.expire();
  }

  /** What it shows is no longer true: it is asked again at once or when it comes into sight. */
  expire() {
    this.stale = true;
    if (this.visible) this.load();
  }

  /**
   * Asks for something, in place of what was asked for before, and hands the answer to `shown`. The view is not stale from
   * now on.
   * @template T
   * @param {string} what is being done, in words
   * @param {(signal: AbortSignal) => Promise<T>} ask
   * @param {(answer: T) => void} shown
   * @param {() => void} [again] what *Try again* does
   */
  async ask(what, ask, shown, again = () => this.load()) {
    this.stale = false;
    try {
      const answer = await this.#latest.run((signal) => waitFor(what, ask(signal), () => this.cancel()));
      if (answer === undefined) return;
      this.answered();
      shown(answer);
    } catch (error) {
      this.failed(error, again);
    }
  }

  /** Gives up what was asked for. */
  cancel() {
    this.#latest.cancel();
  }

  /** There was an answer: nothing is wrong any more. */
  answered() {
    put(this.problem);
    if (this.takesFilter) this.context.filterIs(null);
  }

  /**
   * Tells what went wrong.
   * @param {unknown} error
   * @param {() => void} [again] what *Try again* does
   */
  failed(error, again = () => this.load()) {
    if (this.takesFilter && isFilterProblem(error, this.context.view.filter)) this.context.filterIs(error);
    else showError(this.problem, error, again);
  }

  /**
   * Says why there is nothing to see.
   * @param {string} text
   * @param {...import("../lib/dom.js").Child} more below it
   */
  empty(text, ...more) {
    put(this.problem, h("div", { class: "empty" }, h("p", { text }), ...more));
  }
}
