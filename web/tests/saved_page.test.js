import assert from "node:assert/strict";
import test from "node:test";
import { captionOf } from "../static/js/page/save_picture.js";
import { SavedAnswers, keyOf, readAddress } from "../static/js/page/saved_answers.js";
import { focused, focusedDifference } from "../static/js/page/saved_flame.js";
import { arranged } from "../static/js/page/saved_rows.js";
import { isElsewhere, placeAddress, readPlace } from "../static/js/page/saved_place.js";

const PATH = "/api/captures/0123456789abcdef";

/** A file's answers, packed as nothing. */
const answers = (/** @type {[string, unknown][]} */ list) =>
  new SavedAnswers(
    list.map(([address, value]) => ({ address, type: "json", gzip: JSON.stringify(value) })),
    async ({ gzip }) => new TextEncoder().encode(gzip).buffer,
  );
const found = async (/** @type {SavedAnswers} */ file, /** @type {string} */ address) => {
  const answer = await file.find(address);
  if (!answer) return null;
  return JSON.parse(typeof answer.body === "string" ? answer.body : new TextDecoder().decode(answer.body));
};

test("the same question has the same answer, by whatever address and at whatever size", async () => {
  const file = answers([
    [`/s/0123456789abcdef${PATH}/rate?bins=300&filter=pid+%3D%3D+4`, "rates"],
    [PATH, "facts"],
  ]);
  for (const [address, value] of [
    [`${PATH}/rate?filter=pid%20%3D%3D%204&bins=300`, "rates"],
    [`${PATH}/rate?filter=pid%20%3D%3D%204&bins=90`, "rates"],
    [`/s/ffffffffffffffff${PATH}`, "facts"],
    [`${PATH}/rate?bins=300`, null],
    [`${PATH}/notes`, null],
  ])
    assert.deepEqual(await found(file, address), value, address);
  assert.equal(keyOf(readAddress("/a?b=1&a=2")), keyOf(readAddress("/a?a=2&b=1")));
});

const ROWS = {
  columns: [{ name: "time" }, { name: "comm" }, { name: "ns" }],
  rows: [
    [10, "cat", 5],
    [20, "dd", "9007199254740993"],
    [30, "Cat", null],
    [40, { id: 1, top: "do_exit", depth: 2 }, 7],
  ],
  texts: ["a", "b", "c", "d"],
  total: 9,
  matched: 4,
  offset: 0,
};

test("rows of a file are sorted, searched and cut here", async () => {
  const file = answers([
    [`${PATH}/rows?stream=0&offset=0&limit=2`, { ...ROWS, rows: ROWS.rows.slice(0, 2), texts: ["a", "b"] }],
    [`${PATH}/rows?stream=0&offset=2&limit=2`, { ...ROWS, rows: ROWS.rows.slice(2), texts: ["c", "d"], offset: 2 }],
    [`${PATH}/rows?stream=0&offset=0&limit=3`, { ...ROWS, rows: ROWS.rows.slice(0, 3), texts: ["a", "b", "c"] }],
  ]);
  const times = async (/** @type {string} */ query) =>
    (await found(file, `${PATH}/rows?stream=0&offset=0&limit=200${query}`))?.rows.map((row) => row[0]) ?? null;
  for (const [query, wanted] of [
    ["", [10, 20, 30, 40]],
    ["&order=desc", [40, 30, 20, 10]],
    ["&sort=ns", [10, 40, 20, 30]],
    ["&sort=ns&order=desc", [20, 40, 10, 30]],
    ["&sort=comm&then=-time", [30, 10, 20, 40]],
    ["&filter=cat", [10, 30]],
    ["&filter=do_ex", [40]],
    ["&start=20&end=40", [20, 30]],
    ["&filter=pid+%3D%3D+4", null],
  ])
    assert.deepEqual(await times(query), wanted, query);
  const page = await found(file, `${PATH}/rows?stream=0&offset=1&limit=2&order=desc`);
  assert.deepEqual([page.offset, page.matched, page.texts], [1, 4, ["c", "b"]]);
  assert.deepEqual(page.numbers, [2, 1], "a row keeps its number in the stream");
  assert.equal(await found(file, `${PATH}/rows?stream=1&offset=0&limit=2`), null);
});

test("a file of a range and a filter knows no rows beside them", () => {
  const saved = new Map(Object.entries({ start: "20", end: "40", filter: "pid == 4" }));
  const asked = (/** @type {Record<string, string>} */ parts) =>
    arranged(ROWS, saved, new Map(Object.entries({ start: "20", end: "40", filter: "pid == 4", ...parts })))?.matched ??
    null;
  assert.deepEqual(
    [
      asked({}),
      asked({ start: "30" }),
      asked({ start: "10" }),
      asked({ filter: "" }),
      asked({ filter: "pid == 4 dd" }),
    ],
    [2, 1, null, null, 1],
  );
});

const GRAPH = {
  total: 10,
  focus_total: 10,
  focus: null,
  matched_samples: 0,
  names: ["all", "main", "read", "main_loop"],
  nodes: {
    id: ["r", "a", "b", "c", "d"],
    depth: [0, 1, 2, 2, 1],
    x: [0, 0, 0, 4, 6],
    value: [10, 6, 4, 2, 4],
    own: [0, 0, 4, 2, 4],
    name: [0, 1, 2, 3, 2],
    kind: [0, 3, 3, 3, 3],
    module: [0, 0, 0, 0, 0],
    match: [0, 0, 0, 0, 0],
  },
};

