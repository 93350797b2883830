import assert from "node:assert/strict";
import test from "node:test";

import { recipeCommand } from "../static/js/page/same_commands.js";

const join = (words) => words.join(" ");

test("a recipe is one command of the terminal, with the target as far as it has one", () => {
  const cases = [
    ["system", "bathyscope record --recipe disk", []],
    [{ process: { pid: 7, children: true } }, "bathyscope record --recipe disk -P 7 -c", []],
    [{ command: { argv: ["ls", "-l"], children: false } }, "bathyscope record --recipe disk -F -- ls -l", []],
    [
      { command: { argv: ["ls"], children: true, user: "ada" } },
      "bathyscope record --recipe disk -F -c -- ls",
      ["as whom the command runs"],
    ],
    [{ unit: { name: "cron.service" } }, "bathyscope record --recipe disk", ["whose events: the whole system"]],
  ];
  for (const [target, text, differs] of cases)
    assert.deepEqual(recipeCommand("disk", target, false, join), { text, differs });
  assert.match(recipeCommand("disk", "system", true, join).differs[0], /^what was changed/);
});
