import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import test from "node:test";

import { GUIDE } from "../static/js/page/guide_tree.js";
import { missingOf, missingOfTool } from "../static/js/lib/needs.js";
import { guidePath, offersOf, walkGuide } from "../static/js/page/guide.js";

const ROOT = new URL("../../", import.meta.url);

/** All ends of the tree with the questions before them. */
function ends(choice, questions = 0, ids = []) {
  if (choice.ways) return [{ choice, questions, path: ids.join(".") }];
  assert.ok(choice.question.endsWith("?") || choice === GUIDE, choice.question);
  const known = choice.choices.map(({ id }) => id);
  assert.deepEqual([...new Set(known)], known, "an answer has a name of its own");
  return choice.choices.flatMap((one) => ends(one, questions + 1, [...ids, one.id]));
}

test("at most three questions lead to ways that exist", () => {
  const all = ends(GUIDE);
  assert.ok(all.length >= 40, `${all.length}`);
  for (const { choice, questions, path } of all) {
    assert.ok(questions <= 3, path);
    assert.ok(choice.ways.length > 0, path);
    const { asked, now } = walkGuide(GUIDE, path);
    assert.equal(now, choice);
    assert.equal(guidePath(asked), path);
    for (const { recipe, tool, command, page, why } of choice.ways) {
      assert.equal([recipe, tool, command, page].filter(Boolean).length, 1, path);
      assert.ok(why.endsWith("."), why);
      if (recipe) assert.ok(existsSync(new URL(`server/catalog/data/recipes/${recipe}.json`, ROOT)), recipe);
      if (tool) assert.ok(existsSync(new URL(`bpf/tools/${tool}.bt`, ROOT)), tool);
    }
  }
});

test("an address with an answer that does not exist leads as far as it is known", () => {
  assert.equal(walkGuide(GUIDE, "time.process.nothing").now.question, "What does it do in that time?");
  assert.equal(walkGuide(GUIDE, "<b>").now, GUIDE);
});

const CAPABILITIES = [
  { id: "tracepoint", state: "available", finding: "attached" },
  { id: "kprobe", state: "missing_kernel_feature", finding: "this kernel was built without kernel probes" },
  { id: "kprobe_multi", state: "missing_kernel_feature", finding: "operation not supported" },
  { id: "fentry", state: "refused", finding: "it was refused" },
  { id: "uprobe", state: "available", finding: "probed" },
];
const host = (more = {}) => ({
  recipes: [{ name: "disk", owner: null, question: "Why is the disk slow?", cost: "Little." }],
  tools: [
    { name: "kfunclatency", title: "how long a function of the kernel takes", needs: ["kprobe"] },
    { name: "funclatency", title: "how long a function of a program takes", needs: ["uprobe"] },
  ],
  capabilities: CAPABILITIES,
  hasAgent: true,
  ...more,
});

test("what works on this host is offered first, what does not with the reason", () => {
  const { now } = walkGuide(GUIDE, "distribution.function");
  const offers = offersOf(now, host());
  assert.deepEqual(
    offers.map(({ label, missing }) => [label.split(":")[0], missing]),
    [
      ["funclatency", ""],
      ["kfunclatency", "this kernel was built without kernel probes"],
    ],
  );
  assert.equal(offers[0].href, "/new?method=script&tool=funclatency");
  assert.ok(offersOf(now, host({ hasAgent: false })).every(({ missing }) => missing === "There is no agent now."));
  const [disk] = offersOf(walkGuide(GUIDE, "slow.disk").now, host());
  assert.deepEqual([disk.label, disk.href, disk.cost], ["Why is the disk slow?", "/new?recipe=disk", "Little."]);
});

test("one of several ways to probe is enough, and what no host tells of is not missing", () => {
  const some = CAPABILITIES.map((one) => (one.id === "fentry" ? { ...one, state: "available" } : one));
  assert.equal(missingOf(["kprobe"], host({ capabilities: some })), "");
  assert.equal(missingOf(["interval"], host()), "");
});

test("a tool may need a kernel that is new enough", () => {
  const tool = { needs: ["tracepoint"], since: "6.14" };
  for (const [release, why] of [
    ["6.14.2-generic", ""],
    ["7.0.0", ""],
    ["6.1.0-56-amd64", "Linux 6.14 or later is needed, and this is 6.1.0-56-amd64."],
  ])
    assert.equal(missingOfTool(tool, host({ release })), why);
  assert.equal(missingOfTool({ ...tool, needs: ["kprobe"] }, host()), "this kernel was built without kernel probes");
});
