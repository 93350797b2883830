// The header of a capture: its name, what it is, chips for losses and cost, what can be done with it.

import { IS_SAVED, SHARE, get, send } from "../lib/api.js";
import { captureState } from "./capture_state.js";
import { addCommands, mayRecord } from "../lib/commands.js";
import { byId, copyText, h, put } from "../lib/dom.js";
import { UNKNOWN_LOSS, duration, lostText, permille, plural, wall } from "../lib/format.js";
import { bind } from "../lib/keys.js";
import { compareAddress } from "./compare_address.js";
import { chooseOther, runsBefore } from "./compare_choice.js";
import { flightLine, flightOfCapture } from "./flight_words.js";
import { keptViews } from "./kept_views.js";
import { linkTo } from "./link_address.js";
import { Menu } from "../lib/menu.js";
import { note, noteError, sentence } from "../lib/notice.js";
import { reach } from "../lib/reach.js";
import { awayWords } from "./reach_line.js";
import { PINS } from "./retention.js";
import { askReaders } from "./rights_line.js";
import { NO_LINK, SHARE_OVER } from "./share_words.js";
import { runVerdict } from "../lib/series_words.js";
import { seriesAddress } from "./series_address.js";
import { costIsEstimated } from "../kind/table.js";
import { ESTIMATED, targetText } from "../lib/spec.js";
import { joinWords } from "../lib/words.js";
import { VIEWS } from "./views.js";

/** @import { CapturePage } from "../../../api.js" */

/** @type {[format: string, label: string, end: string, stacks: boolean][]} */
const EXPORTS = [
  ["svg", "Flame graph", "SVG, zooms", true],
  ["svg_plain", "Flame graph, to embed", "SVG", true],
  ["folded", "Folded stacks", "text", true],
  ["csv", "Rows of this stream", "CSV", false],
  ["ndjson", "Rows of this stream", "NDJSON", false],
  ["bathy", "Whole capture", ".bathy", false],
];

/** What is said of a capture that was deleted, or kept from whoever looks at it, while its page was open. */
const GONE =
  "This capture was deleted, or you may not read it any more. The page still shows what it had read; no more of it can be read.";

