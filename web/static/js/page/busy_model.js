// Who is busy: which lists there are, what their columns are, and in which order rows stand. Pure.

import { bytes, count, exact, permille, plural, rate } from "../lib/format.js";

/** @import { Activity, ContainerActivity, DiskActivity, HostActivity, NetworkActivity, ProcessActivity, UserActivity } from "../../../api.js" */

/** @typedef {ProcessActivity|UserActivity|ContainerActivity|DiskActivity|NetworkActivity} Row */
/** @typedef {{text: string, title?: string, num?: boolean, wide?: boolean}} Cell */
/** @typedef {{key: string, heading: string, title?: string, unit: "permille"|"bytes"|"bytes_per_s"|"rate"}} Measure */
/**
 * @typedef {object} List
 * @property {string} name of the choice
 * @property {string} label
 * @property {[heading: string, num: boolean][]} labels headings of what tells rows apart
 * @property {(row: Row) => Cell[]} cells under these headings
 * @property {Measure[]} measures what rows can be sorted by
 * @property {(all: Activity) => {rows: Row[], total: number}} of
 * @property {(row: Row) => string} key names a row from one reading to the next
 * @property {(row: Row) => string} target of a capture of it, as the form for a new one takes it; empty if it cannot be one
 * @property {boolean} opens whether a row shows what it has open
 * @property {boolean} device whether rows are devices
 * @property {string} empty what is said where there are no rows
 */

/** Rows that are shown before more are asked for, and after. */
export const FEW = 10;
export const MANY = 20;

/** @type {Measure[]} */
const USAGE = [
  { key: "cpu_permille", heading: "CPU", unit: "permille", title: "Share of one CPU" },
  { key: "memory_bytes", heading: "Memory", unit: "bytes", title: "Resident memory; what is shared counts for each" },
  { key: "faults_per_s", heading: "Faults", unit: "rate", title: "Page faults" },
  { key: "read_bytes_per_s", heading: "Read", unit: "bytes_per_s", title: "Read from disks" },
  { key: "written_bytes_per_s", heading: "Written", unit: "bytes_per_s", title: "Written to disks" },
];

/** @type {Record<string, string>} */
const STATES = {
  R: "runs",
  S: "sleeps",
  D: "waits for a disk",
  T: "stopped",
  t: "traced",
  Z: "ended",
  I: "idle",
};

/**
 * The form of a recipe, with a target chosen.
 * @param {string} name of the recipe
 * @param {Record<string, string>} [target]
 */
const recipe = (name, target = {}) => `/new?${new URLSearchParams({ recipe: name, ...target })}`;

/**
 * A list of rows of one type.
 * @template {Row} R
 * @param {object} list
 * @param {string} list.name
 * @param {string} list.label
 * @param {[heading: string, num: boolean][]} list.labels
 * @param {(row: R) => Cell[]} list.cells
 * @param {Measure[]} list.measures
 * @param {(all: Activity) => {rows: R[], total: number}} list.of
 * @param {(row: R) => string} list.key
 * @param {(row: R) => string} list.target
 * @param {string} list.empty
 * @returns {List}
 */
function listOf(list) {
  const { cells, key, target } = list;
  return {
    ...list,
    opens: list.name === "processes",
    device: list.name === "disks" || list.name === "networks",
    cells: (row) => cells(/** @type {R} */ (row)),
    key: (row) => key(/** @type {R} */ (row)),
    target: (row) => target(/** @type {R} */ (row)),
  };
}

