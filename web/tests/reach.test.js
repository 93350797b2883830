import assert from "node:assert/strict";
import test from "node:test";
import { Reach } from "../static/js/lib/reach.js";

/** A clock that is moved by hand, and what was asked for later. */
function world() {
  const self = { ms: 1000, waits: [], heard: [] };
  self.reach = new Reach(
    () => self.ms,
    (run, ms) => self.waits.push({ run, at: self.ms + ms }),
  );
  self.reach.on("change", (there) => self.heard.push([self.ms, there]));
  self.pass = async (ms) => {
    for (const until = self.ms + ms; self.ms < until; self.ms += 500) {
      for (const one of self.waits.filter(({ at }) => at <= self.ms)) {
        self.waits.splice(self.waits.indexOf(one), 1);
        one.run();
      }
      await new Promise(setImmediate);
    }
  };
  return self;
}

test("a console that does not answer for a few seconds is away, and back with its first answer", async () => {
  const { reach, pass, heard } = world();
  const is = { there: false };
  reach.follow(async () => {
    if (!is.there) throw new Error("no answer");
  });
  reach.failed();
  assert.equal(reach.awaySince, null, "not at once");
  await pass(6000);
  assert.equal(reach.awaySince, 1000, "since the first failure");
  assert.deepEqual(
    heard.map(([, there]) => there),
    [false],
  );
  is.there = true;
  await pass(3000);
  assert.equal(reach.awaySince, null);
  assert.deepEqual(
    heard.map(([, there]) => there),
    [false, true],
    "without anybody asking",
  );
});

test("one request that failed is nothing, and a page that cannot ask goes by its requests", async () => {
  const asks = world();
  asks.reach.follow(async () => {});
  asks.reach.failed();
  await asks.pass(10_000);
  assert.deepEqual(asks.heard, []);
  const { reach, heard, pass, waits } = world();
  await reach.ask();
  reach.failed();
  await pass(4000);
  assert.deepEqual([heard, waits], [[], []]);
  reach.failed();
  assert.equal(reach.awaySince, 1000);
  reach.answered();
  assert.equal(reach.awaySince, null);
});
