// What a flight recorder keeps and when it fires, as a part of the form for a new capture. Pure.

import { scheduleOf, viewerZone, withZone } from "../lib/cron_time.js";
import { bytes } from "../lib/format.js";
import { IN_MEBIBYTES, IN_SECONDS, number } from "../lib/form_values.js";

/** @import { FlightSpec } from "../../../api.js" */
/** @typedef {ReturnType<typeof emptyFlight>} FlightForm */

/** Its fields as they are before anything is filled in. */
export function emptyFlight() {
  return {
    flight: false,
    flightBefore: "30",
    flightAfter: "10",
    flightMemory: "64",
    flightPause: "60",
    flightDay: "24",
    // One trigger on each line.
    flightTriggers: "",
    // The names of webhooks, separated by commas.
    flightAnnounce: "",
  };
}

/** @param {string} text */
const linesOf = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/**
 * The triggers that fire at set times.
 * @param {string} text
 */
export const schedulesIn = (text) => linesOf(text).filter((line) => scheduleOf(line) !== null);

/**
 * Triggers as they are asked for: times without a zone are in the viewer's.
 * @param {string} text
 */
export const zonedTriggers = (text) =>
  text
    .split("\n")
    .map((line) => withZone(line, viewerZone()))
    .join("\n");

/**
 * What is asked for; null where all rows are to be stored.
 * @param {FlightForm} form
 * @param {string[]} problems
 * @returns {FlightSpec|null}
 */
export function flightOf(form, problems) {
  if (!form.flight) return null;
  /**
   * @param {string} text
   * @param {string} what
   * @param {number} least
   * @param {number} most
   * @param {Record<string, number>} [units]
   */
  const whole = (text, what, least, most, units) => number(text, what, problems, { least, most, units });
  const triggers = linesOf(form.flightTriggers).map((line) => withZone(line, viewerZone()));
  if (triggers.length > 16) problems.push("A flight recorder has at most 16 triggers.");
  const announce = form.flightAnnounce
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  if (announce.length > 8) problems.push("A flight recorder announces its captures to at most 8 webhooks.");
  return {
    before_s: whole(form.flightBefore, "The seconds before what happens", 1, 3600, IN_SECONDS),
    after_s: whole(form.flightAfter, "The seconds after what happens", 0, 3600, IN_SECONDS),
    memory_mib: whole(form.flightMemory, "The memory in MiB", 1, 1024, IN_MEBIBYTES),
    pause_s: whole(form.flightPause, "The pause in seconds", 0, 86400, IN_SECONDS),
    per_day: whole(form.flightDay, "The largest number a day", 1, 1000),
    ...(triggers.length > 0 ? { triggers } : {}),
    ...(announce.length > 0 ? { announce } : {}),
  };
}

/**
 * The fields that ask for it.
 * @param {FlightSpec|null|undefined} flight
 * @returns {FlightForm}
 */
export function flightForm(flight) {
  if (!flight) return emptyFlight();
  return {
    flight: true,
    flightBefore: String(flight.before_s),
    flightAfter: String(flight.after_s),
    flightMemory: String(flight.memory_mib),
    flightPause: String(flight.pause_s),
    flightDay: String(flight.per_day),
    // What is kept without a zone was in UTC.
    flightTriggers: (flight.triggers ?? []).map((line) => withZone(line, "UTC")).join("\n"),
    flightAnnounce: (flight.announce ?? []).join(", "),
  };
}

/**
 * What it costs, and what becomes of it, in words.
 * @param {FlightForm} form
 */
export function flightWords(form) {
  const memory = number(form.flightMemory, "", [], { units: IN_MEBIBYTES });
  const most =
    Number.isFinite(memory) && memory > 0
      ? `up to ${bytes(memory * 2 ** 20)} of the console's memory`
      : "memory of the console";
  return `The probes cost what they cost in any capture, all the time, and the guard holds. Rows take ${most} instead of disk; if the console ends, they are gone. Each time that it fires, a capture of its own is stored; “Ends” below is of the recorder, rows and size are of each capture.`;
}
