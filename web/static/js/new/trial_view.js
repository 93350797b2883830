// A trial of the builder: first rows and cost, of which nothing is kept.

import { h, put } from "../lib/dom.js";
import { duration, exact, plural } from "../lib/format.js";
import { MemoryView } from "./memory_view.js";

/** @import { Trial, TrialBytes } from "../../../api.js" */
/** @import { Ticked } from "./memory_model.js" */

/**
 * What a trial counted and cost, in sentences.
 * @param {Pick<Trial, "probes"|"duration_ns"|"lost"|"reason">} trial
 * @returns {string[]}
 */
export function trialWords({ probes, duration_ns: ns, lost, reason }) {
  const hits = probes.reduce((sum, probe) => sum + probe.hits, 0);
  const filtered = probes.reduce((sum, probe) => sum + probe.filtered, 0);
  const each = ns > 0 ? Math.round((hits * 1e9) / ns) : 0;
  const words = [
    `${plural(hits, "hit")} in ${duration(ns)}, ${exact(each)} per second${filtered ? `; ${exact(filtered)} did not match the condition or the target` : ""}.`,
  ];
  const measured = probes.filter(({ ns_per_hit: cost }) => cost !== null);
  if (measured.length > 0) {
    const spent = measured.reduce((sum, probe) => sum + probe.hits * (probe.ns_per_hit ?? 0), 0);
    const counted = measured.reduce((sum, probe) => sum + probe.hits, 0);
    const percent = ns > 0 ? (100 * spent) / ns : 0;
    const share = percent < 0.01 ? "less than 0.01" : percent.toPrecision(2);
    if (counted > 0) words.push(`Cost: ${duration(spent / counted)} per hit, ${share} % of one CPU.`);
  } else if (hits > 0) words.push("Cost: not measured; the trial was too short.");
  if (lost > 0) words.push(`${plural(lost, "record")} lost.`);
  const full = probes.reduce((sum, probe) => sum + probe.map_full, 0);
  if (full > 0) words.push(`${plural(full, "update")} did not fit into a map.`);
  if (reason) words.push(`It ended early: ${reason}.`);
  return words;
}

/**
 * Shows what came of a trial.
 * @param {HTMLElement} place
 * @param {Trial} trial
 * @param {object} parts
 * @param {string} parts.left what it did not do that the capture will
 * @param {(bytes: TrialBytes) => string} parts.baseOf where memory that it read begins, as an expression; empty if unknown
 * @param {(bytes: TrialBytes, value: Ticked) => void} parts.record
 */
export function showTrial(place, trial, { left, baseOf, record }) {
  const { output } = trial;
  const text = output.lines.map((line) => line.text).join("");
  put(
    place,
    left && h("p", { class: "small", text: left }),
    ...trialWords(trial).map((words) => h("p", { class: "small", text: words })),
    ...trial.bytes.map(
      (bytes) => new MemoryView(bytes, { base: baseOf(bytes), record: (value) => record(bytes, value) }).element,
    ),
    text
      ? h("pre", { class: "script", tabindex: "0", "aria-label": "First rows of the trial", text })
      : h("p", { class: "quiet small", text: "Nothing was recorded in this time." }),
    output.next !== null &&
      h("p", { class: "quiet small", text: `Only the first ${plural(output.lines.length, "row")} are shown.` }),
    h("p", { class: "quiet small", text: "The trial is deleted." }),
  );
}
