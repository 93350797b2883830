// One function between what calls it and what it calls, beside a table of functions.

import { get } from "../../lib/api.js";
import { amount, shortAmount } from "../../lib/amount.js";
import { closest, h, put, s } from "../../lib/dom.js";
import { percent, plural } from "../../lib/format.js";
import { colorClass } from "./flame_colors.js";
import { FRAME, drawFlame } from "./flame_draw.js";
import { FlameModel } from "./flame_model.js";

/** @import { Sandwich, SampledFunctions } from "../../../../api.js" */

/** The form. */
export class BetweenView {
  /** @type {FlameModel[]} */
  #models = [];

  /** @param {import("./flame.js").FlameView} owner */
  constructor(owner) {
    this.owner = owner;
    this.context = owner.context;
    this.list = h("div", { class: "between-list" });
    this.head = h("p", { class: "between-head" });
    this.halves = h("div", { class: "between-halves" });
    this.element = h(
      "div",
      { class: "between" },
      this.list,
      h("div", { class: "between-graphs" }, this.head, this.halves),
    );
  }

  /** Asks for the functions and for the one between. */
  load() {
    const { start, end, filter, search, top, unit, transforms } = this.context.view;
    const { id } = this.context;
    const query = { start, end, filter, unit, transforms };
    void this.owner.ask(
      "Folding stacks",
      async (signal) => {
        const sorted = { ...query, sort: top, search };
        const functions = await get("/api/captures/{id}/flame/functions", { id, ...sorted }, signal);
        const name = this.context.view.between || functions.functions[0]?.name;
        const width = Math.min(8192, Math.max(200, this.halves.clientWidth));
        const sandwich = name
          ? await get("/api/captures/{id}/flame/sandwich", { id, ...query, function: name, search, width }, signal)
          : null;
        return { functions, sandwich };
      },
      (answer) => this.#show(answer.functions, answer.sandwich),
    );
  }

  /**
   * @param {SampledFunctions} functions
   * @param {Sandwich|null} sandwich
   */
  #show(functions, sandwich) {
    this.#showList(functions, sandwich?.function ?? "");
    if (!sandwich) {
      put(this.head, "No function in this range, filter and search.");
      put(this.halves);
      return;
    }
    const { own, total, callers, callees } = sandwich;
    this.owner.drawTransforms(callees);
    put(
      this.head,
      h("b", { class: "mono", text: sandwich.function }),
      ` ${amount(total, callees.unit)} with it, ${percent(total, functions.samples)} of all; ${amount(own, callees.unit)} its own`,
    );
    this.#models = [new FlameModel(callers), new FlameModel(callees)];
    put(
      this.halves,
      h("h3", { class: "small quiet", text: "Callers" }),
      this.#graph(0, false),
      h("h3", { class: "small quiet", text: "What it calls" }),
      this.#graph(1, true),
    );
    const [above, below] = this.#models;
    this.owner.drawLegend(above.count > below.count ? above : below);
    put(
      this.owner.said,
      [callers, callees].some(({ cut }) => cut.nodes > 0)
        ? `${plural(callers.cut.nodes + callees.cut.nodes, "frame")} below one pixel not drawn.`
        : "",
    );
  }

  /**
   * @param {SampledFunctions} functions
   * @param {string} chosen
   */
  #showList({ functions, samples, unit, total }, chosen) {
    const { top } = this.context.view;
    const sort = h(
      "select",
      {
        "aria-label": "Order of functions",
        on: { change: () => this.context.state.set({ top: sort.value === "total" ? "total" : "own" }) },
      },
      h("option", { value: "own", text: "By own" }),
      h("option", { value: "total", text: "By total" }),
    );
    sort.value = top;
    const row = (/** @type {SampledFunctions["functions"][number]} */ one) =>
      h(
        "li",
        {},
        h(
          "button",
          {
            type: "button",
            class: "plain",
            "aria-current": one.name === chosen ? "true" : null,
            title: `${one.name}: ${amount(one.own, unit)} its own, ${amount(one.total, unit)} in all`,
            on: { click: () => this.context.state.set({ between: one.name }) },
          },
          h("span", { class: "mono between-name", text: one.name }),
          h("span", { class: "num mono quiet", text: `${shortAmount(one[top], unit)} ${percent(one[top], samples)}` }),
        ),
      );
    put(
      this.list,
      sort,
      h("ul", {}, ...functions.map(row)),
      total > functions.length &&
        h("p", {
          class: "quiet small",
          text: `${plural(total - functions.length, "more function")}; find them by name.`,
        }),
    );
    this.list.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
  }

  /**
   * @param {number} half
   * @param {boolean} down
   */
  #graph(half, down) {
    const model = this.#models[half];
    const { search, colors } = this.context.view;
    const svg = s("svg", {
      class: down ? "flame is-down" : "flame",
      tabindex: "0",
      role: "application",
      "aria-label": `${down ? "What it calls" : "Callers"}. Arrow keys walk, Enter puts a function between.`,
    });
    svg.style.height = `${(model.maxDepth + 1) * FRAME}px`;
    const color = (/** @type {number} */ i) => colorClass(model, i, colors);
    put(svg, drawFlame(model, Math.max(200, this.halves.clientWidth), { down, searching: search !== "", color }));
    let current = -1;
    const tell = (/** @type {number} */ i) => {
      svg.querySelector(".is-current")?.classList.remove("is-current");
      current = i;
      if (i < 0) return;
      svg.children[i]?.classList.add("is-current");
      put(
        said,
        `${model.name(i)}  ${amount(model.nodes.value[i], model.unit)}, ${percent(model.nodes.value[i], model.total)}`,
      );
    };
    const between = (/** @type {number} */ i) => {
      if (i > 0) this.context.state.set({ between: model.name(i) });
    };
    const at = (/** @type {Event} */ event) => Number(closest(event, "g[data-i]")?.dataset.i ?? -1);
    const said = h("p", { class: "readout mono", "aria-live": "polite" });
    svg.addEventListener("pointerover", (event) => at(event) >= 0 && tell(at(event)));
    svg.addEventListener("click", (event) => between(at(event)));
    svg.addEventListener("keydown", (event) => {
      const to = model.walked(event.key, current, down);
      if (to !== null) tell(to < 0 ? current : to);
      else if (event.key === "Enter") between(current);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return h("div", {}, svg, said);
  }
}
