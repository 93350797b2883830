import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path/posix";
import test from "node:test";

import { KINDS, costIsEstimated, hasOwnProbes, kindOf, scriptOf } from "../static/js/kind/table.js";
import { emptyForm } from "../static/js/new/spec_form.js";

const root = new URL("../static/js/", import.meta.url);
const NAMES = KINDS.map(({ name }) => name);
const modules = readdirSync(root, { recursive: true }).filter(
  (path) => path.endsWith(".js") && !path.startsWith("vendor") && dirname(path) !== "kind",
);
/** Without comments, which may name anything. */
const code = (path) =>
  readFileSync(new URL(path, root), "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "");

/** What compares with a word that is also a kind's name, and means something else. */
const OTHER_MEANING = {
  "new/builder_model.js": 1, // an aggregate of scripts
  "page/capture_context.js": 1, // the kind of a stream
  "page/catalog_entry.js": 1, // the language of a text
  "view/first_view.js": 1, // the kind of a stream
  "view/maps/maps_view.js": 1, // a column
};
/** Who uses one kind by its name, and why. */
const USERS = {
  "new/build_form.js": ["build", "script"], // its own form, and the script that it makes
  "new/forms.js": ["build", "count", "events", "profile", "script", "syscalls", "trace"], // their forms are more than fields
  "new/profile_form.js": ["profile"], // its own form
  "new/script_form.js": ["build"], // a script opens in the builder
  "new/syscalls_form.js": ["syscalls"], // its own form
  "page/guide.js": ["script"], // tools open in the editor
  "page/library_model.js": ["script"], // kept scripts open in the editor
  "page/omnibox.js": ["build", "events"], // the builder is a page of its own to people, and a tracepoint that was found is traced
  "page/page_language.js": ["script"], // examples open in the editor
  "page/page_tools.js": ["script"], // tools open in the editor
  "page/shell.js": ["build"], // a key goes there
  "view/distribution/busy_panel.js": ["events", "states"], // what is missing is recorded with them
  "view/flame/flame.js": ["profile"], // whoever has no stacks is offered a profile
};

/**
 * Where a line tells kinds of sources apart by their names.
 * @param {string} text
 */
function told(text) {
  const name = `(?:${NAMES.join("|")})`;
  // These words mean nothing else.
  const certain = "(?:syscalls|states)";
  const forms = [
    `[!=]== "${name}"`,
    `"${name}" [!=]==`,
    `case "${name}"`,
    `\\b(?:method|add)=${name}\\b`,
    `\\b(?:method|add): "${name}"`,
    `\\bmethod\\??\\.${name}\\b`,
    `[{,] ?${name}\\b[^{}]*\\} = [\\w.]*\\bmethod\\b`,
    `["'\`]${certain}["'\`]`,
  ];
  return text.match(new RegExp(forms.join("|"), "g")) ?? [];
}

test("kinds of sources are told apart in their table only", () => {
  assert.ok(modules.length > 80);
  for (const path of modules) {
    const found = told(code(path));
    const why = `${path}: ask kind/table.js, or put it into the kind: ${found.join(" and ")}`;
    assert.equal(found.length, OTHER_MEANING[path] ?? 0, why);
  }
  for (const line of [
    'if (method === "events") {',
    'case "states":',
    "go(`/new?method=count`)",
    '{ ...emptyForm(), method: "profile" }',
    "if (method.script) {",
    "spec.sources[0].method?.trace",
    "const { events, profile } = method;",
    'const METHODS = ["x", "syscalls"];',
  ])
    assert.equal(told(line).length, 1, line);
  for (const line of [
    '{ name: "events", title: "Events" }',
    "form.trace.events",
    "method.name",
    "const { id } = method",
  ])
    assert.deepEqual(told(line), [], line);
});

test("one kind is used by its name where nothing else would do", () => {
  const users = {};
  for (const path of modules)
    for (const [, target] of code(path).matchAll(/ from "([^"]+)"/g)) {
      const name = basename(target, ".js");
      if (dirname(join(dirname(path), target)) === "kind" && NAMES.includes(name)) (users[path] ??= []).push(name);
    }
  const sorted = (lists) => Object.fromEntries(Object.entries(lists).map(([path, names]) => [path, names.toSorted()]));
  assert.deepEqual(sorted(users), sorted(USERS));
});

test("every part of a kind's form is in a field, is kept, or is more than a field", () => {
  const places = KINDS.flatMap(({ fields }) => Object.keys(fields));
  assert.equal(new Set(places).size, places.length, "no element is of two kinds");
  const named = KINDS.flatMap(({ parameters = {}, meantBy = [] }) => [...Object.keys(parameters), ...meantBy]);
  assert.equal(new Set(named).size, named.length, "no parameter is of two kinds");
  for (const { name, empty, fields, hidden = [], parameters = {} } of KINDS) {
    const form = empty();
    assert.deepEqual(emptyForm()[name], form);
    const placed = [...Object.values(fields), ...hidden];
    assert.equal(new Set(placed).size, placed.length, name);
    for (const part of placed) assert.ok(part in form, `${name}: ${part}`);
    for (const part of Object.values(parameters)) assert.equal(typeof form[part], "string", `${name}: ${part}`);
    // Lists and texts with an editor of their own; see new/forms.js.
    const others = Object.keys(form).filter((part) => !placed.includes(part));
    if (others.length) assert.ok(USERS["new/forms.js"].includes(name), `${name}: ${others.join()}`);
  }
});

test("each kind has its tab and its panel with its fields, in the order of the table", () => {
  const template = (path) => readFileSync(new URL(`../templates/new/${path}.html`, import.meta.url), "utf8");
  const included = [...template("kinds").matchAll(/\{% include "new\/(\w+)\.html" %\}/g)];
  assert.deepEqual(
    included.map(([, name]) => name),
    NAMES,
  );
  for (const { name, fields } of KINDS) {
    const text = template(name);
    const ids = new Set([...text.matchAll(/ id="([\w-]+)"/g)].map(([, id]) => id));
    for (const id of [`tab-${name}`, `panel-${name}`, ...Object.keys(fields)])
      assert.ok(ids.has(id), `${name}: #${id}`);
    const first = name === NAMES[0];
    assert.equal(text.includes('aria-selected="true"'), first, `${name}: the first tab is chosen`);
    assert.equal(/<section [^>]*hidden>/.test(text), !first, `${name}: the first panel is shown`);
  }
});

test("what follows from the kinds of a capture's sources", () => {
  const capture = (...methods) => ({ sources: methods.map((method) => ({ id: Object.keys(method)[0], method })) });
  assert.equal(kindOf({ states: {} }).kind.title, "thread states");
  assert.equal(kindOf({ later: {} }), null);
  assert.equal(costIsEstimated(capture({ states: {} }, { events: { probes: [] } })), false);
  assert.equal(costIsEstimated(capture({ states: {} }, { count: {} })), true);
  assert.equal(hasOwnProbes(capture({ trace: { dynamic: [] } }, { count: { dynamic: ["x"] } })), false);
  assert.equal(hasOwnProbes(capture({ states: {} }, { trace: { dynamic: ["x"] } })), true);
  assert.equal(scriptOf(capture({ states: {} })), null);
  assert.equal(scriptOf(capture({ states: {} }, { script: {} })), "");
  assert.equal(scriptOf({ method: { script: { text: "x" } } }), "x");
});
