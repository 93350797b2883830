// What leads to the row that is picked and on from it, in words with buttons; its stacks as text; those of the same name.

import { h } from "../../../lib/dom.js";
import { duration, exact, moment, plural } from "../../../lib/format.js";

/** @import { TrackFlow, TrackMoment, TrackRowLine } from "../../../../../api.js" */

/** What each kind of flow says, from another to the row and from the row to another. */
const WORDS = {
  from: {
    wake_up: "woken by",
    interrupt: "woken by an interrupt:",
    idle: "woken from an interrupt or the idle task",
    start: "started by",
    issue: "issued by",
    completion: "waited for the block request",
  },
  to: {
    wake_up: "wakes",
    interrupt: "wakes",
    idle: "wakes",
    start: "starts",
    issue: "issues the block request",
    completion: "its end wakes",
  },
};

/**
 * A flow in words.
 * @param {TrackFlow} flow
 */
export function flowWords({ way, kind, name, tid, time, cpu, latency }) {
  const isTold = kind === "interrupt" || kind === "idle" || tid === 0;
  const who = isTold ? name : `${name || "thread"} ${tid}`;
  const where = cpu === null ? "" : `${kind === "idle" ? " of" : " on"} CPU ${cpu}`;
  const ran = latency === null ? "" : `, ran after ${duration(latency)}`;
  // An interrupt of which nothing is recorded has no name.
  const words = who === "" ? WORDS[way][kind].replace(/:$/, "") : `${WORDS[way][kind]} ${who}`;
  return `${words}${where} at ${moment(time)} s${ran}`;
}

/**
 * The moment at which what is at the other end is picked: the end of a request is no longer in it.
 * @param {TrackFlow} flow
 */
export function flowTime({ way, kind, time }) {
  return way === "from" && kind === "completion" ? time - 1 : time;
}

/**
 * @param {string} title
 * @param {string[]} functions
 */
function stack(title, functions) {
  return h("details", { class: "flow-stack" }, h("summary", { text: title }), h("pre", { text: functions.join("\n") }));
}

/**
 * How many flows are not told.
 * @param {number} told
 * @param {number} more
 * @param {boolean} isCut
 */
function leftOut(told, more, isCut) {
  const many = more > 0 ? `${isCut ? "at least " : ""}${exact(more)} more` : "there may be more";
  return `The first ${told} are told; ${many}.`;
}

/**
 * What is said of a picked row besides its fields: pairs of a term and what it is.
 * @param {TrackMoment} found
 * @param {{follow: (flow: TrackFlow) => void, pick: (time: number) => void, every: () => void}} actions
 * @returns {HTMLElement[]}
 */
export function flowFacts(found, { follow, pick, every }) {
  const button = (/** @type {string} */ text, /** @type {() => void} */ click) =>
    h("button", { type: "button", text, on: { click } });
  const { flows, more, is_cut: isCut, call } = found.flows;
  const pair = (/** @type {string} */ term, /** @type {(Node|string|false|null)[]} */ ...content) => [
    h("dt", { text: term }),
    h("dd", { class: "flow-fact" }, ...content),
  ];
  const same = (/** @type {string} */ term, /** @type {TrackRowLine|null} */ line) =>
    line
      ? pair(
          term,
          `${moment(line.start)} s, ${duration(line.duration)} `,
          button("Go", () => pick(line.start)),
        )
      : [];
  return [
    ...flows.flatMap((flow) =>
      pair(
        flow.way === "from" ? "[" : "]",
        `${flowWords(flow)} `,
        flow.track !== null && button("Go", () => follow(flow)),
        flow.stack.length > 0 && stack(`stack of ${plural(flow.stack.length, "function")}`, flow.stack),
      ),
    ),
    ...(more > 0 || isCut ? pair("", leftOut(flows.length, more, isCut)) : []),
    ...(call ? pair("call", h("span", { class: "mono", text: `${call.name}(${call.args})` })) : []),
    ...found.stacks.flatMap(({ column, functions }) =>
      pair(column, stack(`${functions[0]} and ${functions.length - 1} more`, functions)),
    ),
    ...same("before, same name", found.before_same),
    ...same("after, same name", found.after_same),
    ...(found.same_cut ? pair("same name", "not found near; the table has all") : []),
    ...(found.name_column ? pair("all of the name", button("Show in the table", every)) : []),
  ];
}
