import assert from "node:assert/strict";
import { test } from "node:test";

import { partWords, removedWords } from "../static/js/page/share_words.js";

test("what is removed is said in a sentence", () => {
  const cases = [
    [[], false, ""],
    [["paths"], true, "Paths are removed from this view."],
    [["paths"], false, "Paths are removed from this view. Notes are left out."],
    [["arguments", "paths"], true, "Arguments and paths are removed from this view."],
    [["arguments", "names", "addresses"], true, "Arguments, names and addresses are removed from this view."],
  ];
  for (const [removes, notes, words] of cases) assert.equal(removedWords({ removes, notes }), words);
});

test("a part is said by its range and filter", () => {
  assert.equal(partWords(null), "all of the capture");
  assert.equal(partWords({ start: null, end: 5000, filter: "cpu == 1" }), "only rows with cpu == 1, to 5 µs");
  assert.equal(partWords({ start: null, end: null, filter: "" }), "only what this view shows");
});
