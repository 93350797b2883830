import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { decodeTimeline, lowerBound, newest, project, rowsIn } from "../static/js/view/timeline/timeline_decode.js";

/** An answer as the server writes it. */
export function encode(head, tracks) {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const up = (n) => (n + 7) & ~7;
  const longest = head.has_longest ? 8 : 0;
  const size = tracks.reduce(
    (sum, track) => up(sum + 8 + track.length * 12) + track.length * longest,
    up(8 + json.length),
  );
  const buffer = new ArrayBuffer(size);
  const view = new DataView(buffer);
  view.setUint32(0, 0x314c5442, true);
  view.setUint32(4, json.length, true);
  new Uint8Array(buffer).set(json, 8);
  let at = up(8 + json.length);
  for (const track of tracks) {
    view.setUint32(at, track.length, true);
    at += 8;
    for (let column = 0; column < 3; column += 1) {
      for (const row of track) {
        view.setUint32(at, row[column], true);
        at += 4;
      }
    }
    at = up(at);
    for (const row of longest ? track : []) {
      view.setBigUint64(at, BigInt(row[3]), true);
      at += 8;
    }
  }
  return buffer;
}

const meta = (key) => ({ key, label: key, sub: "", rows: 0 });
const head = {
  start: 0,
  end: 100,
  width: 10,
  group: "cpu",
  tracks: [meta("a"), meta("b"), meta("c")],
  names: ["x", "ü"],
  more_tracks: 4,
};

test("what is written is read", () => {
  const data = decodeTimeline(
    encode(head, [
      [
        [0, 3, 0],
        [9, 1, 1],
      ],
      [],
      [[4, 7, 1]],
    ]),
  );
  assert.deepEqual([...data.tracks[0].bins], [0, 9]);
  assert.deepEqual([...data.tracks[0].counts], [3, 1]);
  assert.deepEqual([...data.tracks[2].name], [1]);
  assert.equal(data.tracks[1].bins.length, 0);
  assert.equal(data.more_tracks, 4);
});

test("the longest rows are read where there are some", () => {
  const data = decodeTimeline(
    encode({ ...head, has_longest: true }, [
      [
        [0, 3, 0, 70],
        [1, 1, 1, 5e9],
      ],
      [],
      [[4, 7, 1, 0]],
    ]),
  );
  assert.deepEqual(
    data.tracks.map(({ longest }) => [...longest]),
    [[70, 5e9], [], [0]],
  );
  const longest = new Float64Array(5);
  project(data.tracks[0], head, { start: 0, end: 100 }, 5, new Float32Array(5), new Int32Array(5), longest);
  assert.deepEqual([...longest], [5e9, 0, 0, 0, 0]);
  assert.equal(decodeTimeline(encode(head, [[], [], []])).tracks[0].longest, null);
});

test("every cut is noticed", () => {
  const whole = encode({ ...head, has_longest: true }, [
    [
      [0, 3, 0, 1],
      [9, 1, 1, 2],
    ],
    [],
    [[4, 7, 1, 3]],
  ]);
  for (let length = 0; length < whole.byteLength - 7; length += 1)
    assert.throws(() => decodeTimeline(whole.slice(0, length)), undefined, `${length}`);
  const lying = whole.slice(0);
  new DataView(lying).setUint32(4, 0xffffffff, true);
  assert.throws(() => decodeTimeline(lying));
});

test("lower bound", () => {
  const sorted = Uint32Array.of(1, 3, 3, 8);
  assert.deepEqual(
    [0, 1, 2, 3, 4, 8, 9].map((value) => lowerBound(sorted, value)),
    [0, 0, 1, 1, 3, 3, 4],
  );
});

test("bins land on the columns that they cover", () => {
  const [track] = decodeTimeline(
    encode(head, [
      [
        [0, 3, 0],
        [5, 9, 1],
        [6, 1, 0],
      ],
      [],
      [],
    ]),
  ).tracks;
  const counts = new Float32Array(5);
  const names = new Int32Array(5);
  project(track, head, { start: 0, end: 100 }, 5, counts, names);
  assert.deepEqual([...counts], [3, 0, 9, 1, 0]);
  assert.deepEqual([...names], [0, -1, 1, 0, -1]);
  // Zoomed in on one bin of ten nanoseconds: it fills what it covers.
  project(track, head, { start: 45, end: 65 }, 4, counts.subarray(0, 4), names.subarray(0, 4));
  assert.deepEqual([...counts.subarray(0, 4)], [0, 9, 9, 1]);
});

