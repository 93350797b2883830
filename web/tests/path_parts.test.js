import { strict as assert } from "node:assert";
import { test } from "node:test";

import {
  drawnParts,
  missingWords,
  partWords,
  pathPartAt,
  pathWords,
  waitsOf,
} from "../static/js/view/timeline/path/path_parts.js";

/** A thread that waits for a lock of another, which waits for a disk, and then runs. */
const path = /** @type {any} */ ({
  start: 0,
  end: 1000,
  threads: [
    { tid: 1, pid: 1, name: "late", track: "3.0" },
    { tid: 2, pid: 1, name: "holder", track: "3.1" },
  ],
  parts: [
    { start: 0, end: 600, kind: "disk", thread: 1, wait: 0, call: "fsync", ended_by: "WS 8:0 sector 16" },
    { start: 600, end: 700, kind: "running", thread: 1, wait: 0, cpu: 1 },
    { start: 700, end: 710, kind: "cpu", thread: 0, cpu: 0, had_cpu: { text: "busy", tid: 9, pid: 9 } },
    { start: 710, end: 1000, kind: "unknown", thread: 0, gap: "not_woken" },
  ],
  waits: [{ thread: 0, waker: 1, start: 0, woken: 700, is_lock: true, is_start: false, call: "futex" }],
  shares: [
    { kind: "lock", time: 700, parts: 2, longest: 0 },
    { kind: "unknown", time: 290, parts: 1, longest: 3 },
    { kind: "cpu", time: 10, parts: 1, longest: 2 },
  ],
  waited: [],
  sums: [],
  stopped: null,
  recorded: { wakeups: true, interrupts: false, calls: true, requests: true },
});

test("a moment is in one part", () => {
  assert.deepEqual(
    [0, 599, 600, 705, 999, 1000, -1].map((time) => path.parts.indexOf(pathPartAt(path, time))),
    [0, 0, 1, 2, 3, -1, -1],
  );
});

test("a part is told through the waits that lead to it", () => {
  assert.equal(
    partWords(path, path.parts[0]),
    "late 1 in futex waits for a lock of holder 2; holder 2 waiting for a disk in fsync until WS 8:0 sector 16, 600 ns",
  );
  assert.equal(partWords(path, path.parts[2]), "late 1 waiting for CPU 0 which busy 9 had, 10 ns");
  assert.match(partWords(path, path.parts[3]), /was not woken before the end/);
  assert.equal(waitsOf(path, path.parts[3]).length, 0);
  const words = pathWords(path);
  assert.match(words, /^late 1 over 1 µs: waiting for a lock 70/);
  assert.match(pathWords({ ...path, stopped: { time: 500, limit: 4000 } }), /stops at .* 4,000 parts/);
  assert.match(missingWords(path), /^Neither interrupts nor stacks of wake-ups/);
});

test("parts narrower than a pixel are one, as the longest of them", () => {
  const parts = Array.from({ length: 100 }, (_one, i) => ({
    start: i * 10,
    end: i * 10 + 10,
    kind: i % 10 === 3 ? "disk" : "running",
    thread: 0,
  }));
  const drawn = drawnParts({ ...path, parts }, { start: 0, end: 1000 }, 10);
  assert.equal(drawn.length, 10);
  assert.ok(drawn.every(({ left, right, parts: many }, i) => left === i && right === i + 1 && many === 10));
  const wide = drawnParts({ ...path, parts }, { start: 25, end: 55 }, 30);
  assert.deepEqual(
    wide.map(({ left, right, part }) => [left, right, part.kind]),
    [
      [0, 5, "running"],
      [5, 15, "disk"],
      [15, 25, "running"],
      [25, 30, "running"],
    ],
  );
});
