// The parts of the page of two captures beside each other.

import { changeText, exactNumber, valueText, verdictText, wayOf, whatText } from "../lib/compared_words.js";
import { h, s } from "../lib/dom.js";
import { bytes, count, duration, exact, lostNumber, percent, permille, plural, wall } from "../lib/format.js";
import { captureState } from "./capture_state.js";
import { captureAddress } from "./investigation_words.js";
import { listTable } from "./list_table.js";
import { emptyView, formatView } from "./url_state.js";

/**
 * @import { ComparedCapture, ComparedCaptures, ComparedColumn, ComparedFunction, ComparedName, ComparedNumber, ComparedStream,
 *   ShownCell, SpecLine } from "../../../api.js"
 */

const WIDTH = 320;
const HEIGHT = 56;

/**
 * The page of a capture at a view.
 * @param {string} id
 * @param {Partial<import("./url_state.js").ViewParts>} view
 */
const linkOf = (id, view) => captureAddress(id, formatView({ ...emptyView(), ...view }).slice(1));

/**
 * A section with a heading.
 * @param {string} title
 * @param {...import("../lib/dom.js").Child} parts
 */
const section = (title, ...parts) => h("section", { class: "compare-section" }, h("h2", { text: title }), ...parts);

/**
 * What is the same, folded.
 * @param {string} text
 * @param {HTMLElement[]} rows
 * @param {import("./list_table.js").Head[]} heads
 */
const folded = (text, rows, heads) =>
  rows.length > 0 && h("details", { class: "small" }, h("summary", { text }), listTable(heads, rows));

/** @param {ComparedCaptures} found */
export function headSection({ a, b, host }) {
  /**
   * @param {string} name
   * @param {(of: ComparedCapture) => import("../lib/dom.js").Child} value
   */
  const row = (name, value) =>
    h("tr", {}, h("th", { scope: "row", text: name }), h("td", {}, value(a)), h("td", {}, value(b)));
  const title = (/** @type {ComparedCapture} */ of) => h("a", { href: linkOf(of.id, {}), text: of.title });
  const rows = [
    row("State", (of) => captureState(of.state)),
    row("Began", (of) => h("span", { title: wall(of.started_unix_ns, true), text: wall(of.started_unix_ns) })),
    row("Lasted", (of) => duration(of.duration_ns)),
    row("Rows", (of) => h("span", { title: exact(of.rows), text: count(of.rows) })),
    row("Size", (of) => bytes(of.bytes)),
    row("Lost", (of) => lossesOf(of)),
    row("Overhead", (of) => (of.cpu_permille === null ? "not measured" : `${permille(of.cpu_permille)} of a CPU`)),
  ];
  const fact = (/** @type {typeof host[number]} */ { what, a, b }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", text: what }),
      ...[a, b].map((value) => h("td", { class: "compare-text", text: factText(what, value) })),
    );
  /** @type {import("./list_table.js").Head[]} */
  const heads = [["Host"], ["Before"], ["Now"]];
  const known = host.filter(({ a, b }) => a || b);
  const differing = known.filter(({ same }) => !same).map(fact);
  const same = known.filter((one) => one.same).map(fact);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "scroll-x", tabindex: "0" },
      h(
        "table",
        { class: "list compare-pair" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }),
            h("th", { scope: "col" }, "Before: ", title(a)),
            h("th", { scope: "col" }, "Now: ", title(b)),
          ),
        ),
        h("tbody", {}, ...rows, ...differing),
      ),
    ),
    folded(`${plural(same.length, "fact")} of the hosts ${same.length === 1 ? "is" : "are"} the same`, same, heads),
  );
}

/**
 * @param {string} what
 * @param {string} value
 */
function factText(what, value) {
  if (value === "") return "not known";
  return what === "memory in bytes" ? bytes(Number(value)) : value;
}

/** @param {ComparedCapture} of */
function lossesOf(of) {
  const words = of.losses.map(
    ({ stage, stream, count: lost }) => `${exact(lost)} ${stage.replaceAll("_", " ")}${stream ? ` of ${stream}` : ""}`,
  );
  const text = of.lost === 0 && !of.lost_at_least ? "nothing" : plural(lostNumber(of), "event");
  return h(
    "span",
    { class: of.lost || of.lost_at_least ? "compare-loss" : "" },
    text,
    words.length > 0 && h("div", { class: "quiet small", text: words.join(", ") }),
  );
}

/** @param {SpecLine[]} lines */
export function specSection(lines) {
  /** @type {import("./list_table.js").Head[]} */
  const heads = [["Part"], ["What"], ["Before"], ["Now"]];
  const row = (/** @type {SpecLine} */ { part, what, a, b }) =>
    h(
      "tr",
      {},
      h("td", { text: part }),
      h("td", { text: what.replace(/^method: /, "") }),
      ...[a, b].map((text) =>
        h(
          "td",
          { class: "compare-text" },
          text ? h("code", { text }) : h("span", { class: "quiet", text: text === null ? "nothing said" : "empty" }),
        ),
      ),
    );
  const differing = lines.filter(({ same }) => !same).map(row);
  const same = lines.filter((line) => line.same).map(row);
  return section(
    "What was asked for",
    differing.length > 0 ? listTable(heads, differing) : h("p", { text: "Both record the same." }),
    folded(`${plural(same.length, "setting")} ${same.length === 1 ? "is" : "are"} the same`, same, heads),
  );
}

