import assert from "node:assert/strict";
import test from "node:test";

import { momentWords, momentsOf } from "../static/js/view/timeline/moments.js";

const MARKS = [
  { time: 100, text: "shop 2.1 deployed", author: "ci" },
  { time: 200, text: "a name that is too long for the axis by far", author: "ada" },
];

test("marks and the firing of a capture are moments, the firing over the others", () => {
  const moments = momentsOf({ marks: MARKS, firing: /** @type {any} */ ({ fired: 150 }) });
  assert.deepEqual(
    moments.map(({ time, word }) => [time, word]),
    [
      [100, "shop 2.1 deployed"],
      [200, "a name that is too long…"],
      [150, "fired"],
    ],
  );
  assert.deepEqual(momentsOf({ marks: [], firing: null }), []);
});

test("the moment under the pointer tells all of its text", () => {
  const moments = momentsOf({ marks: MARKS, firing: null });
  const place = (/** @type {number} */ time) => 1000 + time;
  for (const [x, words] of /** @type {[number, string][]} */ ([
    [1104, "shop 2.1 deployed, marked by ci"],
    [1106, ""],
    [1198, "a name that is too long for the axis by far, marked by ada"],
    [0, ""],
  ]))
    assert.equal(momentWords({ x, y: 30 }, place, moments), words);
  assert.equal(momentWords(null, place, moments), "");
});
