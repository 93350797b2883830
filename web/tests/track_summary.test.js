import assert from "node:assert/strict";
import test from "node:test";
import { TrackSummary, summaryWords, summedAs } from "../static/js/view/timeline/track_summary.js";

const THREAD = { row: "state", of: "thread" };
const labels = ["running", "sleeping", "preempted", "dead"].map((text) => ({ text }));

/** A track of rows `[begin, end, name]`, and of some together: `[begin, end, [[name, 255ths]…]]`. */
function pieces(rows, start = 0, unit = 1) {
  const together = rows.map(([, , name]) => name).filter(Array.isArray);
  let next = 0;
  return {
    start,
    end: 1000,
    unit,
    begins: Uint32Array.from(rows, ([begin]) => begin),
    ends: Uint32Array.from(rows, ([, end]) => end),
    names: Uint16Array.from(rows, ([, , name]) => (Array.isArray(name) ? name[0][0] : name)),
    several: Int32Array.from(rows, ([, , name]) => (Array.isArray(name) ? next++ : -1)),
    rows: Uint32Array.from(together, () => 2),
    shares: [0, 1, 2].map((i) => Uint8Array.from(together, (one) => one[i]?.[1] ?? 0)),
    others: [1, 2].map((i) => Uint16Array.from(together, (one) => one[i]?.[0] ?? 0)),
    labels,
  };
}

test("threads are summed by what they do", () => {
  const summary = new TrackSummary(100, 10, 4);
  summary.add(
    pieces(
      [
        [0, 15, 0],
        [15, 25, 1],
        [25, 60, 2],
      ],
      90,
    ),
    THREAD,
  );
  summary.add(
    pieces(
      [
        [
          10,
          30,
          [
            [0, 127.5],
            [2, 63.75],
          ],
        ],
        [30, 50, 3],
      ],
      100,
    ),
    THREAD,
  );
  const of = (kind) => [...summary.sums[kind]].map((sum) => Math.round(sum * 1000) / 1000);
  const share = Math.floor(127.5) / 255;
  assert.deepEqual(
    of(0),
    [0.5, share, share, 0].map((sum) => Math.round(sum * 1000) / 1000),
  );
  assert.deepEqual(
    of(1),
    [0, 0.5 + 63 / 255, 1 + 63 / 255, 1].map((sum) => Math.round(sum * 1000) / 1000),
  );
  assert.deepEqual(of(2), [0, 0, 0, 0]);
  assert.deepEqual(of(3), [0, 0, 0, 1]);
  assert.equal(Math.round(summary.most), 2);
  assert.equal(summaryWords(summary, 3, true), "1 runnable, 1 other");
  assert.equal(summaryWords(new TrackSummary(0, 1, 1), 0, true), "");
});

test("the sum is that of a naive count at each moment", () => {
  let seed = 7;
  const random = (/** @type {number} */ below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 50; round += 1) {
    const rows = [];
    for (let at = random(20); at < 400; ) {
      const end = at + 1 + random(60);
      rows.push([at, end, random(4)]);
      at = end + random(2) * random(30);
    }
    const [start, columnNs, columns] = [random(100), 1 + random(40), 1 + random(12)];
    const summary = new TrackSummary(start, columnNs, columns);
    summary.add(pieces(rows), THREAD);
    for (let x = 0; x < columns; x += 1) {
      const expected = [0, 0, 0, 0];
      for (let ns = start + x * columnNs; ns < start + (x + 1) * columnNs; ns += 1) {
        const row = rows.find(([begin, end]) => begin <= ns && ns < end);
        const kind = row ? summedAs(labels[row[2]], THREAD) : -1;
        if (kind >= 0) expected[kind] += 1 / columnNs;
      }
      for (const kind of [0, 1, 2, 3]) assert.ok(Math.abs(summary.sums[kind][x] - expected[kind]) < 1e-4);
    }
  }
});

test("slices count as they are, idle CPUs do not", () => {
  assert.equal(summedAs({ text: "read" }, { row: "slice", of: "value" }), 0);
  assert.equal(summedAs({ text: "swapper/0", tid: 0 }, { row: "state", of: "cpu" }), -1);
  assert.equal(summedAs({ text: "sh", tid: 4 }, { row: "state", of: "cpu" }), 0);
});
