import assert from "node:assert/strict";
import test from "node:test";
import { freeId, together } from "../static/js/new/source_list.js";
import { emptyForm, formOf, specOf } from "../static/js/new/spec_form.js";
import { joinWords, splitWords } from "../static/js/lib/words.js";

test("a source has an id of its own", () => {
  assert.equal(freeId("events", []), "events");
  assert.equal(freeId("events", ["profile"]), "events");
  assert.equal(freeId("events", ["events"]), "events-2");
  assert.equal(freeId("events", ["events", "events-2", "events-3"]), "events-4");
});

test("the edited source stands where it stood among the others", () => {
  const source = (id) => ({ id, method: { count: {} } });
  const ids = (others, at, edited) => together(others.map(source), at, source(edited)).map(({ id }) => id);
  assert.deepEqual(ids([], 0, "a"), ["a"]);
  assert.deepEqual(ids(["b", "c"], 0, "a"), ["a", "b", "c"]);
  assert.deepEqual(ids(["a", "c"], 1, "b"), ["a", "b", "c"]);
  assert.deepEqual(ids(["a", "b"], 2, "a"), ["a", "b", "a-2"]);
});

test("a source that may be missing is said so, and read again", () => {
  const form = { ...emptyForm(), method: "profile", optional: true };
  const { spec } = specOf(form, splitWords);
  assert.equal(spec.sources[0].required, false);
  assert.equal(formOf(spec, joinWords).optional, true);
  assert.equal("required" in specOf({ ...form, optional: false }, splitWords).spec.sources[0], false);
});
