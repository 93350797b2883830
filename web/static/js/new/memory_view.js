// Memory that a trial has read, byte by byte: a click on bytes offers what they may be, and records that.

import { h, put } from "../lib/dom.js";
import { duration, exact, plural } from "../lib/format.js";
import { LINE, bytesOf, digitsOf, dumpLines, fieldsAt, letterOf, sameBytes } from "./memory_model.js";

/** @import { TrialBytes } from "../../../api.js" */
/** @import { Ticked } from "./memory_model.js" */
/** @typedef {{bytes: HTMLElement[], letters: HTMLElement[]}} Cells */

/** What one value was at the first hits. */
export class MemoryView {
  #hit = 0;
  /** The byte that is chosen, and the last of those that are. */
  #chosen = { from: 0, to: 0 };
  /** @type {Cells} */
  #cells = { bytes: [], letters: [] };

  /**
   * @param {TrialBytes} of
   * @param {object} parts
   * @param {string} parts.base where the memory begins, as an expression; empty if the form does not say it
   * @param {(value: Ticked) => void} parts.record
   */
  constructor(of, parts) {
    this.of = of;
    this.parts = parts;
    this.dumps = of.rows.map(({ hex }) => bytesOf(hex));
    this.same = sameBytes(this.dumps);
    this.grid = h("div", { class: "memory-dump mono" });
    this.offers = h("div", { class: "row memory-fields", role: "status" });
    this.hits = h("div", { class: "row" });
    this.element = h(
      "section",
      { class: "memory", "aria-label": `Memory of ${of.name}` },
      h("h3", { class: "small" }, "Memory at ", h("code", { text: parts.base || of.name })),
      this.hits,
      this.grid,
      this.offers,
    );
    this.grid.addEventListener("keydown", (event) => this.#key(event));
    this.#show();
  }

  get #bytes() {
    return this.dumps[this.#hit] ?? new Uint8Array();
  }

  #show() {
    const row = this.of.rows[this.#hit];
    /** @param {string} text @param {number} step */
    const other = (text, step) =>
      h("button", {
        type: "button",
        class: "plain small",
        text,
        disabled: !this.of.rows[this.#hit + step],
        on: {
          click: () => {
            this.#hit += step;
            this.#show();
          },
        },
      });
    put(
      this.hits,
      h("span", {
        class: "quiet small",
        text: row
          ? `Hit ${this.#hit + 1} of the first ${plural(this.of.rows.length, "hit")}: after ${duration(row.time)}, pid ${row.pid}`
          : "There was no hit.",
      }),
      this.of.rows.length > 1 && other("Previous hit", -1),
      this.of.rows.length > 1 && other("Next hit", 1),
    );
    const lines = dumpLines(this.#bytes);
    this.#cells = { bytes: [], letters: [] };
    put(this.grid, ...lines.map((line) => this.#line(line)));
    if (this.#bytes.length === 0)
      put(this.grid, h("p", { class: "quiet small", text: "Nothing could be read there." }));
    this.#choose(Math.min(this.#chosen.from, Math.max(0, this.#bytes.length - 1)));
  }

  /** @param {{at: number, bytes: Uint8Array}} line */
  #line({ at, bytes }) {
    const cells = Array.from(bytes, (byte, index) => this.#cell(byte, at + index));
    const letters = Array.from(bytes, (byte) => h("span", { text: letterOf(byte) }));
    this.#cells.bytes.push(...cells);
    this.#cells.letters.push(...letters);
    return h(
      "div",
      { class: "memory-line" },
      h("span", { class: "quiet memory-at", text: `+${at}` }),
      h("span", { class: "memory-bytes" }, ...cells),
      h("span", { class: "memory-text", "aria-hidden": "true" }, ...letters),
    );
  }

  /**
   * @param {number} byte
   * @param {number} at
   */
  #cell(byte, at) {
    const varies = this.same[at] === false;
    return h("button", {
      type: "button",
      class: varies ? "plain memory-byte varies" : "plain memory-byte",
      tabindex: "-1",
      title: varies ? "It differs between the hits" : null,
      "aria-label": `Byte ${at}: ${digitsOf(byte)}${varies ? ", which differs between the hits" : ""}`,
      text: digitsOf(byte),
      on: {
        click: (event) => {
          // A range that was drawn is chosen already.
          if (event.shiftKey) this.#choose(this.#chosen.from, at);
          else if (this.#chosen.from === this.#chosen.to) this.#choose(at);
        },
        pointerdown: (event) => {
          if (event.shiftKey) return;
          // The first byte that is touched would get all that follows.
          if (event.target instanceof Element) event.target.releasePointerCapture(event.pointerId);
          this.#choose(at);
        },
        pointerenter: (event) => {
          if (event.buttons & 1) this.#choose(this.#chosen.from, at);
        },
      },
    });
  }

  /**
   * @param {number} from
   * @param {number} [to]
   */
  #choose(from, to = from) {
    this.#chosen = { from, to };
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    for (const cells of [this.#cells.bytes, this.#cells.letters])
      cells.forEach((cell, at) => cell.classList.toggle("is-chosen", at >= first && at <= last));
    this.#cells.bytes.forEach((cell, at) => {
      cell.setAttribute("tabindex", at === to ? "0" : "-1");
      cell.setAttribute("aria-pressed", String(at >= first && at <= last));
    });
    this.#offer(first, last - first + 1);
  }

  /**
   * What the chosen bytes may be.
   * @param {number} at
   * @param {number} size
   */
  #offer(at, size) {
    if (!this.parts.base || this.#bytes.length === 0) {
      put(
        this.offers,
        this.#bytes.length > 0 &&
          h("span", {
            class: "quiet small",
            text: "The form does not say where this memory is, so its bytes are added by hand.",
          }),
      );
      return;
    }
    const fields = fieldsAt(this.parts.base, this.#bytes, at);
    // Of a range those of its size, of one byte all that begin there.
    const fitting = size > 1 ? fields.filter((field) => field.bytes === size || field.value.format === "text") : fields;
    put(
      this.offers,
      h("span", {
        class: "small",
        text:
          size > 1 ? `Bytes ${exact(at)} to ${exact(at + size - 1)}, record as:` : `From byte ${exact(at)}, record:`,
      }),
      ...fitting.map((field) =>
        h("button", {
          type: "button",
          class: "small mono",
          text: field.label,
          title: field.value.expr,
          on: { click: () => this.parts.record(field.value) },
        }),
      ),
      fitting.length === 0 && h("span", { class: "quiet small", text: "a number has 1, 2, 4 or 8 bytes" }),
    );
  }

  /**
   * Arrow keys go from byte to byte; with Shift they choose more.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -LINE, ArrowDown: LINE }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const to = Math.min(Math.max(this.#chosen.to + step, 0), this.#bytes.length - 1);
    this.#choose(event.shiftKey ? this.#chosen.from : to, to);
    this.#cells.bytes[to]?.focus();
  }
}
