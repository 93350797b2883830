// What can be done with a frame: a menu, and keys that do the same.

import { askInDialog } from "../../lib/ask_dialog.js";
import { copyText, h } from "../../lib/dom.js";
import { Menu } from "../../lib/menu.js";
import { note } from "../../lib/notice.js";
import { TRANSFORMS_CHARS, firstTransforms, renameOf, transformsOf, withTransform } from "./transforms.js";

/** @typedef {import("./transforms.js").Frame & {own: number}} MenuFrame */

/**
 * Characters that mean something in a regular expression.
 * @param {string} text
 */
const quoted = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** The menu of a view. */
export class FlameMenu {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {{find: (name: string) => void, between: (name: string) => void, code: (name: string) => void,
   *   note: (frame: MenuFrame, kind: "frame"|"function") => void}} ways to other forms
   */
  constructor(context, ways) {
    this.context = context;
    this.ways = ways;
    this.menu = new Menu();
    this.menu.element.classList.add("is-floating");
    this.element = this.menu.element;
  }

  /** @param {string} transform */
  add(transform) {
    const transforms = withTransform(this.context.view.transforms, transform);
    if (transforms.length > TRANSFORMS_CHARS) {
      note("These are more transforms than a link holds. Take some back first.");
      return;
    }
    this.context.state.set({ transforms, focus: "" });
  }

  /** Takes the last transform back. */
  undo() {
    const { transforms } = this.context.view;
    const count = transforms.split("~").filter(Boolean).length;
    if (count > 0) this.context.state.set({ transforms: firstTransforms(transforms, count - 1), focus: "" });
  }

  /**
   * Shows what can be done with a frame.
   * @param {MenuFrame} frame
   * @param {{x: number, y: number}} at
   */
  open(frame, at) {
    const { hasStacks, foldsMaps } = this.context;
    const sampled = hasStacks && !foldsMaps && !frame.isGroup;
    this.menu.open(
      frame.name,
      [
        ...transformsOf(frame).map(({ key, label, transform }) => ({ key, label, run: () => this.add(transform) })),
        { key: "h", label: "Hide the kernel", run: () => this.add("k") },
        { key: "H", label: "Hide run-time libraries", run: () => this.add("u") },
        ...(frame.isGroup ? [] : [{ label: "Give it another name…", run: () => void this.#rename(frame) }]),
        ...(sampled ? [{ key: "s", label: "Callers and callees", run: () => this.ways.between(frame.name) }] : []),
        ...(sampled && frame.own > 0 ? [{ label: "Instructions", run: () => this.ways.code(frame.name) }] : []),
        { label: "Find in the graph", run: () => this.ways.find(frame.name) },
        ...(frame.isGroup
          ? []
          : [
              { key: "n", label: "Write a note on this frame", run: () => this.ways.note(frame, "frame") },
              { key: "N", label: "Write a note on this function", run: () => this.ways.note(frame, "function") },
            ]),
        { label: "Copy the name", run: () => void copyText(frame.name) },
      ],
      at,
    );
  }

  /** @param {MenuFrame} frame */
  async #rename(frame) {
    const pattern = h("input", { class: "mono", maxlength: "500", spellcheck: "false" });
    const text = h("input", { class: "mono", maxlength: "500", spellcheck: "false" });
    pattern.value = `^${quoted(frame.name)}$`;
    text.value = frame.name;
    const field = (/** @type {string} */ label, /** @type {HTMLElement} */ input) =>
      h("label", { class: "field" }, h("span", { text: label }), input);
    const asked = await askInDialog(
      "Show names as others",
      "Show",
      field("Names that match this regular expression", pattern),
      field("are shown as ($1 is its first group)", text),
    );
    if (asked && pattern.value) this.add(renameOf(pattern.value, text.value));
  }

  /**
   * Does what a key means for a frame. Gives whether it means something.
   * @param {KeyboardEvent} event
   * @param {MenuFrame|null} frame
   */
  press(event, frame) {
    if (event.ctrlKey || event.altKey || event.metaKey) return false;
    const run = this.#meaning(event.key, frame);
    if (!run) return false;
    run();
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /**
   * @param {string} key
   * @param {MenuFrame|null} frame
   * @returns {(() => void)|null}
   */
  #meaning(key, frame) {
    if (key === "h") return () => this.add("k");
    if (key === "H") return () => this.add("u");
    if (key === "z") return () => this.undo();
    if (!frame) return null;
    const sampled = this.context.hasStacks && !this.context.foldsMaps;
    if (key === "s" && sampled && !frame.isGroup) return () => this.ways.between(frame.name);
    if (key.toLowerCase() === "n" && !frame.isGroup)
      return () => this.ways.note(frame, key === "n" ? "frame" : "function");
    const found = transformsOf(frame).find((one) => one.key === key);
    return found ? () => this.add(found.transform) : null;
  }
}
