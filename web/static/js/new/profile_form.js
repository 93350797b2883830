// What the form for profiles has beside plain fields: suggestions.

import { BRANCH_WORDS } from "../kind/profile.js";
import { inputOf } from "../lib/dom.js";
import { sampledEvents } from "./perf_events.js";
import { fitting, suggestWords } from "./suggest.js";

/** The Profile tab. */
export class ProfileForm {
  constructor() {
    suggestWords(inputOf("event"), sampledEvents, "");
    suggestWords(inputOf("branches"), async (word) => fitting(BRANCH_WORDS, word));
  }
}
