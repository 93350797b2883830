import assert from "node:assert/strict";
import test from "node:test";
import { usualTarget, withoutTarget } from "../static/js/new/recipe_form.js";
import { emptyForm, specOf } from "../static/js/new/spec_form.js";
import { splitWords } from "../static/js/lib/words.js";

test("a recipe is of what the form is of", () => {
  for (const [target, of] of [
    ["process", "process"],
    ["thread", "process"],
    ["command", "command"],
    ["system", "system"],
    ["group", "system"],
    ["user", "system"],
    ["comm", "system"],
  ])
    assert.equal(usualTarget(target), of);
});

test("what is missing of the target is nothing wrong with a recipe, what is wrong with a source is", () => {
  const form = { ...emptyForm(), method: "profile" };
  for (const target of ["process", "thread", "command", "system", "group", "user", "comm"]) {
    const unfinished = { ...form, target, during: target !== "command", pid: "", argv: "", tids: "x" };
    assert.notEqual(specOf(unfinished, splitWords).problems.length, 0, target);
    assert.deepEqual(specOf(withoutTarget(unfinished), splitWords).problems, [], target);
    assert.equal(unfinished.pid, "", "the form keeps what it has");
  }
  const wrong = withoutTarget({
    ...form,
    profile: { ...form.profile, frequency: "x" },
    duration: "y",
    target: "process",
  });
  assert.equal(specOf(wrong, splitWords).problems.length, 2);
});
