// The page of one capture: loads it, puts the parts together, lets them know of each other.

import { IS_SAVED, get, problemOf } from "../lib/api.js";
import { CaptureContext } from "./capture_context.js";
import { CaptureHeader } from "./capture_header.js";
import { addCommands } from "../lib/commands.js";
import { startAgainst } from "./against_chip.js";
import { byId, h, inputOf, prose, put, settled, within } from "../lib/dom.js";
import { firstTab } from "../view/first_view.js";
import { duration, exact } from "../lib/format.js";
import { bind } from "../lib/keys.js";
import { LateEvents } from "./late_events.js";
import { LateInfo } from "./late_info.js";
import { listen } from "../lib/live.js";
import { LinkSpans } from "./link_spans.js";
import { LiveHeader } from "./live_header.js";
import { Minimap } from "./minimap.js";
import { isWithoutOwn, takesCondition, toggleOwn } from "./own_work.js";
import { note, noteError, sentence, showError, waitFor } from "../lib/notice.js";
import { reach } from "../lib/reach.js";
import { costIsEstimated } from "../kind/table.js";
import { startTabs } from "../lib/tabs.js";
import { partWords } from "./share_words.js";
import { ViewState } from "./url_state.js";
import { VIEWS } from "./views.js";
import { WithheldView } from "./withheld_view.js";

/** @import { Tick } from "../../../api.js" */
/** @import { CaptureContext as Context } from "./capture_context.js" */
/** @typedef {Map<string, import("../view/panel_view.js").PanelView>} Views by name */

/** Why a tab of a page that was saved as a file is empty. */
const NOT_SAVED = "This tab was not saved in this file.";
/** How often it is asked how far computed streams are. */
const COMPUTED_MS = 1000;
/** How often it is asked for a capture that a flight recorder is storing. */
const STORED_MS = 1000;
/** How often it is asked whether the capture is still there, while the page is in sight. */
const CHECK_MS = 10_000;
/** How often stored views of a running capture are asked for again. */
const GROW_MS = 2000;

/**
 * Says below the filter what is wrong with it.
 * @param {unknown} error null for nothing
 */
function filterProblem(error) {
  const { why, remedy } = problemOf(error);
  const place = byId("filter-problem");
  place.hidden = !error;
  put(place, ...prose(error ? [why, remedy].map(sentence).filter(Boolean).join(" ") : ""));
  byId("filter").setAttribute("aria-invalid", String(Boolean(error)));
}

/** @param {Context} context */
function startFilter(context) {
  const { state } = context;
  const input = inputOf("filter");
  const clear = byId("filter-clear");
  const apply = () => state.set({ filter: input.value.trim(), row: null });
  const later = settled(350, apply);
  const write = () => {
    if (document.activeElement !== input) input.value = state.view.filter;
    clear.hidden = state.view.filter === "";
    if (state.view.filter === "") filterProblem(null);
  };
  input.addEventListener("input", later);
  byId("filter-form").addEventListener("submit", (event) => {
    event.preventDefault();
    later.cancel();
    apply();
  });
  clear.addEventListener("click", () => {
    input.value = "";
    apply();
    input.focus();
  });
  input.addEventListener("keydown", (event) => {
    // Suggestions are taken away first.
    if (event.key !== "Escape" || input.getAttribute("aria-expanded") === "true") return;
    event.preventDefault();
    event.stopPropagation();
    if (input.value) {
      input.value = "";
      apply();
    } else input.blur();
  });
  input.addEventListener(
    "focus",
    async () => {
      const { startSuggestions } = await import("../view/table/row_tools.js");
      startSuggestions(context);
    },
    { once: true },
  );
  state.on("change", ({ parts }) => parts.has("filter") && write());
  context.on("filter", filterProblem);
  bind("filter", () => {
    input.focus();
    input.select();
  });
  write();
}

/**
 * One click leaves out what Bathyscope's own processes did, where all of the system was watched.
 * @param {Context} context
 */
function startOwn(context) {
  const { state } = context;
  const button = byId("without-own");
  const write = () => {
    const { filter } = state.view;
    button.hidden = IS_SAVED || context.info.spec.target !== "system" || !takesCondition(filter);
    button.setAttribute("aria-pressed", String(isWithoutOwn(filter)));
  };
  const turn = () => {
    state.set({ filter: toggleOwn(state.view.filter), row: null });
    inputOf("filter").value = state.view.filter;
  };
  button.addEventListener("click", turn);
  addCommands({
    name: "Show rows with or without Bathyscope’s own processes",
    run: () => {
      if (!button.hidden) turn();
    },
  });
  state.on("change", ({ parts }) => parts.has("filter") && write());
  write();
}

