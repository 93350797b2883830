import assert from "node:assert/strict";
import test from "node:test";
import { wantsEnds } from "../static/js/new/syscalls_form.js";

test("ends of threads are rows beside all calls, not beside chosen ones", () => {
  for (const [calls, wanted] of [
    ["", true],
    [" , ", true],
    ["%file", false],
    ["openat, read", false],
    ["%file, %process", true],
    ["%signal", true],
    ["exit_group", true],
    ["kill", true],
    ["!read", true],
    ["wait4", true],
    ["%network", false],
  ])
    assert.equal(wantsEnds(calls), wanted, calls);
});
