// The Output tab: what a script printed, as text, in order of time.

import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { duration, exact, plural } from "../../lib/format.js";
import { PanelView } from "../panel_view.js";

/** @import { PrintedLine, PrintedText } from "../../../../api.js" */

/** Lines that are asked for at once, and the most that are kept on the page. */
const PAGE = 1000;
const MOST = 20000;

/** The tab. */
export class OutputView extends PanelView {
  /** Where the server goes on. */
  #next;
  #lines = 0;
  /** Line breaks of what is shown, and whether text follows the last one. */
  #breaks = 0;
  #isOpen = false;

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, ["start", "end"]);
    this.#next = this.#begin;
    this.said = h("span", { class: "quiet", role: "status" });
    this.copy = h("button", {
      type: "button",
      text: "Copy",
      title: "Copies the lines below",
      hidden: true,
      on: { click: () => navigator.clipboard?.writeText(this.text.textContent) },
    });
    this.more = h("button", { type: "button", text: "Show more", hidden: true, on: { click: () => this.load() } });
    this.text = h("pre", { class: "script-output", tabindex: "0", "aria-label": "Output" });
    put(
      panel,
      h("div", { class: "panel-bar" }, this.said, h("span", { class: "grow" }), this.more, this.copy),
      this.problem,
      this.text,
    );
  }

  get #begin() {
    return { time: this.context.range.start ?? 0, skip: 0 };
  }

  /** Another range: what was read is of the one before. */
  changed() {
    this.cancel();
    this.#next = this.#begin;
    this.#lines = 0;
    this.#breaks = 0;
    this.#isOpen = false;
    put(this.text);
    this.expire();
  }

  /** There may be more. */
  grown() {
    if (this.#lines < MOST) this.expire();
  }

  /** Reads on from where it is. */
  load() {
    const atEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 4;
    return this.ask(
      "Reading the output",
      (signal) => get("/api/captures/{id}/text", { id: this.context.id, ...this.#next, limit: PAGE }, signal),
      (answer) => {
        this.#add(answer);
        // Whoever reads further up is left where they are.
        if (this.context.info.running && atEnd) this.text.scrollTop = this.text.scrollHeight;
      },
    );
  }

  /** @param {PrintedText} answer */
  #add({ lines: read, next: further }) {
    const { end } = this.context.range;
    const lines = end === null ? read : read.filter(({ time }) => time < end);
    const next = lines.length < read.length ? null : further;
    this.text.append(...lines.map((line) => this.#line(line)));
    this.#lines += lines.length;
    this.#breaks += lines.reduce((sum, { text }) => sum + (text.match(/\n/g)?.length ?? 0), 0);
    this.#isOpen = lines.at(-1)?.text.endsWith("\n") === false || (lines.length === 0 && this.#isOpen);
    this.#next = next ?? this.#after(lines);
    this.more.hidden = !next;
    this.copy.hidden = this.#lines === 0;
    const lineCount = plural(this.#breaks + (this.#isOpen ? 1 : 0), "line");
    this.said.textContent = this.more.hidden ? lineCount : `The first ${lineCount}`;
    if (this.#lines === 0)
      this.empty(
        this.context.range.start === null
          ? `The script has printed nothing.${this.context.hasMaps ? " What it keeps in maps is under Maps." : ""}`
          : "The script printed nothing in the selected range.",
      );
  }

  /**
   * At the end of what there is: after the last piece, of which several can have the same time.
   * @param {PrintedLine[]} lines
   */
  #after(lines) {
    const time = lines.at(-1)?.time;
    if (time === undefined) return this.#next;
    const same = lines.filter((line) => line.time === time).length;
    return { time, skip: same + (time === this.#next.time ? this.#next.skip : 0) };
  }

  /** @param {PrintedLine} line */
  #line({ time, stream, text, snapshot, left_out }) {
    const said = h("span", { title: `at ${duration(time)}`, text });
    if (snapshot === undefined) return said;
    const name = this.context.info.streams[stream]?.name ?? "";
    const open = () => this.context.state.set({ tab: "maps", map: stream, snapshot, show: "", key: "" });
    const more = left_out ? `, with ${exact(left_out)} rows more` : "";
    const link = h("button", {
      type: "button",
      class: "plain",
      title: `at ${duration(time)}`,
      text: `${name} as a chart${more}`,
      on: { click: open },
    });
    return h("span", {}, said, link, "\n");
  }
}
