import assert from "node:assert/strict";
import test from "node:test";
import { ApiError } from "../static/js/lib/api.js";
import { CaptureContext } from "../static/js/page/capture_context.js";
import { Emitter } from "../static/js/lib/emitter.js";
import { firstTab } from "../static/js/view/first_view.js";
import { PanelView } from "../static/js/view/panel_view.js";
import { parseView } from "../static/js/page/url_state.js";

// What modules look at when they are loaded.
globalThis.matchMedia = () => new EventTarget();
globalThis.localStorage = { getItem: () => null };
const { VIEWS } = await import("../static/js/page/views.js");

const capture = (method, ...streams) =>
  new CaptureContext(
    "0",
    { spec: { sources: [{ id: "one", method }] }, streams, start_ns: 0, end_ns: 1, ledger: { losses: [] } },
    { view: {} },
  );
const rows = { name: "sched:sched_switch", kind: "events", columns: [{ name: "time" }], rule: "" };
const map = { name: "@", kind: "map", columns: [{ name: "time" }, {}, {}, {}, {}, {}, { name: "count" }] };
const systemCalls = { ...rows, columns: ["time", "call", "args", "result", "duration_ns"].map((name) => ({ name })) };

test("what is recorded has the tabs of its kind, and the first one is among them", () => {
  const common = ["events", "timeline", "flame", "processes", "distribution", "info", "sql"];
  for (const [method, streams, names] of [
    [{ events: {} }, [rows], common],
    [{ profile: {} }, [{ ...rows, kind: "samples" }], common],
    [{ syscalls: {} }, [rows], common],
    [{ syscalls: {} }, [systemCalls], ["systemcalls", ...common]],
    [{ events: {} }, [], common.filter((name) => name !== "distribution")],
    [{ trace: {} }, [rows], common],
    [{ trace: {} }, [{ ...rows, name: "function_graph" }], ["calls", ...common]],
    [{ count: {} }, [{ ...rows, row: "counter" }], ["counts", "events", "timeline", "distribution", "info", "sql"]],
    [
      { profile: {} },
      [
        { ...rows, kind: "samples" },
        { ...rows, row: "counter" },
      ],
      ["counts", ...common],
    ],
    [{ script: { text: "" } }, [rows], ["output", ...common]],
    [{ script: { text: "" } }, [rows, map], ["maps", "output", ...common]],
  ]) {
    const one = capture(method, ...streams);
    assert.deepEqual(
      VIEWS.filter(({ shows }) => shows(one)).map(({ name }) => name),
      names,
      JSON.stringify(method),
    );
    assert.ok(names.length <= 9, "each has a digit as its key");
    assert.ok(names.includes(firstTab(one.info)), `${firstTab(one.info)} of ${JSON.stringify(method)}`);
  }
});

test("every view has an address, a title and a key of its own", () => {
  for (const part of ["name", "title"]) assert.equal(new Set(VIEWS.map((view) => view[part])).size, VIEWS.length);
  for (const { name } of VIEWS) assert.equal(parseView(`?v=2&tab=${name}`).view.tab, name);
});

/** A place for errors, without a page. */
class Place {
  replaceChildren(...children) {
    this.children = children;
  }
  append() {}
  setAttribute() {}
  addEventListener() {}
}

/** A view that shows what `answers` gives. */
function view(takesFilter, filter, answers) {
  globalThis.document = { createElement: () => new Place(), getElementById: () => null };
  const told = [];
  const state = new Emitter();
  const context = { state, view: { filter }, filterIs: (problem) => told.push(problem?.message ?? null) };
  class One extends PanelView {
    seen = [];
    get takesFilter() {
      return takesFilter;
    }
    load() {
      return this.ask(
        "Asking",
        () => answers.shift()(),
        (answer) => this.seen.push(answer),
      );
    }
  }
  const one = new One(context, new Place(), ["start"]);
  const change = (...parts) => state.emit("change", { parts: new Set(parts) });
  return { one, told, change };
}
const settle = () =>
  new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
const wrong = (status) => () => Promise.reject(new ApiError({ status, why: "wrong" }));

test("a view asks again when it is in sight and what it shows is not true any more", async () => {
  const { one, change } = view(
    false,
    "",
    [1, 2, 3].map((n) => async () => n),
  );
  change("start");
  assert.deepEqual(one.seen, [], "not in sight");
  one.show();
  await settle();
  one.hide();
  one.show();
  await settle();
  assert.deepEqual(one.seen, [1], "nothing has changed");
  change("end");
  change("start");
  await settle();
  one.hide();
  one.grown();
  await settle();
  assert.deepEqual(one.seen, [1, 2]);
  one.show();
  await settle();
  assert.deepEqual(one.seen, [1, 2, 3]);
});

test("an answer that another question has overtaken is not shown", async () => {
  const given = [];
  const { one } = view(
    false,
    "",
    [1, 2].map(
      () => () =>
        new Promise((resolve) => {
          given.push(resolve);
        }),
    ),
  );
  one.show();
  one.expire();
  given[1]("new");
  given[0]("old");
  await settle();
  assert.deepEqual(one.seen, ["new"]);
});

test("a wrong filter is told at the filter, by views that take one; all else in the view", async () => {
  for (const [takesFilter, filter, status, atFilter] of [
    [true, "x ==", 400, true],
    [true, "", 400, false],
    [true, "x", 500, false],
    [false, "x ==", 400, false],
  ]) {
    const { one, told } = view(takesFilter, filter, [wrong(status), async () => 1]);
    one.show();
    await settle();
    assert.deepEqual(
      [told, Boolean(one.problem.children)],
      [atFilter ? ["wrong"] : [], !atFilter],
      `${filter} ${status}`,
    );
    one.expire();
    await settle();
    assert.deepEqual([told.at(-1) ?? null, one.problem.children], [null, []], "an answer clears it");
  }
});
