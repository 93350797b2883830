import assert from "node:assert/strict";
import { test } from "node:test";

import {
  belowWords,
  firstClosed,
  lifeBar,
  lifeWords,
  missingWords,
  ownerTitle,
  shownPlaces,
  usedBelow,
  usedWords,
  withinWords,
} from "../static/js/view/processes/processes_model.js";

const line = (depth, descendants, more = {}) => ({ depth, descendants, ...more });

test("what is below a closed line is not shown", () => {
  const all = [line(0, 3), line(1, 1), line(2, 0), line(1, 0), line(0, 0)];
  for (const [closed, shown] of [
    [[], [0, 1, 2, 3, 4]],
    [[1], [0, 1, 3, 4]],
    [[0], [0, 4]],
    [
      [0, 1, 4],
      [0, 4],
    ],
  ])
    assert.deepEqual(shownPlaces(all, new Set(closed)), shown);
});

test("lives are parts of the range, and never too narrow to be seen", () => {
  const range = { start: 100, end: 200 };
  for (const [life, bar] of [
    [{}, { left: 0, width: 100 }],
    [{ start: 150 }, { left: 50, width: 50 }],
    [
      { start: 150, end: 175 },
      { left: 50, width: 25 },
    ],
    [
      { start: 0, end: 120 },
      { left: 0, width: 20 },
    ],
    [
      { start: 150, end: 150 },
      { left: 50, width: 0.5 },
    ],
    [{ start: 300 }, { left: 99.5, width: 0.5 }],
  ])
    assert.deepEqual(lifeBar(life, range), bar, JSON.stringify(life));
});

test("lives and what is missing are told in words", () => {
  assert.equal(lifeWords({}), "there before the capture, still there at its end");
  assert.equal(lifeWords({ start: 1000, end: 3000 }), "started at 1 µs, ended at 3 µs, after 2 µs");
  assert.equal(lifeWords({ end: 3000 }), "there before the capture, ended at 3 µs");
  const all = { has_states: true, has_ends: true, has_arguments: true, has_parents: true, has_owners: true };
  assert.equal(missingWords(all), "");
  assert.match(
    missingWords({ ...all, has_parents: false, has_owners: false }),
    /^Not recorded: who started what was there before, user and container \(captures of before/,
  );
  assert.match(missingWords({ ...all, has_states: false }), /CPU time \(record thread states\)/);
  assert.equal(belowWords(line(0, 1)), "1 process");
  assert.equal(belowWords(line(0, 0)), "");
});

test("whose a process is, is told by its container, its unit or its control group", () => {
  const [unit, group] = ["a.service", "/system.slice/a.service"];
  for (const [life, words] of [
    [{ container: "docker 0f1e2d3c4b5a", unit: "docker-0f.scope", group: "/x" }, "docker 0f1e2d3c4b5a"],
    [{ unit, group }, unit],
    [{ group: "/own" }, "/own"],
    [{ group: "/" }, ""],
    [{}, ""],
  ])
    assert.equal(withinWords(life), words);
  assert.equal(ownerTitle({ user: "eva", unit, group }), `user eva, unit ${unit}, control group ${group}`);
  assert.equal(ownerTitle({ user: "eva", is_inherited: true }), "user eva: as of the process that started it");
  assert.equal(ownerTitle({}), "");
});

test("the kernel's own threads are closed at first", () => {
  const one = (pid, comm, descendants) => ({ pid, comm, descendants });
  assert.deepEqual([...firstClosed([one(1, "init", 1), one(9, "sh", 0), one(2, "kthreadd", 5)])], [2]);
  assert.deepEqual([...firstClosed([one(2, "kthreadd", 0)])], []);
  assert.deepEqual([...firstClosed([one(2, "sh", 4)])], []);
});

test("a closed line has what all below it used", () => {
  const all = [
    line(0, 1, { running: 5, samples: 1 }),
    line(1, 0, { running: 7, samples: 2 }),
    line(0, 0, { running: 100 }),
  ];
  assert.deepEqual(usedBelow(all, 0), { running: 12, samples: 3 });
  assert.deepEqual(usedBelow([line(0, 0)], 0), { running: undefined, samples: undefined });
  assert.equal(usedWords({ running: 2000 }), "2 µs");
  assert.equal(usedWords({ samples: 1200 }), "1,200 samples");
  assert.equal(usedWords({}), "");
});
