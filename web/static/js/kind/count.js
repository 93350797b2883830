// Counts as a kind of source: what the pages know of it. Pure but for what Info shows.

import { h } from "../lib/dom.js";
import { entry } from "../lib/facts.js";
import { delayOf, groupsOf, inUnit, number, wordsOf } from "../lib/form_values.js";
import { duration } from "../lib/format.js";
import { probeLines, probesOf } from "../lib/probe_text.js";
import { probedEntries } from "./own_probes.js";

/** @import { CountSpec } from "../../../api.js" */
/** @import { Kind, Reading } from "./kind.js" */
/** @typedef {ReturnType<typeof empty>} CountForm */

/** @type {Record<string, number>} */
const INTERVALS = { ms: 1, s: 1000 };
const MOST_CPUS = 8192;

const empty = () => ({
  events: "",
  interval: "1",
  intervalUnit: "s",
  per: "total",
  cpus: "",
  everywhere: false,
  cgroup: "",
  detail: "0",
  dynamic: "",
  delay: "",
});

/**
 * `0-3,8` as numbers.
 * @param {string} text
 * @param {string[]} problems
 */
function cpusOf(text, problems) {
  const cpus = [];
  for (const part of wordsOf(text)) {
    const [, from, to = from] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    if (from === undefined || Number(to) < Number(from) || cpus.length + Number(to) - Number(from) >= MOST_CPUS) {
      problems.push(`Write CPUs as 0-3,8; ${part} is not one of them.`);
      break;
    }
    for (let cpu = Number(from); cpu <= Number(to); cpu += 1) cpus.push(cpu);
  }
  return cpus;
}

/** @param {number[]} cpus */
function cpusText(cpus) {
  /** @type {[from: number, to: number][]} */
  const runs = [];
  for (const cpu of cpus) {
    const run = runs.at(-1);
    if (run && cpu === run[1] + 1) run[1] = cpu;
    else runs.push([cpu, cpu]);
  }
  return runs.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(",");
}

/**
 * Counts as the spec has them.
 * @param {CountForm} form
 * @param {Reading} reading
 * @returns {CountSpec}
 */
function specOf(form, { ofSome, problems }) {
  const [cpus, dynamic] = [cpusOf(form.cpus, problems), probesOf(form.dynamic)];
  const unit = INTERVALS[form.intervalUnit];
  const interval = number(form.interval, "The time between readings", problems, {
    least: 10 / unit,
    most: 3600000 / unit,
    whole: false,
  });
  const one = ofSome && !form.everywhere;
  if (form.per === "thread" && !one) problems.push("Rows for each thread need a process or a command as target.");
  if (form.cgroup && one)
    problems.push(
      "A control group is counted on whole CPUs: choose the whole system as target, or everything on the CPUs.",
    );
  return {
    groups: groupsOf(form.events, problems),
    interval_ms: Math.round(interval * unit),
    per: /** @type {CountSpec["per"]} */ (form.per),
    ...(cpus.length ? { cpus } : {}),
    ...(form.everywhere ? { everywhere: true } : {}),
    ...(form.cgroup ? { cgroup: form.cgroup } : {}),
    ...(form.detail === "0" ? {} : { detail: Number(form.detail) }),
    ...(dynamic.length ? { dynamic } : {}),
    ...delayOf(form.delay, problems),
  };
}

/**
 * The form for these counts; what the spec does not say is as usual.
 * @param {Partial<CountSpec>} spec
 * @returns {CountForm}
 */
function formOf({
  groups = [],
  interval_ms: every = 1000,
  per = "total",
  cpus = [],
  everywhere = false,
  cgroup = "",
  detail = 0,
  dynamic = [],
  delay_ms: delay = 0,
}) {
  const [interval, intervalUnit] = inUnit(every, INTERVALS);
  const events = groups.map((group) => (group.length > 1 ? `{${group.join(", ")}}` : group[0])).join(", ");
  return {
    events,
    interval,
    intervalUnit,
    per,
    cpus: cpusText(cpus),
    everywhere,
    cgroup: cgroup ?? "",
    detail: String(detail),
    dynamic: probeLines(dynamic).join("\n"),
    delay: delay ? String(delay) : "",
  };
}

/** @param {CountSpec} counts */
function entries(counts) {
  return [
    ...entry(
      "Method",
      "Counts, read every ",
      duration(counts.interval_ms * 1e6),
      ": ",
      h("code", {
        text:
          (counts.groups ?? []).map((group) => (group.length > 1 ? `{${group.join(",")}}` : group[0])).join(", ") ||
          (counts.dynamic?.length ? "those of the probes" : "default events"),
      }),
      counts.delay_ms ? `, begun after ${duration(counts.delay_ms * 1e6)}` : "",
    ),
    ...probedEntries(counts.dynamic ?? []),
  ];
}

/** @satisfies {Kind<CountForm, CountSpec>} */
export const count = {
  name: /** @type {const} */ ("count"),
  title: "counts",
  command: "count events",
  empty,
  specOf,
  formOf,
  fields: {
    "count-events": "events",
    "count-interval": "interval",
    "count-interval-unit": "intervalUnit",
    "count-per": "per",
    "count-cpus": "cpus",
    "count-everywhere": "everywhere",
    "count-cgroup": "cgroup",
    "count-detail": "detail",
    "count-dynamic": "dynamic",
    "count-delay": "delay",
  },
  parameters: { events: "events" },
  ofThreads: true,
  costIsEstimated: true,
  entries,
  tab: "counts",
};
