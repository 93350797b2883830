import assert from "node:assert/strict";
import test from "node:test";

import { FoundTiles, TILE_COLUMNS, tilesOf } from "../static/js/view/timeline/find/find_tiles.js";

/** Numbers that look random and are the same each time. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** What a server answers that looks at each row for each column. */
function search(rows, { start, end, columns }) {
  const each = (end - start) / columns;
  const within = (from, to) => (at) => start + at * each < to && start + (at + 1) * each > from;
  const all = Array.from({ length: columns }, (_, at) => at);
  const marked = all.filter((at) => rows.some((row) => within(row.start, row.start + 0.5)(at)));
  const runs = all.filter((at) => rows.some((row) => within(row.start, row.end)(at))).flatMap((at) => [at, 1]);
  const tracks = runs.length > 0 ? [{ key: "tid:7", of_stream: null, runs, long: [] }] : [];
  const parts = { streams: [], marked, counts: marked.map(() => 1), tracks, cpus: [], left_out: 0, long_left_out: 0 };
  return { start, end, columns, ...parts, looked_at: 1, rows: 1, next: null };
}

test("the tiles of a window cover it with columns no wider than a pixel", () => {
  const random = numbers(7);
  for (let round = 0; round < 200; round += 1) {
    const start = random(1e9) - 1000;
    const end = start + 1 + random(1e9);
    const pixels = 1 + random(5000);
    const { column, first, last } = tilesOf({ start, end }, pixels);
    const span = column * TILE_COLUMNS;
    assert.ok(first * span <= start && (last + 1) * span >= end, `${start} to ${end}`);
    assert.ok(column <= Math.max(1, (end - start) / pixels) && 2 * column > (end - start) / pixels);
  }
});

test("a window that is moved asks for what is new, and is marked as a search of its own would", async () => {
  const random = numbers(3);
  const rows = Array.from({ length: 60 }, () => {
    const start = random(400_000);
    return { start, end: start + random(900) + 1 };
  });
  const tiles = new FoundTiles(() => "");
  const asked = [];
  const ask = (range, take) => {
    asked.push(range);
    take(search(rows, range));
    return Promise.resolve(true);
  };
  let shown = { start: 0, end: 40_000 };
  for (let round = 0; round < 12; round += 1) {
    const wanted = tilesOf(shown, 1000);
    const before = asked.length;
    const { missing } = tiles.at(wanted);
    await tiles.fill(wanted, ask);
    const again = asked.slice(before);
    assert.equal(
      again.reduce((sum, { start, end }) => sum + end - start, 0),
      missing.reduce((sum, { start, end }) => sum + end - start, 0),
    );
    assert.ok(again.every(({ columns }) => columns % TILE_COLUMNS === 0 && columns <= 4096));
    const { there, missing: none } = tiles.at(wanted);
    assert.deepEqual(none, []);
    for (const tile of there) {
      const naive = search(rows, tile);
      const marks = new Uint8Array(TILE_COLUMNS);
      for (const { runs } of naive.tracks)
        for (let i = 0; i < runs.length; i += 2) marks.fill(1, runs[i], runs[i] + runs[i + 1]);
      assert.deepEqual(tile.tracks.get("tid:7") ?? new Uint8Array(TILE_COLUMNS), marks);
      assert.deepEqual(
        [...tile.counts.keys()].filter((at) => tile.counts[at] > 0),
        naive.marked,
      );
    }
    shown = { start: shown.start + 9000, end: shown.end + 9000 };
  }
  const before = asked.length;
  await tiles.fill(tilesOf(shown, 1000), ask);
  assert.ok(asked.length - before <= 1);
  await tiles.fill(tilesOf(shown, 1000), ask);
  assert.ok(asked.length - before <= 1, "what is there is not asked for again");
  tiles.clear();
  assert.equal(tiles.at(tilesOf(shown, 1000)).there.length, 0);
});

test("what is given up leaves no tile", async () => {
  const tiles = new FoundTiles(() => "");
  const wanted = tilesOf({ start: 0, end: 1e6 }, 1000);
  await tiles.fill(wanted, () => Promise.resolve(false));
  assert.equal(tiles.at(wanted).there.length, 0);
});
