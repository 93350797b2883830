// What can be recorded at a place, as lists that unfold member by member. A tick records a value.

import { get, problemOf } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { exact } from "../lib/format.js";
import { valueKey } from "./builder_model.js";
import { MOST_BYTES, addressAt } from "./memory_model.js";

/** @import { ArgumentNode, ValueFormat } from "../../../api.js" */
/** @typedef {{expr: string, format: ValueFormat, late: boolean}} Ticked */

/** From so many members on, a list has a field that filters it. */
const MANY = 14;

/**
 * Type, size and place of a member, in words.
 * @param {Pick<ArgumentNode, "type"|"bytes"|"bits"|"bit_offset"|"note">} node
 */
export function typeWords({ type, bytes, bits, bit_offset: at, note }) {
  const size = bits ? `${bits} bit${bits === 1 ? "" : "s"}` : bytes ? `${exact(bytes)} B` : "";
  const place = at === null ? "" : bits ? `bit ${exact(at)}` : `at ${exact(Math.floor(at / 8))}`;
  return [type, size, place, note].filter(Boolean).join(" · ");
}

/**
 * An expression without parentheses around the whole of it, which a script leaves out.
 * @param {string} expr
 */
export function bareText(expr) {
  if (!expr.startsWith("(") || !expr.endsWith(")")) return expr;
  let depth = 0;
  for (const [at, letter] of [...expr].entries()) {
    depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    if (depth === 0 && at < expr.length - 1) return expr;
  }
  return bareText(expr.slice(1, -1).trim());
}

/** @param {{expr: string, format: ValueFormat}} value */
const keyOf = ({ expr, format }) => valueKey({ expr: bareText(expr), format });

/** The tree of one place. */
export class ArgumentTree {
  /** @type {Map<string, HTMLInputElement>} ticks by their values */
  #boxes = new Map();
  /** @type {Set<string>} */
  #chosen = new Set();

  /**
   * @param {object} parts
   * @param {string} parts.title
   * @param {string} parts.site
   * @param {(value: Ticked, on: boolean) => void} parts.tick
   * @param {(nodes: ArgumentNode[]) => void} parts.known the arguments themselves
   * @param {(nodes: ArgumentNode[]) => void} parts.seen whatever is unfolded
   */
  constructor(parts) {
    this.parts = parts;
    this.site = parts.site;
    this.body = h("div", {}, h("p", { class: "quiet small", text: "Reading its arguments" }));
    this.head = h("h3", { class: "small" });
    this.element = h("section", { class: "build-tree" }, this.head, this.body);
    this.title = parts.title;
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.#load();
  }

  set title(/** @type {string} */ title) {
    this.head.textContent = title;
    this.element.setAttribute("aria-label", title);
  }

