import assert from "node:assert/strict";
import test from "node:test";
import { rowIndexAt, rowsBetween } from "../static/js/view/timeline/row_search.js";
import { LabelTable, decodeWindow, readWindow, rowsOf } from "../static/js/view/timeline/track_decode.js";
import { KnownTracks } from "../static/js/view/timeline/known_tracks.js";
import { joined } from "../static/js/view/timeline/track_join.js";
import { isUseful, keptOf, pixelOf, planOf } from "../static/js/view/timeline/track_plan.js";

/** Bytes as the server writes them: looks of three names; pieces of gap, width, look, code of rows, and of several two shares and the rest. */
function encoded(head, looks, pieces) {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const word = (n) => [n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24];
  const half = (n) => [n & 255, n >> 8];
  const several = pieces.filter(([, , , rows]) => rows > 1);
  const large = [0, 1].flatMap((at) => pieces.map((piece) => piece[at]).filter((n) => n >= 255));
  const pad = Array((4 - (json.length % 4)) % 4).fill(0);
  return new Uint8Array([
    ...[0x42, 0x54, 0x57, 0x32],
    ...word(json.length),
    ...json,
    ...pad,
    ...[looks.length, pieces.length, several.length, large.length].flatMap(word),
    ...large.flatMap(word),
    ...[0, 1, 2].flatMap((k) => looks.flatMap((look) => half(look[k]))),
    ...pieces.map(([gap]) => Math.min(gap, 255)),
    ...pieces.map(([, width]) => Math.min(width, 255)),
    ...[0, 8, 16].flatMap((shift) => pieces.map(([, , look]) => (look >> shift) & 255)),
    ...pieces.map(([, , , rows]) => rows),
    ...several.map(([, , , , a, b]) => a | (b << 4)),
    ...several.map(([, , , , a, b, c]) => 15 - a - b - c),
  ]).buffer;
}

const label = (text) => ({ text });
const HEAD = { start: 1000, end: 5000, unit: 10, names: [label("a"), label("b"), label("c")] };

test("a window as the server writes it", () => {
  const head = {
    ...HEAD,
    tracks: [
      { id: "0.1", pieces: 2 },
      { id: "0.2", pieces: 0 },
      { id: "0.3", pieces: 2 },
    ],
  };
  const looks = [
    [2, 2, 2],
    [0, 1, 2],
  ];
  const pieces = [
    [300, 20, 0, 1],
    [0, 400, 1, 12, 2, 8, 5],
    [5, 255, 1, 3, 1, 0, 14],
    [255, 1, 0, 1],
  ];
  const tracks = decodeWindow(encoded(head, looks, pieces));
  const first = tracks.get("0.1");
  assert.deepEqual([...first.begins, ...first.ends], [300, 320, 320, 720]);
  assert.deepEqual([...first.names, ...first.several], [2, 1, -1, 0], "what takes most is the name");
  assert.deepEqual([first.rows[0], ...first.shares.map(([share]) => share)], [8, 8 * 17, 5 * 17, 2 * 17]);
  assert.deepEqual(
    first.others.map(([name]) => name),
    [2, 0],
  );
  assert.equal(tracks.get("0.2").begins.length, 0);
  const third = tracks.get("0.3");
  assert.deepEqual([...third.begins, ...third.ends], [5, 515, 260, 516]);
  assert.deepEqual([third.names[0], third.shares[0][0], third.shares[2][0]], [2, 14 * 17, 0]);
  for (const cut of [3, 9, 60, 200]) assert.throws(() => decodeWindow(encoded(head, looks, pieces).slice(0, cut)));
  assert.throws(() => decodeWindow(encoded(head, looks, [...pieces.slice(0, 3), [1, 1, 9, 1]])), /name/);
});

test("numbers of rows", () => {
  assert.deepEqual([0, 1, 3, 8, 9, 11, 12, 15, 16, 255].map(rowsOf), [0, 1, 3, 4, 5, 7, 8, 14, 16, 2 ** 32 - 1]);
});

test("windows beside each other are one, and a row that was cut is one row", () => {
  const table = new LabelTable();
  const window = (start, end, names, pieces) => {
    const head = { ...HEAD, start, end, names, tracks: [{ id: "0.1", pieces: pieces.length }] };
    const looks = names.map((_name, i) => [i, i, i]);
    return decodeWindow(encoded(head, looks, pieces), table).get("0.1");
  };
  const left = window(
    1000,
    2000,
    [label("a"), label("b")],
    [
      [0, 50, 0, 1],
      [0, 50, 1, 1],
    ],
  );
  const right = window(
    2000,
    3000,
    [label("b"), label("a")],
    [
      [0, 30, 0, 1],
      [10, 5, 1, 8, 8, 0, 0],
    ],
  );
  const all = { start: -1e9, end: 1e9 };
  for (const both of [joined(left, right, all), joined(right, left, all)]) {
    assert.deepEqual([both.start, both.end], [1000, 3000]);
    assert.deepEqual([...both.begins], [0, 50, 140]);
    assert.deepEqual([...both.ends], [50, 130, 145]);
    assert.deepEqual(
      [...both.names].map((name) => both.labels[name].text),
      ["a", "b", "a"],
    );
    assert.deepEqual([...both.several], [-1, -1, 0]);
    assert.equal(both.rows[0], 4);
  }
  const kept = joined(left, right, { start: 1600, end: 2200 });
  assert.deepEqual([kept.start, kept.end, ...kept.begins, ...kept.ends], [1600, 2200, 0, 60]);
  const apart = window(4000, 5000, [label("a")], [[0, 10, 0, 1]]);
  assert.equal(joined(left, apart, all), apart, "what does not meet is not put together");
});

