import assert from "node:assert/strict";
import test from "node:test";
import { nextTime, nextWords, scheduleOf, withZone } from "../static/js/lib/cron_time.js";

const next = (trigger, now) => {
  const schedule = scheduleOf(trigger);
  const at = schedule && nextTime(schedule, Date.parse(now));
  return at === null ? "" : new Date(at).toISOString().replace(".000", "");
};

test("the next time is that of the server", () => {
  // The first rows are those of server/recorder/src/flight/timer.rs.
  for (const [time, zone, now, expected] of [
    ["* * * * *", "", "2026-11-28T10:00:00Z", "2026-11-28T10:01:00Z"],
    ["*/15 * * * *", "", "2026-11-28T10:45:30Z", "2026-11-28T11:00:00Z"],
    ["0 3 * * *", "Europe/Berlin", "2026-11-28T10:00:00Z", "2026-11-29T02:00:00Z"],
    ["0 3 * * *", "+02:00", "2026-11-28T00:30:00Z", "2026-11-28T01:00:00Z"],
    ["0 3 * * *", "-0330", "2026-11-28T00:30:00Z", "2026-11-28T06:30:00Z"],
    ["30 9 * * mon", "", "2026-11-28T10:00:00Z", "2026-11-30T09:30:00Z"],
    ["0 0 29 2 *", "", "2026-11-28T10:00:00Z", "2028-02-29T00:00:00Z"],
    ["0 0 31 2 *", "", "2026-11-28T10:00:00Z", ""],
    // The hour that is left out in spring: the day after. The one that comes twice in autumn: the first, then the second.
    ["30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"],
    ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"],
    ["30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"],
    // Over the day that is an hour shorter, or longer, the minute after midnight is met.
    ["0 0 * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", "2026-03-29T22:00:00Z"],
    ["0 0 26 * *", "Europe/Berlin", "2026-10-24T22:30:00Z", "2026-10-25T23:00:00Z"],
    ["0 0 * * *", "Australia/Lord_Howe", "2026-10-03T20:00:00Z", "2026-10-04T13:00:00Z"],
    ["0 0 13 * fri", "UTC", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00Z"],
    ["5/20 9-17 * DEC 5-7", "", "2026-11-28T10:00:00Z", "2026-12-04T09:05:00Z"],
    ["0 3 * * *", "Mars/Olympus", "2026-11-28T10:00:00Z", ""],
  ])
    assert.equal(next(`at ${time} ${zone}`, now), expected, `${time} ${zone} after ${now}`);
});

test("what is no time is none", () => {
  for (const text of [
    "exit nginx",
    "at 0 3 * *",
    "at 60 * * * *",
    "at * 24 * * *",
    "at * * 0 * *",
    "at * * * * 8",
    "at */0 * * * *",
    "at 5-1 * * * *",
    "at 1, * * * *",
    "at @daily",
    "duration_ns > 100ms",
  ])
    assert.equal(scheduleOf(text), null, text);
});

test("a time without a zone gets the one that is meant, and says which it is in", () => {
  assert.equal(withZone(" at 0 3 * * * ", "Europe/Berlin"), "at 0 3 * * * Europe/Berlin");
  for (const text of ["at 0 3 * * * +02:00", "at 0 3 * * mon Europe/Rome", "exit nginx"])
    assert.equal(withZone(text, "Europe/Berlin"), text);
  const now = Date.parse("2026-11-28T10:00:00Z");
  const wall = (ns) => new Date(ns / 1e6).toISOString();
  assert.match(
    nextWords("at 0 3 * * *", now, wall),
    /^in UTC, as no zone is given; next 2026-11-29T03:00 by your clock/,
  );
  assert.match(nextWords("at 0 3 * * * -01:00", now, wall), /^in the zone -01:00; next 2026-11-29T04:00/);
  assert.equal(nextWords("at 0 3 * * * Mars/Olympus", now, wall), "in the zone Mars/Olympus");
  assert.equal(nextWords("exit nginx", now, wall), "");
});