test("a flame graph of a file is zoomed and searched here", async () => {
  const zoomed = focused(GRAPH, "a", "");
  assert.deepEqual(
    [zoomed.nodes.id, zoomed.nodes.x, zoomed.focus, zoomed.focus_total],
    [["r", "a", "b", "c"], [0, 0, 0, 4], "a", 6],
  );
  assert.deepEqual(focused(GRAPH, "d", "").nodes.x, [0, 0]);
  for (const [focus, search, samples, marks] of [
    ["", "main", 6, [0, 1, 0, 1, 0]],
    ["", "READ", 8, [0, 0, 1, 0, 1]],
    ["", "/^main_/", 2, [0, 0, 0, 1, 0]],
    ["", "/(/", 0, [0, 0, 0, 0, 0]],
    ["a", "read", 4, [0, 0, 1, 0]],
  ]) {
    const graph = focused(GRAPH, focus, search);
    assert.deepEqual([graph.matched_samples, graph.nodes.match], [samples, marks], `${focus} ${search}`);
  }
  const file = answers([
    [`${PATH}/flame?width=900&by=process&search=x`, { ...GRAPH, total: 1 }],
    [`${PATH}/flame?width=8192&by=process`, GRAPH],
  ]);
  assert.equal((await found(file, `${PATH}/flame?width=1200&by=process&focus=a`)).total, 10, "the finest one");
  assert.equal(await found(file, `${PATH}/flame?width=1200&by=cpu`), null);
  // Beside others each node keeps what is there of it.
  const both = { graph: GRAPH, other: [20, 12, 8, 4, 9], functions: ["all"] };
  assert.deepEqual(focusedDifference(both, "b", "").other, [20, 12, 8]);
  const compared = answers([[`${PATH}/flame/compare?with=f&width=8192&invert=0`, both]]);
  const beside = await found(compared, `${PATH}/flame/compare?with=f&width=900&invert=0&focus=d&search=read`);
  assert.deepEqual([beside.graph.focus, beside.other, beside.functions], ["d", [20, 9], ["all"]]);
  assert.equal(await found(compared, `${PATH}/flame/compare?with=e&width=900&invert=0`), null);
  // Stacks of a script's map are a graph too.
  const map = answers([[`${PATH}/maps/2?view=flame&width=8192&by=process`, GRAPH]]);
  assert.equal((await found(map, `${PATH}/maps/2?view=flame&width=900&by=process&focus=a`)).focus_total, 6);
  assert.equal(await found(map, `${PATH}/maps/2?view=table&limit=200`), null);
});

test("the finest window that has all that is shown", () => {
  const file = answers([
    [`${PATH}/timeline?start=0&end=1000&width=100&group=cpu`, 0],
    [`${PATH}/timeline?start=0&end=250&width=100&group=cpu`, 0],
    [`${PATH}/timeline?start=250&end=500&width=100&group=cpu`, 0],
    [`${PATH}/timeline?start=0&end=1000&width=100&group=thread`, 0],
  ]);
  const window = (/** @type {number} */ start, /** @type {number} */ end) => {
    const shown = file.window(`${PATH}/timeline?start=${start}&end=${end}&width=77&group=cpu`, {
      start,
      end,
      width: 77,
    });
    return shown && [shown.start, shown.end, shown.width];
  };
  assert.deepEqual(window(260, 300), [250, 500, 100]);
  assert.deepEqual(window(200, 300), [0, 1000, 100]);
  assert.deepEqual(window(600, 700), [0, 1000, 100]);
  assert.equal(file.window(`${PATH}/timeline?start=0&end=9&width=9&group=tree`, { start: 0, end: 9, width: 9 }), null);
});

test("the address of a file names a block, a view at a block, or the view of a file of one", () => {
  const [one, two] = ["0123456789abcdef", "ffffffffffffffff"];
  for (const [hash, place] of [
    ["", { block: "", view: null }],
    ["#", { block: "", view: null }],
    [`#${one}`, { block: one, view: null }],
    [`#${one}?v=3&tab=flame`, { block: one, view: "v=3&tab=flame" }],
    ["#?v=3", { block: "", view: "v=3" }],
    [`#${one}?`, { block: one, view: "" }],
    ["#main", null],
    ["#0123", null],
  ])
    assert.deepEqual(readPlace(hash), place, hash);
  assert.equal(placeAddress(one, "?v=3&tab=flame"), `#${one}?v=3&tab=flame`);
  assert.deepEqual(readPlace(placeAddress("", "v=3&filter=a%3Fb")), { block: "", view: "v=3&filter=a%3Fb" });
  assert.equal(placeAddress(one), `#${one}`);
  // Open, wanted, and whether the file has to be opened anew.
  for (const [open, wanted, isOther] of [
    [null, { block: one, view: null }, false],
    [null, { block: one, view: "" }, true],
    [{ block: one, view: "" }, { block: one, view: "" }, false],
    [{ block: one, view: "" }, { block: two, view: "" }, true],
    [{ block: one, view: "" }, { block: one, view: null }, true],
    [{ block: one, view: "" }, null, false],
  ])
    assert.equal(isElsewhere(open, wanted), isOther, JSON.stringify([open, wanted]));
});

test("a picture says what it is of", () => {
  const info = {
    title: "Why?",
    simulated: false,
    host: { hostname: "db1", kernel_release: "6.12" },
    started_unix_ns: 0,
    lost: 0,
    lost_at_least: false,
  };
  const [first, second] = captionOf(info, { start: 1e9, end: 2e9, filter: "pid == 4" });
  assert.match(first, /^Why\? · db1, kernel 6\.12 · started 19(69|70)-/);
  assert.equal(second, "1 s to 2 s · only rows with pid == 4 · no losses");
  assert.equal(
    captionOf({ ...info, lost: 3 }, { start: null, end: null, filter: "" })[1],
    "the whole capture · no filter · 3 lost",
  );
});