/** @param {Context} context */
function startRange(context) {
  const line = byId("range-line");
  const write = () => {
    const { start, end } = context.range;
    if (start === null || end === null)
      put(
        line,
        h("span", {
          class: "quiet",
          text: `${context.info.running ? "So far" : context.info.share?.part ? "Capture" : "Whole capture"}: ${duration(context.duration)}`,
        }),
      );
    else
      put(
        line,
        h("span", {
          title: `${exact(start)} to ${exact(end)} ns`,
          text: `${duration(start)} to ${duration(end)}: ${duration(end - start)}`,
        }),
        h("button", { type: "button", class: "plain", text: "Clear", on: { click: () => context.select(null) } }),
      );
  };
  context.state.on("change", ({ parts }) => (parts.has("start") || parts.has("end")) && write());
  context.on("info", write);
  write();
  let hovering = false;
  return {
    /**
     * What is under the pointer; null for nothing.
     * @param {string|null} text
     */
    show: (text) => {
      hovering = Boolean(text);
      if (text) put(line, h("span", { class: "mono", text }));
      else write();
    },
    /** The capture has grown. */
    grown: () => {
      if (!hovering && context.range.start === null) write();
    },
  };
}

/**
 * Tabs and panels of the views that the capture has, which can become more while it runs.
 * @param {Context} context
 * @param {import("./saved_answers.js").SavedView|null} saved
 */
function startViews(context, saved) {
  const { state } = context;
  /** @type {Views} */
  const views = new Map();
  const list = within(document, ".cap-bar .tabs");
  const shown = () => VIEWS.filter(({ shows }) => shows(context));
  /** @param {string} tab */
  const choose = (tab) => state.set({ tab });
  /** @param {import("./views.js").View} view */
  const make = ({ name, title, make: build, withheld }) => {
    const { share } = context.info;
    const reason = saved?.tabs.includes(name) === false ? NOT_SAVED : ((share && withheld?.(share)) ?? "");
    const panel = h("section", {
      id: `panel-${name}`,
      class: `panel panel-${name}`,
      role: "tabpanel",
      "aria-labelledby": `tab-${name}`,
      hidden: true,
    });
    const tab = h("button", {
      type: "button",
      role: "tab",
      id: `tab-${name}`,
      "aria-controls": panel.id,
      "aria-selected": "false",
      class: reason && "withheld",
      title: reason || null,
      tabindex: "-1",
      text: title,
    });
    const at = shown().findIndex((one) => one.name === name);
    list.insertBefore(tab, list.children[at] ?? null);
    addCommands({ name: `Show ${title}`, detail: String(at + 1), run: () => choose(name) });
    byId("capture").append(panel);
    views.set(name, reason ? new WithheldView(context, panel, reason) : build(context, panel));
  };
  const arrange = () =>
    shown()
      .filter(({ name }) => !views.has(name))
      .forEach(make);
  arrange();
  context.on("info", arrange);
  // A link without a tab, or with one that this capture has not, shows what the capture is for.
  if (!views.has(state.view.tab))
    state.view.tab = [firstTab(context.info), "events"].find((name) => views.has(name)) ?? "events";
  const show = startTabs(list, choose);
  const apply = () => {
    show(state.view.tab);
    for (const [name, view] of views) if (name !== state.view.tab) view.hide();
    views.get(state.view.tab)?.show();
  };
  state.on("change", ({ parts }) => parts.has("tab") && apply());
  bind(
    "tab",
    ({ key }) => {
      const wanted = shown()[Number(key) - 1];
      if (wanted) choose(wanted.name);
    },
    { what: () => shown().map(({ title }) => title) },
  );
  bind("whole", () => context.select(null), {
    when: () =>
      context.range.start !== null &&
      state.view.tab !== "flame" &&
      !(state.view.tab === "calls" && state.view.calls === "chart"),
  });
  apply();
  return views;
}

/**
 * The table of rows, which every capture has.
 * @param {Views} views
 */
function eventsOf(views) {
  const events = views.get("events");
  if (!(events instanceof LateEvents)) throw new Error("the page has no table of rows");
  return events;
}

/**
 * While the capture runs: rows, counters, and the stored views as they grow.
 * @param {Context} context
 * @param {Views} views
 * @param {Minimap} minimap
 * @param {ReturnType<typeof startRange>} readout
 */
function startLive(context, views, minimap, readout) {
  const header = new LiveHeader(byId("cap-live"), costIsEstimated(context.info.spec));
  let ending = false;
  let grown = performance.now();
  const growAll = () => {
    for (const view of views.values()) view.grown();
  };
  const grow = () => {
    if (performance.now() - grown < GROW_MS) return;
    grown = performance.now();
    growAll();
  };
  const ended = async () => {
    if (ending) return;
    ending = true;
    stop();
    header.ended();
    await settle();
  };
  const settle = async () => {
    try {
      await context.refresh();
      context.rankColors().catch(() => {});
      eventsOf(views).setRunning(context.info.running);
      growAll();
    } catch (error) {
      noteError(error);
    }
  };
  reach.on("change", async (there) => {
    header.away(!there);
    if (!there || context.gone) return;
    // Whatever happened meanwhile: the capture may have ended, or the console that recorded it.
    const before = context.info.running;
    if (ending) return settle();
    await context.refresh().catch(noteError);
    if (before && !context.info.running) await ended();
  });
  const stop = listen(
    "/api/captures/{id}/live",
    { id: context.id },
    {
      state: ({ message }) => header.say(message),
      rows: (message) => eventsOf(views).liveRows(message),
      tick: (tick) => {
        if (context.info.streams.length < tick.streams.length)
          context
            .refresh()
            .then(() => eventsOf(views).setRunning(true))
            .catch(noteError);
        if (tick.guard) header.say(tick.guard);
        header.tick(tick);
        followFlight(context, tick);
        minimap.tick(tick);
        context.info.end_ns = Math.max(context.info.end_ns, context.info.start_ns + tick.elapsed);
        readout.grown();
        grow();
      },
      lagged: ({ missed }) =>
        note(`This browser was too slow and missed ${exact(missed)} messages. All rows are kept in the capture.`),
      ended,
    },
  );
}

