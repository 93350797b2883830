// What became of messages to webhooks, in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countsText, stateText } from "../static/js/page/webhook_words.js";

test("what has become of a message is told with attempts and the last status", () => {
  for (const [state, attempts, status, expected] of [
    ["waiting", 0, undefined, "is being sent"],
    ["waiting", 2, 503, "is tried again, 2 attempts so far, answered with 503"],
    ["waiting", 1, undefined, "is tried again, 1 attempt so far"],
    ["delivered", 1, 204, "arrived, answered with 204, 1 attempt"],
    ["given_up", 8, undefined, "given up after 8 attempts"],
  ]) {
    assert.equal(stateText({ state, attempts, status }), expected);
  }
});

test("what was given up is counted", () => {
  assert.equal(countsText({ delivered: 1, given_up: 0 }), "1 message arrived");
  assert.equal(countsText({ delivered: 0, given_up: 3 }), "0 messages arrived, 3 given up");
});
