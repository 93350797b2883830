// The call tree as a table: opened line by line, or along the heaviest path.

import { shortAmount } from "../../lib/amount.js";
import { category } from "../../lib/color.js";
import { closest, h, put } from "../../lib/dom.js";
import { exact, percent } from "../../lib/format.js";
import { FlameModel, KINDS, whyEmpty } from "./flame_model.js";
import { MATCH_SELF } from "./flame_nodes.js";
import { baseName } from "./transforms.js";

/** Pixels of the tree's graph: with more, fewer frames are left out. */
const TREE_WIDTH = 8192;
/** The most lines that are drawn. */
const MAX_LINES = 2000;
/** A heaviest path is opened as long as a child has so much of its parent. */
const HEAVY = 0.5;

/** The tree. */
export class FlameTree {
  /** @type {import("./flame_model.js").FlameModel|null} */
  #model = null;
  /** Ids of nodes that are open. @type {Set<string>} */
  #open = new Set();
  #current = "";

  /** @param {import("./flame.js").FlameView} owner */
  constructor(owner) {
    this.owner = owner;
    this.menu = owner.menu;
    this.body = h("tbody", {
      on: {
        keydown: (event) => this.#key(event),
        click: (event) => this.#click(event),
        contextmenu: (event) => this.#menu(event),
      },
    });
    const head = (/** @type {string} */ text, /** @type {string} */ title, num = true) =>
      h("th", { scope: "col", class: num ? "num" : "", title, text });
    this.element = h(
      "div",
      { class: "flame-functions flame-tree" },
      h(
        "table",
        { class: "list calls-table", role: "treegrid", "aria-label": "Call tree" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head("Total", "Of the function and what it calls here"),
            head("Own", "Of the function itself here"),
            head("Function", "", false),
            head("Module", "", false),
          ),
        ),
        this.body,
      ),
    );
    this.invert = false;
  }

  /** Asks for the tree. */
  load() {
    void this.owner.ask(
      "Folding stacks",
      (signal) => this.owner.fold(TREE_WIDTH, "", signal),
      (answer) => this.#show(answer),
    );
  }

  /**
   * Shows a tree. What was open stays so; a new one opens along its heaviest path.
   * @param {import("../../../../api.js").FlameGraph} answer
   */
  #show(answer) {
    const { owner } = this;
    const model = new FlameModel(answer);
    owner.drawTransforms(answer);
    owner.say(model);
    if (model.total === 0) {
      this.#model = null;
      put(this.body);
      owner.empty(answer.recorded > 0 ? "These transforms leave no samples." : whyEmpty(owner.context));
      return;
    }
    this.#model = model;
    this.invert = owner.context.view.invert;
    const ids = new Set(model.nodes.id);
    this.#open = new Set([...this.#open].filter((id) => ids.has(id)));
    if (this.#open.size === 0) {
      this.#openHeavy(0);
      this.#openHeavy(model.widestChild(0));
    }
    if (!ids.has(this.#current)) this.#current = model.nodes.id[1] ?? "";
    this.#draw(false);
  }

  /**
   * Opens a node and below it the heaviest ones.
   * @param {number} from
   */
  #openHeavy(from) {
    const model = this.#model;
    if (!model) return;
    for (let at = from; at >= 0; ) {
      this.#open.add(model.nodes.id[at]);
      const next = model.widestChild(at);
      if (next < 0 || model.nodes.value[next] < model.nodes.value[at] * HEAVY) break;
      at = next;
    }
  }

  /** The nodes in sight, in order: children with the most first. */
  #lines() {
    const model = this.#model;
    /** @type {number[]} */
    const lines = [];
    if (!model) return lines;
    /** @type {number[][]} */
    const children = Array.from({ length: model.count }, () => []);
    for (let i = 1; i < model.count; i += 1) children[model.parents[i]]?.push(i);
    const add = (/** @type {number} */ at) => {
      const below = children[at].sort((a, b) => model.nodes.value[b] - model.nodes.value[a]);
      for (const i of below) {
        if (lines.length >= MAX_LINES) return;
        lines.push(i);
        if (this.#open.has(model.nodes.id[i])) add(i);
      }
    };
    add(0);
    return lines;
  }

  /** @param {boolean} focus whether the current line takes the focus */
  #draw(focus) {
    const model = this.#model;
    if (!model) return;
    const lines = this.#lines();
    const rows = lines.map((i) => this.#line(model, i));
    const cut = lines.length >= MAX_LINES;
    put(
      this.body,
      ...rows,
      cut && h("tr", {}, h("td", { colspan: "4", class: "quiet", text: `The first ${exact(MAX_LINES)} open lines.` })),
    );
    if (focus) this.#row(this.#current)?.focus();
  }

  /** @param {string} id */
  #row(id) {
    const row = this.body.querySelector(`[data-id="${id}"]`);
    return row instanceof HTMLElement ? row : null;
  }

  /**
   * @param {import("./flame_model.js").FlameModel} model
   * @param {number} i
   */
  #line(model, i) {
    const { id, value, own, depth, kind, match } = model.nodes;
    const has = model.widestChild(i) >= 0;
    const open = this.#open.has(id[i]);
    const number = (/** @type {number} */ amount) =>
      h("td", {
        class: "num mono",
        title: `${exact(amount)} ${model.unit}, ${percent(amount, model.total)} of all`,
        text: `${shortAmount(amount, model.unit)}  ${percent(amount, model.total)}`,
      });
    const name = h("span", {
      class: match[i] & MATCH_SELF ? "call-name is-match" : "call-name",
      data: { cat: String(category(model.name(i))) },
      title: `${model.name(i)}, ${KINDS[kind[i]] ?? ""}`,
      text: model.name(i),
    });
    const shown = h(
      "td",
      { class: "cut mono" },
      h("span", { class: "twist", "aria-hidden": "true", text: has ? (open ? "▾" : "▸") : "" }),
      name,
    );
    shown.style.paddingInlineStart = `${(depth[i] - 1) * 14}px`;
    return h(
      "tr",
      {
        data: { id: id[i], i: String(i) },
        tabindex: id[i] === this.#current ? "0" : "-1",
        class: id[i] === this.#current ? "is-current" : "",
        "aria-level": String(depth[i]),
        "aria-expanded": has ? String(open) : null,
      },
      number(value[i]),
      number(own[i]),
      shown,
      h("td", { class: "quiet", title: model.module(i), text: baseName(model.module(i)) }),
    );
  }

  /** @param {Event} event */
  #index(event) {
    const row = closest(event, "tr[data-i]");
    return row ? Number(row.dataset.i) : -1;
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const i = this.#index(event);
    if (i < 0 || !this.#model) return;
    const id = this.#model.nodes.id[i];
    if (this.#current === id || closest(event, ".twist")) this.#turn(i);
    this.#current = id;
    this.#draw(true);
  }

  /** @param {MouseEvent} event */
  #menu(event) {
    const i = this.#index(event);
    if (i < 0 || !this.#model) return;
    event.preventDefault();
    this.#current = this.#model.nodes.id[i];
    this.#draw(true);
    this.menu.open(this.#model.frame(i, this.invert), { x: event.clientX, y: event.clientY });
  }

  /** @param {number} i */
  #turn(i) {
    const id = this.#model?.nodes.id[i] ?? "";
    if (!this.#open.delete(id)) this.#open.add(id);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const model = this.#model;
    const i = this.#index(event);
    if (!model || i < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const { id } = model.nodes;
    const lines = this.#lines();
    const at = lines.indexOf(i);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 }[event.key];
    if (event.shiftKey && event.key === "F10") {
      const box = this.#row(id[i])?.getBoundingClientRect();
      if (box) this.menu.open(model.frame(i, this.invert), { x: box.left + 200, y: box.bottom });
    } else if (this.menu.press(event, model.frame(i, this.invert))) return;
    else if (to !== undefined) this.#current = id[lines[Math.max(0, Math.min(lines.length - 1, to))]];
    else if (event.key === "ArrowRight" && event.shiftKey) this.#openHeavy(i);
    else if (event.key === "ArrowRight" && this.#open.has(id[i])) this.#current = id[lines[at + 1]] ?? id[i];
    else if (event.key === "ArrowRight") this.#open.add(id[i]);
    else if (event.key === "ArrowLeft" && this.#open.has(id[i])) this.#open.delete(id[i]);
    else if (event.key === "ArrowLeft") this.#current = model.parents[i] > 0 ? id[model.parents[i]] : id[i];
    else if (event.key === "*") this.#openAll(i);
    else if (event.key === "Enter") this.#turn(i);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.#draw(!event.shiftKey || event.key !== "F10");
  }

  /**
   * Opens all below a node.
   * @param {number} i
   */
  #openAll(i) {
    const model = this.#model;
    if (!model) return;
    this.#open.add(model.nodes.id[i]);
    for (let at = i + 1; at < model.count && model.nodes.depth[at] > model.nodes.depth[i]; at += 1)
      this.#open.add(model.nodes.id[at]);
  }
}
