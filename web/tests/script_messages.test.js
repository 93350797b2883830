import { strict as assert } from "node:assert";
import { test } from "node:test";

import { missingParameters } from "../static/js/new/script_messages.js";

const missing = (number) => ({
  severity: "error",
  message: `the attach point needs parameter ${number}, which was not given`,
});

test("a script that only waits for its parameters is told from one that is wrong", () => {
  assert.equal(missingParameters([missing(1), missing(1)]), "parameter $1");
  assert.equal(missingParameters([missing(1), missing(2)]), "parameters $1 and $2");
  assert.equal(missingParameters([missing(1), { severity: "warning", message: "slow" }]), "parameter $1");
  assert.equal(missingParameters([missing(1), { severity: "error", message: "there is no function" }]), "");
  assert.equal(missingParameters([{ severity: "warning", message: "slow" }]), "");
  assert.equal(missingParameters([]), "");
});
