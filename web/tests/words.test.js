import assert from "node:assert/strict";
import test from "node:test";
import { joinWords, splitWords } from "../static/js/lib/words.js";

test("words", () => {
  for (const [text, expected] of [
    ["", []],
    ["  ", []],
    ["ls -l /tmp", ["ls", "-l", "/tmp"]],
    ["a  \t b\nc", ["a", "b", "c"]],
    ["echo 'a  b'", ["echo", "a  b"]],
    ['echo "a \\" \\\\ \\n"', ["echo", 'a " \\ \\n']],
    ["a\\ b", ["a b"]],
    ["''", [""]],
    ["a''b\"c\"", ["abc"]],
    ["'it'\\''s'", ["it's"]],
  ])
    assert.deepEqual(splitWords(text), { words: expected, problem: "", notes: [] }, text);
});

test("what is not closed is told", () => {
  for (const text of ["'a", '"a', "a\\"]) assert.notEqual(splitWords(text).problem, "", text);
});

test("what only a shell would understand is kept and told", () => {
  const { words, notes } = splitWords("cat $HOME | wc 'quoted | pipe'");
  assert.deepEqual(words, ["cat", "$HOME", "|", "wc", "quoted | pipe"]);
  assert.equal(notes.length, 2);
});

test("joined words split into the same", () => {
  for (const words of [["ls"], ["a b", "", "it's", '"', "\\", "$x", "`id`", "ü\n"], ["dd", "if=/dev/zero", "bs=1"]]) {
    assert.deepEqual(splitWords(joinWords(words)).words, words);
  }
});
