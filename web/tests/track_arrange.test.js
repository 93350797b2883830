import assert from "node:assert/strict";
import test from "node:test";
import {
  movedBy,
  movedTo,
  ordered,
  packKeys,
  packSizes,
  placesOf,
  unpackKeys,
  unpackSizes,
} from "../static/js/view/timeline/track_arrange.js";

const row = (key, parent = "", kind = "tracks", lanes = []) => ({ key, parent, kind, lanes });
const TREE = [
  row("cpus", "", "group"),
  row("cpu:0", "cpus"),
  row("cpu:1", "cpus"),
  row("pid:7", "", "group"),
  row("tid:7", "pid:7"),
  row("tid:8", "pid:7"),
  row("tid:9", "pid:7"),
  row("tid:20"),
];
const keys = (tree) => tree.map(({ key }) => key);

test("keys and heights are in the address whatever they are", () => {
  const odd = ["tid:1", "a,b=c", "100%", "ü"];
  assert.deepEqual(unpackKeys(packKeys(odd)), odd);
  assert.equal(packKeys(["tid:1", "tid:2"]), "tid:1,tid:2");
  assert.deepEqual(unpackKeys("tid:1,,%E0%A4%A,tid:2"), ["tid:1", "tid:2"]);
  const sizes = new Map([
    ["a,b=c", "high"],
    ["tid:1", "low"],
  ]);
  assert.deepEqual(unpackSizes(packSizes(sizes)), sizes);
  assert.equal(packSizes(new Map([["tid:1", "usual"]])), "");
  assert.deepEqual(unpackSizes("tid:1=huge,=low,tid:2=low"), new Map([["tid:2", "low"]]));
});

test("listed rows are first in their group", () => {
  assert.equal(ordered(TREE, []), TREE);
  assert.deepEqual(keys(ordered(TREE, ["tid:9", "pid:7", "gone"])), [
    "pid:7",
    "tid:9",
    "tid:7",
    "tid:8",
    "cpus",
    "cpu:0",
    "cpu:1",
    "tid:20",
  ]);
});

test("a row is moved within its group", () => {
  const place = (order) => keys(ordered(TREE, order));
  const down = movedBy(TREE, [], "tid:7", 1, () => true);
  assert.deepEqual(down, ["tid:8", "tid:7"]);
  assert.deepEqual(place(down).slice(4, 7), ["tid:8", "tid:7", "tid:9"]);
  const up = movedBy(ordered(TREE, down), down, "tid:9", -1, () => true);
  assert.deepEqual(place(up).slice(4, 7), ["tid:8", "tid:9", "tid:7"]);
  // Over what is hidden.
  const over = movedBy(TREE, [], "tid:7", 1, ({ key }) => key !== "tid:8");
  assert.deepEqual(place(over).slice(4, 7), ["tid:8", "tid:9", "tid:7"]);
  // Groups go with what is in them.
  assert.deepEqual(place(movedTo(TREE, [], "tid:20", "cpus")), ["tid:20", ...keys(TREE).slice(0, -1)]);
  assert.deepEqual(place(movedBy(TREE, [], "pid:7", -1, () => true)).slice(0, 4), ["pid:7", "tid:7", "tid:8", "tid:9"]);
  // At the end, in another group, gone.
  for (const order of [
    movedBy(TREE, [], "tid:9", 1, () => true),
    movedTo(TREE, [], "tid:9", "cpu:0"),
    movedTo(TREE, [], "gone", "tid:9"),
    movedTo(TREE, [], "tid:9", "tid:9"),
  ])
    assert.deepEqual(order, []);
});

test("every lane has its place or is counted", () => {
  const lane = (kind) => ({ row: kind });
  const lanes = [lane("state"), ...Array.from({ length: 8 }, () => lane("slice")), lane("tick")];
  for (const size of ["low", "usual", "high"]) {
    const { places, height, more } = placesOf(row("tid:1", "", "tracks", lanes), size, true);
    assert.equal(places.length + more, lanes.length, size);
    places.forEach((place, i) => {
      assert.equal(place.lane, lanes[i]);
      assert.ok(
        place.top + place.height <= height && (i === 0 || place.top >= places[i - 1].top + places[i - 1].height),
      );
    });
  }
  assert.equal(placesOf(row("tid:1", "", "tracks", lanes), "high", true).more, 0);
  assert.ok(
    placesOf(row("cpus", "", "group", lanes), "usual", false).height >
      placesOf(row("cpus", "", "group"), "usual", true).height,
  );
});
