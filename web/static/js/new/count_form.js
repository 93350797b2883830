// What the form for counts has beside plain fields: suggestions, and the check of its probes.

import { get } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { inputOf } from "../lib/dom.js";
import { countedEvents } from "./perf_events.js";
import { ProbeText } from "./probe_builder.js";
import { MOST, suggestWords } from "./suggest.js";

/** The Counts tab. */
export class CountForm {
  constructor() {
    this.probes = new ProbeText("count-dynamic");
    suggestWords(inputOf("count-events"), countedEvents);
    new Combobox({
      input: inputOf("count-cgroup"),
      keepsText: true,
      source: async (query, signal) =>
        (await get("/api/groups", { q: query.trim(), limit: MOST }, signal)).items.map(({ path }) => ({ label: path })),
      pick: () => {},
    });
  }

  /** The fields are filled. */
  fill() {
    this.probes.filled();
  }
}
