// Stacks beside those of another range, filter or capture: a flame graph coloured by difference, and a table of functions that
// says which differences are more than chance.

import { amount, shortAmount } from "../../lib/amount.js";
import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { percent, plural } from "../../lib/format.js";
import { NO_COMPARISON, otherSide, otherWords } from "../against/against_model.js";
import { STEPS, differenceClass } from "./flame_colors.js";
import { swatch } from "./flame_draw.js";
import { FlameModel, leftOutWords } from "./flame_model.js";
import { FlamePicture } from "./flame_picture.js";

/** @import { FlameDifference } from "../../../../api.js" */

/** Differences of less than so much of all are drawn as none. */
const LEAST_SHARE = 0.0005;
/** @type {Record<"total"|"time"|"none", string>} */
const PER = { total: "As shares of all", time: "For each second", none: "As counted" };

/**
 * A number with its sign.
 * @param {number} value
 * @param {string} unit
 */
const signed = (value, unit) =>
  `${value > 0 ? "+" : value < 0 ? "−" : "±"}${shortAmount(Math.round(Math.abs(value)), unit)}`;

/** The form. */
export class CompareView {
  /** @param {import("./flame.js").FlameView} owner */
  constructor(owner) {
    this.owner = owner;
    this.context = owner.context;
    const { state } = this.context;
    this.per = h(
      "select",
      {
        "aria-label": "What is compared",
        on: {
          change: () =>
            state.set({ per: this.per.value === "time" || this.per.value === "none" ? this.per.value : "total" }),
        },
      },
      ...Object.entries(PER).map(([value, text]) => h("option", { value, text })),
    );
    this.swap = h("button", {
      type: "button",
      text: "Draw the other",
      title: "Widths are those of the other side",
      on: { click: () => state.set({ swapped: !this.context.view.swapped, focus: "" }) },
    });
    this.words = h("p", { class: "compare-words" });
    this.readout = h("p", { class: "readout mono", "aria-live": "polite" });
    this.picture = new FlamePicture("Flame graph of the difference. Arrow keys walk, Enter zooms, Escape resets.", {
      tell: (i) => this.#tell(i),
      pick: (i) => this.#zoom(i),
      press: (event) => this.#key(event),
      failed: (error) => owner.failed(error),
    });
    this.picture.svg.classList.add("is-difference");
    this.scroller = h("div", { class: "flame-scroll" }, ...this.picture.parts);
    this.table = h("div", { class: "flame-functions compare-table" });
    this.element = h(
      "div",
      { class: "compare" },
      h(
        "div",
        { class: "row" },
        this.words,
        this.per,
        this.swap,
        h("button", {
          type: "button",
          text: "End comparison",
          on: {
            click: () => state.set({ ...NO_COMPARISON, focus: "" }),
          },
        }),
      ),
      this.#legend(),
      this.readout,
      this.scroller,
      this.table,
    );
    this.current = -1;
    this.down = false;
    /** @type {FlameModel|null} */
    this.model = null;
  }

