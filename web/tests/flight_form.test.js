// What a flight recorder keeps and when it fires, in the form for a new capture.

import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyFlight, flightForm, flightOf, flightWords } from "../static/js/new/flight_form.js";

test("a time without a zone is asked for in the viewer's, and one that was kept so was in UTC", () => {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const form = { ...emptyFlight(), flight: true, flightTriggers: "at 0 3 * * *\nat 0 4 * * * +02:00\nexit nginx" };
  const { triggers } = flightOf(form, []);
  assert.deepEqual(triggers, [`at 0 3 * * * ${timeZone}`, "at 0 4 * * * +02:00", "exit nginx"]);
  const kept = { before_s: 1, after_s: 1, memory_mib: 1, pause_s: 1, per_day: 1, triggers: ["at 0 3 * * *"] };
  assert.equal(flightForm(kept).flightTriggers, "at 0 3 * * * UTC");
});

test("a flight recorder is asked for only where it is switched on", () => {
  const problems = [];
  assert.equal(flightOf(emptyFlight(), problems), null);
  assert.deepEqual(flightOf({ ...emptyFlight(), flight: true }, problems), {
    before_s: 30,
    after_s: 10,
    memory_mib: 64,
    pause_s: 60,
    per_day: 24,
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(flightForm(null), emptyFlight());
});

test("triggers are lines, and come back as they were", () => {
  const form = { ...emptyFlight(), flight: true, flightTriggers: " exit nginx \n\n on openat if result < 0" };
  const asked = flightOf(form, []);
  assert.deepEqual(asked.triggers, ["exit nginx", "on openat if result < 0"]);
  assert.deepEqual(flightOf(flightForm(asked), []), asked);
});

test("webhooks are named with commas, and come back as they were", () => {
  const form = { ...emptyFlight(), flight: true, flightAnnounce: " on call ,, chat" };
  const asked = flightOf(form, []);
  assert.deepEqual(asked.announce, ["on call", "chat"]);
  assert.deepEqual(flightOf(flightForm(asked), []), asked);
});

test("times and memory may have units", () => {
  const problems = [];
  const units = { flightBefore: "1.5min", flightAfter: " 20 s ", flightMemory: "0.5 GiB", flightPause: "2h" };
  const asked = flightOf({ ...emptyFlight(), flight: true, ...units }, problems);
  assert.deepEqual(problems, []);
  assert.deepEqual([asked.before_s, asked.after_s, asked.memory_mib, asked.pause_s], [90, 20, 512, 7200]);
  assert.match(flightWords({ ...emptyFlight(), flightMemory: "1GiB" }), /up to 1 GiB of the console/);
  flightOf({ ...emptyFlight(), flight: true, flightPause: "5 parsecs" }, problems);
  assert.match(problems[0], /The pause in seconds must be a whole number .* units ms, s, m, min, h/);
});

test("what is out of its range is told", () => {
  for (const wrong of [
    { flightBefore: "0" },
    { flightBefore: "3601" },
    { flightAfter: "x" },
    { flightMemory: "1025" },
    { flightPause: "-1" },
    { flightPause: "1500ms" },
    { flightBefore: "2h" },
    { flightMemory: "10s" },
    { flightAfter: "5 constructor" },
    { flightDay: "0" },
    { flightTriggers: "exit a\n".repeat(17) },
    { flightAnnounce: "a,".repeat(9) },
  ]) {
    const problems = [];
    flightOf({ ...emptyFlight(), flight: true, ...wrong }, problems);
    assert.equal(problems.length, 1, JSON.stringify(wrong));
  }
});

test("the cost is in words, with the memory", () => {
  assert.match(flightWords({ ...emptyFlight(), flightMemory: "16" }), /up to 16 MiB of the console/);
  assert.match(flightWords({ ...emptyFlight(), flightMemory: "" }), /Rows take memory of the console/);
});
