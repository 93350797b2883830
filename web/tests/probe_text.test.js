import assert from "node:assert/strict";
import test from "node:test";

import { definitionOf, kernelLine, probeLines } from "../static/js/lib/probe_text.js";

test("parts become a definition", () => {
  const parts = { func: " vfs_read ", at: "entry", offset: "16", chosen: ["count"], more: " file->f_mode  %di" };
  assert.equal(definitionOf(parts), "vfs_read count file->f_mode %di");
  assert.equal(definitionOf({ ...parts, at: "return", chosen: ["$retval"], more: "" }), "vfs_read%return $retval");
  assert.equal(definitionOf({ ...parts, at: "offset", chosen: [], more: "%di" }), "vfs_read+16 %di");
  assert.equal(definitionOf({ ...parts, at: "offset", offset: "", chosen: [], more: "" }), "vfs_read");
  assert.equal(definitionOf({ ...parts, func: " " }), "");
});

test("a spec's probes become lines that mean the same", () => {
  const dynamic = [
    "p:x vfs_read",
    { typed: "malloc", file: "libc", line: "p:probe_libc/malloc /lib/libc.so.6:0x10" },
    { typed: "vfs_read count" },
  ];
  assert.deepEqual(probeLines(dynamic), ["p:x vfs_read", "perf probe -x libc 'malloc'", "vfs_read count"]);
  assert.equal(kernelLine(dynamic[1]), "p:probe_libc/malloc /lib/libc.so.6:0x10");
  assert.equal(kernelLine(dynamic[0]), "");
  assert.equal(kernelLine({ typed: "p f", line: "p f" }), "");
});
