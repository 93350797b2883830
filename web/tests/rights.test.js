import assert from "node:assert/strict";
import test from "node:test";

import { elsewhereWords, holderOf, holderOptions, holderText, rightsWords } from "../static/js/page/rights_form.js";

test("whoever is written is who is read", () => {
  for (const [text, holder] of /** @type {[string, import("../api.js").RightHolder][]} */ ([
    ["everybody", "everybody"],
    ["group ops", { group: "ops" }],
    ["ada", { person: "ada" }],
    ["proxy group ops", { proxy_group: "ops" }],
    ["provider group cn=ops, dc=x", { oidc_group: "cn=ops, dc=x" }],
    ["group provider group ops", { group: "provider group ops" }],
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

test("groups elsewhere are offered where somebody tells of them", () => {
  const none = { proxy: null, oidc: null, provider: null };
  assert.deepEqual(holderOptions({ people: ["ada"], groups: ["ops"], elsewhere: none }), [
    "everybody",
    "group ops",
    "ada",
  ]);
  assert.equal(elsewhereWords(none), "");
  const both = { proxy: [], oidc: ["ops"], provider: "Example ID" };
  const offered = holderOptions({ people: [], groups: ["ops"], elsewhere: both });
  assert.deepEqual(offered, ["everybody", "group ops", "provider group ops"]);
  assert.match(
    elsewhereWords(both),
    /^“provider group NAME” is a group of Example ID, “proxy group NAME” one of the proxy/,
  );
});
