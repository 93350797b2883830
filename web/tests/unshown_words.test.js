import assert from "node:assert/strict";
import test from "node:test";
import { missingWords, noRowsWords } from "../static/js/view/table/unshown_words.js";

const info = (parts) => ({
  info: { ledger: { losses: [] }, spec: { limits: {} }, firing: null, running: false, ...parts },
});

test("what a flight recorder has not stored is not called kept", () => {
  assert.equal(missingWords(1306, false), "1,306 rows kept in the capture and not shown here");
  assert.doesNotMatch(missingWords(1306, true), /kept/);
  const flight = { spec: { limits: { flight: {} } } };
  assert.match(noRowsWords(info({})), /the probe was not hit, or every hit was filtered/);
  for (const [parts, expected] of [
    [{ running: true }, /in memory until it fires/],
    [{ ledger: { losses: [{ stage: "not_kept", count: 84 }] } }, /84 rows left its memory and were not kept\./],
    [{}, /which the Info tab lists\.$/],
  ]) {
    assert.match(noRowsWords(info({ ...flight, ...parts })), expected);
    assert.doesNotMatch(noRowsWords(info({ ...flight, ...parts })), /not hit/);
  }
  // What came of a firing is a capture like others.
  assert.match(noRowsWords(info({ ...flight, firing: {} })), /not hit/);
});
