// What a capture does, or how it ended, in a word and a shape.

import { h } from "../lib/dom.js";

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
 */
export function captureState(state) {
  return h("span", { class: `state state-${state}`, text: STATES[state] ?? state });
}
