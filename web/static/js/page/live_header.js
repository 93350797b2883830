// One line of readouts of a running capture, which stays where it is and as high as it is; each stream and program of its own
// in a list that opens over the page.

import { h, put } from "../lib/dom.js";
import { bytes, count, duration, exact, permille } from "../lib/format.js";
import { holdsText } from "./flight_words.js";
import { ESTIMATED } from "../lib/spec.js";

/** @import { StreamTick, Tick } from "../../../api.js" */
/** @typedef {Pick<StreamTick, "hits_per_s"|"rows_per_s"|"ns_per_hit"|"cpu_permille"|"stored"|"filtered"|"lost">} Sums */

/**
 * Sums of a tick: of a script's programs, which are hit, and of streams, which have rows. Pure.
 * @param {Pick<Tick, "elapsed"|"streams"|"probes">} tick
 * @param {Pick<Tick, "elapsed"|"probes">|null} before the tick before, for rates of what is only told in totals
 * @returns {Sums}
 */
export function sumOf(tick, before) {
  /**
   * @template {string} Name
   * @param {{[N in Name]?: number|null}[]} list
   * @param {Name} name
   */
  const sum = (list, name) => list.reduce((total, one) => total + (one[name] ?? 0), 0);
  const { streams } = tick;
  const rows = { rows_per_s: sum(streams, "rows_per_s"), stored: sum(streams, "stored"), lost: sum(streams, "lost") };
  const probes = tick.probes ?? [];
  if (probes.length === 0) {
    const known = streams.filter(({ ns_per_hit: ns }) => ns !== null && ns !== undefined);
    const hits = sum(known, "hits_per_s");
    const ns =
      hits > 0
        ? known.reduce((total, one) => total + (one.ns_per_hit ?? 0) * one.hits_per_s, 0) / hits
        : (known[0]?.ns_per_hit ?? null);
    const costs = streams.filter(({ cpu_permille: cpu }) => cpu !== null && cpu !== undefined);
    return {
      ...rows,
      hits_per_s: sum(streams, "hits_per_s"),
      ns_per_hit: ns,
      cpu_permille: costs.length ? sum(costs, "cpu_permille") : null,
      filtered: sum(streams, "filtered"),
    };
  }
  const seconds = before ? (tick.elapsed - before.elapsed) / 1e9 : tick.elapsed / 1e9;
  const earlier = new Map((before?.probes ?? []).map((one) => [`${one.line} ${one.name}`, one.hits]));
  const rates = probes.map((one) => ({
    ...one,
    rate: seconds > 0 ? Math.max(0, one.hits - (earlier.get(`${one.line} ${one.name}`) ?? 0)) / seconds : 0,
  }));
  const known = rates.filter(({ ns_per_hit: ns }) => ns !== null && ns !== undefined);
  const ns = known.reduce((total, one) => total + (one.ns_per_hit ?? 0) * one.rate, 0);
  const hits = known.reduce((total, one) => total + one.rate, 0);
  return {
    ...rows,
    hits_per_s: sum(rates, "rate"),
    ns_per_hit: hits > 0 ? ns / hits : null,
    cpu_permille: known.length ? ns / 1e6 : null,
    filtered: sum(probes, "filtered"),
  };
}

/** The line. */
export class LiveHeader {
  /** @type {Tick|null} */
  #before = null;

  /**
   * @param {HTMLElement} strip
   * @param {boolean} estimated whether what a hit costs is an estimate
   */
  constructor(strip, estimated) {
    this.strip = strip;
    this.about = estimated ? "≈ " : "";
    this.estimated = estimated ? ESTIMATED : "";
    this.said = h("span", { class: "live-said quiet", role: "status" });
    this.line = h("div", { class: "live-line" });
    this.list = h("div", { class: "live-list" });
    this.more = h("details", { class: "live-more" }, h("summary", { text: "Details" }), this.list);
    put(strip, this.line, this.more, this.said);
    strip.hidden = false;
  }

  /**
   * Says what is being done, or what the guard has done.
   * @param {string} text
   */
  say(text) {
    this.said.textContent = text;
    this.said.title = text;
  }