  #legend() {
    const steps = Array.from({ length: STEPS }, (_one, i) => i);
    return h(
      "p",
      { class: "flame-legend small" },
      "less here ",
      ...steps.toReversed().map((i) => swatch(`df-less-${i}`)),
      swatch("df-same"),
      ...steps.map((i) => swatch(`df-more-${i}`)),
      " more here",
    );
  }

  /** Asks for the comparison. */
  load() {
    const { start, end, filter, focus, search, invert, by, unit, transforms, per, swapped } = this.context.view;
    const { against } = this.context.view;
    const { id } = this.context;
    this.per.value = per || "total";
    this.swap.setAttribute("aria-pressed", String(swapped));
    this.swap.hidden = against.includes(",");
    const width = Math.min(8192, this.scroller.clientWidth);
    if (width === 0) return;
    const query = {
      ...{ start, end, filter, focus, search, width, invert: invert ? 1 : 0, by, unit, transforms },
      ...otherSide(this.context.view, "total"),
      turned: swapped ? 1 : 0,
    };
    void this.owner.ask(
      "Comparing stacks",
      (signal) => get("/api/captures/{id}/flame/compare", { id, ...query }, signal),
      (answer) => this.#show(answer),
    );
  }

  /** @param {FlameDifference} answer */
  #show(answer) {
    const { swapped } = this.context.view;
    const model = new FlameModel(answer.graph);
    this.model = model;
    this.answer = answer;
    this.owner.drawTransforms(answer.graph);
    put(this.words, this.#against());
    const down = this.context.view.shape ? this.context.view.shape === "icicle" : this.context.view.invert;
    const width = this.scroller.clientWidth;
    const least = model.total * LEAST_SHARE;
    const color = (/** @type {number} */ i) => {
      const [value, other] = [model.nodes.value[i], answer.other[i] ?? 0];
      return swapped ? differenceClass(other, value, least) : differenceClass(value, other, least);
    };
    this.down = down;
    this.picture.draw(model, width, { down, searching: this.context.view.search !== "", color });
    this.scroller.scrollTop = down ? 0 : this.picture.height;
    this.#tell(-1);
    put(this.table, this.#functions(answer));
    put(this.owner.said, this.#said(answer));
  }

  #against() {
    const { against } = this.context.view;
    const count = against.split(",").length;
    if (count > 1) return `Beside the median of ${count} runs before`;
    const words = otherWords(this.context.view);
    if (against === "self") return `Beside ${words || "itself"}`;
    const link = h("a", { href: `/captures/${against}?tab=flame`, text: "another capture" });
    return h("span", {}, "Beside ", link, words && `, ${words}`);
  }

  /** @param {FlameDifference} answer */
  #said({ graph, other_totals: totals, other_left_out: left, compared, significant, normalised }) {
    const words = [
      `${amount(graph.total, graph.unit)} beside ${totals
        .map((total) => amount(total, graph.unit))
        .slice(0, 3)
        .join(", ")}${totals.length > 3 ? " and more" : ""}`,
      normalised === "total"
        ? "compared as shares"
        : normalised === "time"
          ? "compared for each second"
          : "compared as counted",
      significant > 0
        ? `${significant} of ${plural(compared, "function")} ${significant > 1 ? "differ" : "differs"} by more than chance`
        : `none of ${plural(compared, "function")} differs by more than chance`,
    ];
    const { missing, negative } = graph.left_out;
    words.push(...leftOutWords({ missing: missing + left.missing, negative: negative + left.negative }));
    return words.join(" · ");
  }

  /** @param {FlameDifference} answer */
  #functions({ functions, graph }) {
    const { swapped } = this.context.view;
    const { unit, total } = graph;
    const head = (/** @type {string} */ text, /** @type {string} */ title, num = true) =>
      h("th", { scope: "col", class: num ? "num" : "", title, text });
    const line = (/** @type {FlameDifference["functions"][number]} */ one) => {
      const [here, there] = swapped ? [one.other_own, one.own] : [one.own, one.other_own];
      const ratio = there > 0 ? here / there : here > 0 ? Infinity : 1;
      return h(
        "tr",
        { class: one.is_significant ? "is-news" : "" },
        h("td", { class: "num mono", text: shortAmount(Math.round(there), unit) }),
        h("td", { class: "num mono", text: shortAmount(Math.round(here), unit) }),
        h("td", {
          class: "num mono",
          title: `± ${shortAmount(Math.round(one.error), unit)} by chance`,
          text: signed(here - there, unit),
        }),
        h("td", { class: "num mono", text: percent(Math.abs(one.difference), total) }),
        h("td", {
          class: "num mono",
          text: ratio === Infinity ? "new" : here === 0 ? "gone" : `× ${ratio.toFixed(2)}`,
        }),
        h("td", { text: one.is_significant ? "more than chance" : "" }),
        h(
          "td",
          { class: "cut mono", title: one.name },
          h("button", {
            type: "button",
            class: "plain",
            text: one.name,
            title: `Find ${one.name} in the graph`,
            on: { click: () => this.context.state.set({ search: one.name }) },
          }),
        ),
      );
    };
    return h(
      "table",
      { class: "list calls-table" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head("Own there", "Samples in the function itself on the other side, scaled"),
          head("Own here", "Samples in the function itself"),
          head("Difference", "Here less there; its error by chance is shown on hover"),
          head("Of all", "The difference as a share of all samples that are drawn"),
          head("Ratio", "Here divided by there"),
          head("", "", false),
          head("Function", "", false),
        ),
      ),
      h("tbody", {}, ...functions.filter((one) => one.own > 0 || one.other_own > 0).map(line)),
    );
  }

  /** @param {number} i */
  #tell(i) {
    const { model, answer } = this;
    this.picture.mark(i);
    this.current = i;
    if (!model || !answer || i < 0) {
      put(this.readout, h("span", { class: "quiet", text: "Click or Enter zooms, arrow keys walk" }));
      return;
    }
    const [value, other] = [model.nodes.value[i], answer.other[i] ?? 0];
    put(
      this.readout,
      h("b", { text: model.name(i) }),
      `  ${amount(value, model.unit)}, ${percent(value, model.total)} of all; the other side ${amount(Math.round(other), model.unit)}; difference ${signed(this.context.view.swapped ? other - value : value - other, model.unit)}`,
    );
  }

  /** @param {number} i */
  #zoom(i) {
    if (i >= 0 && this.model) this.context.state.set({ focus: i === 0 ? "" : this.model.nodes.id[i] });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { model } = this;
    if (!model || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = model.walked(event.key, this.current, this.down);
    if (to !== null) this.#tell(to < 0 ? this.current : to);
    else if (event.key === "Enter") this.#zoom(this.current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