/** @type {import("./list_table.js").Head[]} */
const NUMBERS = [["Number"], ["Before", true], ["Now", true], ["Change", true], ["What it is worth"]];

/** Numbers of rows, and not of values. */
const COUNTS = ["count", "rate"];
/** @type {Record<string, string>} */
const ROWS = { count: "Rows", rate: "Rows a second" };

/**
 * @param {ComparedNumber} number
 * @param {{name: string, column: ComparedColumn|null, a: string, b: string}} of with links to where each can be seen
 */
function numberRow(number, { name, column, a, b }) {
  const isValue = column !== null && !COUNTS.includes(number.what);
  const cell = (/** @type {ComparedNumber["a"]} */ of, /** @type {string} */ href) =>
    h(
      "td",
      { class: "num" },
      h("a", { href, title: exactNumber(of), text: valueText(of.value, isValue ? column : null) }),
    );
  return h(
    "tr",
    { data: { way: wayOf(number) } },
    h("th", { scope: "row", text: name }),
    cell(number.a, a),
    cell(number.b, b),
    h("td", { class: "num", text: changeText(number.a.value, number.b.value) }),
    h("td", { class: `verdict verdict-${number.verdict}`, text: verdictText(number.verdict) }),
  );
}

/**
 * @param {ComparedStream} stream
 * @param {{a: string, b: string}} ids
 */
export function streamSection(stream, ids) {
  const rows = (/** @type {"a"|"b"} */ side) => linkOf(ids[side], { tab: "events", stream: stream[side].stream });
  const lost = [
    stream.a.lost > 0 && `Before lost ${exact(stream.a.lost)}`,
    stream.b.lost > 0 && `now lost ${exact(stream.b.lost)}`,
  ].filter(Boolean);
  const of = stream.computed ? " of what it was computed from" : "";
  return section(
    stream.name,
    lost.length > 0 && h("p", { class: "compare-loss", text: `${lost.join(", ")} rows${of}.` }),
    listTable(
      NUMBERS,
      stream.numbers.map((number) =>
        numberRow(number, {
          name: ROWS[number.what] ?? number.what,
          column: null,
          a: rows("a"),
          b: rows("b"),
        }),
      ),
    ),
    ...stream.columns.map((column) => columnPart(column, stream, ids)),
    stream.left_out > 0 &&
      h("p", { class: "quiet", text: `${plural(stream.left_out, "more column")} of numbers not compared.` }),
  );
}

/**
 * @param {ComparedColumn} column
 * @param {ComparedStream} stream
 * @param {{a: string, b: string}} ids
 */
function columnPart(column, stream, ids) {
  const seen = (/** @type {"a"|"b"} */ side) =>
    linkOf(ids[side], { tab: "distribution", stream: stream[side].stream, column: column.column });
  const links = { a: seen("a"), b: seen("b") };
  const none =
    column.numbers.length === 1 && h("p", { class: "quiet", text: "One of them has no value: nothing to compare." });
  return h(
    "div",
    { class: "compare-column" },
    h("h3", { class: "mono", text: column.column }),
    h(
      "div",
      { class: "compare-parts" },
      listTable(
        NUMBERS,
        column.numbers.map((number) => numberRow(number, { name: whatText(number.what), column, ...links })),
      ),
      histogram(column),
    ),
    none,
  );
}

/**
 * Both histograms over each other, each as shares of its own rows: one filled, one as a line.
 * @param {ComparedColumn} column
 */
function histogram(column) {
  const sum = (/** @type {number[]} */ counts) =>
    Math.max(
      1,
      counts.reduce((all, one) => all + one, 0),
    );
  const [a, b] = [column.a, column.b].map((counts) => counts.map((one) => one / sum(counts)));
  const most = Math.max(...a, ...b, 1e-9);
  const step = WIDTH / Math.max(1, a.length);
  const y = (/** @type {number} */ share) => (HEIGHT - 1 - (share / most) * (HEIGHT - 4)).toFixed(1);
  const outline = (/** @type {number[]} */ shares) =>
    shares
      .map((share, i) => `${i === 0 ? "M" : "L"}${(i * step).toFixed(1)} ${y(share)}H${((i + 1) * step).toFixed(1)}`)
      .join("");
  const text = (/** @type {ShownCell} */ value) => valueText(Number(value), column);
  const [first, last] = [column.buckets[0]?.[0], column.buckets.at(-1)?.[1]];
  if (first === undefined || last === undefined) return h("p", { class: "quiet", text: "Neither has a value." });
  const name = `Values of ${column.column} from ${text(first)} to ${text(last)} on a scale of powers of two: filled before, as a line now, each as shares of its own rows`;
  return h(
    "figure",
    { class: "compare-histogram" },
    s(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": name },
      s("path", { class: "compare-before", d: `${outline(a)}V${HEIGHT}H0Z` }),
      s("path", { class: "compare-now", d: outline(b) }),
    ),
    h(
      "figcaption",
      { class: "quiet small" },
      h("span", { text: text(first) }),
      h("span", { text: "filled: before · line: now" }),
      h("span", { text: text(last) }),
    ),
  );
}