  async #load() {
    try {
      const { nodes, note } = await get("/api/builder/arguments", { site: this.site });
      this.parts.seen(nodes);
      this.parts.known(nodes);
      put(
        this.body,
        note && h("p", { class: "quiet small", text: `${note[0].toUpperCase()}${note.slice(1)}.` }),
        this.#list(nodes, []),
      );
    } catch (error) {
      const { why, message } = problemOf(error);
      put(this.body, h("p", { class: "quiet small", text: `Its arguments are not known: ${why || message}.` }));
    }
  }

  /**
   * @param {ArgumentNode[]} nodes
   * @param {string[]} path of what they are in
   */
  #list(nodes, path) {
    return h("ul", { class: "arguments" }, ...nodes.map((node) => this.#row(node, [...path, node.name])));
  }

  /**
   * @param {ArgumentNode} node
   * @param {string[]} path
   */
  #row(node, path) {
    const within = h("div", { class: "arguments-within", hidden: true });
    const open = node.opens
      ? h("button", {
          type: "button",
          class: "plain unfold",
          "aria-expanded": "false",
          "aria-label": `Members of ${path.join(" ")}`,
          text: "▸",
          on: { click: () => this.#unfold(open, within, node, path) },
        })
      : h("span", { class: "unfold", "aria-hidden": "true" });
    const name = h("span", { class: "mono", text: node.name });
    const about = h("span", { class: "quiet small argument-type", text: typeWords(node), title: typeWords(node) });
    const [format] = node.formats;
    if (format === undefined) return h("li", {}, h("div", { class: "argument" }, open, name, about), within);
    const box = h("input", {
      type: "checkbox",
      "aria-label": `Record ${path.join(" ")}`,
      on: { change: () => this.parts.tick({ expr: node.expr, format, late: node.late }, box.checked) },
    });
    const key = keyOf({ expr: node.expr, format });
    box.checked = this.#chosen.has(key);
    this.#boxes.set(key, box);
    return h("li", {}, h("div", { class: "argument" }, open, h("label", { class: "check" }, box, name), about), within);
  }

  /**
   * @param {HTMLElement} open
   * @param {HTMLElement} within
   * @param {ArgumentNode} of
   * @param {string[]} path
   */
  async #unfold(open, within, of, path) {
    const shows = open.getAttribute("aria-expanded") === "false";
    open.setAttribute("aria-expanded", String(shows));
    open.textContent = shows ? "▾" : "▸";
    within.hidden = !shows;
    if (!shows || within.childElementCount > 0) return;
    try {
      const found = await get("/api/builder/arguments", { site: this.site, path: path.join("/") });
      const { nodes, left_out: left, note } = found;
      this.parts.seen(nodes);
      const list = this.#list(nodes, path);
      put(
        within,
        note && h("p", { class: "quiet small", text: `${note[0].toUpperCase()}${note.slice(1)}.` }),
        of.memory && this.#bytesOf(of, path),
        nodes.length >= MANY && this.#filter(list),
        list,
        left > 0 && h("p", { class: "quiet small", text: `${exact(left)} more are not shown` }),
      );
    } catch (error) {
      put(within, h("p", { class: "quiet small", text: problemOf(error).why }));
    }
  }

  /**
   * Fields for bytes of memory that nothing describes: from where, how many.
   * @param {ArgumentNode} of
   * @param {string[]} path
   */
  #bytesOf(of, path) {
    /** @param {string} label @param {string} value */
    const number = (label, value) =>
      h("input", {
        type: "text",
        inputmode: "numeric",
        class: "num small",
        size: "5",
        value,
        "aria-label": `${label} of bytes at ${path.join(" ")}`,
      });
    const [offset, count] = [number("Offset", "0"), number("Count", "64")];
    const said = h("span", { class: "small stop", role: "status" });
    const add = () => {
      const [at, bytes] = [Number(offset.value), Number(count.value)];
      const isRight = Number.isInteger(at) && Number.isInteger(bytes) && bytes > 0 && bytes <= MOST_BYTES;
      said.textContent = isRight ? "" : `Write whole numbers, and at most ${exact(MOST_BYTES)} bytes.`;
      if (isRight) this.parts.tick({ expr: addressAt(of.expr, at), format: { bytes }, late: of.late }, true);
    };
    for (const field of [offset, count])
      field.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.ctrlKey) add();
      });
    return h(
      "div",
      { class: "row memory-range" },
      count,
      h("span", { class: "small", text: "bytes from offset" }),
      offset,
      h("button", {
        type: "button",
        class: "small",
        text: "Record bytes",
        "aria-label": `Record bytes at ${path.join(" ")}`,
        on: { click: add },
      }),
      said,
    );
  }

  /** @param {HTMLElement} list */
  #filter(list) {
    const field = h("input", {
      type: "text",
      class: "mono small",
      placeholder: "filter",
      spellcheck: "false",
      "aria-label": "Filter members",
    });
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      for (const item of list.children)
        if (item instanceof HTMLElement) {
          const row = item.querySelector(".argument");
          item.hidden = !(row?.textContent ?? "").toLowerCase().includes(wanted);
        }
    });
    return field;
  }

  /**
   * Arrow keys go from row to row; right and left unfold and fold.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    if (!(event.target instanceof HTMLElement) || event.target.matches("input[type=text]")) return;
    const row = event.target.closest(".argument");
    if (!row) return;
    const rows = [...this.element.querySelectorAll(".argument")].filter(
      (one) => one instanceof HTMLElement && one.offsetParent !== null,
    );
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const button = row.querySelector("button.unfold");
    if (step !== undefined) {
      const next = rows[rows.indexOf(row) + step];
      const target = next?.querySelector("input") ?? next?.querySelector("button");
      if (target instanceof HTMLElement) target.focus();
    } else if (
      button instanceof HTMLElement &&
      ((event.key === "ArrowRight" && button.getAttribute("aria-expanded") === "false") ||
        (event.key === "ArrowLeft" && button.getAttribute("aria-expanded") === "true"))
    )
      button.click();
    else return;
    event.preventDefault();
  }

  /**
   * Shows which values are recorded.
   * @param {readonly {expr: string, format: ValueFormat}[]} values
   */
  choose(values) {
    this.#chosen = new Set(values.map(keyOf));
    for (const [key, box] of this.#boxes) box.checked = this.#chosen.has(key);
  }
}