test("what is asked for: what is in sight, then ahead, then behind, and only what is missing", () => {
  const known = new Map();
  const wanted = {
    shown: { start: 10_240, end: 20_480 },
    pixels: 1024,
    whole: { start: 0, end: 100_000 },
    tracks: ["a", "b"],
    way: 1,
  };
  const pixel = pixelOf(wanted, 0);
  assert.equal(pixel, 8);
  const plans = [];
  for (let i = 0; i < 9; i += 1) {
    const plan = planOf(wanted, pixel, 0, (id) => known.get(id));
    if (!plan) break;
    plans.push([plan.start, plan.end, plan.width, plan.isAhead, plan.tracks.join()]);
    for (const id of plan.tracks) {
      const before = known.get(id) ?? plan;
      known.set(id, { pixel, age: 0, start: Math.min(before.start, plan.start), end: Math.max(before.end, plan.end) });
    }
  }
  assert.deepEqual(plans, [
    [10_240, 20_480, 1280, false, "a,b"],
    [20_480, 30_720, 1280, true, "a,b"],
    [0, 10_240, 1280, true, "a,b"],
  ]);
  const moved = { ...wanted, shown: { start: 25_000, end: 35_240 } };
  const plan = planOf(moved, pixel, 0, (id) => known.get(id));
  assert.deepEqual([plan.start, plan.end, plan.isAhead], [30_720, 36_864, false], "only what is missing of it");
  known.delete("b");
  assert.deepEqual(planOf(moved, pixel, 0, (id) => known.get(id)).tracks, ["b"], "first what has nothing");
  assert.ok(
    planOf(wanted, pixel, 1, (id) => known.get(id)),
    "what is no longer true is asked for again",
  );
  assert.deepEqual(keptOf(wanted), { start: -10_240, end: 40_960 });
  assert.ok(isUseful(plan, moved, pixel) && !isUseful(plan, wanted, pixel) && !isUseful(plan, moved, 4));
});

test("pixels stay while they will do, and windows are never too wide", () => {
  const wanted = (span) => ({
    shown: { start: 0, end: span },
    pixels: 1000,
    whole: { start: 0, end: 1e12 },
    tracks: ["a"],
    way: 1,
  });
  assert.equal(pixelOf(wanted(12_000), 8), 8, "a little finer than it must be");
  assert.equal(pixelOf(wanted(4_900), 8), 4);
  assert.equal(pixelOf(wanted(64_000), 8), 64);
  assert.equal(pixelOf(wanted(10), 8), 1);
  const wide = { ...wanted(1e9), pixels: 7680 };
  const plan = planOf(wide, pixelOf(wide, 0), 0, () => undefined);
  assert.ok(plan.width <= 8192 && plan.end >= 1e9);
});

test("rows at places", () => {
  const rows = [0, 24, 40, 64].map((top, i, all) => ({ top, height: (all[i + 1] ?? 90) - top }));
  assert.deepEqual(
    [-1, 0, 23, 24, 63, 89, 90].map((y) => rowIndexAt(rows, y)),
    [null, 0, 0, 1, 2, 3, null],
  );
  assert.deepEqual(
    [rowsBetween(rows, 0, 1), rowsBetween(rows, 30, 65), rowsBetween(rows, 90, 99)],
    [
      [0, 1],
      [1, 4],
      [4, 4],
    ],
  );
});

test("what is known of a track is put together when somebody looks", () => {
  const table = new LabelTable();
  const how = { pixel: 10, age: 1, kept: { start: 0, end: 10000 } };
  const window = (start, end, pieces) => {
    const head = { ...HEAD, start, end, names: [label("a")], tracks: [{ id: "0.1", pieces: pieces.length }] };
    return encoded(head, [[0, 0, 0]], pieces);
  };
  const buffers = [
    window(1000, 2000, [[20, 80, 0, 1]]),
    window(2000, 3000, [[0, 30, 0, 1]]),
    window(3000, 4000, [[10, 20, 0, 1]]),
  ];
  const known = new KnownTracks();
  const stamps = new Set([known.stamp("0.1")]);
  for (const buffer of buffers) {
    known.add(readWindow(buffer, table), how);
    stamps.add(known.stamp("0.1"));
  }
  assert.equal(stamps.size, 4, "each window makes it another one");
  assert.deepEqual([known.reach("0.1").start, known.reach("0.1").end], [1000, 4000], "before anything is put together");
  assert.equal(known.peek("0.1"), undefined);
  const naive = buffers
    .map((buffer) => decodeWindow(buffer, table).get("0.1"))
    .reduce((all, added) => joined(all, added, how.kept));
  const got = known.get("0.1");
  assert.deepEqual([...got.begins, ...got.ends], [...naive.begins, ...naive.ends]);
  assert.deepEqual([...got.begins, ...got.ends], [20, 210, 130, 230]);
  assert.equal(known.peek("0.1"), got);
  assert.equal(known.get("0.1"), got, "it is put together once");
  // The capture has grown: what came before is drawn until what is true now is put together.
  known.add(readWindow(buffers[1], table), { ...how, age: 2 });
  assert.equal(known.peek("0.1"), got);
  assert.deepEqual([known.get("0.1").start, known.get("0.1").end], [2000, 3000]);
  known.clear();
  assert.equal(known.get("0.1"), undefined);
});
