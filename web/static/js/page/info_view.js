// The Info tab: what was asked for, where, what it cost, what was lost, what the command printed.

import { get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { entry } from "../lib/facts.js";
import { UNKNOWN_LOSS, bytes, count, duration, exact, moment, permille, plural, wall } from "../lib/format.js";
import { CaptureLabels } from "./capture_labels.js";
import { rightsLine } from "./rights_line.js";
import { ComputedView } from "./computed_view.js";
import { factEntries } from "./host_view.js";
import { NoteThreads } from "../view/notes/note_threads.js";
import { isRecorded } from "../view/first_view.js";
import { showError } from "../lib/notice.js";
import { PanelView } from "../view/panel_view.js";
import { showProbes } from "./probes_view.js";
import { listTable } from "./list_table.js";
import { FlightToken } from "./flight_token.js";
import { firingEntries, flightEntries, flightOfCapture } from "./flight_words.js";
import { keptText } from "./retention.js";
import { SameCommands } from "./same_commands.js";
import { costIsEstimated, hasOwnProbes, kindOf } from "../kind/table.js";
import { ESTIMATED, sourcesOf, targetText } from "../lib/spec.js";
import { joinWords } from "../lib/words.js";

/** @import { CapturePage, Limits, Loss, Method, OutputItem } from "../../../api.js" */
/** @typedef {import("../lib/dom.js").Child} Child */

/** @type {Record<string, string>} */
const STAGES = {
  kernel_missed: "the probe was not run",
  limited: "the limit of rows or bytes a second was reached",
  ring_full: "the ring buffer was full",
  map_full: "a map was full",
  stack_lost: "a stack could not be kept",
  helper_failed: "a value could not be read and is empty",
  decode: "a record could not be decoded",
  store: "the store could not keep up",
  interrupted: "recording broke off; what came after the last read of the counters was not counted",
};

/**
 * Where events were lost, in words.
 * @param {string} stage
 */
export function stageText(stage) {
  return STAGES[stage] ?? stage;
}

/**
 * What of a stream was lost, and what left the memory of a flight recorder.
 * @param {CapturePage} info
 * @param {number} stream
 */
function ofStream(info, stream) {
  const sum = { lost: 0, notKept: 0 };
  for (const loss of info.ledger.losses)
    if (loss.stream === stream) sum[loss.stage === "not_kept" ? "notKept" : "lost"] += loss.count;
  return sum;
}

/** How often the probes of a running capture are asked for. */
const PROBES_EVERY_MS = 1500;
/** What the server gives at one time. */
const MOST_OUTPUT = 1000;

/**
 * What the streams of a source have together.
 * @param {CapturePage} info
 * @param {string} id of the source
 */
export function sourceSum(info, id) {
  const sum = { streams: 0, rows: 0, lost: 0, permille: /** @type {number|null} */ (null) };
  info.streams.forEach((stream, i) => {
    if (stream.source !== id) return;
    const cost = info.readings[i]?.cpu_permille ?? null;
    sum.streams += 1;
    sum.rows += stream.rows;
    sum.lost += ofStream(info, i).lost;
    if (cost !== null) sum.permille = (sum.permille ?? 0) + cost;
  });
  return sum;
}

/** @type {Record<string, string>} */
const SOURCE_STATES = {
  ended: "ended",
  thinned: "not everything was recorded",
  detached: "taken off",
  failed: "not recorded",
};

/**
 * What a source does or what became of it, in words.
 * @param {CapturePage} info
 * @param {number} at its place in the spec
 * @param {number} streams that it has
 */
export function sourceState(info, at, streams) {
  const end = info.sources[at];
  if (end) return [SOURCE_STATES[end.state] ?? end.state, end.reason].filter(Boolean).join(": ");
  if (streams === 0) return "not recorded";
  return info.running ? "recording" : "ended";
}

/** @param {number} value */
const number = (value) => h("td", { class: "num", title: exact(value), text: exact(value) });
/**
 * @param {string} id
 * @param {string} title
 * @param {...Child} children
 */
const section = (id, title, ...children) =>
  h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title`, text: title }), ...children);

/**
 * What a capture may cost, of all that it has budgets for.
 * @param {Limits} limits
 */
function budgetsText(limits) {
  const {
    rows_per_s: rows,
    bytes_per_s: written,
    agent_cpu_permille: agent = 500,
    agent_bytes: memory = 2 ** 30,
  } = limits.budgets ?? {};
  const all = [
    `${permille(limits.budget_cpu_permille)} of one CPU in probes`,
    ...(rows ? [`${exact(rows)} rows/s`] : []),
    `${bytes(written ?? 128 * 2 ** 20)}/s of records`,
    `${permille(agent)} of one CPU`,
    `${bytes(memory)} of memory in the agent`,
  ];
  return `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

/** @type {[string, boolean]} */
const notKeptHead = ["Not kept", true];

/**
 * What a flight recorder does, or what fired for a capture that came of one.
 * @param {import("./capture_context.js").CaptureContext} context
 * @param {HTMLElement|null} token what there is to say of its token
 */
function flightSection({ info }, token) {
  const fired = info.firing !== null;
  const entries = fired ? firingEntries(info) : flightEntries(info);
  if (entries.length === 0) return null;
  return section(
    "info-flight",
    fired ? "What fired" : "Flight recorder",
    h("dl", { class: "facts" }, ...entries),
    token,
  );
}

/**
 * The capture that was run again, which may be gone.
 * @param {string} id
 */
const againLink = (id) => h("a", { href: `/captures/${encodeURIComponent(id)}`, class: "mono", text: id });

/** The tab. */
export class InfoView extends PanelView {
  /**
   * @param {import("./capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel);
    this.output = h("div");
    this.outputAsked = -1;
    this.probes = h("div");
    this.probesAsked = -Infinity;
    this.computed = new ComputedView(context);
    this.labels = new CaptureLabels(context);
    this.noted = new NoteThreads(context, {
      shows: ({ on }) => on.kind === "capture" || on.kind === "track",
      named: true,
      fresh: () => ({ on: { kind: "capture" } }),
      empty: context.info.share?.notes === false ? "Notes are left out." : "No note on the capture as a whole.",
      address: (note) => context.state.addressWith(context.notedView(note)),
      go: (note) => context.goToNote(note),
    });
    this.noted.draw();
    this.same = new SameCommands(() => ({ spec: context.info.spec }));
    this.token = new FlightToken(context);
    context.on("info", () => this.visible && this.#draw());
    context.notes.on("change", () => this.visible && !this.noted.isWriting && this.#draw());
  }

  /** The tab is in sight. */
  show() {
    this.visible = true;
    this.load();
  }

  /** Its facts come with every tick. */
  grown() {}

  /** Draws the facts. */
  load() {
    this.#draw();
  }

  /**
   * Brings one of its sections into sight.
   * @param {string} id
   */
  reveal(id) {
    document.getElementById(id)?.scrollIntoView({ block: "start" });
  }

  #draw() {
    const { info } = this.context;
    const held = document.activeElement;
    put(
      this.panel,
      h(
        "div",
        { class: "info-columns" },
        h(
          "div",
          {},
          !info.share && section("info-labels", "Tags and description", this.labels.draw()),
          !info.share && section("info-rights", "Who may read it", rightsLine(this.context)),
          !info.share?.part && section("info-notes", "Notes", this.noted.element, this.#otherNotes()),
          this.#spec(info),
          flightSection(this.context, this.token.draw()),
          section("info-host", "Host", h("dl", { class: "facts" }, ...factEntries(info.host))),
        ),
        h(
          "div",
          {},
          this.#sources(info),
          this.#ledger(info),
          this.#losses(info),
          this.#overhead(info),
          this.computed.content(),
          this.#ownProbes(info),
          info.output_bytes > 0 && section("info-output", "Output of the command", this.output),
        ),
      ),
    );
    // What is kept has lost the focus by being put anew, which happens several times a second while it records.
    if (held instanceof HTMLElement && held !== document.activeElement && this.panel.contains(held)) held.focus();
    if (info.output_bytes > 0 && this.outputAsked !== info.output_bytes) this.#loadOutput();
  }

  /** Leads to the list of all notes. */
  #otherNotes() {
    const { notes, state } = this.context;
    if (notes.items.length === 0) return null;
    return h(
      "p",
      {},
      h("a", {
        href: state.addressWith({ tab: "timeline", notes: true }),
        text: `All ${plural(notes.items.length, "note")} on this capture`,
        on: {
          click: (event) => {
            event.preventDefault();
            state.set({ tab: "timeline", notes: true });
          },
        },
      }),
    );
  }

  /** @param {CapturePage} info */
  #spec(info) {
    const { spec } = info;
    const json = h("pre", { class: "json", tabindex: "0", text: JSON.stringify(spec, null, 2) });
    const limits = spec.limits ?? {};
    const ends = [
      limits.duration_ms && `after ${duration(limits.duration_ms * 1e6)}`,
      limits.max_events && `after ${plural(limits.max_events, "row")}`,
      limits.max_bytes && `at ${bytes(limits.max_bytes)}`,
    ].filter(Boolean);
    return section(
      "info-spec",
      "What was asked for",
      h(
        "dl",
        { class: "facts" },
        ...sourcesOf(spec).flatMap(({ id, method }, _at, all) => {
          const entries = methodEntries(method);
          // Of several, each is told by its name.
          const [head] = entries;
          if (all.length > 1 && head) put(head, h("code", { text: id }));
          return entries;
        }),
        ...entry("Target", targetText(spec.target, joinWords)),
        ...entry("Ends", ends.join(", or ") || "when it is stopped"),
        ...entry("Cost limits", budgetsText(limits)),
        ...(limits.reading === "high" ? entry("Records are read", "before other programs run (niceness −10)") : []),
        ...entry("Started", `${wall(info.started_unix_ns, true)}${info.owner ? ` by ${info.owner}` : ""}`),
        ...(info.run?.again_of ? entry("Run again of", againLink(info.run.again_of)) : []),
        ...entry(
          "Ended",
          info.running
            ? "still recording"
            : `after ${duration(this.context.duration)}${info.reason ? `: ${info.reason}` : ""}`,
        ),
        ...info.hints.flatMap((hint) => entry("Note", `${hint}.`)),
        ...(info.share?.part ? [] : entry("Size", bytes(info.bytes))),
        ...(info.pinned || info.kept_until_unix_ns ? entry("Kept", keptText(info)) : []),
        ...(info.simulated ? entry("Agent", "simulated: the events are made up") : []),
      ),
      this.same.element,
      h("details", {}, h("summary", { text: "Spec as JSON" }), json),
    );
  }

  /**
   * Hits and misses of its own probes, while it runs; each can be detached.
   * @param {CapturePage} info
   */
  #ownProbes(info) {
    if (!info.running || !hasOwnProbes(info.spec)) return null;
    if (performance.now() - this.probesAsked > PROBES_EVERY_MS) {
      this.probesAsked = performance.now();
      showProbes(this.probes, { capture: info.id });
    }
    return section("info-probes", "Own probes, now", this.probes);
  }

  /**
   * What each of several sources has recorded, lost and cost.
   * @param {CapturePage} info
   */
  #sources(info) {
    const sources = sourcesOf(info.spec);
    if (sources.length < 2) return null;
    const rows = sources.map((source, at) => {
      const sum = sourceSum(info, source.id);
      const state = sourceState(info, at, sum.streams);
      return h(
        "tr",
        {},
        h("td", { class: "mono", text: source.id }),
        h("td", { text: state }),
        number(sum.streams),
        number(sum.rows),
        h("td", { class: sum.lost ? "num loss" : "num", text: exact(sum.lost) }),
        h("td", { class: "num", text: permille(sum.permille) }),
      );
    });
    return section(
      "info-sources",
      "Sources",
      listTable([["Source"], ["State"], ["Streams", true], ["Rows", true], ["Lost", true], ["CPU", true]], rows),
    );
  }

  /** @param {CapturePage} info */
  #ledger(info) {
    const isRecorder = flightOfCapture(info) !== null;
    /** @param {number} stream */
    const open = (stream) =>
      info.ledger.losses.some(
        (loss) => loss.stage === "interrupted" && (loss.stream === stream || loss.stream === null),
      );
    const rows = info.ledger.streams.flatMap((totals, i) => {
      const stream = info.streams[i];
      if (stream && !isRecorded(stream)) return [];
      const { lost: gone, notKept } = ofStream(info, i);
      const flight = totals.emitted - totals.stored - gone - notKept;
      return h(
        "tr",
        {},
        h("td", { class: "mono", text: stream?.name ?? String(i) }),
        number(totals.hits),
        number(totals.filtered),
        number(totals.emitted),
        number(totals.stored),
        isRecorder && number(notKept),
        h("td", {
          class: gone || open(i) ? "num loss" : "num",
          title: open(i) ? UNKNOWN_LOSS : "",
          text: `${open(i) ? "at least " : ""}${exact(gone)}`,
        }),
        h("td", { class: "num", text: exact(flight) }),
      );
    });
    return section(
      "info-ledger",
      "Ledger",
      h("p", {
        class: "quiet prose",
        text: isRecorder
          ? "Every hit that the filter let through was emitted. What left the memory is counted as not kept: nothing of it was lost, and what something fired for is in captures with ledgers of their own. What is in memory now is in flight."
          : "Every hit that the filter let through was emitted; what was emitted is stored or counted as lost. Once the capture has ended, nothing is in flight.",
      }),
      listTable(
        [
          ["Stream"],
          ["Hits", true],
          ["Filtered", true],
          ["Emitted", true],
          ["Stored", true],
          ...(isRecorder ? [notKeptHead] : []),
          ["Lost", true],
          [isRecorder ? "In memory" : "In flight", true],
        ],
        rows,
      ),
    );
  }

  /** @param {CapturePage} info */
  #losses(info) {
    const losses = info.ledger.losses.filter(({ stage }) => stage !== "not_kept");
    /** @param {Loss} loss */
    const show = (loss) =>
      h("button", {
        type: "button",
        class: "plain",
        text: "Show",
        on: {
          click: () => {
            const { start, end } = this.context.lossRange(loss);
            const margin = Math.max(1e6, end - start);
            this.context.select({ start: start - margin, end: end + margin });
            this.context.state.set({ tab: "timeline" });
          },
        },
      });
    const rows = losses.map((loss) => {
      const { start, end } = this.context.lossRange(loss);
      return h(
        "tr",
        {},
        h("td", { class: "mono", text: loss.stream === null ? "not known" : (info.streams[loss.stream]?.name ?? "") }),
        h("td", { text: stageText(loss.stage) }),
        loss.stage === "interrupted"
          ? h("td", { class: "num", title: UNKNOWN_LOSS, text: `at least ${exact(loss.count)}` })
          : number(loss.count),
        h("td", {
          class: "num",
          title: `${moment(start)} to ${moment(end)} s`,
          text: `${duration(start)} to ${duration(end)}`,
        }),
        h("td", { class: "num" }, show(loss)),
      );
    });
    return section(
      "info-losses",
      "Losses",
      losses.length === 0
        ? h("p", { text: "Nothing was lost." })
        : listTable([["Stream"], ["Where"], ["Events", true], ["When", true], ["In the timeline", true]], rows),
    );
  }

  /** @param {CapturePage} info */
  #overhead(info) {
    const estimated = costIsEstimated(info.spec);
    const about = estimated ? "≈ " : "";
    const rows = info.readings.flatMap((reading, i) =>
      reading
        ? [
            h(
              "tr",
              {},
              h("td", { class: "mono", text: info.streams[i]?.name ?? String(i) }),
              h("td", {
                class: "num",
                title: exact(reading.hits_per_s),
                text: `${count(Math.round(reading.hits_per_s))}/s`,
              }),
              h("td", {
                class: "num",
                text:
                  reading.ns_per_hit === null || reading.ns_per_hit === undefined
                    ? "not measured"
                    : `${about}${Math.round(reading.ns_per_hit)} ns`,
              }),
              h("td", { class: "num", text: `${about}${permille(reading.cpu_permille)}` }),
            ),
          ]
        : [],
    );
    return section(
      "info-overhead",
      info.running ? "Cost of the probes, last reading" : "Cost of the probes, average",
      rows.length === 0
        ? h("p", { text: "Not measured: the capture was too short, or this kernel does not measure it." })
        : listTable([["Stream"], ["Hits", true], ["Each hit", true], ["Share of one CPU", true]], rows),
      estimated && rows.length > 0 && h("p", { class: "quiet prose", text: ESTIMATED }),
    );
  }

  async #loadOutput() {
    this.outputAsked = this.context.info.output_bytes;
    try {
      const { items } = await get("/api/captures/{id}/output", { id: this.context.id });
      /**
       * @param {OutputItem} item
       * @returns {(text: string) => HTMLElement}
       */
      const line = (item) => (text) =>
        h("div", {
          class: item.stream === "stderr" ? "stderr" : "",
          title: `${item.stream}, ${moment(item.time)} s`,
          text,
        });
      put(
        this.output,
        h("pre", { class: "output", tabindex: "0" }, ...items.flatMap((item) => item.lines.map(line(item)))),
        items.length >= MOST_OUTPUT &&
          h("p", {
            class: "quiet small",
            text: `The first ${plural(
              items.reduce((sum, item) => sum + item.lines.length, 0),
              "line",
            )} of ${bytes(this.context.info.output_bytes)} are shown.`,
          }),
      );
    } catch (error) {
      this.outputAsked = -1;
      showError(this.output, error, () => this.#loadOutput());
    }
  }
}

/**
 * What a source records.
 * @param {Method} method
 */
function methodEntries(method) {
  const known = kindOf(method);
  return known ? known.kind.entries(known.spec) : [];
}
