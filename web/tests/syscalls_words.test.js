import assert from "node:assert/strict";
import { test } from "node:test";

import {
  columnsOf,
  errorWords,
  ownerWords,
  splitWords,
  withoutWords,
} from "../static/js/view/syscalls/syscalls_words.js";

test("owners are processes, or threads of one", () => {
  const cases = [
    [{ comm: "" }, ""],
    [{ comm: "sh", pid: 7 }, "sh 7"],
    [{ comm: "sh", pid: 7, tid: 7 }, "sh 7"],
    [{ comm: "worker", pid: 7, tid: 9 }, "worker 9 of 7"],
    [{ comm: "", pid: 7 }, "[no name] 7"],
  ];
  for (const [line, words] of cases) assert.equal(ownerWords(line), words);
});

test("errors are counted, those without a place of their own too", () => {
  const errors = [
    { name: "ENOENT", count: 12 },
    { name: "EAGAIN", count: 1 },
  ];
  assert.equal(errorWords({ errors, other_errors: 0 }), "ENOENT ×12, EAGAIN ×1");
  assert.equal(errorWords({ errors: [], other_errors: 3 }), "others ×3");
});

test("running and waiting are columns where they are known, and it is said where not", () => {
  const names = (split) => columnsOf("call", split).map(({ name }) => name);
  assert.ok(names(true).includes("waiting") && !names(false).includes("waiting"));
  const all = (running, waiting, unsplit) => ({ running, waiting, unsplit, count: 6, without: 1 });
  assert.match(splitWords({ all: all(0, 0, 5), has_states: false }), /Record thread states too/);
  assert.match(
    splitWords({ all: all(0, 0, 5), has_states: false, has_too_many_states: true }),
    /Too many thread states/,
  );
  assert.equal(splitWords({ all: all(1000, 2000, 0), has_states: true }), "1 µs running, 2 µs waiting.");
  assert.match(splitWords({ all: all(1000, 2000, 2), has_states: true }), /of 3 calls of which/);
  assert.match(withoutWords(all(0, 0, 0)), /^Of 1 call the entry or the exit was not recorded: .* $/);
  assert.equal(withoutWords({ without: 0 }), "");
  const [mean] = columnsOf("call", false).filter(({ name }) => name === "mean");
  assert.deepEqual(
    [mean.cell({ mean: 0, count: 2, without: 2 }), mean.cell({ mean: 5, count: 2, without: 1 })],
    ["", "5 ns"],
  );
});
