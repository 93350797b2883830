import assert from "node:assert/strict";
import test from "node:test";
import { runInThisContext } from "node:vm";
import { captionOf } from "../static/js/page/save_picture.js";
import { SavedAnswers, keyOf, readAddress } from "../static/js/page/saved_answers.js";
import { focused } from "../static/js/page/saved_flame.js";
import { classicScript, filesOf, savedHtml } from "../static/js/page/saved_html.js";
import { arranged } from "../static/js/page/saved_rows.js";
import {
  addressesOf,
  newestWindow,
  rowPagesOf,
  trackZoomsOf,
  wholeFlamesOf,
  zoomsOf,
} from "../static/js/page/save_plan.js";

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

test("a file has what belongs to what is shown", () => {
  const view = { start: 5, end: 9, filter: "pid == 1" };
  const asked = [
    PATH,
    `${PATH}/notes`,
    `${PATH}/rows?start=5&end=9&filter=pid+%3D%3D+1&offset=0&limit=200`,
    `${PATH}/rows?start=5&end=9&filter=&offset=0&limit=200`,
    `${PATH}/flame?start=1&end=2`,
    `${PATH}/timeline?start=1&end=2&width=3`,
    `${PATH}/live`,
    `${PATH}0/notes`,
    "/api/captures",
    `${PATH}/notes`,
  ];
  assert.deepEqual(addressesOf(asked, PATH, view), [PATH, `${PATH}/notes`, asked[2]]);
  assert.equal(newestWindow(asked, `${PATH}/timeline`), asked[5]);
  assert.deepEqual(addressesOf([`${PATH}/rate?filter=`], PATH, { start: null, end: null, filter: "" }), [
    `${PATH}/rate?filter=`,
  ]);
});

test("more is read than what is shown: rows, the whole graph, zooms", () => {
  const rows = `${PATH}/rows?stream=1&offset=400&limit=200`;
  const { pages, left } = rowPagesOf(
    [rows, `${PATH}/rows?stream=1&offset=0&limit=200`, `${PATH}/rate?x=1`],
    () => 60_001,
  );
  assert.deepEqual(
    [pages.length, pages.at(-1), left],
    [10, `${PATH}/rows?stream=1&offset=45000&limit=5000`, [{ rows: 50_000, of: 60_001 }]],
  );
  assert.deepEqual(wholeFlamesOf([`${PATH}/flame?focus=a&search=b&width=7&by=cpu`]), [
    `${PATH}/flame?width=8192&by=cpu`,
  ]);
  const zooms = zoomsOf(`${PATH}/timeline?start=0&end=1600&width=100&group=cpu`, 10_000);
  assert.deepEqual(
    [zooms.length, zooms[0], zooms[1], zooms.at(-1)],
    [
      1 + 1 + 4 + 16,
      `${PATH}/timeline?start=0&end=10000&width=100&group=cpu`,
      `${PATH}/timeline?start=0&end=1600&width=100&group=cpu`,
      `${PATH}/timeline?start=1500&end=1600&width=100&group=cpu`,
    ],
  );
  const tracks = trackZoomsOf(`${PATH}/tracks/window?start=0&end=1048576&width=1024&tracks=a`, 1e6, ["a", "b"]);
  for (const address of tracks) {
    const { params } = readAddress(address);
    const [start, end, width] = ["start", "end", "width"].map((name) => Number(params.get(name)));
    assert.ok(
      Number.isInteger(Math.log2((end - start) / width)) &&
        start % (256 * ((end - start) / width)) === 0 &&
        width <= 8192,
      address,
    );
    assert.equal(params.get("tracks"), "a,b");
  }
});

test("joined modules become one classic script", () => {
  const core = "const $a = (() => {\nconst a = 1;\nreturn { a };\n})();\nexport { $a };\n";
  const late =
    'import { $a } from "./core.js";\nconst $late = (() => {\nconst { a } = $a;\nreturn { twice: a * 2 };\n})();\nexport const { twice } = $late;\n';
  const page =
    'import { $a } from "./core.js";\nconst $page = (() => {\nasync function f() { globalThis.seen = [(await import("./late.js")).twice]; try { await import("./none.js"); } catch (error) { globalThis.seen.push(error.message); } globalThis.done(); }\nf();\nreturn {  };\n})();\n';
  assert.deepEqual(filesOf(page), { now: ["core.js"], later: ["late.js", "none.js"] });
  const script = classicScript([
    { name: "core.js", text: core },
    { name: "late.js", text: late },
    { name: "page.js", text: page },
  ]);
  return new Promise((resolve) => {
    globalThis.done = resolve;
    runInThisContext(script);
  }).then(() => assert.deepEqual(globalThis.seen, [2, "A file does not have this part"]));
});

test("text of events stays text in a file", () => {
  const hostile = '</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>"\u2028';
  const page = {
    version: 1,
    view: `?filter=${hostile}`,
    from: "http://localhost/",
    saved_unix_ms: 0,
    tabs: [],
    left_out: [hostile],
    answers: [{ address: hostile, type: "json", gzip: "" }],
  };
  const html = savedHtml({
    title: hostile,
    nonce: "n",
    styles: "a {}",
    script: 'const x = "</script>";',
    body: ["<p></p>"],
    page,
  });
  assert.equal(html.match(/<script/g)?.length, 2, "the data and the script");
  assert.equal(html.match(/<\/script/g)?.length, 2);
  assert.ok(!html.includes("<img") && !html.includes("<!--"), html);
  const data = html.slice(html.indexOf('id="saved-data">') + 16, html.indexOf("</script>"));
  assert.deepEqual(JSON.parse(data), page);
  assert.match(
    html,
    /content="default-src 'none'; script-src 'nonce-n'; style-src 'nonce-n'; img-src data: blob:; base-uri 'none'; form-action 'none'"/,
  );
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
