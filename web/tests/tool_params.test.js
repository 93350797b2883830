import assert from "node:assert/strict";
import test from "node:test";

import { kindOf, valuesOf, wordsOf, wrongWith } from "../static/js/new/tool_params.js";

const PARAMETERS = [
  { name: "$1", default: null, about: "the function" },
  { name: "--failed", default: "false", about: "only those that failed" },
  { name: "--ms", default: "10", about: "milliseconds" },
  { name: "--name", default: "", about: "part of a name" },
];

test("fields are what the defaults say", () => {
  assert.deepEqual(PARAMETERS.map(kindOf), ["place", "flag", "number", "text"]);
});

test("values become words, and words values", () => {
  for (const [words, values] of [
    [["vfs_*"], ["vfs_*", "false", "10", ""]],
    [
      ["vfs_*", "--failed=true", "--ms=0", "--name=a b"],
      ["vfs_*", "true", "0", "a b"],
    ],
    [[], ["", "false", "10", ""]],
  ]) {
    const read = valuesOf(PARAMETERS, words);
    assert.deepEqual([...read.values()], values);
    assert.deepEqual(
      wordsOf(PARAMETERS, (name) => read.get(name)),
      words,
    );
  }
  assert.equal(valuesOf(PARAMETERS, ["--failed"]).get("--failed"), "true");
  for (const foreign of [["a", "b"], ["--other=1"]]) assert.equal(valuesOf(PARAMETERS, foreign), null);
});

test("what is wrong is said", () => {
  const wrong = PARAMETERS.map((parameter) => wrongWith(parameter, "x y"));
  assert.deepEqual(wrong, ["", "", "Write a whole number.", ""]);
  assert.equal(wrongWith(PARAMETERS[0], " "), "Write the function.");
  assert.equal(wrongWith(PARAMETERS[2], ""), "");
});
