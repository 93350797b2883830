// Events at tracepoints as a kind of source: what the pages know of it. Pure but for what Info shows.

import { h } from "../lib/dom.js";
import { entry } from "../lib/facts.js";

/** @import { Method } from "../../../api.js" */
/** @import { Kind, Reading } from "./kind.js" */
/** @typedef {NonNullable<Method["events"]>} EventsSpec */
/** @typedef {ReturnType<typeof empty>} EventsForm */

const empty = () => ({ probes: /** @type {{tracepoint: string, fields: string[], predicate: string}[]} */ ([]) });

/**
 * Events as the spec has them.
 * @param {EventsForm} form
 * @param {Reading} reading
 * @returns {EventsSpec}
 */
function specOf(form, { problems }) {
  if (form.probes.length === 0) problems.push("Add at least one tracepoint.");
  return {
    probes: form.probes.map(({ tracepoint, fields, predicate }) => ({
      tracepoint,
      fields,
      ...(predicate.trim() ? { predicate: predicate.trim() } : {}),
    })),
  };
}

/**
 * The form for these events.
 * @param {EventsSpec} events
 * @returns {EventsForm}
 */
function formOf(events) {
  return {
    probes: events.probes.map((probe) => ({
      tracepoint: probe.tracepoint,
      fields: [...probe.fields],
      predicate: probe.predicate ?? "",
    })),
  };
}

/** @param {EventsSpec} events */
function entries({ probes }) {
  return probes.flatMap((probe, i) =>
    entry(
      i === 0 ? "Events" : "",
      h("code", { text: probe.tracepoint }),
      probe.fields.length ? `: ${probe.fields.join(", ")}` : "",
      probe.predicate && h("div", {}, "only where ", h("code", { text: probe.predicate })),
    ),
  );
}

/** @satisfies {Kind<EventsForm, EventsSpec>} */
export const events = {
  name: /** @type {const} */ ("events"),
  title: "events",
  command: "trace events",
  empty,
  specOf,
  formOf,
  fields: {},
  beginsEmpty: true,
  ofThreads: true,
  entries,
};

/**
 * Where a tracepoint is traced.
 * @param {string} name
 */
export function tracepointAddress(name) {
  return `/new?method=${events.name}&tracepoint=${encodeURIComponent(name)}`;
}
