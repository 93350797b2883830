import { strict as assert } from "node:assert";
import { test } from "node:test";

import { flowTime, flowWords } from "../static/js/view/timeline/path/flow_panel.js";

const flow = /** @type {any} */ ({
  way: "from",
  kind: "wake_up",
  time: 1_500_000_000,
  pid: 7,
  tid: 8,
  name: "writer",
  track: "3.1",
  cpu: 2,
  latency: 12_000,
  stack: [],
});

test("flows are told in words", () => {
  assert.match(flowWords(flow), /^woken by writer 8 on CPU 2 at 1\.5.* s, ran after 12 µs$/);
  assert.match(flowWords({ ...flow, kind: "interrupt", name: "timer" }), /^woken by an interrupt: timer on CPU 2 at/);
  assert.match(flowWords({ ...flow, kind: "interrupt", name: "" }), /^woken by an interrupt on CPU 2 at/);
  const idle = { ...flow, kind: "idle", tid: 0, name: "" };
  assert.match(flowWords(idle), /^woken from an interrupt or the idle task of CPU 2 at/);
  const request = { ...flow, tid: 0, name: "WS 8:0 sector 16", cpu: null, latency: null, kind: "completion" };
  assert.match(flowWords(request), /^waited for the block request WS 8:0 sector 16 at 1\.5.* s$/);
  assert.match(flowWords({ ...flow, way: "to", name: "" }), /^wakes thread 8/);
});

test("the end of a request is picked within it", () => {
  assert.equal(flowTime({ ...flow, kind: "completion" }), flow.time - 1);
  assert.equal(flowTime(flow), flow.time);
});
