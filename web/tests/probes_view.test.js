import assert from "node:assert/strict";
import test from "node:test";

import { wantedWords } from "../static/js/page/probes_view.js";

test("what a command wants of a setting is told and left to an admin", () => {
  for (const [on, admin, wanted, words] of [
    [true, true, "0", "The command asks for 0: confirm it."],
    [true, false, "0", "The command asks for 0; an admin can set it."],
    [false, true, "0", "It is 0 already, as the command asks."],
    [true, true, "", ""],
    [true, true, "<b>", ""],
  ])
    assert.equal(wantedWords(on, admin, wanted), words);
});
