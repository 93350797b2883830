// Thread states as a kind of source: what the pages know of it. Pure but for what Info shows.

import { entry } from "../lib/facts.js";

/** @import { StatesSpec } from "../../../api.js" */
/** @import { Kind } from "./kind.js" */
/** @typedef {{sleepStacks: boolean, wakeStacks: boolean}} StatesForm */

/**
 * Thread states as the spec has them: without what is as usual.
 * @param {StatesForm} form
 * @returns {StatesSpec}
 */
function specOf({ sleepStacks, wakeStacks }) {
  return { ...(sleepStacks ? { sleep_stacks: true } : {}), ...(wakeStacks ? { wake_stacks: true } : {}) };
}

/**
 * The form for these thread states; what the spec does not say is as usual.
 * @param {StatesSpec} spec
 * @returns {StatesForm}
 */
function formOf({ sleep_stacks: sleepStacks = false, wake_stacks: wakeStacks = false }) {
  return { sleepStacks, wakeStacks };
}

/** @param {StatesSpec} states */
function entries(states) {
  const stacks = [states.sleep_stacks && "where threads go to sleep", states.wake_stacks && "of who wakes them"];
  return entry(
    "Thread states",
    `Switches and wake-ups${stacks.some(Boolean) ? `, with stacks ${stacks.filter(Boolean).join(" and ")}` : ""}`,
  );
}

/** @satisfies {Kind<StatesForm, StatesSpec>} */
export const states = {
  name: /** @type {const} */ ("states"),
  title: "thread states",
  command: "thread states",
  empty: () => ({ sleepStacks: false, wakeStacks: false }),
  specOf,
  formOf,
  fields: { "states-sleep": "sleepStacks", "states-wake": "wakeStacks" },
  ofThreads: true,
  entries,
};
