import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { archiveOf, filesOf } from "../static/js/page/tar.js";

const FILES = [
  { name: "probe.vfs_read.probe", text: "# bathyscope probe\nvfs_read count\n" },
  { name: "empty.filter", text: "" },
  { name: "script.long.bt", text: "ä".repeat(700) },
];

test("what is packed is read back, and nothing else is an archive", async () => {
  const bytes = new Uint8Array(await archiveOf(FILES, 1_700_000_000).arrayBuffer());
  assert.equal(bytes.length % 512, 0);
  assert.deepEqual(filesOf(bytes), FILES);
  assert.equal(filesOf(new TextEncoder().encode("# bathyscope probe\n")), null);
  assert.equal(filesOf(bytes.subarray(0, 540)), null, "cut");
});

test("tar reads it, and what tar writes is read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bathyscope-tar-"));
  try {
    writeFileSync(join(folder, "a.tar"), new Uint8Array(await archiveOf(FILES, 1_700_000_000).arrayBuffer()));
    execFileSync("tar", ["-xf", "a.tar"], { cwd: folder });
    for (const { name, text } of FILES) assert.equal(readFileSync(join(folder, name), "utf8"), text);
    execFileSync("tar", ["--format=ustar", "-cf", "b.tar", ...FILES.map(({ name }) => name)], { cwd: folder });
    assert.deepEqual(filesOf(new Uint8Array(readFileSync(join(folder, "b.tar")))), FILES);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
