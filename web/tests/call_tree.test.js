import { strict as assert } from "node:assert";
import { test } from "node:test";

import { CallTree, PAGE, lostBefore } from "../static/js/view/calls/call_tree.js";

const call = (id, children = 0) => ({ id, children });
const ids = (tree) =>
  Array.from({ length: tree.count }, (_one, row) => {
    const { node, depth } = tree.at(row);
    return `${"-".repeat(depth)}${node?.call.id ?? "?"}`;
  });

function made() {
  const tree = new CallTree();
  tree.put(null, { total: 3, offset: 0, calls: [call(1, 2), call(4), call(5, 2)] });
  return tree;
}

test("levels unfold where their calls are", () => {
  const tree = made();
  assert.deepEqual(ids(tree), ["1", "4", "5"]);
  assert.equal(tree.unfold(1), true);
  assert.equal(tree.unfold(1), false);
  assert.equal(tree.unfold(4), false);
  assert.deepEqual(ids(tree), ["1", "-?", "-?", "4", "5"]);
  tree.put(1, { total: 2, offset: 0, calls: [call(2), call(3, 1)] });
  tree.unfold(3);
  tree.put(3, { total: 1, offset: 0, calls: [call(9)] });
  tree.unfold(5);
  assert.deepEqual(ids(tree), ["1", "-2", "-3", "--9", "4", "5", "-?", "-?"]);
  assert.deepEqual(tree.unfolded(), [1, 3, 5]);
  for (const id of [1, 2, 3, 9, 4, 5]) assert.equal(tree.at(tree.rowOf(id)).node.call.id, id);
  tree.fold(1);
  assert.deepEqual(ids(tree), ["1", "4", "5", "-?", "-?"]);
  assert.equal(tree.rowOf(9), -1);
  assert.equal(tree.rowOf(77), -1);
});

test("pages are asked for where rows are seen", () => {
  const tree = new CallTree();
  tree.put(null, { total: 1000, offset: 0, calls: [call(0, 500), call(1)] });
  assert.deepEqual(tree.missing(0, 2), []);
  assert.deepEqual(tree.missing(0, 3), [{ parent: null, offset: 0 }]);
  tree.unfold(0);
  assert.equal(tree.count, 1500);
  assert.deepEqual(tree.missing(1, 2 + PAGE), [
    { parent: 0, offset: 0 },
    { parent: 0, offset: PAGE },
  ]);
  assert.deepEqual(tree.missing(1499, 3000), [{ parent: null, offset: 800 }]);
  assert.equal(tree.at(1500), null);
  assert.equal(tree.at(-1), null);
});

test("a page that comes again keeps what is unfolded", () => {
  const tree = made();
  tree.unfold(1);
  tree.put(null, { total: 4, offset: 0, calls: [call(1, 2), call(4), call(5, 2), call(8)] });
  assert.deepEqual(ids(tree), ["1", "-?", "-?", "4", "5", "8"]);
});

test("a loss is told before the call that follows it", () => {
  const losses = [{ start: 50, end: 60 }];
  assert.equal(lostBefore(losses, { start: 10 }, { start: 40 }), false);
  assert.equal(lostBefore(losses, { start: 40 }, { start: 70 }), true);
  assert.equal(lostBefore(losses, { start: 70 }, { start: 90 }), false);
  assert.equal(lostBefore(losses, undefined, { start: 90 }), true);
});
