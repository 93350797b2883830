import assert from "node:assert/strict";
import test from "node:test";

import { isCommand, offersOf, partsOf, tabOf } from "../static/js/page/command_answer.js";

const nothing = { words: "", spans: [], notes: [] };

test("a text is a command if it names a tool", () => {
  assert.equal(isCommand({ ...nothing, spans: [{ start: 0, end: 4, kind: "tool" }] }), true);
  assert.equal(isCommand({ ...nothing, spans: [{ start: 0, end: 4, kind: "refused" }] }), false);
});

test("a capture leads to the form for whoever may record", () => {
  const notes = [{ start: 7, end: 9, is_ignored: true, text: "-q has no meaning here" }];
  const answer = { ...nothing, words: "Records stacks.", notes, capture: { spec: {}, opens: "flame" } };
  const [first, second] = offersOf("perf record -q ls", answer, true);
  assert.equal(first.path, "/new?command=perf+record+-q+ls");
  assert.equal(second.label, "-q has no meaning here");
  assert.equal(offersOf("perf record -q ls", answer, false)[0].path, "");
});

test("a page has its parameters in the address", () => {
  const page = { path: "/catalog", parameters: { kind: "function", q: "vfs_*" } };
  assert.equal(offersOf("x", { ...nothing, page }, false)[0].path, "/catalog?kind=function&q=vfs_*");
});

test("a refusal names its part, by bytes", () => {
  const refused = { start: 9, end: 11, why: "`-Q` is no option of strace", remedy: "Did you mean `-q`?" };
  const [offer] = offersOf("é strace -Q ls", { ...nothing, refused: { ...refused, start: 10, end: 12 } }, true);
  assert.deepEqual([offer.label, offer.detail], ["At “-Q”: `-Q` is no option of strace", "Did you mean `-q`?"]);
});

test("views have the names of tabs", () => {
  assert.deepEqual(["functions", "instructions", "events"].map(tabOf), ["flame", "flame", "events"]);
});

test("a text is its parts, by bytes", () => {
  const spans = [
    { start: 3, end: 9, kind: "tool" },
    { start: 10, end: 12, kind: "refused" },
  ];
  const parts = partsOf("é strace -Q ls", { ...nothing, spans });
  assert.deepEqual(parts, [
    { text: "é ", kind: "" },
    { text: "strace", kind: "tool" },
    { text: " ", kind: "" },
    { text: "-Q", kind: "refused" },
    { text: " ls", kind: "" },
  ]);
});
