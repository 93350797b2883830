import assert from "node:assert/strict";
import test from "node:test";

import { AuditSearch, MOST_LOOKED, PAGE, READ, hasWords, objectAddress } from "../static/js/page/audit_search.js";

/** Entries 1 to `count`, read newest first as the console gives them. */
const log = (count, made) => {
  const asked = [];
  const read = async (before, limit) => {
    asked.push([before, limit]);
    const last = before ? before - 1 : count;
    const numbers = Array.from({ length: Math.min(limit, last) }, (_, at) => last - at);
    return numbers.map((number) => ({
      user: "ada",
      role: "admin",
      action: "login",
      object: "",
      detail: "",
      number,
      ...made(number),
    }));
  };
  return { asked, read };
};

test("without words pages are read back to the beginning", async () => {
  const { asked, read } = log(250, () => ({}));
  const search = new AuditSearch("  ");
  for (const [found, isAtBeginning] of [
    [PAGE, false],
    [2 * PAGE, false],
    [250, true],
    [250, true],
  ]) {
    await search.more(read);
    assert.deepEqual([search.found.length, search.isAtBeginning], [found, isAtBeginning]);
  }
  assert.deepEqual(asked, [
    [0, PAGE],
    [151, PAGE],
    [51, PAGE],
  ]);
  assert.equal(search.found.at(-1).number, 1);
});

test("words are looked for up to a bound, and further if somebody asks", async () => {
  const count = MOST_LOOKED + 2 * READ;
  const { asked, read } = log(count, (number) => ({ detail: number === 3 ? "Team A" : "" }));
  const search = new AuditSearch("ada TEAM");
  await search.more(read);
  assert.deepEqual([search.found.length, search.looked, search.isAtBeginning], [0, MOST_LOOKED, false]);
  await search.more(read);
  assert.deepEqual([search.found.map(({ number }) => number), search.looked, search.isAtBeginning], [[3], count, true]);
  assert.ok(asked.every(([, limit]) => limit === READ));
});

test("an entry has all words in whatever it says, and leads to its capture while there is one", () => {
  const entry = {
    user: "ada",
    role: "operator",
    action: "capture.start",
    object: "00000000000000ff",
    detail: "Profile of 7",
  };
  assert.ok(hasWords(entry, ["operator", "profile", "ff"]));
  assert.ok(!hasWords(entry, ["admin"]));
  assert.equal(objectAddress(entry), "/captures/00000000000000ff");
  assert.equal(objectAddress({ ...entry, action: "capture.delete" }), null);
  assert.equal(objectAddress({ ...entry, action: "share.end" }), null);
  assert.equal(objectAddress({ ...entry, object: "../x" }), null);
});
