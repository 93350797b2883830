import assert from "node:assert/strict";
import { test } from "node:test";

import {
  isConditionsOnly,
  WORD_FIELDS,
  foundIn,
  markedParts,
  unsearchedText,
  valueIn,
  withValue,
  writtenWords,
} from "../static/js/page/history_words.js";

test("the words of a search are as they were written", () => {
  assert.deepEqual(writtenWords('  slow "disk full"\tnote:"a b" -x "open'), [
    "slow",
    '"disk full"',
    'note:"a b"',
    "-x",
    '"open',
  ]);
  assert.deepEqual(writtenWords(" "), []);
});

test("fields show what a search says and change only that", () => {
  const text = 'slow Host:"web 1" -tag:old tag:new is:pinned METHOD:profile';
  const cases = [
    ["host", "web 1", 'slow -tag:old tag:new is:pinned METHOD:profile host:"web 2"', "web 2"],
    ["tag", "new", 'slow Host:"web 1" -tag:old is:pinned METHOD:profile', ""],
    ["pinned", "is:pinned", 'slow Host:"web 1" -tag:old tag:new METHOD:profile -is:pinned', "-is:pinned"],
    ["source", "profile", 'slow Host:"web 1" -tag:old tag:new is:pinned source:trace', "trace"],
    ["owner", "", `${text} by:ada`, ' "ada" '],
    ["lossy", "", `${text} is:lossy`, "is:lossy"],
  ];
  for (const [name, value, after, wanted] of cases) {
    assert.equal(valueIn(text, WORD_FIELDS[name]), value, name);
    assert.equal(withValue(text, WORD_FIELDS[name], wanted), after, name);
  }
});

test("days of fields are whole ones of the viewer's zone", () => {
  for (const name of ["after", "before"]) {
    const field = WORD_FIELDS[name];
    for (const day of ["2026-11-28", "2026-12-31", "2024-02-29"]) {
      const word = field.write(day);
      assert.match(word, new RegExp(`^${name}:\\d{4}-\\d\\d-\\d\\dT00:00[+-]\\d\\d:\\d\\d$`));
      assert.equal(field.read(word), day);
    }
    assert.equal(field.read(`${name}:soon`), "");
    assert.equal(field.read("newer:7d"), null);
  }
});

test("what was found stands in parts", () => {
  assert.deepEqual(
    markedParts("…the größe of it", [
      [5, 10],
      [14, 16],
    ]),
    [
      { text: "…the ", isFound: false },
      { text: "größe", isFound: true },
      { text: " of ", isFound: false },
      { text: "it", isFound: true },
    ],
  );
  assert.equal(foundIn("processes"), "process");
  assert.equal(foundIn("constructor"), "constructor");
});

test("what was not searched is told", () => {
  const plural = (number, what) => `${number} ${what}s`;
  assert.equal(unsearchedText(null, plural), "");
  assert.equal(unsearchedText({ captures: 0, texts: 0, cut: 0 }, plural), "");
  assert.equal(
    unsearchedText({ captures: 3, texts: 2, cut: 0 }, plural),
    "3 captures not indexed yet and not searched. Texts of events of 2 captures not indexed yet.",
  );
});

test("a search of conditions only is told from one of words", () => {
  for (const [text, expected] of [
    ["is:lossy", true],
    ['-is:pinned tag:"a b"', true],
    ["is:lossy nginx", false],
    ['"is:lossy"', false],
    ["http://shop", false],
    ["", false],
  ])
    assert.equal(isConditionsOnly(text), expected, text);
});
