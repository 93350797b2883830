import assert from "node:assert/strict";
import test from "node:test";

import { missingSpans, noRoom, shownSpans, spanName, spansOf, withSpan } from "../static/js/page/link_spans.js";

const A = "requests: begin = x on (tid), end = y on (tid)";
const B = 'naps: begin = x on (tid) if state == "S", end = y on (pid), exclusive';
const rule = (span, state = "complete", streams = [3]) => ({ name: spanName(span), span, state, streams });

test("a link holds each span once, as far as there is room", () => {
  assert.equal(spanName(A), "requests");
  const both = withSpan(withSpan(A, B), A);
  assert.deepEqual(spansOf(both), [A, B]);
  assert.deepEqual(spansOf(""), []);
  assert.equal(withSpan(A, `${"n".repeat(4096)}: begin = x on (a), end = y on (b)`), A, "no part of a span");
  assert.match(noRoom(["requests"]), /the definition of the span “requests”.*compute it\.$/);
  assert.match(noRoom(["requests", "naps"]), /definitions of the spans “requests”, “naps”.*these spans.*them\.$/);
});

test("what a capture lacks of a link is told, and whether another span has the name", () => {
  assert.deepEqual(missingSpans(`${A}\n${B}`, [rule(A), rule(B, "removed")]), [
    { text: B, name: "naps", other: false },
  ]);
  const [missing] = missingSpans(A, [rule(A.replace("y on", "z on"))]);
  assert.ok(missing.other);
  assert.deepEqual(missingSpans(A, [rule(A, "computing")]), []);
});

test("the spans that a view shows are those of its table, of what is picked or found, and of the open histogram", () => {
  const capture = {
    rules: [rule(A), { ...rule(B), span: null, streams: [4] }],
    streams: [{}, {}, {}, { name: "requests" }],
  };
  const view = { stream: null, picked: "", hit: "", opened: "" };
  assert.deepEqual(shownSpans(view, capture), []);
  assert.deepEqual(shownSpans({ ...view, stream: 3 }, capture), [A]);
  assert.deepEqual(shownSpans({ ...view, stream: 4 }, capture), [], "a rule of the program needs no definition");
  assert.deepEqual(shownSpans({ ...view, picked: "3/tid:7/0@55" }, capture), [A]);
  assert.deepEqual(shownSpans({ ...view, hit: "3.12@55" }, capture), [A]);
  assert.deepEqual(shownSpans({ ...view, opened: "requests/requests" }, capture), [A]);
});
