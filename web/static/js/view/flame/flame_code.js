// The instructions of one function with the samples at each, in place of the table of functions.

import { closest, h, put } from "../../lib/dom.js";
import { exact, percent, plural } from "../../lib/format.js";

/** @import { Annotation, CodeRow, PlaceLine, ShownCode, SourceLine } from "../../../../api.js" */

/** The table. What is chosen goes into the view. */
export class FlameCode {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} element
   */
  constructor(context, element) {
    this.context = context;
    this.element = element;
    /** @type {Annotation|null} */
    this.answer = null;
    /** @type {HTMLElement[]} */
    this.lines = [];
    this.current = -1;
    this.place = h("span", { class: "quiet", role: "status" });
    element.addEventListener("keydown", (event) => this.#key(event));
  }

  /**
   * What the panel says about the answer in one line.
   * @param {Annotation} answer
   */
  static said({ own, samples }) {
    return `${plural(own, "sample")} of ${exact(samples)} ended in this function, ${percent(own, samples)}`;
  }

  /**
   * Shows an answer.
   * @param {Annotation} answer
   */
  show(answer) {
    const first = this.answer?.shown?.place !== answer.shown?.place || this.answer?.function !== answer.function;
    this.answer = answer;
    const { shown } = answer;
    if (!shown) {
      this.lines = [];
      put(
        this.element,
        this.#head(answer),
        h("p", {
          class: "empty",
          text: "No sample of this range and filter ended in this function. It may have called others: the graph shows what.",
        }),
      );
      return;
    }
    this.lines = shown.rows.map((_row, i) => this.#line(answer, shown, i));
    const gaps = shown.rows.flatMap((row, i) => [
      row.left_out > 0 &&
        h(
          "tr",
          { class: "code-gap quiet" },
          h("td", { colspan: "6", text: `${plural(row.left_out, "instruction")} without samples not shown` }),
        ),
      this.lines[i],
    ]);
    /**
     * @param {string} text
     * @param {boolean} num
     * @param {string} [title]
     */
    const col = (text, num, title) => h("th", { scope: "col", class: num ? "num" : "", title, text });
    const table = h(
      "table",
      { class: "list calls-table code-table" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          col("Samples", true, "Samples at the instruction, and their share of the function's samples"),
          h("th", { scope: "col", class: "bar-head", text: "Share" }),
          col("Address", true, "Address in the file"),
          col("Offset", false, "From the start of the function"),
          col("Instruction", false),
          col("Source", false, "Names from the file's debug information; the source itself is not read"),
        ),
      ),
      h("tbody", {}, ...gaps.filter(Boolean)),
    );
    put(
      this.element,
      this.#head(answer),
      shown.note && h("p", { class: "code-note", text: shown.note }),
      table,
      shown.outside > 0 &&
        h("p", { class: "quiet", text: `${plural(shown.outside, "sample")} after the instructions that are kept.` }),
    );
    if (first) this.current = -1;
    if (first && shown.hottest.length > 0) this.go(shown.hottest[0], false);
    else if (this.current >= 0) this.go(this.current, false);
  }

  /**
   * Goes to the next hottest instruction, or the one before.
   * @param {number} step 1 or -1
   */
  hottest(step) {
    const order = this.answer?.shown?.hottest ?? [];
    if (order.length === 0) return;
    const at = order.indexOf(this.current);
    this.go(order[at < 0 ? 0 : (at + step + order.length) % order.length]);
  }

  /**
   * Makes an instruction the current one.
   * @param {number} i
   * @param {boolean} focus
   */
  go(i, focus = true) {
    const line = this.lines[i];
    if (!line) return;
    const before = this.lines[this.current];
    before?.classList.remove("is-current");
    before?.setAttribute("tabindex", "-1");
    this.current = i;
    line.classList.add("is-current");
    line.setAttribute("tabindex", "0");
    if (focus) line.focus({ preventScroll: true });
    const head = this.element.querySelector("thead")?.offsetHeight ?? 0;
    const top = line.offsetTop - head;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop || line.offsetTop + line.offsetHeight > scrollTop + clientHeight)
      this.element.scrollTop = Math.max(0, top - clientHeight / 3);
    if (this.answer?.shown) this.place.replaceChildren(this.#placeInOrder(this.answer.shown));
  }

  /** @param {ShownCode} shown */
  #placeInOrder({ hottest: order }) {
    const at = order.indexOf(this.current);
    return document.createTextNode(
      at < 0 ? "no samples at this instruction" : `hottest ${at + 1} of ${exact(order.length)}`,
    );
  }

  /** @param {Annotation} answer */
  #head(answer) {
    const { shown, places } = answer;
    /** @param {Partial<import("../../page/url_state.js").ViewParts>} patch */
    const set = (patch) => this.context.state.set(patch);
    /** @param {PlaceLine} place */
    const line = ({ function: name, module, samples }) =>
      `${name === answer.function ? "" : `in ${name}, `}${module || "no file"} · ${plural(samples, "sample")}`;
    const choose =
      places.length > 1 &&
      h(
        "select",
        {
          class: "mono",
          "aria-label": "Where the code is",
          on: { change: () => choose && set({ at: choose.value }) },
        },
        ...places.map((place) =>
          h("option", { value: place.place, selected: place.place === shown?.place, text: line(place) }),
        ),
      );
    /**
     * @param {string} text
     * @param {string} key
     * @param {string} title
     * @param {() => void} run
     * @param {boolean} [hidden]
     */
    const button = (text, key, title, run, hidden) =>
      !hidden && h("button", { type: "button", title, on: { click: run } }, text, " ", h("kbd", { text: key }));
    this.place = h("span", { class: "quiet", role: "status" });
    const hot = shown?.hottest.length ?? 0;
    return h(
      "div",
      { class: "code-head" },
      button("Functions", "Esc", "Back to the list", () => set({ code: "", at: "" })),
      h("b", { class: "mono code-name", title: answer.function, text: answer.function }),
      choose ||
        h("span", {
          class: "mono quiet code-module",
          text: places.length === 1 ? line(places[0]).replace(/ · .*$/, "") : "",
        }),
      h("span", { class: "grow" }),
      this.place,
      button("Hotter", "p", "The instruction with the next more samples", () => this.hottest(-1), hot < 2),
      button("Next hottest", "n", "The instruction with the next fewer samples", () => this.hottest(1), hot < 2),
      h("button", {
        type: "button",
        title: "Find the function in the graph",
        text: "In the graph",
        on: { click: () => set({ flame: "graph", search: answer.function, focus: "", code: "", at: "" }) },
      }),
    );
  }

  /**
   * @param {Annotation} answer
   * @param {ShownCode} shown
   * @param {number} i
   */
  #line(answer, shown, i) {
    const row = shown.rows[i];
    const source = row.source === null ? null : shown.sources[row.source];
    const before = shown.rows[i - 1];
    const repeated = before && before.source === row.source && row.left_out === 0;
    const offset = `+0x${row.at.toString(16)}`;
    const text = row.text || row.bytes;
    const bar = h("span", { class: "bar" });
    bar.style.width = `${shown.samples > 0 ? Math.max(0.5, (row.samples / shown.samples) * 100) : 0}%`;
    return h(
      "tr",
      {
        tabindex: "-1",
        class: row.samples > 0 ? "" : "is-cold",
        data: { i: String(i) },
        on: { click: () => this.go(i, false) },
      },
      h("td", {
        class: "num mono",
        title: row.samples > 0 ? `${exact(row.samples)} of ${exact(shown.samples)} samples` : null,
        text: row.samples > 0 ? `${exact(row.samples)}  ${percent(row.samples, shown.samples)}` : "",
      }),
      h("td", { class: "bar-cell" }, row.samples > 0 && bar),
      h("td", {
        class: "num mono quiet",
        title: row.bytes || null,
        text: row.address === null ? "" : row.address.toString(16),
      }),
      h("td", { class: "mono quiet", text: offset }),
      h("td", { class: `mono code-text is-${row.flow}` }, text, this.#goes(shown, row)),
      h(
        "td",
        { class: "cut mono", title: source && `${source.function}\n${source.file}:${source.line}` },
        source && !repeated && h("span", {}, sourceText(source, containerOf(answer, shown))),
      ),
    );
  }

  /**
   * Where a jump within the function goes, to be pressed; or whom it calls.
   * @param {ShownCode} shown
   * @param {CodeRow} row
   */
  #goes({ rows }, row) {
    if (row.target !== null) {
      const to = () => rows.findIndex(({ at }) => at === row.target);
      return h("button", {
        type: "button",
        class: "plain code-target",
        title: "Go there",
        text: `→ +0x${row.target.toString(16)}`,
        on: {
          click: (event) => {
            event.stopPropagation();
            this.go(to());
          },
        },
      });
    }
    return row.calls && h("span", { class: "quiet code-target", text: `→ ${row.calls}` });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || closest(event, "select, input")) return;
    const last = this.lines.length - 1;
    /** @type {Record<string, number>} */
    const places = {
      ArrowDown: this.current + 1,
      ArrowUp: this.current - 1,
      Home: 0,
      End: last,
      PageDown: Math.min(last, this.current + 20),
      PageUp: Math.max(0, this.current - 20),
    };
    const to = places[event.key];
    const line = this.lines[this.current];
    if (event.key === "Enter" && line && event.target === line) target(line)?.click();
    else if (to === undefined || last < 0) return;
    else this.go(Math.max(0, Math.min(last, to)));
    event.preventDefault();
    event.stopPropagation();
  }
}

/**
 * The button of a line that goes elsewhere.
 * @param {HTMLElement} line
 * @returns {HTMLButtonElement|null}
 */
const target = (line) => line.querySelector("button.code-target");

/**
 * The function that the instructions are of, which can have another one in it.
 * @param {Annotation} answer
 * @param {ShownCode} shown
 */
function containerOf({ places, function: asked }, shown) {
  return places.find(({ place }) => place === shown.place)?.function ?? asked;
}

/**
 * File and line, and the function where it is another one, which was inlined.
 * @param {SourceLine} source
 * @param {string} container
 */
function sourceText({ function: name, file, line }, container) {
  const short = `${file.split("/").pop()}:${line}`;
  return name && name !== container ? `${short} ${name}` : short;
}
