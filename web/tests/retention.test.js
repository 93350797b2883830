import assert from "node:assert/strict";
import test from "node:test";
import { goesText, keptFor, keptText, ruleText } from "../static/js/page/retention.js";

const MIB = 2 ** 20;
const rule = (parts) => ({
  keep_days: null,
  keep_bytes: null,
  keep_for: [],
  captures_bytes: 5 * MIB,
  pinned_bytes: 0,
  database_bytes: 6 * MIB,
  free_bytes: 3 * MIB,
  reserve_bytes: MIB,
  ...parts,
});

test("the rule is told with the room that captures take", () => {
  assert.equal(ruleText(rule({})), "Captures take 5 MiB, 2 MiB are free. They stay until they are deleted.");
  assert.equal(
    ruleText(rule({ free_bytes: 0 })),
    "Captures take 5 MiB, 0 B are free. They stay until they are deleted.",
  );
  assert.equal(
    ruleText(rule({ keep_days: 1 })),
    "Captures take 5 MiB, 2 MiB are free. Each is deleted 1 day after it ended or was imported. Pinned ones stay.",
  );
  assert.equal(
    ruleText(rule({ keep_bytes: 20 * MIB })),
    "Captures take 5 MiB of 20 MiB; when they take more, the oldest are deleted. Pinned ones stay.",
  );
  assert.match(ruleText(rule({ keep_bytes: 4 * MIB, pinned_bytes: 5 * MIB })), /Pinned ones alone take more than that/);
});

test("how long a capture is kept", () => {
  const now = 1_800_000_000_000;
  const until = (hours) => ({ pinned: false, kept_until_unix_ns: (now + hours * 3.6e6) * 1e6 });
  assert.deepEqual(
    [-5, 0.5, 47, 48, 24 * 30 - 1].map((hours) => keptFor(until(hours), now)),
    ["0 h", "1 h", "47 h", "2 d", "29 d"],
  );
  assert.equal(keptFor({ pinned: true }, now), "pinned");
  assert.equal(keptFor({ pinned: false, kept_until_unix_ns: null }, now), "");
  assert.match(keptText(until(24)), /^until \d{4}-\d\d-\d\d$/);
  assert.equal(keptText({ ...until(24), pinned: true }), "pinned");
});

test("rules of tags and owners are told, and when a capture goes", () => {
  assert.match(
    ruleText(rule({ keep_for: ["tag:slow=90d", "by:ci=3d"] })),
    /Kept otherwise: tag:slow=90d, by:ci=3d\. Pinned/,
  );
  const now = 1_800_000_000_000;
  const at = (hours) => (now + hours * 3.6e6) * 1e6;
  for (const [hours, after, text] of [
    [1.5, null, "in 2 h"],
    [100, null, "in 4 d"],
    [-1, null, "at the next look"],
    [100, 0, "at the next look"],
    [null, 3 * MIB, "when captures have 3 MiB more"],
    [100, MIB, "in 4 d or when captures have 1 MiB more"],
  ])
    assert.equal(goesText({ goes_unix_ns: hours === null ? null : at(hours), after_bytes: after }, now), text);
});
