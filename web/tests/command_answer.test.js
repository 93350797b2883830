import assert from "node:assert/strict";
import test from "node:test";

import {
  completedText,
  isCommand,
  isMisspelled,
  offersOf,
  partsOf,
  storedAddress,
  tabOf,
  terminalWords,
  toldOfProbes,
} from "../static/js/page/command_answer.js";

const nothing = { words: "", spans: [], notes: [] };

test("a text is a command if it names a tool", () => {
  assert.equal(isCommand({ ...nothing, spans: [{ start: 0, end: 4, kind: "tool" }] }), true);
  assert.equal(isCommand({ ...nothing, spans: [{ start: 0, end: 4, kind: "refused" }] }), false);
});

test("a capture leads to the form for whoever may record", () => {
  const notes = [{ start: 7, end: 9, is_ignored: true, text: "-q has no meaning here" }];
  const answer = {
    ...nothing,
    words: "Records stacks.",
    notes,
    capture: { spec: {}, opens: "flame", cost: "Costs 1 µs." },
  };
  const [first, cost, second] = offersOf("perf record -q ls", answer, true);
  assert.equal(first.path, "/new?command=perf+record+-q+ls");
  assert.equal(cost.label, "Costs 1 µs.");
  assert.equal(second.label, "-q has no meaning here");
  assert.equal(offersOf("perf record -q ls", answer, false)[0].path, "");
});

test("a page has its parameters in the address", () => {
  const page = { path: "/catalog", parameters: { kind: "function", q: "vfs_*" } };
  assert.equal(offersOf("x", { ...nothing, page }, false)[0].path, "/catalog?kind=function&q=vfs_*");
});

test("what prints the same at a terminal is told", () => {
  const stored = { view: "functions", terminal: ["report", "newest", "-F", 'comm == "a b"'] };
  const offers = offersOf("x", { ...nothing, stored }, false);
  assert.ok(offers.some(({ label }) => label === `At a terminal: bathyscope report newest -F 'comm == "a b"'`));
  assert.equal(terminalWords(["it's"]), String.raw`bathyscope 'it'\''s'`);
  assert.equal(terminalWords([]), "");
});

test("a refusal names its part, by bytes", () => {
  const refused = { start: 9, end: 11, why: "`-Q` is no option of strace", remedy: "Did you mean `-q`?" };
  const [offer] = offersOf("é strace -Q ls", { ...nothing, refused: { ...refused, start: 10, end: 12 } }, true);
  assert.deepEqual([offer.label, offer.detail], ["At “-Q”: `-Q` is no option of strace", "Did you mean `-q`?"]);
});

test("views have the names of tabs", () => {
  assert.deepEqual(["functions", "instructions", "events"].map(tabOf), ["flame", "flame", "events"]);
});

test("a text is its parts, by bytes", () => {
  const spans = [
    { start: 3, end: 9, kind: "tool" },
    { start: 10, end: 12, kind: "refused" },
  ];
  const parts = partsOf("é strace -Q ls", { ...nothing, spans });
  assert.deepEqual(parts, [
    { text: "é ", kind: "" },
    { text: "strace", kind: "tool" },
    { text: " ", kind: "" },
    { text: "-Q", kind: "refused" },
    { text: " ls", kind: "" },
  ]);
});

test("probes are kept by choosing them, or recorded once", () => {
  const probes = { add: ["vfs_read"], remove: [], force: false, dry_run: false };
  const answer = { ...nothing, words: "Keeps the probe.", probes };
  const [keep, once] = offersOf("perf probe vfs_read", answer, true);
  assert.deepEqual([keep.probes, keep.path, once.path], [probes, "", "/new?command=perf+probe+vfs_read"]);
  assert.equal(
    offersOf("perf probe -n vfs_read", { ...answer, probes: { ...probes, dry_run: true } }, true)[0].detail,
    "Enter says what would be done",
  );
  assert.equal(offersOf("perf probe vfs_read", answer, false)[0].probes, undefined);
  const deleted = { ...probes, add: [], remove: ["x*"] };
  assert.equal(offersOf("perf probe -d x*", { ...answer, probes: deleted }, true).length, 1);
});

test("what was done with probes is told by name", () => {
  const done = {
    added: [{ name: "probe:a", text: "a" }],
    already: ["probe:b"],
    removed: [{ name: "probe:c" }],
    dry_run: false,
  };
  assert.equal(
    toldOfProbes(done),
    "Deleted probe:c. Kept probe:a. probe:b is kept already, exactly so. Nothing is in the kernel until a capture names it.",
  );
  assert.match(toldOfProbes({ ...done, dry_run: true }), /^Would delete probe:c. Would keep probe:a./);
});

test("a word is completed at its bytes, with a blank behind it where it is whole", () => {
  const cases = [
    ["perf rec", 5, 8, "record", "perf record ", 12],
    ["é perf rec", 8, 11, "record", "é perf record ", 14],
    ["perf rec -g", 5, 8, "record", "perf record -g", 11],
    ["perf record --filter 'next_p", 22, 28, "next_pid", "perf record --filter 'next_pid", 30],
  ];
  for (const [text, start, end, word, whole, caret] of cases)
    assert.deepEqual(completedText(text, { start, end }, word), { text: whole, caret });
});

test("a misspelled tool is told from words that are searched for", () => {
  const near = (text, end, name) =>
    isMisspelled(text, { ...nothing, refused: { start: 0, end, why: "", remedy: `Did you mean \`${name}\`?` } });
  assert.equal(near("starce -f ls", 6, "strace"), true);
  assert.equal(near("open files", 4, "opensnoop"), false);
  assert.equal(near("starce", 6, "strace"), false);
  assert.equal(isMisspelled("a b", nothing), false);
});

test("what a report asks for is shown of the newest capture", () => {
  const streams = [
    { index: 0, name: "sched:sched_switch" },
    { index: 3, name: "kmem:kmalloc" },
  ];
  for (const [stored, path, left] of [
    [{ view: "events" }, "?v=3&tab=events", 0],
    [
      { view: "events", filters: ["kmalloc: bytes_req > 1000"] },
      "?v=3&tab=events&stream=3&filter=bytes_req+%3E+1000",
      0,
    ],
    [
      { view: "events", filters: ["kmem:kmalloc: a == 1", "kmem:kmalloc: b == 2", "sched_switch: c == 3"] },
      "?v=3&tab=events&stream=3&filter=%28a+%3D%3D+1%29+%26%26+%28b+%3D%3D+2%29",
      1,
    ],
    [{ view: "instructions", search: "main" }, "?v=3&tab=flame&search=main", 0],
  ])
    assert.deepEqual(storedAddress(stored, "0123456789abcdef", streams), {
      path: `/captures/0123456789abcdef${path}`,
      left,
    });
  const answer = { words: "Shows rows.", stored: { view: "events" }, spans: [], notes: [] };
  assert.equal(offersOf("trace-cmd report", answer, true)[0].detail, "Enter opens the newest capture");
  const file = { ...answer, stored: { view: "events", file: "other.dat" } };
  assert.equal(offersOf("trace-cmd report other.dat", file, true)[0].path, "/captures");
});