/** @type {Record<string, string>} */
const KINDS = {
  process: "process, rows a second",
  call: "system call, a second",
  call_time: "system call, time a second",
};

/**
 * @param {ComparedCaptures} found
 * @param {{a: string, b: string}} ids
 */
export function namesSection({ rows }, ids) {
  const { names, names_compared: compared, names_changed: changed, streams } = rows;
  if (compared === 0) return null;
  const row = (/** @type {ComparedName} */ one) => {
    const column = one.kind === "call_time" ? { display: "duration_ns" } : null;
    const cell = (/** @type {"a"|"b"} */ side) => {
      const view = {
        tab: one.kind === "process" ? "events" : "systemcalls",
        stream: streams[one.stream][side].stream,
        filter: one.filter,
      };
      const text = valueText(one[side].value, column);
      return h("td", { class: "num" }, h("a", { href: linkOf(ids[side], view), title: exactNumber(one[side]), text }));
    };
    return h(
      "tr",
      { data: { way: wayOf(one) } },
      h("th", { scope: "row", class: "compare-text", text: one.name }),
      h("td", { class: "compare-text", text: `${KINDS[one.kind] ?? one.kind}, ${streams[one.stream].name}` }),
      cell("a"),
      cell("b"),
      h("td", { class: "num", text: changeText(one.a.value, one.b.value) }),
      h("td", { class: `verdict verdict-${one.verdict}`, text: verdictText(one.verdict) }),
    );
  };
  const text = `${exact(changed)} of ${plural(compared, "number")} of processes and system calls changed by more than chance.${names.length < compared ? ` The first ${exact(names.length)} are shown.` : ""}`;
  /** @type {import("./list_table.js").Head[]} */
  const heads = [["Name"], ["Of"], ["Before", true], ["Now", true], ["Change", true], ["What it is worth"]];
  const calls = linkOf(ids.b, { tab: "systemcalls", against: ids.a, againstsame: true });
  const hasCalls = names.some(({ kind }) => kind !== "process");
  const all = hasCalls && h("a", { href: calls, text: "All system calls of both" });
  return section("Processes and system calls", h("p", {}, `${text} `, all), listTable(heads, names.map(row)));
}

/**
 * @param {ComparedCaptures} found
 * @param {{a: string, b: string}} ids
 */
export function functionsSection({ functions }, ids) {
  const { why_not: whyNot, items, compared, changed, b_total: total } = functions;
  if (whyNot !== null) return section("Functions", h("p", { class: "quiet", text: `Not compared: ${whyNot}.` }));
  const differential = linkOf(ids.b, { tab: "flame", against: ids.a, againstsame: true });
  const row = (/** @type {ComparedFunction} */ one) =>
    h(
      "tr",
      { data: { way: one.is_significant ? (one.difference > 0 ? "more" : "less") : "same" } },
      h(
        "th",
        { scope: "row", class: "compare-text mono" },
        h("a", {
          href: linkOf(ids.b, { tab: "flame", against: ids.a, againstsame: true, search: one.name }),
          text: one.name,
        }),
      ),
      h("td", { class: "num", text: percent(one.other_own, total) }),
      h("td", { class: "num", text: percent(one.own, total) }),
      h("td", { class: "num", text: changeText(one.other_own, one.own) }),
      h("td", {
        class: `verdict verdict-${one.is_significant ? "beyond_chance" : "within_chance"}`,
        text: verdictText(one.is_significant ? "beyond_chance" : "within_chance"),
      }),
    );
  /** @type {import("./list_table.js").Head[]} */
  const heads = [["Function"], ["Before", true], ["Now", true], ["Change", true], ["What it is worth"]];
  return section(
    "Functions",
    h(
      "p",
      {},
      `Shares of all ${functions.unit || "samples"}: ${exact(changed)} of ${plural(compared, "function")} changed by more than chance. `,
      h("a", { href: differential, text: "Differential flame graph" }),
    ),
    listTable(heads, items.map(row)),
  );
}

/** @param {ComparedCaptures["rows"]} rows */
export function missingSection({ only_a: a, only_b: b, left_out: more }) {
  const parts = [
    ...a.map((name) => `${name}: only before.`),
    ...b.map((name) => `${name}: only now.`),
    more > 0 && `${plural(more, "more stream")} of both.`,
  ].filter((text) => text !== false);
  return parts.length > 0 && section("Not compared", h("ul", {}, ...parts.map((text) => h("li", { text }))));
}
