import assert from "node:assert/strict";
import test from "node:test";

import { formatAddress, parseAddress } from "../static/js/page/catalog_address.js";

test("an address and its view are each other's", () => {
  const views = [
    { q: "", kind: "", within: "", entry: null },
    { q: "vfs read", kind: "function", within: "ext4", entry: null },
    {
      q: "a&b=c",
      kind: "user",
      within: "/opt/a b",
      entry: { kind: "user", name: "_ZN3foo3barEi", within: "/opt/a b" },
    },
    { q: "", kind: "", within: "", entry: { kind: "program", name: "count #3", within: "" } },
  ];
  for (const view of views) assert.deepEqual(parseAddress(formatAddress(view)), view);
  assert.equal(formatAddress(views[0]), "");
});

test("what is wrong in an address gets its usual value", () => {
  const view = parseAddress(`?kind=spaceship&q=${"x".repeat(5000)}&name=a&of=nothing`);
  assert.deepEqual(view, { q: "", kind: "", within: "", entry: null });
});
