import assert from "node:assert/strict";
import test from "node:test";
import { FlameModel, fitting, leftOutWords, weightsOf, whyEmpty } from "../static/js/view/flame/flame_model.js";
import { parentsOf } from "../static/js/view/flame/flame_nodes.js";

// all 10 > a 10 (focus) > b 6 > c 2; d 3 > e 3
const answer = {
  total: 20,
  focus: "a",
  focus_total: 10,
  max_depth: 3,
  cut: { nodes: 0, samples: 0 },
  matched_samples: 3,
  unresolved: 0,
  names: ["all", "a", "b", "c", "d", "e"],
  nodes: {
    id: ["r", "a", "b", "c", "d", "e"],
    depth: [0, 1, 2, 3, 2, 3],
    x: [0, 0, 0, 0, 6, 6],
    value: [20, 10, 6, 2, 3, 3],
    own: [0, 1, 4, 2, 0, 3],
    name: [0, 1, 2, 3, 4, 5],
    kind: [0, 1, 3, 3, 3, 3],
    match: [0, 0, 0, 0, 0, 1],
  },
};

test("parents from depths", () => assert.deepEqual(parentsOf([0, 1, 2, 3, 2, 1]), [-1, 0, 1, 2, 1, 0]));

test("walking", () => {
  const model = new FlameModel(answer);
  assert.equal(model.focus, 1);
  assert.deepEqual(model.path(5), [0, 1, 4, 5]);
  assert.equal(model.widestChild(1), 2);
  assert.equal(model.widestChild(5), -1);
  assert.equal(model.beside(2, 1), 4);
  assert.equal(model.beside(3, 1), 5);
  assert.equal(model.beside(2, -1), -1);
  assert.equal(model.nextMatch(5, 1), 5);
  assert.equal(model.nextMatch(0, 1), 5);
});

test("places", () => {
  const model = new FlameModel(answer);
  assert.deepEqual(model.place(0), [0, 1]);
  assert.deepEqual(model.place(4), [0.6, 0.3]);
});

test("names are cut with a mark", () => {
  assert.equal(fitting("abcdef", 60, 10), "abcdef");
  assert.equal(fitting("abcdefg", 60, 10), "abcde…");
  assert.equal(fitting("abcdefg", 29, 10), "");
});

test("an empty graph says why: what is still recorded is not said to have had nothing", () => {
  const told = (kind, running, view = {}) =>
    whyEmpty({
      hasCalls: kind === "calls",
      foldsMaps: kind === "script",
      info: { running },
      view: { start: null, filter: "", ...view },
    });
  for (const kind of ["profile", "script", "calls"]) {
    assert.match(told(kind, true), /^No \w+ stored yet\./);
    assert.doesNotMatch(told(kind, false), /yet/);
    for (const view of [{ start: 5 }, { filter: "pid == 1" }])
      assert.match(told(kind, true, view), /in this range and filter\.$/);
  }
  assert.match(told("profile", false), /nothing of the target ran/);
});

test("weights are those of the capture, with what the address names besides", () => {
  const weights = [
    { value: "samples", title: "Samples" },
    { value: "@work", title: "Rows of work" },
  ];
  const capture = (hasCalls, streams, offered = weights) => ({ info: { weights: offered, streams }, hasCalls });
  const values = (of, named) => weightsOf(of, named).map(({ value }) => value);
  const sampled = capture(false, [{ kind: "samples" }]);
  assert.deepEqual(values(sampled, ""), ["samples", "@work"]);
  assert.deepEqual(values(sampled, "@work"), ["samples", "@work"]);
  assert.deepEqual(values(sampled, "pid@work"), ["samples", "@work", "pid@work"]);
  assert.deepEqual(values(capture(true, [{ kind: "events" }]), ""), ["", "samples", "@work"]);
  assert.deepEqual(values(capture(true, [{ kind: "samples" }]), ""), ["samples", "@work"]);
  assert.deepEqual(values(capture(true, [{ kind: "events" }], []), ""), [""]);
});

test("what is left out is told", () => {
  assert.deepEqual(leftOutWords({ missing: 0, negative: 0 }), []);
  assert.deepEqual(leftOutWords({ missing: 1, negative: 2000 }), [
    "1 row without a value left out",
    "2,000 rows with a negative value left out",
  ]);
});
