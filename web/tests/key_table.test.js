import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { CONTEXTS, KEYS, around, written } from "../static/js/lib/key_table.js";

/** What browsers use themselves: Chromium's and Firefox's keys on Linux, as far as a letter or a sign is in them. */
const BROWSERS = [
  "Ctrl+A",
  "Ctrl+D",
  "Ctrl+E",
  "Ctrl+F",
  "Ctrl+G",
  "Ctrl+H",
  "Ctrl+J",
  "Ctrl+K",
  "Ctrl+L",
  "Ctrl+N",
  "Ctrl+O",
  "Ctrl+P",
  "Ctrl+R",
  "Ctrl+S",
  "Ctrl+T",
  "Ctrl+U",
  "Ctrl+W",
  "Ctrl+0",
  "Ctrl++",
  "Ctrl+-",
  "Ctrl+Shift+P",
  "Ctrl+Shift+N",
  "Ctrl+Shift+T",
  "F1",
  "F3",
  "F5",
  "F6",
  "F7",
  "F11",
  "F12",
  "Tab",
  "Backspace",
  "Alt+ArrowLeft",
  "Alt+ArrowRight",
];
/** What closes the innermost thing that is open; and what is only pressed in something that has the focus. */
const MOVES = /^(escape|enter|arrow\w+|page\w+|home|end|ctrl\+c|pointer:.*)$/;

const plain = (press) => press.replace(/^code:Key/, "").toLowerCase();
const sources = readdirSync(new URL("../static/js/", import.meta.url), { recursive: true }).filter(
  (name) => name.endsWith(".js") && !name.includes("vendor"),
);
const code = sources
  .filter((name) => !/key_table|keys\.js/.test(name))
  .map((name) => readFileSync(new URL(`../static/js/${name}`, import.meta.url), "utf8"))
  .join("\n");

test("no key means two things in one place", () => {
  const all = Object.entries(KEYS);
  for (const [name, key] of all) {
    assert.ok(CONTEXTS[key.context], `${name}: the context ${key.context}`);
    const here = around(key.context);
    for (const press of key.press.map(plain).filter((one) => !MOVES.test(one))) {
      const others = all.filter(
        ([other, { context, press: theirs }]) =>
          other !== name && here.includes(context) && theirs.map(plain).includes(press),
      );
      for (const [other] of others)
        assert.ok(key.instead === other || KEYS[other].instead === name, `${press} is ${name} and ${other}`);
    }
  }
});

test("a key that takes another one’s place has its letter and a context within its", () => {
  for (const [name, { context, press, instead }] of Object.entries(KEYS)) {
    if (!instead) continue;
    assert.ok(around(context).slice(1).includes(KEYS[instead].context), name);
    assert.deepEqual(press, KEYS[instead].press, name);
  }
});

test("no key is one of the browser’s own", () => {
  const taken = new Set(BROWSERS.map((one) => one.toLowerCase()));
  for (const [name, { press }] of Object.entries(KEYS))
    for (const one of press) assert.ok(!taken.has(plain(one)), `${name}: ${one}`);
});

test("every key of the table is bound once, unless an element handles it, and no other is", () => {
  const bound = [...code.matchAll(/\bbind\(\s*(?:"([\w.]+)"|`([\w.]+)\.\$\{calls\}`)/g)].flatMap(([, name, family]) =>
    family ? ["tree", "functions", "chart"].map((one) => `${family}.${one}`) : [name],
  );
  assert.deepEqual(
    bound.toSorted(),
    Object.entries(KEYS)
      .filter(([, { own }]) => !own)
      .map(([name]) => name)
      .toSorted(),
  );
  assert.equal(
    [...code.matchAll(/\bbind\(/g)].length,
    [...code.matchAll(/\bbind\(\s*["`]/g)].length,
    "a key is bound by its name",
  );
});

test("the help writes keys as they are on a keyboard", () => {
  assert.deepEqual(written(KEYS.leave), ["Esc"]);
  assert.deepEqual(written(KEYS["events.rows"]), ["↑", "↓", "PgUp", "PgDn", "Home", "End"]);
  assert.deepEqual(written(KEYS["timeline.fit"]), ["F"]);
  assert.deepEqual(written(KEYS.go).slice(0, 3), ["G", "then", "S"]);
  assert.deepEqual(written(KEYS.range), ["drag,", "double", "click"]);
});
