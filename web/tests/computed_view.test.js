import assert from "node:assert/strict";
import { test } from "node:test";

import { hasFaults, progressText, spanOf, untoldText } from "../static/js/page/computed_view.js";

test("how far streams are is told in words", () => {
  const idle = { rules: [], possible: [], is_busy: false, progress: null };
  assert.equal(progressText(idle), "");
  assert.equal(progressText({ ...idle, is_busy: true }), "Streams wait to be computed.");
  assert.equal(progressText({ ...idle, is_busy: true, progress: { done: 0, of: 0 } }), "Streams wait to be computed.");
  assert.equal(
    progressText({ ...idle, is_busy: true, progress: { done: 1, of: 3 } }),
    "Streams are being computed: 33 %.",
  );
});

test("what could not be told is told with its numbers", () => {
  const rule = {
    number: 0,
    name: "a",
    state: /** @type {const} */ ("complete"),
    reason: "",
    streams: [],
    rows: 0,
    bytes: 0,
  };
  assert.deepEqual(untoldText({ ...rule, untold: [] }), { head: "nothing", parts: [] });
  const untold = [
    { count: 12345, words: "begins without an end", proves_loss: false },
    { count: 1, words: "rows left out", proves_loss: false },
  ];
  const parts = ["12,345 begins without an end", "1 rows left out"];
  assert.deepEqual(untoldText({ ...rule, untold }), { head: "not all was known", parts });
  const missing = {
    ...rule,
    untold: [{ ...untold[0], proves_loss: true }],
    untold_note: "the kernel did not report them",
  };
  assert.deepEqual(untoldText(missing), {
    head: "events are missing",
    parts: [parts[0], "the kernel did not report them"],
  });
});

test("a span is read from its form, and what is missing is said", () => {
  const form = {
    name: " requests ",
    begin: "a",
    beginKey: "dev, sector",
    end: "b",
    endKey: "",
    endIf: "error == 0",
    pairing: "exclusive",
  };
  assert.deepEqual(spanOf(form).span, {
    name: "requests",
    begin: { stream: "a", key: ["dev", "sector"] },
    end: { stream: "b", key: ["dev", "sector"], condition: "error == 0" },
    pairing: "exclusive",
  });
  assert.match(spanOf({ ...form, name: "" }).problem ?? "", /needs a name/);
  assert.match(spanOf({ ...form, beginKey: " , " }).problem ?? "", /needs a key/);
});

test("page faults are told to have no end where there are some", () => {
  const of = (/** @type {string[]} */ ...names) => hasFaults(names.map((name) => ({ name })));
  assert.equal(of("exceptions:page_fault_user"), true);
  assert.equal(of("switches", "exceptions:page_fault_kernel"), true);
  assert.equal(of("switches", "page-faults"), false);
});
