import assert from "node:assert/strict";
import test from "node:test";
import { sumOf } from "../static/js/page/live_header.js";

const stream = (parts) => ({
  hits_per_s: 0,
  rows_per_s: 0,
  stored: 0,
  filtered: 0,
  lost: 0,
  ns_per_hit: null,
  cpu_permille: null,
  ...parts,
});

test("what is hit of a script are its programs, not its streams", () => {
  const probe = (line, hits, ns, filtered = 0) => ({ name: "a:b", line, hits, ns_per_hit: ns, filtered, lost: 0 });
  const before = { elapsed: 1e9, streams: [], probes: [probe(1, 100, 200), probe(2, 10, null)] };
  const tick = {
    elapsed: 3e9,
    streams: [stream({ rows_per_s: 5, stored: 7 }), stream({ rows_per_s: 1, stored: 2, lost: 3 })],
    probes: [probe(1, 2100, 200, 4), probe(2, 30, null, 1)],
  };
  assert.deepEqual(sumOf(tick, before), {
    rows_per_s: 6,
    stored: 9,
    lost: 3,
    hits_per_s: 1010,
    ns_per_hit: 200,
    cpu_permille: 0.2,
    filtered: 5,
  });
  assert.equal(sumOf({ ...tick, probes: [probe(9, 0, null)] }, null).ns_per_hit, null);
});

test("other captures add up their streams", () => {
  const tick = {
    elapsed: 1e9,
    streams: [
      stream({ hits_per_s: 300, ns_per_hit: 100, cpu_permille: 1, filtered: 2 }),
      stream({ hits_per_s: 100, ns_per_hit: 500, cpu_permille: 2 }),
      stream({ hits_per_s: 7 }),
    ],
  };
  assert.deepEqual(sumOf(tick, null), {
    rows_per_s: 0,
    stored: 0,
    lost: 0,
    hits_per_s: 407,
    ns_per_hit: 200,
    cpu_permille: 3,
    filtered: 2,
  });
  assert.deepEqual(sumOf({ elapsed: 0, streams: [] }, null), {
    rows_per_s: 0,
    stored: 0,
    lost: 0,
    hits_per_s: 0,
    ns_per_hit: null,
    cpu_permille: null,
    filtered: 0,
  });
});
