import assert from "node:assert/strict";
import test from "node:test";
import { resorted } from "../static/js/page/saved_against.js";
import { SavedAnswers } from "../static/js/page/saved_answers.js";

const PATH = "/api/captures/0123456789abcdef";

/** @typedef {[there: number|null, here: number|null, difference: number|null, verdict?: string]} Told */

/** A line with a key of one name, or of several cells. */
const line = (/** @type {unknown} */ key, /** @type {Told[]} */ ...values) => ({
  key: Array.isArray(key) ? key : [key],
  filter: "",
  only: null,
  has_inner: false,
  values: values.map(([there, here, difference, verdict = "within_chance"]) => ({
    here,
    there,
    by_here: here,
    by_there: there,
    difference,
    error: null,
    verdict,
  })),
});
const table = (/** @type {ReturnType<typeof line>[]} */ lines, compared = lines.length) => ({
  normalised: "time",
  here: { start: 0, end: 1, rows: 1, lost: 0, left_out: 0 },
  there: { start: 0, end: 1, rows: 1, lost: 0, left_out: 0 },
  keys: [{ name: "call", display: "decimal" }],
  measures: [
    { name: "calls", display: "decimal", unit: "hits", kind: "amount" },
    { name: "p99", display: "duration_ns", unit: "nanoseconds", kind: "level" },
  ],
  lines,
  compared,
  changed: 0,
  only_here: 0,
  only_there: 0,
  cautions: ["made up"],
});
const keys = (/** @type {any} */ sorted) => sorted?.lines.map(({ key }) => key.join("·")) ?? null;
const sorted = (/** @type {ReturnType<typeof table>} */ of, lines_by = "", more = {}) =>
  resorted(of, new Map(Object.entries({ lines: "500", ...(lines_by ? { lines_by } : {}), ...more })));

const LINES = table([
  line("write", [4, 2, -2], [10, 10, 0]),
  line("read", [1, 9, 8, "within_chance"], [5, null, null]),
  line("open", [2, 4, 2, "beyond_chance"], [null, 7, null]),
  line("close", [0, 3, 3], [0, 0, 0]),
  line("brk", [0, 0, 0], [0, -0, -0]),
  line("poll", [null, null, null, "untested"], [0, 5, 5]),
]);

test("lines are in the server's order: equal ones by their names, those without a number last", () => {
  for (const [lines_by, wanted] of [
    // Those beyond chance, then the greatest difference either way, then none.
    ["", ["open", "read", "close", "write", "brk", "poll"]],
    ["0", ["open", "read", "close", "write", "brk", "poll"]],
    ["1", ["poll", "brk", "close", "write", "open", "read"]],
    ["-0.here", ["read", "open", "close", "write", "brk", "poll"]],
    ["0.here", ["brk", "write", "close", "open", "read", "poll"]],
    ["0.there", ["brk", "close", "read", "open", "write", "poll"]],
    ["-0.difference", ["read", "close", "open", "brk", "write", "poll"]],
    // What is new is infinitely many times as much; of what neither has there is no ratio.
    ["-0.ratio", ["close", "read", "open", "write", "brk", "poll"]],
    ["1.ratio", ["write", "poll", "brk", "close", "open", "read"]],
    // −0 is before 0.
    ["1.difference", ["brk", "close", "write", "poll", "open", "read"]],
    ["-1.here", ["write", "open", "poll", "close", "brk", "read"]],
  ])
    assert.deepEqual(keys(sorted(LINES, String(lines_by))), wanted, String(lines_by));
  assert.deepEqual(sorted(LINES)?.cautions, ["made up"]);
  for (const lines_by of ["2.here", "0.most", "x"]) assert.equal(sorted(LINES, lines_by), null, lines_by);
});

test("names of equal lines are compared as the server compares texts", () => {
  const equal = (/** @type {unknown[]} */ ...names) => keys(sorted(table(names.map((name) => line(name, [1, 1, 0])))));
  for (const [given, wanted] of [
    [
      ["b", "a", "B", "ab"],
      ["B", "a", "ab", "b"],
    ],
    // Not by UTF-16: a letter beyond U+FFFF comes after all others.
    [
      ["\u{1f600}", "\uff21", "é"],
      ["é", "\uff21", "\u{1f600}"],
    ],
    // Numbers by their digits, those beyond 2^53 as well.
    [
      [9, 10, "9007199254740993"],
      ["10", "9", "9007199254740993"],
    ],
    // Nothing comes before all.
    [
      ["a", null, "-"],
      ["", "-", "a"],
    ],
    [
      [
        ["a", 2],
        ["a", null],
        ["a b", 1],
        ["a", 10],
      ],
      ["a·", "a·10", "a·2", "a b·1"],
    ],
    [
      [{ id: 1, top: "write", depth: 2 }, null],
      ["", "[object Object]"],
    ],
  ])
    assert.deepEqual(equal(...given), wanted, JSON.stringify(given));
});

test("of a table that was cut it is said wherever lines that are not there could come first", () => {
  const cut = table(LINES.lines, 2000);
  const words = "This file has 6 of 2,000 lines, those that changed most: others may belong before these.";
  for (const [lines_by, cautions] of [
    ["", ["made up"]],
    ["1", ["made up", words]],
    ["-0.here", ["made up", words]],
  ])
    assert.deepEqual(sorted(cut, String(lines_by))?.cautions, cautions, String(lines_by));
  assert.deepEqual(keys(sorted(LINES, "-0.here", { lines: "2" })), ["read", "open"], "as many as are asked for");
});

test("a file answers any order of the lines of the same two sides, and says why there are none", async () => {
  const refused = { error: { kind: "invalid", doing: "comparing", why: "the other has no system calls" } };
  const entry = (
    /** @type {string} */ address,
    /** @type {"json"|"refused"} */ type,
    /** @type {unknown} */ value,
  ) => ({
    address: `${PATH}${address}`,
    type,
    gzip: JSON.stringify(value),
  });
  const file = new SavedAnswers(
    [
      entry("/syscalls/compare?calls_by=call&with=f&lines=1000&normalised=time", "json", LINES),
      entry("/syscalls/compare?calls_by=thread&with=f&lines=1000&normalised=time", "refused", refused),
      entry("/distribution/heat/compare?with=f&columns=256", "json", "heat"),
    ],
    async ({ gzip }) => new TextEncoder().encode(gzip).buffer,
  );
  const ask = async (/** @type {string} */ address) => {
    const found = await file.find(`${PATH}${address}`);
    if (!found) return null;
    const text = typeof found.body === "string" ? found.body : new TextDecoder().decode(found.body);
    return { type: found.type, value: JSON.parse(text) };
  };
  const by = await ask("/syscalls/compare?with=f&normalised=time&lines=500&lines_by=0.there&calls_by=call");
  assert.deepEqual(keys(by?.value), ["brk", "close", "read", "open", "write", "poll"]);
  assert.equal(await ask("/syscalls/compare?with=f&normalised=total&lines=500&calls_by=call"), null);
  const none = await ask("/syscalls/compare?with=f&normalised=time&lines=500&lines_by=-0.here&calls_by=thread");
  assert.deepEqual(none, { type: "refused", value: refused });
  assert.equal((await ask("/distribution/heat/compare?with=f&columns=300"))?.value, "heat");
});
