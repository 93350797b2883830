import assert from "node:assert/strict";
import test from "node:test";

import { holderOf, holderText, rightsWords } from "../static/js/page/rights_form.js";

test("whoever is written is who is read", () => {
  for (const [text, holder] of /** @type {[string, import("../api.js").RightHolder][]} */ ([
    ["everybody", "everybody"],
    ["group ops", { group: "ops" }],
    ["ada", { person: "ada" }],
  ])) {
    assert.deepEqual(holderOf(` ${text} `), holder);
    assert.equal(holderText(holder), text);
  }
});

test("a list is told in words", () => {
  assert.equal(rightsWords(null), "everybody who is logged in");
  assert.equal(rightsWords([]), "only the owner and admins");
  const list = /** @type {import("../api.js").GivenRight[]} */ ([
    { to: "everybody", may: "read" },
    { to: { group: "ops" }, may: "change" },
  ]);
  assert.equal(rightsWords(list), "everybody, group ops (also changes)");
});
