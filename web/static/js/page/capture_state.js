// What a capture does, or how it ended, in a word and a shape.

import { h } from "../lib/dom.js";
import { sentence } from "../lib/notice.js";

/** @type {Record<string, string>} */
const STATES = {
  recording: "Recording",
  finished: "Finished",
  interrupted: "Interrupted",
  failed: "Failed",
  agent_lost: "Agent ended",
};

/**
 * The state of a capture: a shape and a word.
 * @param {string} state
 * @param {string} [away] why it may be another one by now, for what was recording
 */
export function captureState(state, away = "") {
  if (away && state === "recording")
    return h("span", {
      class: "state state-unknown",
      title: sentence(away),
      text: "Not known whether it still records",
    });
  return h("span", { class: `state state-${state}`, text: STATES[state] ?? state });
}
