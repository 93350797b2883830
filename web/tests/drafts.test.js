import assert from "node:assert/strict";
import test from "node:test";
import { Draft, keptDraft } from "../static/js/lib/drafts.js";

const kept = new Map();
globalThis.sessionStorage = {
  getItem: (key) => kept.get(key) ?? null,
  setItem: (key, value) => kept.set(key, value),
  removeItem: (key) => kept.delete(key),
};

/** A field as a page has it, as far as drafts need one. */
function field(value) {
  const heard = [];
  return {
    value,
    isConnected: true,
    addEventListener: (_name, run) => heard.push(run),
    type(text) {
      this.value = text;
      for (const run of heard) run();
    },
  };
}

test("what was typed is offered again at its place, until it is saved or discarded", () => {
  const first = field("as saved");
  const draft = new Draft(first, "note 1");
  assert.deepEqual([draft.isOffered, draft.isChanged], [false, false]);
  first.type("as typed");
  draft.close();
  assert.equal(new Draft(field("other"), "note 2").isOffered, false, "another place");
  const again = field("as saved");
  const second = new Draft(again, "note 1");
  assert.deepEqual([again.value, second.isOffered, second.isOlder, second.isChanged], ["as typed", true, false, true]);
  second.close(true);
  assert.equal(keptDraft("note 1"), null, "it is saved");
  second.reopen();
  assert.equal(keptDraft("note 1")?.text, "as typed", "it could not be saved after all");
  again.type("more");
  second.discard();
  assert.deepEqual([again.value, keptDraft("note 1")], ["as saved", null]);
});

test("what is typed back is not kept, and what others saved meanwhile is told", () => {
  const one = field("a");
  const draft = new Draft(one, "block");
  one.type("ab");
  one.type("a");
  assert.equal(keptDraft("block"), null);
  one.type("abc");
  draft.close();
  const other = new Draft(field("a, changed by another"), "block");
  assert.deepEqual([other.isOffered, other.isOlder, other.field.value], [true, true, "abc"]);
  kept.set("bathyscope-draft broken", "{");
  assert.equal(keptDraft("broken"), null);
});
