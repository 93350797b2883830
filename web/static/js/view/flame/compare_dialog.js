// What to compare stacks with: another range or filter of the same capture, another capture, or the runs before.

import { get } from "../../lib/api.js";
import { askInDialog } from "../../lib/ask_dialog.js";
import { h } from "../../lib/dom.js";
import { duration } from "../../lib/format.js";

/** Runs before that are compared with at most. */
const RUNS = 15;

/**
 * Asks, and shows the comparison.
 * @param {import("../../page/capture_context.js").CaptureContext} context
 */
export async function chooseComparison(context) {
  const { view, state, info, id } = context;
  const listed = await get("/api/captures", { limit: 100 });
  const others = listed.items.filter((one) => one.id !== id && one.state !== "recording");
  const runs = others
    .filter(({ title, started_unix_ns }) => title === info.title && started_unix_ns < info.started_unix_ns)
    .slice(0, RUNS);
  const choice = (/** @type {string} */ value, /** @type {string} */ text, checked = false) => {
    const input = h("input", { type: "radio", name: "against", value });
    input.checked = checked;
    return h("label", { class: "check" }, input, ` ${text}`);
  };
  const ranged = view.start !== null && view.end !== null;
  const filter = h("input", {
    class: "mono",
    maxlength: "1024",
    spellcheck: "false",
    "aria-label": "Filter of the other",
  });
  filter.value = view.filter;
  const capture = h(
    "select",
    { "aria-label": "The other capture" },
    ...others.map((one) =>
      h("option", { value: one.id, text: `${one.title}, ${new Date(one.started_unix_ns / 1e6).toLocaleString()}` }),
    ),
  );
  const fields = [
    ranged &&
      choice("before", `the same time before this range (${duration((view.end ?? 0) - (view.start ?? 0))})`, true),
    ranged && choice("rest", "the whole capture"),
    choice("filter", "the same range with another filter", !ranged),
    h("div", { class: "field" }, filter),
    others.length > 0 && choice("capture", "another capture"),
    others.length > 0 && h("div", { class: "field" }, capture),
    runs.length > 1 && choice("runs", `the median of the ${runs.length} runs before that are called the same`),
  ];
  const form = h("fieldset", {}, h("legend", { text: "Compare what is shown with" }), ...fields);
  if (!(await askInDialog("Compare stacks", "Compare", form))) return;
  const chosen = form.querySelector("input:checked");
  const against = chosen instanceof HTMLInputElement ? chosen.value : "filter";
  const length = (view.end ?? 0) - (view.start ?? 0);
  const self = { against: "self", againststart: view.start, againstend: view.end, againstfilter: view.filter };
  const all = { againststart: null, againstend: null, againstfilter: view.filter };
  state.set({
    focus: "",
    swapped: false,
    ...{
      before: { ...self, againststart: Math.max(0, (view.start ?? 0) - length), againstend: view.start },
      rest: { ...self, ...all },
      filter: { ...self, againstfilter: filter.value },
      capture: { ...all, against: capture.value },
      runs: { ...all, against: runs.map((one) => one.id).join(",") },
    }[against],
  });
}
