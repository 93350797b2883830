import assert from "node:assert/strict";
import { test } from "node:test";

import { wordsOf } from "../static/js/lib/form_values.js";
import { actText } from "../static/js/page/history_selection.js";

test("what became of an act on several captures is told whole", () => {
  const cases = [
    [["tagged", 1, [], 0], "1 capture tagged."],
    [["pinned", 12, [], 0], "12 captures pinned."],
    [["tagged", 2, ["It was deleted."], 0], "2 captures tagged. 1 capture not: It was deleted."],
    [["tagged", 0, ["No.", "Other."], 3], "0 captures tagged. 2 captures not: No. 3 captures left as before."],
  ];
  for (const [given, expected] of cases) assert.equal(actText(...given), expected);
});

test("tags are written with blanks or commas between them", () => {
  assert.deepEqual(wordsOf(" slow, disk\tteam-a,,x "), ["slow", "disk", "team-a", "x"]);
  assert.deepEqual(wordsOf("  , "), []);
});