/** The header. */
export class CaptureHeader {
  /**
   * @param {import("./capture_context.js").CaptureContext} context
   * @param {(section: string) => void} details shows a section of the Info tab
   */
  constructor(context, details) {
    this.context = context;
    this.details = details;
    this.stopping = false;
    this.firing = false;
    // Of one piece: a header that is drawn again must not close it.
    this.views = keptViews(context);
    this.editing = false;
    /** @type {string|undefined} Whether recording works again after the agent has ended; undefined before it was asked. */
    this.recordingAgain = undefined;
    /** @type {string|undefined} What it is worth beside the baseline; undefined before it was asked. */
    this.worth = undefined;
    context.on("info", () => this.draw());
    context.on("gone", () => this.draw());
    context.on("flight", () => this.#drawFlight(this.context.info));
    reach.on("change", () => this.draw());
    this.#startKeys();
    this.draw();
  }

  #startKeys() {
    bind("link", () => this.#copyLink(), { when: () => !this.context.gone });
    addCommands({ name: "Copy a link to this view", detail: "Y", run: () => this.#copyLink() });
    if (!SHARE)
      addCommands(
        { name: "Share this view", detail: "with people without a login", run: () => this.#share() },
        { name: "Compare this capture with another", run: () => this.#compare() },
      );
    if (!mayRecord()) return;
    bind("fire", () => this.#fire(), { when: () => this.context.info.flight !== null && this.context.info.can_change });
    bind("investigate", () => this.#investigate(), { when: () => !this.context.gone });
    addCommands({ name: "Add to an investigation", detail: "Shift+I", run: () => this.#investigate() });
    bind("stop", () => this.#stop(), { when: () => this.context.info.running && this.context.info.can_change });
    bind("again", () => this.#runAgain(), { when: () => !this.context.info.running && !this.context.gone });
    bind("pin", () => this.#pin(), { when: () => this.context.info.can_pin && !this.context.gone });
    addCommands({ name: "Run this capture again", detail: "R", run: () => this.#runAgain() });
    if (this.context.info.can_give)
      addCommands({ name: "Say who may read this capture", run: () => askReaders(this.context) });
    if (!this.context.info.can_change) return;
    addCommands(
      { name: "Pin or unpin this capture", detail: "K", run: () => this.#pin() },
      { name: "Stop this capture", detail: "X", run: () => this.#stop() },
      { name: "Keep what just happened", detail: "Shift+K", run: () => this.#fire() },
      { name: "Rename this capture", run: () => this.#rename() },
    );
  }

  get #again() {
    return `/new?from=${this.context.id}`;
  }

  #runAgain() {
    if (this.#isGone()) return;
    location.assign(this.#again);
  }

  /** Asks for another capture, and opens the page of both beside each other. */
  async #compare() {
    if (this.#isGone()) return;
    try {
      const { run, started_unix_ns: began } = this.context.info;
      const before = () => (run ? runsBefore(run.series, { id: this.context.id, began }) : Promise.resolve([]));
      const other = await chooseOther(this.context.id, before);
      if (other) location.assign(compareAddress(other, this.context.id));
    } catch (error) {
      noteError(error);
    }
  }

  /** Writes everything again. */
  draw() {
    const { info } = this.context;
    if (!this.editing) byId("cap-title").textContent = info.title;
    document.title = `${info.title} · Bathyscope`;
    const started = wall(info.started_unix_ns);
    put(
      byId("cap-meta"),
      captureState(info.state, awayWords()),
      info.state === "finished" ? "" : " · ",
      [
        info.simulated ? "simulated" : info.host.hostname,
        started,
        info.running ? "" : duration(this.context.duration),
        targetText(info.spec.target, joinWords, info.host.target_name),
      ]
        .filter(Boolean)
        .join(" · "),
    );
    if (info.state === "finished") byId("cap-meta").firstChild?.remove();
    byId("cap-meta").title =
      `${info.host.hostname}, kernel ${info.host.kernel_release}, started ${wall(info.started_unix_ns, true)}`;
    this.#drawChips(info);
    this.#drawActions(info);
    this.#drawProblem(info);
    this.#drawFlight(info);
  }

  /** @param {CapturePage} info */
  #drawChips(info) {
    const { lost } = this.context;
    const cost = info.readings.reduce((sum, reading) => sum + (reading?.cpu_permille ?? 0), 0);
    const measured = info.readings.some(
      (reading) => reading?.cpu_permille !== null && reading?.cpu_permille !== undefined,
    );
    const estimated = costIsEstimated(info.spec);
    /**
     * @param {string} text
     * @param {string} section
     * @param {string} name
     * @param {string} title
     */
    const chip = (text, section, name, title) =>
      h("button", { type: "button", class: `chip ${name}`, title, text, on: { click: () => this.details(section) } });
    put(
      byId("cap-chips"),
      info.pinned && chip("Pinned", "info-spec", "", PINS),
      info.is_limited && chip("Read by some", "info-rights", "", "A list says who may read this capture"),
      info.run && info.run.runs > 1 && this.#runsChip(info.run),
      !info.running &&
        chip(
          lostText(info),
          lost || info.lost_at_least ? "info-losses" : "info-ledger",
          lost || info.lost_at_least ? "chip-loss" : "",
          info.lost_at_least
            ? UNKNOWN_LOSS
            : lost
              ? `${plural(lost, "event")} lost`
              : flightOfCapture(info)
                ? "Nothing was lost; what left the memory is counted as not kept"
                : "Everything that was emitted is stored",
        ),
      !info.running &&
        measured &&
        chip(
          `${estimated ? "≈ " : ""}${permille(cost)} CPU`,
          "info-overhead",
          "",
          `Share of one CPU that the probes used, on average${estimated ? `. ${ESTIMATED}` : ""}`,
        ),
    );
  }

  /**
   * A link to the runs of the same, which says what this one is worth beside the baseline once that is known.
   * @param {NonNullable<CapturePage["run"]>} run
   */
  #runsChip({ series, runs, baseline }) {
    const { id } = this.context;
    const text = runs >= 1000 ? "1,000 runs or more" : plural(runs, "run");
    const link = h("a", {
      class: "button chip",
      href: seriesAddress(series),
      title: "Runs of the same, with their key numbers over time",
      text: [text, baseline === id ? "baseline" : this.worth].filter(Boolean).join(": "),
    });
    if (baseline !== null && baseline !== id && this.worth === undefined) {
      this.worth = "";
      void this.#readWorth(series);
    }
    return link;
  }

  /** @param {string} series */
  async #readWorth(series) {
    try {
      const { runs, keys } = await get("/api/series/{series}", { series });
      const own = runs.find((run) => run.id === this.context.id);
      this.worth = own ? runVerdict(own, keys) : "";
      if (this.worth) this.#drawChips(this.context.info);
    } catch {
      // The page of the series says what is wrong; here it is only not said what this run is worth.
    }
  }

  /** @param {CapturePage} info */
  #drawActions(info) {
    if (this.context.gone) {
      put(byId("cap-actions"), !SHARE && h("a", { class: "button", href: "/captures", text: "All captures" }));
      return;
    }
    /** @type {HTMLElement[]} */
    const actions = [];
    const away = sentence(awayWords());
    if (info.flight && info.can_change) {
      actions.push(
        h(
          "button",
          {
            type: "button",
            class: "primary",
            id: "fire",
            disabled: this.firing || info.flight.is_storing,
            title: away || null,
            "aria-disabled": away ? "true" : null,
            on: { click: () => this.#fire() },
          },
          info.flight.is_storing ? "Storing" : "Keep what just happened ",
          !info.flight.is_storing && h("kbd", { text: "Shift+K" }),
        ),
      );
    }
    if (info.running && info.can_change) {
      actions.push(
        h(
          "button",
          {
            type: "button",
            class: info.flight ? "" : "primary",
            id: "stop",
            disabled: this.stopping,
            title: away || null,
            "aria-disabled": away ? "true" : null,
            on: { click: () => this.#stop() },
          },
          this.stopping ? "Stopping" : "Stop ",
          !this.stopping && h("kbd", { text: "X" }),
        ),
      );
    }
    if (!info.running && mayRecord()) {
      actions.push(h("a", { class: "button", href: this.#again, text: "Run again" }));
    }
    if (SHARE && !IS_SAVED) {
      actions.push(
        this.#exportMenu(),
        h("button", { type: "button", text: "Copy link", title: NO_LINK, "aria-disabled": "true" }),
      );
    } else if (!SHARE) {
      actions.push(
        this.views,
        this.#exportMenu(),
        h("button", { type: "button", text: "Compare with…", on: { click: () => this.#compare() } }),
        h("button", { type: "button", text: "Copy link", on: { click: () => this.#copyLink() } }),
        ...(mayRecord() ? [this.#investigateButton()] : []),
        this.#shareButton(info),
      );
    }
    if (info.can_change && !this.editing)
      actions.push(h("button", { type: "button", text: "Rename", on: { click: () => this.#rename() } }));
    if (info.can_pin)
      actions.push(
        h("button", {
          type: "button",
          id: "pin",
          title: PINS,
          "aria-pressed": String(info.pinned),
          text: info.pinned ? "Unpin" : "Pin",
          on: { click: () => this.#pin() },
        }),
      );
    const held = document.activeElement?.id;
    put(byId("cap-actions"), ...actions);
    if (held === "fire" || held === "stop" || held === "pin" || held === "share")
      document.getElementById(held)?.focus();
  }

  /** @param {CapturePage} info */
  #drawFlight(info) {
    const show = () => {
      const { fired } = info.firing ?? { fired: 0 };
      const margin = Math.max(1e6, this.context.duration / 50);
      this.context.state.set({ tab: "timeline", from: Math.max(0, fired - margin), to: fired + margin });
    };
    // It is drawn at every tick: what has the focus stays.
    if (byId("cap-flight").contains(document.activeElement)) return;
    put(byId("cap-flight"), flightLine(info, { show, details: () => this.details("info-flight") }));
  }

  /** Stores what a flight recorder has in memory. */
  async #fire() {
    const { info, id } = this.context;
    if (this.firing || !info.flight || info.flight.is_storing || this.#isAway()) return;
    this.firing = true;
    this.draw();
    try {
      const { url } = await send("POST", "/api/captures/{id}/fire", { id });
      const { after_s: after } = info.flight;
      note(`What just happened is being stored, with the next ${after} s.`, {
        label: "Open it",
        run: () => location.assign(url),
      });
    } catch (error) {
      noteError(error);
    }
    this.firing = false;
    this.draw();
  }

  /** @param {CapturePage} info */
  #drawProblem(info) {
    if (this.context.gone) {
      put(
        byId("cap-problem"),
        SHARE
          ? h("p", { class: "notice notice-stop", role: "alert" }, h("strong", { text: "Over. " }), SHARE_OVER)
          : h("p", { class: "notice notice-stop", role: "alert" }, h("strong", { text: "Deleted. " }), GONE),
      );
      return;
    }
    const bad = {
      recording: "",
      finished: "",
      failed: "This capture failed. ",
      interrupted: "This capture was interrupted. ",
      agent_lost: `The agent ended at ${duration(this.context.duration)}. `,
    }[info.state];
    const kept = info.streams.some((stream) => stream.rows > 0) && "Rows until then are kept. ";
    const isLost = info.state === "agent_lost";
    // How the agent ended is said already; what else there is to say follows it.
    const reason = isLost ? info.reason.split("; ").slice(1).join("; ") : info.reason;
    const now = isLost && h("span", { role: "status", text: this.recordingAgain ?? "" });
    put(
      byId("cap-problem"),
      bad &&
        h(
          "p",
          { class: "notice notice-stop", title: isLost ? sentence(info.reason) : null },
          h("strong", { text: bad }),
          reason && `${sentence(reason)} `,
          kept,
          now,
        ),
      !info.running &&
        info.streams.every((stream) => stream.rows === 0) &&
        info.hints.length > 0 &&
        h(
          "p",
          { class: "notice" },
          h("strong", { text: "No rows. " }),
          ...info.hints.map((hint) => `${sentence(hint)} `),
        ),
    );
    if (now && this.recordingAgain === undefined) this.#askAgent(now);
  }

  /**
   * Says whether recording works again after the agent has ended.
   * @param {HTMLElement} place
   */
  async #askAgent(place) {
    this.recordingAgain = "";
    try {
      const { agent } = await get("/api/host");
      this.recordingAgain =
        agent.state === "connected" ? "Recording works again." : "Recording does not work yet: the agent is not back.";
      place.textContent = this.recordingAgain;
    } catch {
      // Only whether it works is not known; the rest of the page says what is wrong with the console.
    }
  }

  #exportMenu() {
    const button = h("button", { type: "button", "aria-haspopup": "true", "aria-expanded": "false", text: "Export" });
    const menu = new Menu((isOpen) => button.setAttribute("aria-expanded", String(isOpen)));
    const { share } = this.context.info;
    const isPart = Boolean(share && (share.part || share.removes.length > 0));
    const files = EXPORTS.filter(
      ([format, , , stacks]) => (!stacks || this.context.hasStacks) && (!isPart || format !== "bathy"),
    );
    button.addEventListener("click", () => {
      if (menu.isOpen) menu.close();
      else
        menu.open("Export", [
          { label: "This view", hint: "HTML, opens anywhere", run: () => this.#savePage() },
          { label: "Picture of this view", hint: "PNG", run: () => this.#savePicture() },
          ...files.map(([format, label, hint]) => ({ label, hint, download: this.#exportPath(format) })),
        ]);
    });
    return h("div", { class: "menu" }, button, menu.element);
  }

  async #savePage() {
    const { info } = this.context;
    if (info.running) {
      note("A running capture grows: stop it, or wait for its end, and save the view then.");
      return;
    }
    try {
      const { saveFile } = await import("./save_file.js");
      const whole = {
        title: "",
        owner: "",
        expires_unix_ns: 0,
        part: null,
        removes: [],
        notes: true,
        results: true,
        views: false,
      };
      const shown = { ...whole, ...info.share };
      const tabs = VIEWS.filter(({ shows, withheld }) => shows(this.context) && !withheld?.(shown));
      saveFile(this.context, tabs);
    } catch (error) {
      noteError(error);
    }
  }

  async #savePicture() {
    try {
      const { saveDrawn } = await import("./save_file.js");
      await saveDrawn(this.context);
    } catch (error) {
      noteError(error);
    }
  }

  /** @param {string} format */
  #exportPath(format) {
    const { start, end, filter, focus, search, invert, by, unit, transforms, shape, colors } = this.context.view;
    const stream = Math.max(0, this.context.info.streams.indexOf(this.context.stream));
    const parts = {
      format,
      start,
      end,
      stream,
      filter,
      ...(format.startsWith("svg") ? { focus, search, shape, colors } : {}),
      ...(["svg", "svg_plain", "folded"].includes(format) ? { invert: invert ? 1 : 0, by, unit, transforms } : {}),
    };
    const kept = Object.entries(parts).filter(([, value]) => value !== null && value !== "");
    return `${this.context.path}/export?${new URLSearchParams(format === "bathy" ? { format } : kept.map(([name, value]) => [name, String(value)]))}`;
  }

  /** Whether it was deleted meanwhile; says so, as commands can still be asked for. */
  #isGone() {
    if (this.context.gone) note(SHARE ? SHARE_OVER : GONE);
    return this.context.gone;
  }

  /** Whether the console does not answer; says so, as keys and commands can still be pressed. */
  #isAway() {
    const away = awayWords();
    if (away) note(sentence(away));
    return away !== "";
  }

  /**
   * What makes a link for people without a login; grey with the reason where none can be made.
   * @param {CapturePage} info
   */
  #shareButton({ no_shares: reason }) {
    return h("button", {
      type: "button",
      id: "share",
      text: "Share",
      title: reason,
      "aria-disabled": reason ? "true" : null,
      on: { click: () => this.#share() },
    });
  }

  async #share() {
    if (this.#isGone()) return;
    const { no_shares: reason } = this.context.info;
    if (reason) {
      note(sentence(reason));
      return;
    }
    try {
      const { shareCapture } = await import("./share_dialog.js");
      shareCapture(this.context);
    } catch (error) {
      noteError(error);
    }
  }

  #investigateButton() {
    return h("button", {
      type: "button",
      text: "Add to investigation",
      title: "Adds what is shown to an investigation (Shift+I)",
      on: { click: () => void this.#investigate() },
    });
  }

  async #investigate() {
    if (this.#isGone()) return;
    try {
      const { addToInvestigation } = await import("./investigate_dialog.js");
      const tab = document.querySelector(".cap-bar .tabs [aria-selected='true']")?.id.replace(/^tab-/, "");
      await addToInvestigation(this.context, tab ?? this.context.view.tab);
    } catch (error) {
      noteError(error);
    }
  }

  async #copyLink() {
    if (this.#isGone()) return;
    if (SHARE) {
      note(NO_LINK);
      return;
    }
    const { url, words } = linkTo(this.context.info.public_url, location.origin, this.context.state.address());
    const done = await copyText(url);
    note(done ? words : "This browser did not allow copying. Copy the link from the address bar.");
  }

  async #pin() {
    const { info } = this.context;
    if (!info.can_pin || this.#isGone()) return;
    try {
      await send("PATCH", "/api/captures/{id}", { id: this.context.id }, { pinned: !info.pinned });
      await this.context.refresh();
      note(
        this.context.info.pinned
          ? "Pinned: it stays until somebody deletes it."
          : "Unpinned: it is deleted by the rule of retention, if there is one.",
        { ms: 3000 },
      );
    } catch (error) {
      noteError(error);
    }
  }

  async #stop() {
    if (this.stopping || !this.context.info.running || this.#isAway()) return;
    this.stopping = true;
    this.draw();
    try {
      await send("POST", "/api/captures/{id}/stop", { id: this.context.id });
    } catch (error) {
      noteError(error);
      this.stopping = false;
      this.draw();
    }
  }

  #rename() {
    if (this.#isGone()) return;
    const title = byId("cap-title");
    const input = h("input", { type: "text", class: "title-edit", maxlength: "200", "aria-label": "Title" });
    input.value = this.context.info.title;
    this.editing = true;
    let over = false;
    /** @param {boolean} keep */
    const finish = async (keep) => {
      if (over) return;
      over = true;
      this.editing = false;
      const text = input.value.trim();
      if (keep && text && text !== this.context.info.title) {
        try {
          await send("PATCH", "/api/captures/{id}", { id: this.context.id }, { title: text });
          await this.context.refresh();
          note(`Renamed to “${this.context.info.title}”.`, { ms: 3000 });
        } catch (error) {
          noteError(error);
        }
      }
      put(title, this.context.info.title);
      this.draw();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") finish(true);
      else if (event.key === "Escape") finish(false);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    input.addEventListener("blur", () => finish(true));
    put(title, input);
    input.focus();
    input.select();
  }
}
