// The instructions of one function with the samples at each, in place of the table of functions.

import { h, put } from "../../lib/dom.js";
import { exact, percent, plural } from "../../lib/format.js";

/** The table. What is chosen goes into the view. */
export class FlameCode {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} element
   */
  constructor(context, element) {
    this.context = context;
    this.element = element;
    this.answer = null;
    this.current = -1;
    element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** What the panel says about the answer in one line. */
  static said({ own, samples }) {
    return `${plural(own, "sample")} of ${exact(samples)} ended in this function, ${percent(own, samples)}`;
  }

  /**
   * Shows an answer.
   * @param {object} answer
   */
  show(answer) {
    const first = this.answer?.shown?.place !== answer.shown?.place || this.answer?.function !== answer.function;
    this.answer = answer;
    const { shown } = answer;
    if (!shown) {
      this.lines = [];
      put(
        this.element,
        this.#head(),
        h("p", {
          class: "empty",
          text: "No sample of this range and filter ended in this function. It may have called others: the graph shows what.",
        }),
      );
      return;
    }
    this.lines = shown.rows.map((row, i) => this.#line(row, i));
    const gaps = shown.rows.flatMap((row, i) => [
      row.left_out > 0 &&
        h(
          "tr",
          { class: "code-gap quiet" },
          h("td", { colspan: "6", text: `${plural(row.left_out, "instruction")} without samples not shown` }),
        ),
      this.lines[i],
    ]);
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
      this.#head(),
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
    this.place?.replaceChildren(this.#placeInOrder());
  }

  #placeInOrder() {
    const order = this.answer.shown.hottest;
    const at = order.indexOf(this.current);
    return document.createTextNode(
      at < 0 ? "no samples at this instruction" : `hottest ${at + 1} of ${exact(order.length)}`,
    );
  }

  #head() {
    const { answer } = this;
    const { shown, places } = answer;
    const set = (patch) => this.context.state.set(patch);
    const line = ({ function: name, module, samples }) =>
      `${name === answer.function ? "" : `in ${name}, `}${module || "no file"} · ${plural(samples, "sample")}`;
    const choose =
      places.length > 1 &&
      h(
        "select",
        {
          class: "mono",
          "aria-label": "Where the code is",
          on: { change: (event) => set({ at: event.target.value }) },
        },
        ...places.map((place) =>
          h("option", { value: place.place, selected: place.place === shown?.place, text: line(place) }),
        ),
      );
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

  #line(row, i) {
    const { shown } = this.answer;
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
      h("td", { class: `mono code-text is-${row.flow}` }, text, this.#goes(row)),
      h(
        "td",
        { class: "cut mono", title: source && `${source.function}\n${source.file}:${source.line}` },
        source && !repeated && h("span", {}, sourceText(source, this.#container())),
      ),
    );
  }

  #container() {
    return this.answer.places.find(({ place }) => place === this.answer.shown.place)?.function ?? this.answer.function;
  }

  /** Where a jump within the function goes, to be pressed; or whom it calls. */
  #goes(row) {
    if (row.target !== null) {
      const to = () => this.answer.shown.rows.findIndex(({ at }) => at === row.target);
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

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("select, input")) return;
    const last = (this.lines?.length ?? 0) - 1;
    const to = {
      ArrowDown: this.current + 1,
      ArrowUp: this.current - 1,
      Home: 0,
      End: last,
      PageDown: Math.min(last, this.current + 20),
      PageUp: Math.max(0, this.current - 20),
    }[event.key];
    if (event.key === "Enter" && event.target === this.lines?.[this.current])
      event.target.querySelector("button.code-target")?.click();
    else if (to === undefined || last < 0) return;
    else this.go(Math.max(0, Math.min(last, to)));
    event.preventDefault();
    event.stopPropagation();
  }
}

/** File and line, and the function where it is another one, which was inlined. */
function sourceText({ function: name, file, line }, container) {
  const short = `${file.split("/").pop()}:${line}`;
  return name && name !== container ? `${short} ${name}` : short;
}