/**
 * What a flight recorder holds, as of a tick; what it has stored is asked for when that is more.
 * @param {Context} context
 * @param {Tick} tick
 */
function followFlight(context, { flight }) {
  const { info } = context;
  if (!flight || !info.flight) return;
  const isOther = flight.captures !== info.flight.captures || flight.is_storing !== info.flight.is_storing;
  info.flight = flight;
  if (isOther) context.refresh().catch(noteError);
  else context.emit("flight", null);
}

/**
 * While a flight recorder stores a capture, asks how far it is.
 * @param {Context} context
 * @param {Views} views
 */
function followStored(context, views) {
  const isStored = () => !context.info.running && context.info.firing !== null && context.info.state === "recording";
  if (!isStored()) return;
  const look = async () => {
    if (context.gone) return;
    try {
      await context.refresh();
      for (const view of views.values()) view.grown();
    } catch (error) {
      noteError(error);
    }
    if (isStored()) setTimeout(look, STORED_MS);
  };
  setTimeout(look, STORED_MS);
}

/**
 * While streams are computed of a capture, or are about to follow one that is recorded, asks how far they are; then the views
 * show them.
 * @param {Context} context
 * @param {Views} views
 */
function followComputed(context, views) {
  const waits = () => {
    const { running, computed } = context.info;
    return computed.is_busy || (running && computed.possible.length > 0);
  };
  const known = () =>
    JSON.stringify(context.info.computed.rules.map(({ number, state, rows }) => [number, state, rows]));
  let waited = waits();
  let before = known();
  let timer = 0;
  const look = () => {
    // What was computed quickly was never seen to be waited for.
    if (!waits() && (waited || known() !== before)) for (const view of views.values()) view.grown();
    waited = waits();
    before = known();
    clearTimeout(timer);
    if (waited && !context.gone) timer = setTimeout(() => context.refresh().catch(noteError), COMPUTED_MS);
  };
  context.on("info", look);
  look();
}

/**
 * Shows the capture that the page is about.
 * @param {import("./saved_answers.js").SavedView|null} [saved] what of it is in a file; null where there is a server
 */
export async function startCapture(saved = null) {
  const { id = "" } = byId("capture").dataset;
  /** @type {import("../../../api.js").CapturePage} */
  let info;
  try {
    info = await waitFor("Opening the capture", get("/api/captures/{id}", { id }));
  } catch (error) {
    showError(byId("cap-problem"), error, () => void startCapture(saved));
    return;
  }
  const state = new ViewState(saved?.view ?? location.search);
  const context = new CaptureContext(id, info, state);
  if (state.newer) note("This link was made by a later release; a part of the view may be missing.");
  startFilter(context);
  startOwn(context);
  const readout = startRange(context);
  const minimap = new Minimap(context, readout.show);
  /** @type {Views} */
  let views;
  new CaptureHeader(context, (section) => {
    state.set({ tab: "info" });
    const view = views.get("info");
    if (view instanceof LateInfo) view.reveal(section);
  });
  if (info.share && !IS_SAVED) {
    const { startShareLine } = await import("./share_line.js");
    context.on(
      "gone",
      startShareLine(info.share, partWords(info.share.part), () => context.check()),
    );
  }
  new LinkSpans(context, byId("cap-spans"));
  void context.notes.load();
  context.finder.search();
  state.on("change", ({ parts }) => parts.has("find") && context.finder.search());
  views = startViews(context, saved);
  startAgainst(context, (tab) => VIEWS.find(({ name }) => name === tab)?.compares?.(context) ?? false);
  context.on("again", () => views.get(state.view.tab)?.grown());
  document.addEventListener("missing", (event) => {
    if (event instanceof CustomEvent && String(event.detail).startsWith(context.path)) context.check();
  });
  document.addEventListener("written", (event) => {
    const { notes = [], missed = false } = event instanceof CustomEvent ? event.detail : {};
    if (missed || notes.includes(id)) void context.notes.load();
  });
  // Who comes back to the page finds out before something is tried, and sees notes that others have written meanwhile.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") return;
    context.check();
    void context.notes.load();
  });
  // Nothing tells of a deletion elsewhere; a share's page asks by itself, more often.
  if (!info.share && !IS_SAVED)
    setInterval(() => document.visibilityState === "visible" && void context.check(), CHECK_MS);
  // Names keep the usual colours where this cannot be told.
  context.rankColors().catch(() => {});
  followComputed(context, views);
  followStored(context, views);
  if (info.running) startLive(context, views, minimap, readout);
}
