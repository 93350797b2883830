import assert from "node:assert/strict";
import test from "node:test";
import { chooseProcess, processDetail } from "../static/js/new/process_choice.js";

const process = (pid, comm, kernel = false) => ({ pid, comm, kernel });

test("a typed name is taken if one process has it, else there is a list", () => {
  for (const [typed, items, choice] of [
    ["4711", [], { pid: 4711 }],
    ["burn", [process(7, "burn")], { pid: 7 }],
    ["Burn ", [process(7, "burn"), process(8, "burnd")], { pid: 7 }],
    ["bur", [process(7, "burn")], { pid: 7 }],
    ["burn", [process(7, "burn"), process(9, "burn", true)], { pid: 7 }],
    ["kswapd0", [process(9, "kswapd0", true)], { pid: 9 }],
    ["burn", [process(7, "burn"), process(8, "burn")], { several: [process(7, "burn"), process(8, "burn")] }],
    [
      "bu",
      [process(7, "burn"), process(8, "bus"), process(9, "bu/0", true)],
      { several: [process(7, "burn"), process(8, "bus")] },
    ],
    ["nothing", [], { several: [] }],
  ])
    assert.deepEqual(chooseProcess(typed, items), choice, typed);
});

test("what tells processes of one name apart", () => {
  assert.equal(
    processDetail({ command: "python3 burn.py", user: "eva", age_s: 3700, cpu_ms: 12_300, kernel: false }),
    "python3 burn.py · eva · 1 h 2 min old · 12.3 s CPU",
  );
  assert.equal(
    processDetail({ command: "", user: "root", age_s: 5, cpu_ms: 0, kernel: true }),
    "kernel thread · root · 5 s old · no CPU time",
  );
});
