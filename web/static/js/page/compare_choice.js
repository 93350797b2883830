// Which capture another one is compared with: runs before of the same first, then what a search finds.

import { Latest, get } from "../lib/api.js";
import { askInDialog } from "../lib/ask_dialog.js";
import { h, put, settled } from "../lib/dom.js";
import { duration, wall } from "../lib/format.js";
import { showError } from "../lib/notice.js";

/** @import { CaptureItem } from "../../../api.js" */

const MOST = 30;
/** Runs of the same that are offered. */
const MOST_RUNS = 10;

/** @param {CaptureItem} one */
const wordsOf = (one) => `${one.title}, ${wall(one.started_unix_ns)}, ${duration(one.duration_ns)}, ${one.host}`;

/**
 * Runs of a series as they are offered: those that began before a capture first, the last of them first.
 * @param {string} series
 * @param {{id: string, began: number}} of
 * @returns {Promise<{id: string, text: string}[]>}
 */
export async function runsBefore(series, { id, began }) {
  const { runs, baseline } = await get("/api/series/{series}", { series });
  const others = runs.filter((run) => run.id !== id);
  const isBefore = (/** @type {{started_unix_ns: number}} */ run) => Number(run.started_unix_ns) <= Number(began);
  const sorted = [...others.filter(isBefore), ...others.filter((run) => !isBefore(run))].slice(0, MOST_RUNS);
  return sorted.map((run) => ({
    id: run.id,
    text: `${wall(run.started_unix_ns)}, ${duration(run.duration_ns)}, ${run.title}${run.id === baseline ? ", baseline" : ""}`,
  }));
}

/**
 * Asks which; null if nothing was chosen.
 * @param {string} id of the capture that is compared
 * @param {() => Promise<{id: string, text: string}[]>} [before] what is offered first
 * @returns {Promise<string|null>}
 */
export async function chooseOther(id, before = async () => []) {
  const search = h("input", {
    type: "search",
    size: "40",
    "aria-label": "Search captures",
    placeholder: "Words, tag:slow, newer:7d",
  });
  const list = h("div", { class: "compare-choices", role: "radiogroup", "aria-label": "Captures" });
  const problem = h("div");
  const latest = new Latest();
  let chosen = "";
  const choice = (/** @type {{id: string, text: string}} */ one) => {
    const input = h("input", { type: "radio", name: "compare-with", value: one.id });
    input.checked = one.id === chosen;
    input.addEventListener("change", () => (chosen = one.id));
    return h("label", { class: "check" }, input, ` ${one.text}`);
  };
  const show = async () => {
    try {
      const found = await latest.run((signal) => get("/api/captures", { q: search.value.trim(), limit: MOST }, signal));
      if (found === undefined) return;
      const first = search.value.trim() ? [] : await before();
      const rest = found.items
        .filter((one) => one.id !== id && !first.some((run) => run.id === one.id))
        .map((one) => ({ id: one.id, text: wordsOf(one) }));
      const all = [...first, ...rest];
      if (!all.some((one) => one.id === chosen)) chosen = all[0]?.id ?? "";
      put(problem);
      put(
        list,
        first.length > 0 && h("p", { class: "quiet small", text: "Runs of the same" }),
        ...first.map(choice),
        rest.length > 0 && h("p", { class: "quiet small", text: first.length > 0 ? "Others" : "Captures" }),
        ...rest.map(choice),
        all.length === 0 &&
          h("p", { class: "quiet", text: search.value.trim() ? "No match." : "There is no other capture." }),
      );
    } catch (error) {
      showError(problem, error, () => void show());
    }
  };
  search.addEventListener(
    "input",
    settled(150, () => void show()),
  );
  void show();
  const sent = await askInDialog("Compare with", "Compare", search, problem, list);
  return sent && chosen ? chosen : null;
}
