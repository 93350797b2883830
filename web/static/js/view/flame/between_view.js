// One function between what calls it and what it calls, beside a table of functions.

import { get } from "../../lib/api.js";
import { amount, shortAmount } from "../../lib/amount.js";
import { h, put } from "../../lib/dom.js";
import { percent, plural } from "../../lib/format.js";
import { colorClass } from "./flame_colors.js";
import { FlameModel, leftOutWords } from "./flame_model.js";
import { FlamePicture } from "./flame_picture.js";

/** @import { Sandwich, SampledFunctions } from "../../../../api.js" */

/** The form. */
export class BetweenView {
  /** @type {FlameModel[]} */
  #models = [];
  #current = [-1, -1];

  /** @param {import("./flame.js").FlameView} owner */
  constructor(owner) {
    this.owner = owner;
    this.context = owner.context;
    this.list = h("div", { class: "between-list" });
    this.head = h("p", { class: "between-head" });
    this.told = [0, 1].map(() => h("p", { class: "readout mono", "aria-live": "polite" }));
    this.pictures = [this.#picture(0), this.#picture(1)];
    const half = (/** @type {number} */ at) => h("div", {}, ...this.pictures[at].parts, this.told[at]);
    this.graphs = [
      h("h3", { class: "small quiet", text: "Callers" }),
      half(0),
      h("h3", { class: "small quiet", text: "What it calls" }),
      half(1),
    ];
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
    if (!this.graphs[0].isConnected) put(this.halves, ...this.graphs);
    for (const at of [0, 1]) this.#draw(at);
    const [above, below] = this.#models;
    this.owner.drawLegend(above.count > below.count ? above : below);
    const cut = callers.cut.nodes + callees.cut.nodes;
    const parts = [cut > 0 && `${plural(cut, "frame")} below one pixel not drawn`, ...leftOutWords(callees.left_out)];
    put(this.owner.said, parts.filter(Boolean).join(" · "));
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
   * Callers (0) are above the function, what it calls (1) below.
   * @param {number} half
   */
  #picture(half) {
    const between = (/** @type {number} */ i) => {
      if (i > 0) this.context.state.set({ between: this.#models[half].name(i) });
    };
    const label = `${half ? "What it calls" : "Callers"}. Arrow keys walk, Enter puts a function between.`;
    return new FlamePicture(label, {
      tell: (i) => i >= 0 && this.#tell(half, i),
      pick: between,
      failed: (error) => this.owner.failed(error),
      press: (event) => {
        const [model, current] = [this.#models[half], this.#current[half]];
        const to = model?.walked(event.key, current, half === 1) ?? null;
        if (to !== null) this.#tell(half, to < 0 ? current : to);
        else if (event.key === "Enter") between(current);
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    });
  }

  /** @param {number} half */
  #draw(half) {
    const { search, colors } = this.context.view;
    const model = this.#models[half];
    const width = Math.max(200, this.halves.clientWidth);
    const color = (/** @type {number} */ i) => colorClass(model, i, colors);
    this.pictures[half].draw(model, width, { down: half === 1, searching: search !== "", color });
    this.#tell(half, -1);
  }

  /**
   * @param {number} half
   * @param {number} i
   */
  #tell(half, i) {
    const model = this.#models[half];
    this.#current[half] = i;
    this.pictures[half].mark(i);
    const { value } = model.nodes;
    put(
      this.told[half],
      i >= 0 && `${model.name(i)}  ${amount(value[i], model.unit)}, ${percent(value[i], model.total)}`,
    );
  }
}