/** @type {List[]} */
export const LISTS = [
  listOf({
    name: "processes",
    label: "Processes",
    labels: [
      ["Process", false],
      ["PID", true],
      ["User", false],
      ["Container", false],
      ["State", false],
    ],
    cells: (/** @type {ProcessActivity} */ row) => [
      { text: row.comm, title: row.comm, wide: true },
      { text: String(row.pid), title: plural(row.threads, "thread"), num: true },
      { text: row.user, title: row.user },
      { text: row.container ?? "", title: row.container ?? "" },
      { text: STATES[row.state] ?? row.state, title: row.state },
    ],
    measures: USAGE,
    of: (all) => ({ rows: all.processes, total: all.processes_total }),
    key: (row) => `${row.pid} ${row.start_ticks}`,
    // A thread of the kernel makes no system calls.
    target: (row) => (row.kernel ? "" : recipe("process-time", { target: "process", pid: String(row.pid) })),
    empty: "No process can be read.",
  }),
  listOf({
    name: "users",
    label: "Users",
    labels: [
      ["User", false],
      ["Processes", true],
    ],
    cells: (/** @type {UserActivity} */ row) => [
      { text: row.user, title: row.user, wide: true },
      { text: exact(row.processes), num: true },
    ],
    measures: USAGE,
    of: (all) => ({ rows: all.users, total: all.users_total }),
    key: (row) => row.user,
    target: (row) => recipe("process-time", { target: "user", user: row.user }),
    empty: "No process can be read.",
  }),
  listOf({
    name: "containers",
    label: "Containers",
    labels: [
      ["Container", false],
      ["Runtime", false],
      ["Processes", true],
    ],
    cells: (/** @type {ContainerActivity} */ row) => [
      { text: row.name, title: row.name, wide: true },
      { text: row.runtime },
      { text: exact(row.processes), num: true },
    ],
    measures: USAGE,
    of: (all) => ({ rows: all.containers, total: all.containers_total }),
    key: (row) => `${row.runtime} ${row.name}`,
    target: (row) => recipe("process-time", { target: "group", kind: "container", group: row.name }),
    empty: "No process runs in a container.",
  }),
  listOf({
    name: "disks",
    label: "Disks",
    labels: [["Disk", false]],
    cells: (/** @type {DiskActivity} */ row) => [{ text: row.name, title: row.name, wide: true }],
    measures: [
      { key: "busy_permille", heading: "Busy", unit: "permille", title: "Share of the time with a request under way" },
      { key: "reads_per_s", heading: "Reads", unit: "rate" },
      { key: "writes_per_s", heading: "Writes", unit: "rate" },
      { key: "read_bytes_per_s", heading: "Read", unit: "bytes_per_s" },
      { key: "written_bytes_per_s", heading: "Written", unit: "bytes_per_s" },
    ],
    of: (all) => ({ rows: all.disks, total: all.disks_total }),
    key: (row) => row.name,
    target: () => recipe("disk"),
    empty: "No disk has been used since this host was started.",
  }),
  listOf({
    name: "networks",
    label: "Network",
    labels: [["Device", false]],
    cells: (/** @type {NetworkActivity} */ row) => [{ text: row.name, title: row.name, wide: true }],
    measures: [
      { key: "received_bytes_per_s", heading: "Received", unit: "bytes_per_s" },
      { key: "sent_bytes_per_s", heading: "Sent", unit: "bytes_per_s" },
      { key: "received_packets_per_s", heading: "Packets in", unit: "rate" },
      { key: "sent_packets_per_s", heading: "Packets out", unit: "rate" },
      { key: "failed_packets_per_s", heading: "Failed", unit: "rate", title: "Packets with errors, or dropped" },
    ],
    of: (all) => ({ rows: all.networks, total: all.networks_total }),
    key: (row) => row.name,
    target: () => recipe("network"),
    empty: "No network device has been used.",
  }),
];

/**
 * A number of a row.
 * @param {Row} row
 * @param {Measure} measure
 */
export function valueOf(row, { key }) {
  return Number(/** @type {Record<string, unknown>} */ (/** @type {unknown} */ (row))[key] ?? 0);
}

/**
 * The cell of a number: nothing used is a quiet zero.
 * @param {Row} row
 * @param {Measure} measure
 * @returns {Cell}
 */
