// What to compare views with: another range or filter of the same capture, another capture, or the runs before.

import { SHARE, get } from "../../lib/api.js";
import { askInDialog } from "../../lib/ask_dialog.js";
import { h } from "../../lib/dom.js";
import { duration } from "../../lib/format.js";
import { NO_COMPARISON } from "./against_model.js";

/** Runs before that are compared with at most. */
const RUNS = 15;

/**
 * Asks, and shows the comparison.
 * @param {import("../../page/capture_context.js").CaptureContext} context
 */
export async function chooseComparison(context) {
  const { view, state, info, id } = context;
  // Below a share a capture is compared with itself.
  const listed = SHARE ? { items: [] } : await get("/api/captures", { limit: 100 });
  const others = listed.items.filter((one) => one.id !== id && one.state !== "recording");
  // Of the same series first, as these were recorded the same.
  others.sort((a, b) => Number(b.title === info.title) - Number(a.title === info.title));
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
    choice("filter", "the same range with another filter", !ranged && others.length === 0),
    h("div", { class: "field" }, filter),
    others.length > 0 && choice("capture", "another capture, all of it", !ranged),
    others.length > 0 && ranged && choice("same", "the same part of another capture, from its start on"),
    others.length > 0 && h("div", { class: "field" }, capture),
    context.view.tab === "flame" &&
      runs.length > 1 &&
      choice("runs", `the median of the ${runs.length} runs before that are called the same`),
  ];
  // Whoever writes or chooses what belongs to a choice means that one.
  const means = (/** @type {HTMLElement} */ input, /** @type {string[]} */ values) =>
    input.addEventListener("input", () => {
      const radios = values.map((value) => form.querySelector(`input[value="${value}"]`));
      const one = radios.find((radio) => radio instanceof HTMLInputElement && radio.checked) ?? radios[0];
      if (one instanceof HTMLInputElement) one.checked = true;
    });
  means(filter, ["filter"]);
  means(capture, ["capture", "same"]);
  const form = h("fieldset", {}, h("legend", { text: "Compare what is shown with" }), ...fields);
  if (!(await askInDialog("Compare this view with", "Compare", form))) return;
  const chosen = form.querySelector("input:checked");
  const against = chosen instanceof HTMLInputElement ? chosen.value : "filter";
  const length = (view.end ?? 0) - (view.start ?? 0);
  const self = { against: "self", againststart: view.start, againstend: view.end };
  const all = { againststart: null, againstend: null };
  state.set({
    ...NO_COMPARISON,
    focus: "",
    // Both sides have one filter unless it is what differs.
    againstsame: against !== "filter",
    ...{
      before: { ...self, againststart: Math.max(0, (view.start ?? 0) - length), againstend: view.start },
      rest: { ...self, ...all },
      filter: { ...self, againstfilter: filter.value },
      capture: { ...all, against: capture.value },
      same: { ...self, against: capture.value },
      runs: { ...all, against: runs.map((one) => one.id).join(",") },
    }[against],
  });
}
