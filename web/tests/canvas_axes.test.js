import assert from "node:assert/strict";
import { test } from "node:test";

import { shortened } from "../static/js/lib/canvas_axes.js";

test("labels are cut to their room", () => {
  const widthOf = (text) => [...text].length * 10;
  for (const [text, room, expected] of [
    ["kworker/u8:2", 120, "kworker/u8:2"],
    ["kworker/u8:2", 119, "kworker/u8…"],
    ["🦀🦀🦀", 20, "🦀…"],
    ["ab", 5, "…"],
    ["", 0, ""],
  ])
    assert.equal(shortened(text, room, widthOf), expected);
});
