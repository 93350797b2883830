// What was done with stacks, as a line of steps: each goes back to itself, or is taken out.

import { amount } from "../../lib/amount.js";
import { h, put } from "../../lib/dom.js";
import { percent } from "../../lib/format.js";
import { firstTransforms, withoutTransform } from "./transforms.js";

/**
 * Draws it.
 * @param {HTMLElement} element
 * @param {{transforms: import("../../../../api.js").AppliedTransform[], recorded: number, unit: string}} answer
 * @param {import("../../page/url_state.js").ViewState} state
 */
export function drawTransforms(element, { transforms, recorded, unit }, state) {
  element.hidden = transforms.length === 0;
  const list = () => state.view.transforms;
  const steps = transforms.map((step, at) =>
    h(
      "span",
      { class: step.problem ? "flame-change is-idle" : "flame-change" },
      h("button", {
        type: "button",
        class: "plain",
        "aria-current": at === transforms.length - 1 ? "true" : null,
        title: step.problem
          ? `Did nothing: ${step.problem}`
          : `${amount(step.samples, unit)}, ${percent(step.samples, recorded)} of all. Click to take back what follows`,
        text: step.problem ? `${step.words} (did nothing: ${step.problem})` : step.words,
        on: { click: () => state.set({ transforms: firstTransforms(list(), at + 1), focus: "" }) },
      }),
      h("button", {
        type: "button",
        class: "plain icon",
        "aria-label": `Take back: ${step.words}`,
        title: "Take back",
        text: "×",
        on: { click: () => state.set({ transforms: withoutTransform(list(), at), focus: "" }) },
      }),
    ),
  );
  put(
    element,
    h("button", {
      type: "button",
      class: "plain",
      text: `All of ${amount(recorded, unit)}`,
      title: "Take all back",
      on: { click: () => state.set({ transforms: "", focus: "" }) },
    }),
    ...steps.flatMap((step) => [h("span", { class: "quiet", "aria-hidden": "true", text: "›" }), step]),
  );
}
