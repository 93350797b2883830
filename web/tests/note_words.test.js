import assert from "node:assert/strict";
import test from "node:test";
import { firstWords } from "../static/js/lib/markdown.js";
import { authorWords, firstLine, isTimed, placeWords, viewOf } from "../static/js/view/notes/note_words.js";

const text = (words) => ({ tag: "text", text: words });
const note = (on, more = {}) => ({ id: "0f", on, start: null, end: null, track: null, view: "", text: "", ...more });
const streams = [{ name: "sched:sched_switch" }];

test("the first words of a text are those of its first line, without marks", () => {
  const body = [
    { tag: "heading", level: 2, children: [text("Why "), { tag: "strong", children: [text("late")] }] },
    { tag: "paragraph", children: [text("more")] },
  ];
  assert.equal(firstWords(body), "Why late");
  assert.equal(firstWords([{ tag: "paragraph", children: [text("one"), { tag: "break" }, text("two")] }]), "one");
  assert.equal(firstWords([{ tag: "pre", text: "a\nb\n" }]), "a");
  assert.equal(firstWords([]), "");
  assert.equal(firstLine({ text: "**x**\ny", body: [] }), "**x**");
  assert.equal(firstLine({ text: "**x**", body: [{ tag: "paragraph", children: [text("x")] }] }), "x");
});

test("what a note is tied to is told in words", () => {
  for (const [on, more, words] of [
    [{ kind: "moment" }, { start: 1_500_000_000 }, "1.500000000 s"],
    [{ kind: "range" }, { start: 0, end: 2_000_000 }, "0.000000000 to 0.002000000 s, 2 ms"],
    [{ kind: "row", stream: 0, row: 41 }, { start: 5 }, "Row 42 of sched:sched_switch"],
    [{ kind: "row", stream: 3, row: 0 }, { start: 5 }, "Row 1 of stream 3"],
    [{ kind: "track" }, { track: "tid:7" }, "Track tid:7"],
    [{ kind: "frame", node: "0f", name: "main" }, {}, "Frame main"],
    [{ kind: "function", name: "<b>" }, {}, "Function <b>"],
    [{ kind: "capture" }, {}, "The capture"],
  ])
    assert.equal(placeWords(note(on, more), streams).replace("2.00 ms", "2 ms"), words);
  assert.equal(isTimed(note({ kind: "capture" })), false);
  assert.equal(isTimed(note({ kind: "moment" }, { start: 0 })), true);
});

test("a note leads to what it is tied to", () => {
  const parse = (query) => Object.fromEntries(new URLSearchParams(query));
  const view = (on, more) => viewOf(note(on, more), parse);
  const row = view({ kind: "row", stream: 2, row: 7 });
  assert.deepEqual([row.tab, row.stream, row.row, row.filter, row.start, row.note], ["events", 2, 7, "", null, "0f"]);
  const frame = view({ kind: "frame", node: "ab", name: "main" }, { view: "by=thread&focus=cd" });
  assert.deepEqual([frame.tab, frame.by, frame.focus, frame.flame], ["flame", "thread", "ab", "graph"]);
  const named = view({ kind: "function", name: "main" });
  assert.deepEqual([named.tab, named.search, named.focus], ["flame", "main", ""]);
  assert.equal(view({ kind: "capture" }).tab, "info");
  assert.equal(view({ kind: "track" }).tab, "timeline");
});

test("who wrote and changed a note is told", () => {
  const by = { author: "ada", imported_by: null, changed_by: null };
  assert.equal(authorWords(by), "ada");
  assert.equal(authorWords({ ...by, changed_by: "bob" }), "ada, changed by bob");
  assert.equal(authorWords({ ...by, imported_by: "eve" }), "ada, says the file that eve imported");
});
