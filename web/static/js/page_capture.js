// The page of one capture: loads it, puts the parts together, lets them know of each other.

import { get } from "./api.js";
import { CallsView } from "./calls_view.js";
import { CaptureContext } from "./capture_context.js";
import { CaptureHeader } from "./capture_header.js";
import { addCommands } from "./commands.js";
import { CountsView } from "./counts_view.js";
import { byId, h, put, settled } from "./dom.js";
import { EventsView } from "./events_view.js";
import { FlameView } from "./flame.js";
import { firstTab } from "./first_view.js";
import { duration, exact } from "./format.js";
import { InfoView } from "./info_view.js";
import { bind } from "./keys.js";
import { listen } from "./live.js";
import { LiveHeader } from "./live_header.js";
import { MapsView } from "./maps_view.js";
import { Minimap } from "./minimap.js";
import { isWithoutOwn, takesCondition, toggleOwn } from "./own_work.js";
import { note, noteError, sentence, showError, waitFor } from "./notice.js";
import { OutputView } from "./output_view.js";
import { startShell } from "./shell.js";
import { costIsEstimated } from "./spec.js";
import { SqlView } from "./sql_view.js";
import { startTabs } from "./tabs.js";
import { TimelineView } from "./timeline.js";
import { ViewState } from "./url_state.js";

/** How often stored views of a running capture are asked for again. */
const GROW_MS = 2000;
const TABS = ["events", "timeline", "flame", "info", "sql"];
/** What only captures of scripts have, shown first. */
const SCRIPT_TABS = ["maps", "output"];
/** What captures of counts have. */
const COUNT_TABS = ["counts", "events", "timeline", "info", "sql"];
/** What captures with calls of functions have, shown first. */
const CALL_TABS = ["calls", ...TABS];
const TITLES = { calls: "calls", counts: "counts", events: "events", timeline: "timeline", flame: "flame graph", info: "info", maps: "maps", output: "output", sql: "SQL" };

function filterProblem(error) {
  const place = byId("filter-problem");
  place.hidden = !error;
  place.textContent = error ? [error.why, error.remedy].map(sentence).filter(Boolean).join(" ") : "";
  byId("filter").setAttribute("aria-invalid", String(Boolean(error)));
}

function startFilter(state) {
  const input = byId("filter");
  const clear = byId("filter-clear");
  const apply = () => state.set({ filter: input.value.trim(), row: null });
  const later = settled(350, apply);
  const write = () => {
    if (document.activeElement !== input) input.value = state.view.filter;
    clear.hidden = state.view.filter === "";
    if (state.view.filter === "") filterProblem(null);
  };
  input.addEventListener("input", later);
  byId("filter-form").addEventListener("submit", (event) => { event.preventDefault(); later.cancel(); apply(); });
  clear.addEventListener("click", () => { input.value = ""; apply(); input.focus(); });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (input.value) { input.value = ""; apply(); } else input.blur();
  });
  state.addEventListener("change", ({ detail }) => detail.parts.has("filter") && write());
  bind("filter", () => { input.focus(); input.select(); });
  write();
}

/** One click leaves out what Bathyscope's own processes did, where all of the system was watched. */
function startOwn(context) {
  const { state } = context;
  const button = byId("without-own");
  const write = () => {
    const { filter } = state.view;
    button.hidden = context.info.spec.target !== "system" || !takesCondition(filter);
    button.setAttribute("aria-pressed", String(isWithoutOwn(filter)));
  };
  const turn = () => {
    state.set({ filter: toggleOwn(state.view.filter), row: null });
    byId("filter").value = state.view.filter;
  };
  button.addEventListener("click", turn);
  addCommands({ name: "Show rows with or without Bathyscope’s own processes", run: () => { if (!button.hidden) turn(); } });
  state.addEventListener("change", ({ detail }) => detail.parts.has("filter") && write());
  write();
}

function startRange(context) {
  const line = byId("range-line");
  const write = () => {
    const { start, end } = context.range;
    if (start === null) put(line, h("span", { class: "quiet", text: `${context.info.running ? "So far" : "Whole capture"}: ${duration(context.duration)}` }));
    else put(line, h("span", { title: `${exact(start)} to ${exact(end)} ns`, text: `${duration(start)} to ${duration(end)}: ${duration(end - start)}` }), h("button", { type: "button", class: "plain", text: "Clear", on: { click: () => context.select(null) } }));
  };
  context.state.addEventListener("change", ({ detail }) => (detail.parts.has("start") || detail.parts.has("end")) && write());
  context.addEventListener("info", write);
  write();
  let hovering = false;
  return {
    /** What is under the pointer; null for nothing. */
    show: (text) => {
      hovering = Boolean(text);
      if (text) put(line, h("span", { class: "mono", text }));
      else write();
    },
    /** The capture has grown. */
    grown: () => { if (!hovering && context.range.start === null) write(); },
  };
}

