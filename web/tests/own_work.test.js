import assert from "node:assert/strict";
import test from "node:test";
import { WITHOUT_OWN, isWithoutOwn, takesCondition, toggleOwn } from "../static/js/page/own_work.js";

test("own processes are left out with one condition, and come back", () => {
  assert.equal(WITHOUT_OWN, 'comm !~ "bathyscope*" && comm !~ "sqlx-sqlite*"');
  for (const filter of ["", "pid == 4", 'pid == 4 || comm == "dd"']) {
    const without = toggleOwn(filter);
    assert.ok(isWithoutOwn(without) && !isWithoutOwn(filter));
    assert.equal(toggleOwn(without), filter);
  }
  assert.equal(toggleOwn("pid == 4"), `(pid == 4) && ${WITHOUT_OWN}`);
});

test("text to look for is no condition", () => {
  assert.deepEqual(["", "dd", "openat etc", "pid == 4", 'comm ~ "a*"'].map(takesCondition), [
    true,
    false,
    false,
    true,
    true,
  ]);
});
