import assert from "node:assert/strict";
import test, { mock } from "node:test";
import { ViewState } from "../static/js/page/url_state.js";

test("the address follows at once, but never too often", () => {
  let now = 1e6;
  const written = [];
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => now);
  globalThis.location = { pathname: "/captures/1" };
  globalThis.history = { replaceState: (_state, _title, address) => written.push(address) };
  const tick = (ms) => {
    now += ms;
    mock.timers.tick(ms);
  };

  const state = new ViewState("");
  state.set({ tab: "info" });
  assert.deepEqual(written, ["/captures/1?v=3&tab=info"]);
  state.set({ tab: "info" });
  assert.equal(written.length, 1, "nothing has changed");
  // Thirty seconds of dragging, sixty times a second.
  for (let i = 1; i <= 1800; i += 1) {
    state.set({ start: i, end: i + 1 });
    tick(1000 / 60);
  }
  tick(1000);
  assert.ok(written.length <= 100, `${written.length} writes`);
  assert.ok(written.at(-1).includes("start=1800&end=1801"), "the last one is written");
  mock.timers.reset();
});
