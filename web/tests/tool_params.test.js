import assert from "node:assert/strict";
import test from "node:test";

import { nameItem, ownerOf } from "../static/js/new/tool_names.js";
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

test("names belong to what stands in the field before", () => {
  const [file, fn, other] = [{ takes: "file" }, { takes: "function" }, { takes: null }];
  assert.equal(ownerOf([file, other, fn], fn), file);
  assert.equal(ownerOf([fn], fn), undefined);
  assert.equal(ownerOf([fn, file], fn), undefined, "what comes later says nothing");
  assert.equal(ownerOf([file, other], other), undefined);
  const demangled = { name: "kv::Store::get(std::string)", raw: "_ZN2kv5Store3getE", note: "" };
  assert.equal(nameItem(demangled, "function").text, "_ZN2kv5Store3getE");
  assert.equal(nameItem({ name: "libc:setjmp", note: "" }, "usdt").label, "setjmp");
});
