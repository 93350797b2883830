import assert from "node:assert/strict";
import test from "node:test";
import { groupWords, endsWords, rolesUpTo, stateWords, usedWords } from "../static/js/page/people_words.js";

const NOW = 1_800_000_000_000_000_000;
const MINUTE = 60e9;
const person = {
  name: "alice",
  role: "viewer",
  disabled_unix_ns: null,
  has_password: true,
  link_expires_unix_ns: null,
  created_unix_ns: NOW,
  last_login_unix_ns: null,
  sessions: 0,
  tokens: 0,
};

test("an account says whether somebody can log in by it", () => {
  for (const [change, words] of [
    [{}, "enabled"],
    [{ disabled_unix_ns: NOW - 5 * MINUTE }, "disabled 5 min ago"],
    [{ has_password: false, link_expires_unix_ns: NOW + 5 * MINUTE }, "no password yet, the link ends in 5 min"],
    [{ has_password: false, link_expires_unix_ns: NOW - 1 }, "no password, and no link to choose one"],
    [{ has_password: false }, "no password, and no link to choose one"],
    [{ has_password: false, identity: { issuer: "https://id", is_bound: true } }, "logs in at https://id"],
    [{ identity: { issuer: "https://id", is_bound: false } }, "waits for a login at https://id"],
    [{ identity: { issuer: "https://id", is_bound: true } }, "enabled"],
    // A clock that was turned back.
    [{ disabled_unix_ns: NOW + MINUTE }, "disabled just now"],
  ])
    assert.equal(stateWords({ ...person, ...change }, NOW), words);
});

test("what ends is counted", () => {
  assert.equal(endsWords(person), "They have no session and no token.");
  assert.equal(endsWords({ ...person, sessions: 1 }), "They have 1 session.");
  assert.equal(endsWords({ ...person, tokens: 2 }), "They have 2 tokens.");
  assert.equal(endsWords({ ...person, sessions: 3, tokens: 1 }), "They have 3 sessions and 1 token.");
});

test("a token has at most the role of its owner", () => {
  const names = (most) => rolesUpTo(most).map(([role]) => role);
  assert.deepEqual(names("viewer"), ["viewer"]);
  assert.deepEqual(names("operator"), ["viewer", "operator"]);
  assert.deepEqual(names("admin"), ["viewer", "operator", "admin"]);
});

test("a token says when it was last used", () => {
  assert.equal(usedWords({ last_used_unix_ns: null }, NOW), "never");
  assert.equal(usedWords({ last_used_unix_ns: NOW - 2 * MINUTE }, NOW), "2 min ago");
});

test("groups of a login are told", () => {
  assert.equal(groupWords(null), "");
  const groups = { origin: "oidc", names: ["ops", "sre"], left_out: 0 };
  assert.equal(groupWords(groups), "Groups of the provider at this login: ops, sre.");
  assert.equal(
    groupWords({ origin: "proxy", names: [], left_out: 3 }),
    "No group of the proxy. 3 more do not count: more than 256, or no names of groups.",
  );
});