test("a bin that begins before the first column is not added to it, except the first of all", () => {
  const head = { start: -5, end: 95, width: 10 };
  const track = {
    bins: Uint32Array.of(0, 1, 2, 3),
    counts: Uint32Array.of(5, 6, 7, 8),
    name: Uint32Array.of(0, 0, 0, 0),
  };
  const [counts, names] = [new Float32Array(4), new Int32Array(4)];
  project(track, head, { start: 7, end: 47 }, 4, counts, names);
  assert.deepEqual([...counts], [7, 8, 0, 0]);
  project(track, head, { start: 0, end: 40 }, 4, counts, names);
  assert.deepEqual([...counts], [11, 7, 8, 0]);
});

test("where the last bin with rows ends", () => {
  const tracks = [{ bins: Uint32Array.of(1, 3) }, { bins: Uint32Array.of() }];
  assert.deepEqual(
    [
      newest({ start: 0, end: 100, width: 10, tracks }),
      newest({ start: 50, end: 85, width: 4, tracks }),
      newest({ start: 0, end: 9, width: 9, tracks: [] }),
    ],
    [40, 85, 0],
  );
});

test("rows of a window, not of what was got around it", () => {
  const track = { bins: Uint32Array.of(2, 5, 6, 19), counts: Uint32Array.of(7, 1, 2, 40) };
  const data = { start: 1000, end: 3000, width: 20 };
  for (const [start, end, rows] of [
    [1000, 3000, 50],
    [0, 9000, 50],
    [1500, 1700, 3],
    [1500, 1600, 1],
    [1550, 1560, 1],
    [1700, 2800, 0],
    [2950, 2990, 40],
    [0, 1000, 0],
  ]) {
    assert.equal(rowsIn(track, data, { start, end }), rows, `${start} to ${end}`);
  }
});

test("what Rust has written is read as it was meant", () => {
  // Golden files of server/views/tests/suite/golden.rs: the head as JSON, and what goes to the browser.
  const golden = new URL("../../tests/golden/views/", import.meta.url);
  const names = readdirSync(golden).filter((name) => /^timeline-.*\.bin$/.test(name));
  assert.ok(names.length >= 4, names.join());
  for (const name of names) {
    const head = JSON.parse(readFileSync(new URL(name.replace(/bin$/, "json"), golden), "utf8"));
    const bytes = readFileSync(new URL(name, golden));
    const data = decodeTimeline(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    const { tracks, ...rest } = data;
    const { tracks: told, ...expected } = head;
    assert.deepEqual(rest, expected, name);
    for (const [i, { bins, counts, name: most, longest, values, ...track }] of tracks.entries()) {
      assert.deepEqual(track, told[i], name);
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        track.rows,
        `${name} ${track.key}: every row is in a bin`,
      );
      assert.ok(
        bins.every((bin, at) => bin < data.width && (at === 0 || bin > bins[at - 1])),
        `${name} ${track.key}: bins ascend`,
      );
      assert.ok(
        values !== null || most.every((one) => one < data.names.length),
        `${name} ${track.key}: names are known`,
      );
      assert.deepEqual([longest !== null, values !== null], [head.has_longest, head.has_values], name);
    }
  }
  // One track of each kind in full.
  const read = (name, key) => {
    const bytes = readFileSync(new URL(`timeline-${name}.bin`, golden));
    const data = decodeTimeline(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    const track = key === undefined ? data.tracks[0] : data.tracks.find((one) => one.key === key);
    return { ...track, names: [...track.name].map((one) => data.names[one]) };
  };
  const cpu = read("events-cpu", "cpu:0");
  assert.deepEqual(
    [...cpu.bins].map((bin, i) => [bin, cpu.counts[i], cpu.names[i]]),
    [
      [0, 2, "bash"],
      [1, 2, "bash"],
      [2, 1, "bash"],
      [3, 6, "cat"],
      [4, 1, "bash"],
      [5, 1, "bash"],
    ],
  );
  assert.deepEqual([...read("timed-cpu", "cpu:0").longest], [1000, 70]);
  const { least, most, last } = read("counters").values;
  assert.deepEqual(
    [[...least], [...most], [...last]],
    [
      [0, 5e11],
      [1e12, 5e11],
      [0, 5e11],
    ],
  );
});