  /**
   * @param {string} text
   * @param {string} label
   * @param {string} [title]
   * @param {string} [name]
   */
  #reading(text, label, title = "", name = "") {
    return h("span", { class: `reading ${name}`, title }, h("b", { text }), ` ${label}`);
  }

  /** @param {Sums} one */
  #readings(one) {
    return [
      this.#reading(
        count(Math.round(one.hits_per_s)),
        "hits/s",
        `${exact(Math.round(one.hits_per_s))} hits per second`,
      ),
      this.#reading(count(Math.round(one.rows_per_s)), "rows/s"),
      this.#reading(
        one.ns_per_hit === null || one.ns_per_hit === undefined ? "–" : `${this.about}${Math.round(one.ns_per_hit)} ns`,
        "per hit",
        this.estimated,
      ),
      this.#reading(`${this.about}${permille(one.cpu_permille)}`, "of a CPU", this.estimated),
      this.#reading(count(one.stored), "stored", exact(one.stored)),
      this.#reading(count(one.filtered), "filtered", exact(one.filtered)),
      this.#reading(count(one.lost), "lost", exact(one.lost), one.lost > 0 ? "loss" : ""),
    ];
  }

  /**
   * New numbers.
   * @param {Tick} tick
   */
  tick(tick) {
    put(
      this.line,
      h("span", { class: "reading" }, h("b", { text: duration(tick.elapsed) })),
      ...(tick.flight ? [this.#reading(duration(tick.flight.held_ns), "in memory", holdsText(tick.flight))] : []),
      ...this.#readings(sumOf(tick, this.#before)),
    );
    /**
     * @param {string} name
     * @param {HTMLElement[]} readings
     */
    const own = (name, readings) =>
      h("div", { class: "live-stream" }, h("code", { class: "cut", title: name, text: name }), ...readings);
    /**
     * @param {string} name
     * @param {number} share
     * @param {number} peak
     * @param {string} what
     */
    const used = (name, share, peak, what) =>
      own(name, [
        this.#reading(permille(share), "of a CPU"),
        this.#reading(
          bytes(peak),
          "at most",
          `What ${what} uses now, and the most memory that it had resident. All captures share it.`,
        ),
      ]);
    const probes = (tick.probes ?? []).map((one) =>
      own(one.name, [
        this.#reading(count(one.hits), "hits", exact(one.hits)),
        this.#reading(
          one.ns_per_hit === null || one.ns_per_hit === undefined ? "–" : `${Math.round(one.ns_per_hit)} ns`,
          "per hit",
        ),
        this.#reading(count(one.filtered), "filtered", exact(one.filtered)),
        this.#reading(count(one.lost), "lost", exact(one.lost), one.lost > 0 ? "loss" : ""),
      ]),
    );
    // Streams of a script have rows; what is hit are its programs.
    /** @param {StreamTick} one */
    const rows = (one) => [
      this.#reading(count(Math.round(one.rows_per_s)), "rows/s"),
      this.#reading(count(one.stored), "stored", exact(one.stored)),
      this.#reading(count(one.lost), "lost", exact(one.lost), one.lost > 0 ? "loss" : ""),
    ];
    put(
      this.list,
      ...probes,
      ...tick.streams.map((one) => own(one.name, probes.length ? rows(one) : this.#readings(one))),
      used(
        "bathyscope-console",
        tick.console_cpu_permille,
        tick.console_peak_bytes,
        "the console, which reads and stores,",
      ),
      used("bathyscope-agent", tick.agent_cpu_permille, tick.agent_peak_bytes, "the agent, which holds the probes,"),
    );
    this.#before = tick;
  }

  /**
   * Whether the console does not answer: then these are readings of before.
   * @param {boolean} isAway
   */
  away(isAway) {
    this.strip.classList.toggle("is-away", isAway);
  }

  /** The capture has ended: the line keeps its place, so that nothing below it jumps. */
  ended() {
    this.more.remove();
    this.say("");
    this.strip.classList.add("is-over");
  }
}
