import assert from "node:assert/strict";
import test from "node:test";

import { withEdge } from "../static/js/view/timeline/range/range_edges.js";

const shown = { start: 100, end: 200 };

test("one end of the range is put, the other stays on its side or is that of what is in sight", () => {
  const none = { start: null, end: null };
  assert.deepEqual(withEdge("start", 130, none, shown), { start: 130, end: 200 });
  assert.deepEqual(withEdge("end", 130, none, shown), { start: 100, end: 130 });
  const range = { start: 120, end: 160 };
  assert.deepEqual(withEdge("start", 130, range, shown), { start: 130, end: 160 });
  assert.deepEqual(withEdge("end", 130, range, shown), { start: 120, end: 130 });
  assert.deepEqual(withEdge("start", 170, range, shown), { start: 170, end: 200 });
  assert.deepEqual(withEdge("end", 110, range, shown), { start: 100, end: 110 });
});