export function measured(row, measure) {
  const value = valueOf(row, measure);
  switch (measure.unit) {
    case "permille":
      return { text: permille(value), title: permille(value), num: true };
    case "bytes":
      return { text: bytes(value), title: plural(value, "byte"), num: true };
    case "bytes_per_s":
      return { text: value ? `${bytes(value)}/s` : "0", title: `${plural(value, "byte")}/s`, num: true };
    default:
      return { text: value ? rate(value) : "0", title: `${exact(value)}/s`, num: true };
  }
}

/**
 * Rows from the largest to the smallest. Those that are equal stay in the server's order.
 * @param {Row[]} rows
 * @param {Measure} measure
 */
export function sorted(rows, measure) {
  return [...rows].sort((a, b) => valueOf(b, measure) - valueOf(a, measure));
}

/**
 * The rows to show. While somebody reads them the ones that stand there keep their places, with new numbers; what has ended
 * meanwhile keeps its last ones.
 * @param {List} list
 * @param {Row[]} ordered
 * @param {number} most
 * @param {Map<string, Row>|null} held by key, in their places; null if nobody reads them
 * @returns {{row: Row, gone: boolean}[]}
 */
export function placed(list, ordered, most, held) {
  if (!held?.size) return ordered.slice(0, most).map((row) => ({ row, gone: false }));
  const now = new Map(ordered.map((row) => [list.key(row), row]));
  return [...held].map(([key, last]) => ({ row: now.get(key) ?? last, gone: !now.has(key) }));
}

/**
 * What a list leaves out, in words; empty if nothing.
 * @param {number} shown
 * @param {number} total
 * @param {number} unread
 */
export function leftOut(shown, total, unread) {
  const more = total - shown;
  if (more <= 0) return "";
  return `${exact(more)} more${unread > 0 ? `, of which ${exact(unread)} were not read because there are too many` : ""}`;
}

/**
 * What the whole host does: names and values.
 * @param {HostActivity} host
 * @returns {{name: string, value: string, title?: string}[]}
 */
export function hostFacts(host) {
  const used = host.memory_bytes - host.memory_available_bytes;
  const { pressure } = host;
  /** @param {{some_permille: number, full_permille: number}} one */
  const both = (one) => `some ${permille(one.some_permille)}, all ${permille(one.full_permille)}`;
  return [
    { name: "CPU", value: `${permille(host.cpu_permille)} of ${plural(host.cpus, "CPU")}` },
    { name: "Run queue", value: count(host.running), title: "Threads that run or wait for a CPU" },
    { name: "Blocked", value: count(host.blocked), title: "Threads that wait for a disk" },
    {
      name: "Load",
      value: host.load.map((load) => load.toFixed(2)).join(" "),
      title: "Of the last 1, 5 and 15 minutes",
    },
    { name: "Memory", value: `${bytes(used)} of ${bytes(host.memory_bytes)}`, title: "In use, and all of it" },
    ...(host.swap_bytes > 0
      ? [{ name: "Swap", value: `${bytes(host.swap_used_bytes)} of ${bytes(host.swap_bytes)}` }]
      : []),
    {
      name: "Faults",
      value: host.faults_per_s ? rate(host.faults_per_s) : "0",
      title: `Page faults; ${exact(host.major_faults_per_s)}/s of them wait for a disk`,
    },
    pressure
      ? {
          name: "Pressure",
          value: `CPU ${permille(pressure.cpu.some_permille)}, memory ${permille(pressure.memory.some_permille)}, I/O ${permille(pressure.io.some_permille)}`,
          title: `Share of the last 10 s in which threads waited. CPU: ${both(pressure.cpu)}; memory: ${both(pressure.memory)}; I/O: ${both(pressure.io)}`,
        }
      : {
          name: "Pressure",
          value: "not known",
          title: "This kernel has no /proc/pressure: it was built without PSI, or started with psi=0",
        },
  ];
}
