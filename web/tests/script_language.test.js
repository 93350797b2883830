import assert from "node:assert/strict";
import test from "node:test";
import { copyState, startState, token } from "../static/js/lib/script_language.js";

/** A line as the editor's stream gives it. */
class Line {
  constructor(text) {
    this.string = text;
    this.pos = 0;
  }
  next() {
    return this.string[this.pos++];
  }
  peek() {
    return this.string[this.pos];
  }
  skipToEnd() {
    this.pos = this.string.length;
  }
  eatSpace() {
    const from = this.pos;
    while (/\s/.test(this.string[this.pos] ?? "")) this.pos += 1;
    return this.pos > from;
  }
  match(what) {
    const rest = this.string.slice(this.pos);
    const found = typeof what === "string" ? (rest.startsWith(what) ? [what] : null) : rest.match(what);
    if (found) this.pos += found[0].length;
    return found;
  }
}

function styles(text) {
  const state = startState();
  return text.split("\n").map((string) => {
    const line = new Line(string);
    const found = [];
    while (line.pos < string.length) {
      const from = line.pos;
      const style = token(line, state);
      assert.ok(line.pos > from, `stuck at ${string.slice(from)}`);
      if (style && style !== "operator" && style !== "bracket") found.push(`${style}:${string.slice(from, line.pos)}`);
    }
    return found.join(" ");
  });
}

test("words get their styles", () => {
  assert.deepEqual(styles("tracepoint:sched:sched_switch /pid == 1/ { @a[comm] = count(); }"), [
    "provider:tracepoint name:sched name:sched_switch name:pid number:1 map:@a builtin:comm function:count",
  ]);
  assert.deepEqual(styles('begin { $x = (uint64)0x1f; printf("%d\\"", $1); } // end'), [
    'provider:begin variable:$x type:uint64 number:0x1f function:printf string:"%d\\"" variable:$1 comment:// end',
  ]);
});

test("comments go over lines, and the next probe has a provider again", () => {
  assert.deepEqual(styles("/* a\nb */ interval:s:5 { exit(); }\nend { }"), [
    "comment:/* a",
    "comment:b */ provider:interval name:s number:5 function:exit",
    "provider:end",
  ]);
});

test("unfinished text ends with its line", () => {
  assert.deepEqual(styles('begin { printf("abc'), ['provider:begin function:printf string:"abc']);
});

test("a copied state is its own", () => {
  const state = startState();
  const copy = copyState(state);
  copy.depth = 3;
  assert.equal(state.depth, 0);
});