function startViews(context, views) {
  const { state } = context;
  const first = context.hasMaps ? SCRIPT_TABS : SCRIPT_TABS.toReversed();
  const tabs = context.isCounts ? COUNT_TABS : context.isScript ? [...first, ...TABS] : context.hasCalls ? CALL_TABS : TABS;
  // A link without a tab shows what this capture is for.
  if (!tabs.includes(state.view.tab)) state.view.tab = firstTab(context.info);
  if (context.isScript) first.forEach((name, i) => { const tab = byId(`tab-${name}`); tab.hidden = false; tab.parentElement.insertBefore(tab, tab.parentElement.children[i]); });
  if (context.isCounts) {
    for (const name of TABS) byId(`tab-${name}`).hidden = !tabs.includes(name);
    byId("tab-counts").hidden = false;
    byId("tab-events").before(byId("tab-counts"));
  }
  if (context.hasCalls) {
    byId("tab-calls").hidden = false;
    byId("tab-events").before(byId("tab-calls"));
  }
  const show = startTabs(document.querySelector(".cap-bar .tabs"), (name) => state.set({ tab: name }));
  const apply = () => {
    show(state.view.tab);
    for (const [name, view] of Object.entries(views)) if (name !== state.view.tab) view.hide();
    views[state.view.tab].show();
  };
  state.addEventListener("change", ({ detail }) => detail.parts.has("tab") && apply());
  bind("tab", ({ key }) => tabs[key - 1] && state.set({ tab: tabs[key - 1] }), { what: tabs.map((name) => TITLES[name]).join(", ") });
  addCommands(...tabs.map((name, i) => ({ name: `Show ${TITLES[name]}`, detail: String(i + 1), run: () => state.set({ tab: name }) })));
  bind("whole", () => context.select(null), { when: () => context.range.start !== null && state.view.tab !== "flame" && !(state.view.tab === "calls" && state.view.calls === "chart") });
  apply();
}

/** While the capture runs: rows, counters, and the stored views as they grow. */
function startLive(context, views, minimap, readout) {
  const header = new LiveHeader(byId("cap-live"), costIsEstimated(context.info.spec));
  let ending = false;
  let grown = performance.now();
  const grow = () => {
    if (performance.now() - grown < GROW_MS || context.view.tab === "events" || context.view.tab === "info") return;
    grown = performance.now();
    views.timeline.grown();
    views.flame.expire();
    views.maps.grown();
    views.output.grown();
    views.counts.grown();
    views.calls.grown();
  };
  const ended = async () => {
    if (ending) return;
    ending = true;
    stop();
    header.ended();
    try {
      await context.refresh();
      context.rankColors().catch(() => {});
      views.events.setRunning(context.info.running);
      views.timeline.grown();
      views.flame.expire();
      views.maps.grown();
      views.output.grown();
      views.counts.grown();
      views.calls.grown();
    } catch (error) {
      noteError(error);
    }
  };
  const stop = listen(`${context.path}/live`, {
    state: ({ message }) => header.say(message),
    rows: (message) => views.events.liveRows(message),
    tick: (tick) => {
      if (context.info.streams.length < tick.streams.length) context.refresh().then(() => views.events.setRunning(true)).catch(noteError);
      if (tick.guard) header.say(tick.guard);
      header.tick(tick);
      minimap.tick(tick);
      context.info.end_ns = Math.max(context.info.end_ns, context.info.start_ns + tick.elapsed);
      readout.grown();
      grow();
    },
    lagged: ({ missed }) => note(`This browser was too slow and missed ${exact(missed)} messages. All rows are kept in the capture.`),
    ended,
  });
}

async function start() {
  const page = byId("capture");
  const { id } = page.dataset;
  let info;
  try {
    info = await waitFor("Opening the capture", get(`/api/captures/${id}`));
  } catch (error) {
    showError(byId("cap-problem"), error, start);
    return;
  }
  const state = new ViewState(location.search);
  const context = new CaptureContext(id, info, state);
  if (state.newer) note("This link was made by a later release; a part of the view may be missing.");
  startFilter(state);
  startOwn(context);
  const readout = startRange(context);
  const minimap = new Minimap(context, readout.show);
  const views = {
    events: new EventsView(context, byId("panel-events"), filterProblem),
    timeline: new TimelineView(context, byId("panel-timeline"), filterProblem),
    flame: new FlameView(context, byId("panel-flame"), filterProblem),
    maps: new MapsView(context, byId("panel-maps")),
    output: new OutputView(context, byId("panel-output")),
    calls: new CallsView(context, byId("panel-calls"), filterProblem),
    counts: new CountsView(context, byId("panel-counts")),
    info: new InfoView(context, byId("panel-info")),
    sql: new SqlView(context, byId("panel-sql")),
  };
  new CaptureHeader(context, (section) => { state.set({ tab: "info" }); views.info.reveal(section); });
  startViews(context, views);
  document.addEventListener("missing", ({ detail }) => detail.startsWith(context.path) && context.check());
  // Who comes back to the page finds out before something is tried.
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && context.check());
  // Names keep the usual colours where this cannot be told.
  context.rankColors().catch(() => {});
  if (info.running) startLive(context, views, minimap, readout);
}

startShell();
start();
