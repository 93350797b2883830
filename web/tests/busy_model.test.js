import assert from "node:assert/strict";
import test from "node:test";
import { LISTS, hostFacts, leftOut, measured, placed, sorted } from "../static/js/page/busy_model.js";

const [processes, users, containers, disks] = LISTS;
const [cpu, memory, , read] = processes.measures;

const process = (pid, parts = {}) => ({
  pid,
  start_ticks: 1,
  comm: `p${pid}`,
  user: "root",
  container: null,
  state: "S",
  threads: 1,
  kernel: false,
  cpu_permille: 0,
  memory_bytes: 0,
  faults_per_s: 0,
  read_bytes_per_s: 0,
  written_bytes_per_s: 0,
  ...parts,
});
const pids = (rows) => rows.map(({ pid }) => pid);

test("rows go from the largest to the smallest, equal ones as they came", () => {
  const rows = [
    process(1, { cpu_permille: 5, read_bytes_per_s: 9 }),
    process(2, { cpu_permille: 1000 }),
    process(3, { cpu_permille: 5, read_bytes_per_s: 10 }),
  ];
  assert.deepEqual(pids(sorted(rows, cpu)), [2, 1, 3]);
  assert.deepEqual(pids(sorted(rows, read)), [3, 1, 2]);
  assert.deepEqual(pids(rows), [1, 2, 3], "the server's order stays");
});

test("rows that somebody reads keep their places", () => {
  const rows = [process(3, { cpu_permille: 9 }), process(1, { cpu_permille: 7 }), process(2)];
  const shown = (held, most = 2) =>
    placed(processes, rows, most, held).map(({ row, gone }) => [row.pid, row.cpu_permille, gone]);
  assert.deepEqual(shown(null), [
    [3, 9, false],
    [1, 7, false],
  ]);
  const held = (...all) => new Map(all.map((row) => [processes.key(row), row]));
  assert.deepEqual(shown(held(process(1), process(8, { cpu_permille: 4 }))), [
    [1, 7, false],
    [8, 4, true],
  ]);
  assert.deepEqual(shown(held(process(1, { start_ticks: 2 })))[0], [1, 0, true], "the id of another process");
  assert.deepEqual(shown(held()).length, 2);
});

test("a row leads to a capture of what it names", () => {
  for (const [list, row, target] of [
    [processes, process(4711), "/new?recipe=process-time&target=process&pid=4711"],
    [processes, process(2, { kernel: true }), ""],
    [users, { user: "a&b" }, "/new?recipe=process-time&target=user&user=a%26b"],
    [containers, { name: "web", runtime: "docker" }, "/new?recipe=process-time&target=group&kind=container&group=web"],
    [disks, { name: "vda" }, "/new?recipe=disk"],
  ])
    assert.equal(list.target(row), target);
});

test("numbers have their units, and what is not used is zero", () => {
  const texts = (row) => processes.measures.map((measure) => measured(row, measure).text);
  assert.deepEqual(texts(process(1)), ["0 %", "0 B", "0", "0", "0"]);
  const busy = { cpu_permille: 1234, memory_bytes: 3 << 20, faults_per_s: 5200, read_bytes_per_s: 2048 };
  assert.deepEqual(texts(process(1, busy)), ["123 %", "3 MiB", "5.2k/s", "2 KiB/s", "0"]);
  assert.equal(measured(process(1, busy), memory).title, "3,145,728 bytes");
  assert.deepEqual(
    processes.cells(process(7, { container: "web", state: "D" })).map(({ text }) => text),
    ["p7", "7", "root", "web", "waits for a disk"],
  );
});

test("what is left out is counted", () => {
  assert.equal(leftOut(10, 10, 0), "");
  assert.equal(leftOut(10, 1210, 0), "1,200 more");
  assert.equal(leftOut(10, 40_000, 7232), "39,990 more, of which 7,232 were not read because there are too many");
});

test("the whole host in a line, with and without pressure and swap", () => {
  const host = {
    cpus: 4,
    cpu_permille: 225,
    running: 3,
    blocked: 1,
    load: [1.5, 1.25, 0],
    memory_bytes: 16 * 2 ** 30,
    memory_available_bytes: 4 * 2 ** 30,
    swap_bytes: 0,
    swap_used_bytes: 0,
    faults_per_s: 5200,
    major_faults_per_s: 2,
    pressure: null,
  };
  const line = (parts = {}) =>
    hostFacts({ ...host, ...parts })
      .map(({ name, value }) => `${name} ${value}`)
      .join(" · ");
  assert.equal(
    line(),
    "CPU 22.5 % of 4 CPUs · Run queue 3 · Blocked 1 · Load 1.50 1.25 0.00 · Memory 12 GiB of 16 GiB · Faults 5.2k/s · Pressure not known",
  );
  const some = (some_permille) => ({ some_permille, full_permille: 0 });
  assert.match(
    line({ swap_bytes: 2 ** 30, pressure: { cpu: some(31), memory: some(0), io: some(5) } }),
    /Swap 0 B of 1 GiB · .*Pressure CPU 3.1 %, memory 0 %, I\/O 0.5 %$/,
  );
});
