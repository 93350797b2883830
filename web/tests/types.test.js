import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

const root = new URL("../static/js/", import.meta.url);
const modules = readdirSync(root, { recursive: true }).filter(
  (path) => path.endsWith(".js") && !path.startsWith("vendor"),
);
const text = (path) => readFileSync(new URL(path, root), "utf8");

/** Where a type cannot be said, with why. */
const ANY = {
  "lib/combobox.js": 1, // what a suggestion stands for: whoever asked for it knows
  "page/url_state.js": 1, // the parts of a view in one table, each of its own type
};

test("no module says that its types are not to be checked", () => {
  for (const path of modules)
    assert.doesNotMatch(text(path), /@ts-(?:ignore|nocheck|expect-error)/, `${path}: mend the type instead`);
});

test("types are only left open where nobody can say them", () => {
  for (const path of modules) {
    const comments = text(path).match(/\/\*\*[\s\S]*?\*\//g) ?? [];
    // A type is in braces; words beside it are words.
    const types = comments.join("\n").match(/@(?:param|returns|type|typedef|property|template) \{[^@]*/g) ?? [];
    const open = types.flatMap((type) => type.match(/(?<![\w."'])any(?![\w"'])(?=[^a-z]*[}\]>,;)|[])/g) ?? []);
    assert.equal(open.length, ANY[path] ?? 0, `${path}: ${open.length} types are any`);
  }
});

test("all rooms are checked, strictly", () => {
  const config = JSON.parse(readFileSync(new URL("../tsconfig.json", import.meta.url), "utf8"));
  assert.equal(config.compilerOptions.strict, true);
  assert.deepEqual(config.include, ["api.d.ts", "static/js"]);
  assert.deepEqual(config.exclude, ["static/js/vendor"]);
});
