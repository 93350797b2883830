// The Output tab: what a script printed, as text.

import { Latest, get } from "./api.js";
import { h, put } from "./dom.js";
import { exact, plural } from "./format.js";
import { showError, waitFor } from "./notice.js";

const PAGE = 1000;

/** The tab. */
export class OutputView {
  #latest = new Latest();

  /**
   * @param {import("./capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    this.context = context;
    this.visible = false;
    this.stale = true;
    this.from = null;
    this.said = h("span", { class: "quiet", role: "status" });
    this.moves = h("div", { class: "row" });
    this.copy = h("button", { type: "button", text: "Copy", title: "Copies the lines below", on: { click: () => navigator.clipboard?.writeText(this.text.textContent) } });
    this.text = h("pre", { class: "script-output", tabindex: "0", "aria-label": "Output" });
    this.problem = h("div");
    put(panel, h("div", { class: "panel-bar" }, this.said, h("span", { class: "grow" }), this.moves, this.copy), this.problem, this.text);
  }

  /** The tab is in sight. */
  show() {
    this.visible = true;
    if (this.stale) this.#load();
  }

  /** The tab is not in sight. */
  hide() {
    this.visible = false;
  }

  /** There may be more. */
  grown() {
    this.stale = true;
    if (this.visible && this.from === null) this.#load();
  }

  async #load() {
    this.stale = false;
    const atEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 4;
    try {
      const answer = await this.#latest.run((signal) => waitFor("Reading the output", get(`${this.context.path}/text`, { offset: this.from, limit: PAGE }, signal), () => this.#latest.cancel()));
      if (!answer) return;
      put(this.problem);
      this.#show(answer);
      // Whoever reads further up is left where they are.
      if (this.context.info.running && atEnd) this.text.scrollTop = this.text.scrollHeight;
    } catch (error) {
      showError(this.problem, error, () => this.#load());
    }
  }

  #show({ lines, total, offset }) {
    put(this.text, ...lines.map((line) => (line.to === "out" ? `${line.text}\n` : h("span", { class: line.to === "error" ? "stop" : "loss", text: `${line.text}\n` }))));
    if (total === 0) put(this.problem, h("p", { class: "empty", text: "The script has printed nothing. What it keeps in maps is under Maps." }));
    this.copy.hidden = total === 0;
    this.said.textContent = total > lines.length ? `Lines ${exact(offset + 1)} to ${exact(offset + lines.length)} of ${exact(total)}` : plural(total, "line");
    const go = (text, from, is) => is && h("button", { type: "button", text, on: { click: () => { this.from = from; this.text.scrollTop = 0; this.#load(); } } });
    put(this.moves, go("First", 0, offset > 0), go("Earlier", Math.max(0, offset - PAGE), offset > 0), go("Later", offset + PAGE, offset + lines.length < total), go("Last", null, offset + lines.length < total));
  }
}
