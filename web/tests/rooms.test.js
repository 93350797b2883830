import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import test from "node:test";

const root = new URL("../static/js/", import.meta.url);
/** What a room may use besides itself. */
const ROOMS = {
  lib: [],
  kind: ["lib"],
  new: ["kind", "lib"],
  view: ["kind", "lib"],
  "view/notes": ["lib"],
  "view/timeline": [
    "lib",
    "view",
    "view/notes",
    "view/timeline/path",
    "view/timeline/range",
    "view/timeline/notes",
    "view/timeline/find",
    "view/timeline/rows",
  ],
  "view/timeline/rows": ["lib", "view/timeline", "view/timeline/notes", "view/timeline/range"],
  "view/timeline/notes": ["lib", "view/notes", "view/timeline"],
  "view/timeline/find": ["lib", "view/timeline"],
  "view/timeline/path": ["lib", "view/timeline"],
  "view/timeline/range": ["lib", "view", "view/timeline", "view/timeline/path", "view/flame"],
  "view/lanes": ["lib"],
  "view/against": ["lib", "view"],
  "view/flame": ["kind", "lib", "view", "view/against", "view/lanes", "view/notes"],
  "view/calls": ["lib", "view", "view/against", "view/lanes"],
  "view/distribution": ["kind", "lib", "view", "view/against", "view/table"],
  "view/table": ["lib", "view", "view/against", "view/notes"],
  "view/sql": ["lib", "view"],
  "view/maps": ["lib", "view", "view/against"],
  "view/syscalls": ["lib", "view", "view/against", "view/maps"],
  "view/processes": ["lib", "view"],
  page: [
    "kind",
    "lib",
    "new",
    "view",
    "view/notes",
    "view/timeline",
    "view/timeline/notes",
    "view/timeline/find",
    "view/timeline/range",
    "view/against",
    "view/flame",
    "view/calls",
    "view/distribution",
    "view/table",
    "view/sql",
    "view/maps",
    "view/syscalls",
    "view/processes",
  ],
};
const modules = readdirSync(root, { recursive: true }).filter(
  (path) => path.endsWith(".js") && !path.startsWith("vendor"),
);

test("every module is in a room, and what it uses is in its room or in one below", () => {
  for (const path of modules) {
    if (path === "theme_boot.js") continue;
    const room = dirname(path);
    assert.ok(ROOMS[room], `${path} is in no room`);
    const text = readFileSync(new URL(path, root), "utf8");
    for (const [, target] of text.matchAll(/(?:^(?:import .*|\}) from |await import\()"([^"]+)"/gm)) {
      const used = join(room, target);
      if (used.startsWith("vendor/")) continue;
      assert.ok(modules.includes(used), `${path} imports ${used}`);
      assert.ok(dirname(used) === room || ROOMS[room].includes(dirname(used)), `${path} uses ${used}`);
    }
  }
});

test("no modules use each other in a circle", () => {
  const uses = new Map(
    modules.map((path) => {
      const text = readFileSync(new URL(path, root), "utf8");
      const targets = [...text.matchAll(/(?:^(?:import .*|\}) from |await import\()"(\.[^"]+)"/gm)];
      return [path, targets.map(([, target]) => join(dirname(path), target))];
    }),
  );
  const done = new Set();
  const walk = (path, way) => {
    const at = way.indexOf(path);
    assert.equal(at, -1, `${[...way.slice(Math.max(0, at)), path].join(" → ")}`);
    if (done.has(path)) return;
    for (const target of uses.get(path) ?? []) walk(target, [...way, path]);
    done.add(path);
  };
  for (const path of modules) walk(path, []);
});

test("types are imported from where they are", () => {
  for (const path of modules) {
    const text = readFileSync(new URL(path, root), "utf8");
    for (const [, target] of text.matchAll(/(?:import\(|@import \{[^}]*\} from )"(\.[^"]+\.js)"/g)) {
      const url = new URL(target, new URL(path, root));
      // What the server answers is only declared.
      assert.ok(existsSync(url) || existsSync(new URL(url.href.replace(/js$/, "d.ts"))), `${path}: ${target}`);
    }
  }
});
