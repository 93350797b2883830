// Flight recorders in words: what one holds, what fired for a capture that came of one.

import { h } from "../lib/dom.js";
import { nextWords } from "../lib/cron_time.js";
import { bytes, count, duration, exact, plural, wall } from "../lib/format.js";

/** @import { CapturePage, FlightSpec, FlightStatus } from "../../../api.js" */
/** @typedef {import("../lib/dom.js").Child} Child */

/** What ends with the console. */
export const IN_MEMORY = "What is in memory is gone if the console ends, and so is the flight recorder.";

/**
 * What a flight recorder keeps; null for a capture that is none, also for one that came of a firing.
 * @param {CapturePage} info
 * @returns {FlightSpec|null}
 */
export function flightOfCapture(info) {
  return info.firing ? null : (info.spec.limits?.flight ?? null);
}

/**
 * What it holds now.
 * @param {FlightStatus} status
 */
export function holdsText(status) {
  return `${duration(status.held_ns)}, ${plural(status.held_rows, "row")}, ${bytes(status.held_bytes)}`;
}

/**
 * The same in the least words.
 * @param {FlightStatus} status
 */
export function holdsShort(status) {
  return `holds ${duration(status.held_ns)}, ${bytes(status.held_bytes)}`;
}

/**
 * @param {string} name
 * @param {...Child} value
 * @returns {HTMLElement[]}
 */
const entry = (name, ...value) => [h("dt", { text: name }), h("dd", {}, ...value)];

/**
 * A trigger; one that fires at set times says in which zone, and while it runs when it fires next.
 * @param {string} text
 * @param {boolean} runs
 */
function triggerLine(text, runs) {
  const words = nextWords(text, Date.now(), wall);
  const said = runs ? words : words.split(";")[0];
  return h("li", {}, h("span", { class: "mono", text }), said && h("span", { class: "quiet", text: `: ${said}` }));
}

/** @param {string} id */
const captureLink = (id) => h("a", { class: "mono", href: `/captures/${encodeURIComponent(id)}`, text: id });

/**
 * What Info says of a flight recorder.
 * @param {CapturePage} info
 * @returns {HTMLElement[]}
 */
export function flightEntries(info) {
  const flight = flightOfCapture(info);
  if (!flight) return [];
  const { flight: status, stored } = info;
  const triggers = flight.triggers ?? [];
  const often = `not within ${flight.pause_s} s of the last time, at most ${plural(flight.per_day, "time")} in 24 hours; by hand always`;
  return [
    ...entry(
      "Keeps",
      `the last ${flight.before_s} s in at most ${flight.memory_mib} MiB of memory; ${flight.after_s} s more when it fires`,
    ),
    ...entry(
      "Fires when",
      triggers.length === 0
        ? "somebody presses Keep what just happened, or a request with its token comes"
        : h("ul", {}, ...triggers.map((text) => triggerLine(text, status !== null))),
    ),
    ...entry("How often", often),
    ...(flight.announce ? entry("Announces to", flight.announce.join(", ")) : []),
    ...(status ? entry("Holds", holdsText(status)) : []),
    ...(status?.is_short
      ? entry("Short of memory", "these seconds have more rows than the memory takes: fewer seconds are kept")
      : []),
    ...(status && status.held_back > 0
      ? entry(
          "Held back",
          `${exact(status.held_back)} times it would have fired in the pause, while storing, or too often`,
        )
      : []),
    ...(status?.trouble ? entry("Not stored", status.trouble) : []),
    ...entry(
      "Stored",
      stored.length === 0 ? "nothing yet" : h("ul", {}, ...stored.map((id) => h("li", {}, captureLink(id)))),
    ),
    ...entry("Note", status ? IN_MEMORY : "It does not run any more; what was in memory and was not stored is gone."),
  ];
}

/**
 * What Info says of a capture that came of a firing.
 * @param {CapturePage} info
 * @returns {HTMLElement[]}
 */
export function firingEntries(info) {
  const { firing } = info;
  if (!firing) return [];
  const late = firing.complete_from > 0;
  return [
    ...entry("Fired", h("span", { class: "mono", text: firing.trigger })),
    ...(firing.value ? entry("With", firing.value) : []),
    ...entry("At", `${duration(firing.fired)} of this capture, ${wall(firing.fired_unix_ns, true)}`),
    ...entry(
      "Complete",
      late
        ? `from ${duration(firing.complete_from)} on; of before there is only what ended later`
        : "from the beginning",
    ),
    ...entry("Recorder", captureLink(firing.recorder)),
  ];
}

/**
 * The line below the header: what a running flight recorder holds, or what fired.
 * @param {CapturePage} info
 * @param {{show: () => void, details: () => void}} act
 * @returns {Child}
 */
export function flightLine(info, { show, details }) {
  const { firing, flight } = info;
  if (firing) {
    return h(
      "p",
      { class: "notice flight-line" },
      h("strong", { text: "Kept by a flight recorder. " }),
      `It fired at ${duration(firing.fired)}: `,
      h("span", { class: "mono", text: firing.trigger }),
      firing.value ? ` (${firing.value}). ` : ". ",
      h("button", { type: "button", class: "plain", id: "show-firing", text: "Show the moment", on: { click: show } }),
    );
  }
  if (!flight) return null;
  const last = flight.last
    ? h("a", { href: `/captures/${encodeURIComponent(flight.last)}`, text: "Open the last one" })
    : null;
  const fired =
    flight.captures === 0
      ? "Nothing has fired yet. "
      : `It has fired ${plural(flight.captures, "time")} (${count(flight.captures)}). `;
  return h(
    "p",
    { class: "notice flight-line" },
    h("strong", { text: "Flight recorder. " }),
    `Its rows are in memory and not stored: ${holdsText(flight)}. `,
    flight.is_storing ? "It is storing what happened. " : fired,
    last,
    " ",
    h("button", { type: "button", class: "plain", text: "Details", on: { click: details } }),
  );
}
