// Suggestions of events of perf, which are counted or sampled.

import { get } from "../lib/api.js";
import { MOST, keptProbes, tracepoints } from "./suggest.js";

/** @import { PerfEventInfo, PerfEvents } from "../../../api.js" */

/** @type {Promise<PerfEvents>|null} */
let events = null;

/** Kinds of what is only read, and does not happen. */
const READ = new Set(["tool", "pressure", "memory", "vm"]);

/**
 * Events that can be sampled.
 * @param {string} word
 * @param {AbortSignal} signal
 */
export async function sampledEvents(word, signal) {
  return perfEvents(word, signal, ({ kind }) => !READ.has(kind));
}

/**
 * Events that can be counted, and kept probes, which become events when counting begins.
 * @param {string} word
 * @param {AbortSignal} signal
 */
export async function countedEvents(word, signal) {
  const [found, kept] = await Promise.all([perfEvents(word, signal), word ? keptProbes(word, signal) : []]);
  return [...kept, ...found];
}

/**
 * Events that can be counted: those that work here first, then tracepoints.
 * @param {string} word
 * @param {AbortSignal} signal
 * @param {(event: PerfEventInfo) => boolean} [fits]
 */
export async function perfEvents(word, signal, fits = () => true) {
  events ??= get("/api/perf_events").catch((error) => {
    events = null;
    throw error;
  });
  const { items } = await events;
  const wanted = word.toLowerCase();
  const found = items
    .filter((one) => fits(one) && `${one.name} ${one.alias ?? ""}`.toLowerCase().includes(wanted))
    .sort((a, b) => Number(b.works) - Number(a.works))
    .slice(0, MOST)
    .map((one) => ({
      label: one.name,
      detail: one.meaning,
      group: one.works ? `${one.kind} ${READ.has(one.kind) ? "counters" : "events"}` : "cannot be counted here",
    }));
  const names = word.length > 1 ? await tracepoints(word, signal) : [];
  return [...found, ...names.map((label) => ({ label, group: "tracepoints" }))];
}
