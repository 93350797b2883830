// The Timeline tab: tracks per CPU or thread, zoomed and panned with keys, wheel and pointer.

import { Canvas } from "../../lib/canvas.js";
import { h, put, settled } from "../../lib/dom.js";
import { duration, exact, moment, plural } from "../../lib/format.js";
import { bind } from "../../lib/keys.js";
import { PanelView } from "../panel_view.js";
import { SqlTracks } from "./sql_tracks.js";
import { paneAt } from "../../lib/time_fold.js";
import { TimeNavigator } from "../../lib/time_navigator.js";
import { TimeDivision } from "./time_division.js";
import { counterAt } from "./timeline_counters.js";
import { FindBar } from "./find/find_bar.js";
import { NOTE_COLORS } from "./notes/notes_draw.js";
import { NotesLayer } from "./notes/notes_layer.js";
import { TimelineData } from "./timeline_data.js";
import { TrackLayer } from "./track_layer.js";
import { RowMenu, startRows } from "./row_menu.js";
import { TrackPanel } from "./track_panel.js";
import { TRACK_COLORS } from "./track_draw.js";
import { stateLegend } from "./track_legend.js";
import { newest, project, rowsIn } from "./timeline_decode.js";
import { legend } from "./timeline_legend.js";
import { AXIS, LABELS } from "./timeline_axis.js";
import { COLORS, MOST_TRACK, drawTimeline, trackHeight } from "./timeline_draw.js";

/** How far what is stored may be behind a running capture, nanoseconds: rows are kept until there are enough for a chunk. */
const STORED_LATER_NS = 2e9;

/** Parts of the address that the panel below the tracks depends on, besides what is picked. */
const PANEL_PARTS = ["start", "end", "panel", "over", "pins", "name", "path"];

/** How near an edge is to which a dragged time snaps. */
const SNAP_PIXELS = 6;

/** What a track is called. */
const TRACKS = { cpu: "CPU", thread: "thread", counter: "counter" };

/** Parts of the address that say which rows the tree has and where. */
const ARRANGED = ["turned", "pins", "name", "hidden", "moved", "tall", "path"];

/**
 * Where an arrow key moves the cursor.
 * @type {Record<string, {sideways?: number, upward?: number}>}
 */
const STEPS = {
  ArrowLeft: { sideways: -1 },
  ArrowRight: { sideways: 1 },
  ArrowUp: { upward: -1 },
  ArrowDown: { upward: 1 },
};

/** The tab. */
export class TimelineView extends PanelView {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel);
    /** @type {{track: number|null, time: number}|null} */
    this.cursor = null;
    /** What a track of a query tells; empty for nothing. */
    this.told = "";
    /** Whether the tree was scrolled to where the address says. */
    this.scrolled = false;
    /**
     * The row that is dragged to the place of another one.
     * @type {{from: number, to: number}|null}
     */
    this.dragged = null;
    this.data = new TimelineData(context.id);
    this.groups = h(
      "span",
      { class: "segments timeline-groups", role: "group", "aria-label": "Tracks" },
      this.#groupButton("tree", "States"),
      this.#groupButton("cpu", "CPUs"),
      this.#groupButton("thread", "Threads"),
    );
    this.find = h("input", {
      type: "search",
      class: "track-find",
      placeholder: "Find tracks",
      "aria-label": "Find tracks by name, process or thread",
      value: context.view.name,
      on: { input: () => context.state.set({ name: this.find.value }) },
    });
    this.layer = new TrackLayer(context);
    this.details = new TrackPanel(context, this.layer, {
      fit: (start, end) => this.nav.around(start, Math.max(start + 1, end)),
      walk: (way) => void this.#walkPicked(way),
      follow: () => void this.#reveal(this.layer.followWaker()),
      back: () => void this.#reveal(this.layer.goBack()),
      go: (picked) => void this.#reveal(picked),
      path: () => this.#turnPath(),
      picked: () => void this.#reveal(Promise.resolve(this.layer.picked)),
    });
    this.readout = h("span", { class: "readout mono", "aria-live": "polite" });
    this.more = h("span", { class: "quiet" });
    this.unhide = h("button", { type: "button", hidden: true, on: { click: () => this.layer.showHidden() } });
    this.menu = new RowMenu(this.layer);
    this.division = new TimeDivision(context, {
      show: (start, end) => this.nav.view(start, end),
      changed: () => this.#divided(),
    });
    this.legend = h("div", { class: "legend", "aria-label": "Colours" });
    const element = h("canvas", {
      class: "timeline-canvas",
      tabindex: "0",
      role: "application",
      "aria-label": "Timeline. W and S zoom, A and D pan, the arrow keys move a cursor.",
    });
    this.spacer = h("div", { class: "timeline-spacer" });
    this.sticky = h("div", { class: "timeline-sticky" }, element);
    this.scroller = h("div", { class: "timeline-scroll" }, this.sticky, this.spacer);
    this.queries = new SqlTracks(this.context, this.#forTracks());
    this.canvas = new Canvas(element, [...new Set([...COLORS, ...TRACK_COLORS, ...NOTE_COLORS])], () => this.#draw());
    this.nav = new TimeNavigator(this.context, this.#forNavigator(element));
    const parts = { nav: this.nav, canvas: this.canvas, layer: this.layer, visible: () => this.visible };
    this.finding = new FindBar(context, {
      ...parts,
      showsStates: () => this.showsStates,
      point: (key, time) => this.#point(key, time),
    });
    this.notes = new NotesLayer(context, {
      ...parts,
      picked: () => this.#pickedSpan,
      cursor: () => this.cursor?.time ?? null,
    });
    this.sticky.append(this.notes.field);
    const tools = [this.finding.button, this.notes.button];
    put(
      panel,
      h(
        "div",
        { class: "panel-bar" },
        this.groups,
        this.find,
        ...tools,
        this.more,
        this.unhide,
        this.division.element,
        h("span", { class: "grow" }),
        this.readout,
      ),
      this.finding.element,
      h("div", { class: "timeline-told" }, this.legend, this.division.words),
      this.problem,
      this.scroller,
      this.menu.element,
      this.notes.panel.element,
      this.details.element,
      this.queries.element,
    );
    this.legendLater = settled(60, () => this.#drawLegend());
    this.#startPlace(element);
    this.#drawGroups();
    this.data.on("data", () => this.#arrived());
    this.data.on("error", (error) => this.failed(error));
    this.#followLayer();
    context.state.on("change", ({ parts }) => this.#changed(parts));
    context.on("colors", () => {
      this.#drawLegend();
      this.canvas.redraw();
    });
    this.#startKeys();
  }

  /**
   * @param {"tree"|"cpu"|"thread"} name
   * @param {string} label
   */
  #groupButton(name, label) {
    return h("button", {
      type: "button",
      data: { group: name },
      text: label,
      on: { click: () => this.context.state.set({ group: name }) },
    });
  }

  /**
   * What the navigator needs.
   * @param {HTMLCanvasElement} element
   * @returns {import("../../lib/time_navigator.js").Chart}
   */
  #forNavigator(element) {
    return {
      element,
      left: LABELS,
      width: () => this.canvas.width,
      visible: () => this.visible,
      moved: () => this.#moved(),
      pointed: () => {
        this.#tell();
        this.canvas.redraw();
        this.queries.redraw();
      },
      anchor: () => this.cursor?.time ?? null,
      divided: () => (this.showsStates ? this.division.now : { fold: null, beside: null }),
      snap: (time, event) => this.#snap(time, event),
      pressed: (event) => this.#setCursor(event),
    };
  }

  /** @param {HTMLCanvasElement} element */
  #startPlace(element) {
    element.addEventListener("dblclick", () => this.nav.all());
    const remember = settled(200, () => {
      if (this.showsStates && this.visible) this.context.state.set({ down: Math.round(this.scroller.scrollTop) });
    });
    this.scroller.addEventListener("scroll", () => {
      if (this.showsStates) this.#want();
      remember();
      this.canvas.redraw();
    });
    startRows(element, {
      layer: this.layer,
      menu: this.menu,
      when: () => this.visible && this.showsStates,
      scroll: () => this.scroller.scrollTop,
      row: () => this.cursor?.track ?? null,
      moved: (key) => this.#point(key, this.cursor?.time ?? 0),
      preview: (dragged) => {
        this.dragged = dragged;
        this.canvas.redraw();
      },
    });
    new ResizeObserver(() => {
      this.sticky.style.height = `${this.scroller.clientHeight}px`;
    }).observe(this.scroller);
    element.addEventListener("measured", () => {
      // A scroll bar takes room from the tracks of threads; those of queries end where they end.
      this.queries.element.style.paddingRight = `${this.scroller.offsetWidth - this.scroller.clientWidth}px`;
      this.#want();
    });
  }

  /**
   * What the timeline does for the tracks of queries.
   * @returns {import("./sql_track_row.js").TimelineParts}
   */
  #forTracks() {
    return {
      shown: () => this.shown,
      losses: () => this.#losses,
      selection: () => this.nav.marked,
      preview: (range) => {
        this.nav.preview = range;
        this.#tell();
        this.canvas.redraw();
        this.queries.redraw();
      },
      wheel: (event, time) => this.nav.wheel(event, time),
      tell: (text) => {
        this.told = text;
        this.#tell();
      },
      view: (start, end) => this.nav.view(start, end),
      back: () => this.canvas.element,
    };
  }

  /** Only rows that match the filter are shown. */
  get takesFilter() {
    return true;
  }

  /** The tab is in sight. */
  show() {
    this.visible = true;
    this.queries.show(true);
    this.#want();
    this.canvas.redraw();
  }

  /** The tab is not in sight. */
  hide() {
    super.hide();
    this.queries.show(false);
    this.nav.release();
  }

  /** The capture has grown. What is shown grows when the rows are there, so that no empty edge comes and goes. */
  grown() {
    if (this.context.view.find !== "") this.context.finder.again();
    this.data.expire();
    this.layer.expire();
    this.#drawGroups();
    this.queries.grown();
    if (this.visible) this.#want();
  }

  /** @param {Set<string>} parts */
  #changed(parts) {
    this.division.follow(parts);
    if (parts.has("tracks")) this.#arrange();
    if (parts.has("span")) this.#tell();
    if (parts.has("group")) {
      this.#drawGroups();
      this.cursor = null;
      this.scroller.scrollTop = 0;
      this.#arrived();
    }
    if (ARRANGED.some((part) => parts.has(part))) {
      this.layer.arrange();
      this.cursor = null;
      this.#arrived();
    }
    if (PANEL_PARTS.some((part) => parts.has(part)) && this.showsStates) this.details.show();
    if (parts.has("from") && this.context.view.from === null) this.#followAll();
    if (["group", "filter", "from", "start", "end", ...ARRANGED].some((part) => parts.has(part))) this.#want();
    this.canvas.redraw();
    this.queries.redraw();
  }

  /** What the layer of tracks tells. */
  #followLayer() {
    this.layer.on("rows", () => {
      this.#drawGroups();
      this.#arrived();
      this.#scrollAsAddressed();
      this.#want();
    });
    this.layer.on("data", () => this.#arrived());
    this.layer.on("error", (error) => this.failed(error));
    this.layer.on("picked", () => {
      this.details.show();
      this.#tell();
      this.canvas.redraw();
    });
  }

  /** Scrolls to where the address says, once the rows are there. */
  #scrollAsAddressed() {
    if (this.scrolled || !this.showsStates || this.layer.rows.length === 0 || this.canvas.height === 0) return;
    this.scrolled = true;
    this.scroller.scrollTop = this.context.view.down;
  }

  /** What a track is: a thread's states and a CPU's threads where the capture has them, unless the address says otherwise. */
  get group() {
    const { view, isCounts } = this.context;
    const { hasTracks } = this;
    if (isCounts) return "counter";
    if (view.group === "" || (view.group === "tree" && !hasTracks)) return hasTracks ? "tree" : "cpu";
    return view.group;
  }

  /** Whether there are tracks of states or slices, as far as that is known. */
  get hasTracks() {
    const { list } = this.layer;
    return this.context.hasTracks && (list === null || list.tracks.length > 0);
  }

  /** Whether tracks of states are shown. */
  get showsStates() {
    return this.group === "tree";
  }

  #drawGroups() {
    const { hasTracks } = this;
    const { isCounts } = this.context;
    this.groups.hidden = isCounts;
    this.find.hidden = !this.showsStates;
    this.division.element.hidden = !this.showsStates;
    this.division.words.hidden = !this.showsStates;
    this.#showQueries();
    for (const button of this.groups.querySelectorAll("button")) {
      button.hidden = button.dataset.group === "tree" && !hasTracks;
      button.setAttribute("aria-pressed", String(button.dataset.group === this.group));
    }
    if (this.showsStates) this.details.show();
    else this.details.element.hidden = true;
  }

  /** The window that is shown. */
  get shown() {
    return this.nav.shown;
  }

  /** Asks for what is in sight. */
  load() {
    this.#want();
  }

  #want() {
    if (!this.visible || this.canvas.width <= LABELS) return;
    const { filter } = this.context.view;
    const { group } = this;
    const wanted = this.nav.follows ? { start: 0, end: this.context.duration } : this.shown;
    const pixels = Math.round(this.nav.wide * this.canvas.ratio);
    if (this.showsStates) {
      this.layer.want(this.nav.panes, this.canvas.ratio, this.scroller.scrollTop, this.scroller.clientHeight);
      this.layer.path.want(this.#selected ?? this.shown);
    } else this.data.want(wanted, pixels, { group, filter }, this.context.duration);
    this.finding.want();
    this.canvas.redraw();
    this.queries.want();
  }

  /** The selected range; null for none. */
  get #selected() {
    const { start, end } = this.context.range;
    return start === null || end === null ? null : { start, end };
  }

  #arrived() {
    this.answered();
    if (this.nav.follows) this.#followAll();
    this.queries.redraw();
    this.#arrange();
    this.#drawLegend();
    this.#tell();
    this.canvas.redraw();
  }

  /** What the colours stand for and how many tracks there are, of what is in sight. */
  #drawLegend() {
    if (this.showsStates) {
      const tracks = this.layer.rows.filter(({ row }) => row.kind === "tracks").length;
      const unfiltered = this.context.view.filter ? "; the filter counts for CPUs and Threads" : "";
      const { hiddenTracks, binned } = this.layer;
      const uncounted =
        binned.heads.more > 0
          ? `; samples and events of ${plural(binned.heads.more, "more thread")} are not shown`
          : "";
      this.more.textContent = this.layer.list ? plural(tracks, "track") + uncounted + unfiltered : "";
      this.unhide.hidden = hiddenTracks === 0;
      this.unhide.textContent = `Show ${plural(hiddenTracks, "hidden track")}`;
      put(this.legend, ...stateLegend(this.layer.list));
      return;
    }
    const { current } = this.data;
    if (!current) return;
    const { tracks, more_tracks: more, group, has_values: values } = current;
    const empty = !values && tracks.every((track) => rowsIn(track, current, this.shown) === 0);
    this.more.textContent = empty
      ? "No rows here"
      : more > 0
        ? `${plural(tracks.length, TRACKS[group])} shown, the busiest; ${plural(more, "more track")} not shown`
        : plural(tracks.length, TRACKS[group]);
    put(
      this.legend,
      ...(values
        ? [
            h("span", {
              class: "quiet",
              text: "Each has a scale of its own, up to the value beside it. The band is from the least to the greatest value of a pixel.",
            }),
          ]
        : legend(current, this.shown)),
    );
  }

  /** Tracks of queries follow the others at once; without them these have all the room. */
  #arrange() {
    if (this.showsStates) {
      this.scroller.style.flex = "";
      this.spacer.style.height = `${Math.max(0, this.layer.height + AXIS - this.scroller.clientHeight)}px`;
      return;
    }
    const tracks = this.data.current?.tracks.length ?? 0;
    this.scroller.style.flex = this.context.view.tracks && tracks > 0 ? `0 1 ${tracks * MOST_TRACK + AXIS}px` : "";
    this.spacer.style.height = `${Math.max(0, tracks * this.#track + AXIS - this.scroller.clientHeight)}px`;
  }

  /** Shows all there is: of a running capture all that is stored by now. */
  #followAll() {
    const { duration, info } = this.context;
    const stored = info.running && this.data.current ? newest(this.data.current) : 0;
    this.nav.follow(stored > 0 && duration - stored < STORED_LATER_NS ? Math.min(stored, duration) : duration);
  }

  get #track() {
    return trackHeight(this.data.current?.tracks.length ?? 0, this.scroller.clientHeight - AXIS);
  }

  get #losses() {
    return this.context.info.ledger.losses.map((loss) => this.context.lossRange(loss));
  }

  #draw() {
    this.#drawTracks();
    this.finding.draw(this.canvas, this.scroller.scrollTop);
    this.notes.draw(this.canvas);
  }

  #drawTracks() {
    if (this.showsStates) {
      this.layer.draw(this.canvas, {
        panes: this.nav.panes,
        isBeside: this.division.now.beside !== null,
        scroll: this.scroller.scrollTop,
        losses: this.#losses,
        selection: this.nav.marked,
        cursor: this.cursor,
        dragged: this.dragged,
      });
      return;
    }
    drawTimeline(this.canvas, {
      shown: this.shown,
      data: this.data.current,
      scroll: this.scroller.scrollTop,
      track: this.#track,
      losses: this.#losses,
      selection: this.nav.marked,
      cursor: this.cursor,
    });
  }

  /** Another window is shown. */
  #moved() {
    this.legendLater();
    this.#want();
    this.#tell();
  }

  /** @param {PointerEvent} event */
  #setCursor(event) {
    const track = this.#trackAt(event.offsetY);
    if (event.offsetX >= LABELS && track !== null && !event.shiftKey)
      this.cursor = { track, time: this.nav.time(event.offsetX) };
    this.canvas.redraw();
  }

  /**
   * A click picks what is there.
   * @param {MouseEvent} event
   */
  #click(event) {
    if (!this.showsStates || event.offsetX < LABELS || event.offsetY < AXIS || event.shiftKey || event.detail > 1)
      return;
    const index = this.layer.rowAt(event.offsetY, this.scroller.scrollTop);
    if (index !== null && this.#pickPart(index, this.nav.time(event.offsetX))) return;
    const lane = index === null ? null : this.layer.laneAt(index, event.offsetY, this.scroller.scrollTop);
    if (index !== null && lane && this.nav.selection === null)
      void this.layer.pick(this.layer.rows[index].row, lane, this.nav.time(event.offsetX));
  }

  /**
   * Picks the one before or after, and shows it.
   * @param {"before"|"after"} way
   */
  async #walkPicked(way) {
    await this.#reveal(this.layer.walk(way));
  }

  /**
   * Brings what is picked into sight.
   * @param {Promise<import("./track_layer.js").Picked|null>} picked
   */
  async #reveal(picked) {
    const found = await picked;
    const at = found?.moment.at;
    if (!found || !at) return;
    this.nav.reveal(at.start);
    const index = this.layer.rows.findIndex(({ row }) => row.key === found.row.key);
    if (index < 0) return;
    this.cursor = { track: index, time: at.start };
    this.#scrollToCursor();
    this.canvas.redraw();
  }

  /**
   * Puts the cursor on a row of the tree, and shows it.
   * @param {string|null} key null for no row
   * @param {number} time
   */
  #point(key, time) {
    const index = this.layer.rows.findIndex(({ row }) => row.key === key);
    this.cursor = { track: index < 0 ? null : index, time };
    if (index >= 0) this.#scrollToCursor();
    this.#tell();
    this.canvas.redraw();
  }

  /** From when until when what is picked lasted, and its track. */
  get #pickedSpan() {
    const { picked } = this.layer;
    const at = this.showsStates ? picked?.moment.at : null;
    return picked && at ? { start: at.start, end: at.end, track: picked.row.key } : null;
  }

  #startStateKeys() {
    const when = () => this.visible && this.showsStates;
    const whenPicked = () => when() && this.layer.picked !== null;
    bind("timeline.next", () => void this.#walkPicked("after"), { when: whenPicked });
    bind("timeline.previous", () => void this.#walkPicked("before"), { when: whenPicked });
    bind("timeline.waker", () => void this.#reveal(this.layer.followWaker()), { when: whenPicked });
    bind("timeline.back", () => void this.#reveal(this.layer.goOn()), { when: whenPicked });
    bind("timeline.path", () => this.#turnPath(), {
      when: () => when() && (this.layer.picked !== null || this.cursor !== null || this.layer.path.key !== ""),
    });
    bind("timeline.pick", () => this.#enter(), { when: () => when() && this.cursor !== null });
    bind("timeline.fold", () => this.division.turnFold(), { when });
    bind("timeline.beside", () => this.division.putBeside(), { when: () => when() && this.division.canPut });
    bind(
      "timeline.range",
      () => {
        const at = this.layer.picked?.moment.at;
        if (at) this.context.select({ start: at.start, end: Math.max(at.start + 1, at.end) });
      },
      { when: whenPicked },
    );
    this.canvas.element.addEventListener("click", (event) => this.#click(event));
  }

  /**
   * Which pane is at a place: the first one where none is said.
   * @param {number|undefined} x
   */
  #paneAt(x) {
    const { panes } = this.nav;
    return x === undefined ? 0 : panes.indexOf(paneAt(panes, x));
  }

  /**
   * The time that a drag means: an edge of what is on the row under the pointer, if one is near.
   * @param {number} time
   * @param {PointerEvent} event
   */
  #snap(time, event) {
    if (!this.showsStates) return time;
    const { left, top } = this.canvas.element.getBoundingClientRect();
    const index = this.layer.rowAt(event.clientY - top, this.scroller.scrollTop);
    const pane = this.#paneAt(event.clientX - left);
    return index === null ? time : this.layer.snap(index, time, this.nav.pixel * SNAP_PIXELS, pane);
  }

  /** Tracks of queries have one line of time. */
  #showQueries() {
    this.queries.element.hidden = this.showsStates && this.division.isDivided;
  }

  /** Time is divided in another way. */
  #divided() {
    this.#showQueries();
    this.#want();
    this.#tell();
    this.canvas.redraw();
  }

  /**
   * The critical path of the picked thread, else of that at the cursor, over the selected range, else over what is in sight;
   * none if it was shown already.
   */
  #turnPath() {
    const { layer, cursor } = this;
    layer.path.turn(cursor?.track === null || cursor === null ? null : layer.rows[cursor.track]?.row, this.shown);
  }

  /**
   * Picks the state in which a part of the critical path stands, if the row is that of the path; whether it is.
   * @param {number} index
   * @param {number} time
   */
  #pickPart(index, time) {
    const { layer } = this;
    if (layer.rows[index].row.kind !== "path") return false;
    const part = layer.path.partAt(time);
    if (part) void this.#reveal(layer.path.pick(part));
    return true;
  }

  /** Opens or closes the group at the cursor, or picks what is there. */
  #enter() {
    const { cursor } = this;
    const shown = cursor?.track === null || cursor === null ? null : this.layer.rows[cursor.track];
    if (!cursor || !shown) return;
    if (shown.row.kind === "group") this.layer.turn(cursor.track ?? 0);
    else if (!this.#pickPart(cursor.track ?? 0, cursor.time))
      void this.layer.pick(shown.row, shown.row.lanes[0], cursor.time);
  }

  #startKeys() {
    this.#startStateKeys();
    const when = () => this.visible;
    bind("timeline.fit", () => this.#fit(), { when });
    bind("timeline.all", () => this.nav.all(), { when });
    bind("timeline.clear", () => this.#clear(), {
      when: () =>
        when() &&
        (this.cursor !== null || this.nav.selection !== null || this.layer.picked !== null || this.notes.holds),
    });
    this.canvas.element.addEventListener("keydown", (event) => this.#arrow(event));
  }

  /** Fits what is picked, else what is selected. */
  #fit() {
    const at = this.showsStates ? this.layer.picked?.moment.at : null;
    if (at) this.nav.around(at.start, Math.max(at.start + 1, at.end));
    else this.nav.fit();
  }

  #clear() {
    this.notes.clear();
    this.layer.clear();
    this.cursor = null;
    this.context.select(null);
    this.#tell();
    this.canvas.redraw();
  }

  /** @param {KeyboardEvent} event */
  #arrow(event) {
    const sideways = STEPS[event.key]?.sideways;
    const upward = STEPS[event.key]?.upward;
    const tracks = this.#tracks;
    if ((!sideways && !upward) || tracks === 0 || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const step = this.nav.pixel * (event.shiftKey ? 50 : 4);
    const from = this.cursor ?? { track: upward ? -upward : 0, time: (this.shown.start + this.shown.end) / 2 };
    this.cursor = {
      track: Math.max(0, Math.min(tracks - 1, (from.track ?? 0) + (upward ?? 0))),
      time: Math.max(0, Math.min(this.context.duration, from.time + step * (sideways ?? 0))),
    };
    this.nav.pointer = null;
    this.nav.reveal(this.cursor.time);
    this.#scrollToCursor();
    this.#tell();
    this.canvas.redraw();
  }

  /** How many tracks there are to walk through. */
  get #tracks() {
    return this.showsStates ? this.layer.rows.length : (this.data.current?.tracks.length ?? 0);
  }

  #scrollToCursor() {
    const index = this.cursor?.track ?? 0;
    const row = this.showsStates ? this.layer.rows[index] : null;
    const top = row ? row.top : index * this.#track;
    const tall = row ? row.height : this.#track;
    const room = this.scroller.clientHeight - AXIS;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + tall > this.scroller.scrollTop + room) this.scroller.scrollTop = top + tall - room;
  }

  /** @param {number} y */
  #trackAt(y) {
    if (this.showsStates) return this.layer.rowAt(y, this.scroller.scrollTop);
    const index = Math.floor((y - AXIS + this.scroller.scrollTop) / this.#track);
    return y >= AXIS && index < (this.data.current?.tracks.length ?? 0) ? index : null;
  }

  /** The readout: the range that is dragged, else what a track of a query tells, what is under the pointer, what is at the cursor. */
  #tell() {
    const { preview, pointedTime, pointer } = this.nav;
    if (!preview && this.told) {
      this.readout.textContent = this.told;
      return;
    }
    const noted = this.notes.words(pointer);
    if (!preview && noted) {
      this.readout.textContent = noted;
      return;
    }
    const at = pointedTime === null || !pointer ? this.cursor : { time: pointedTime, track: this.#trackAt(pointer.y) };
    if (preview)
      this.readout.textContent = `${moment(preview.start)} to ${moment(preview.end)} s: ${duration(preview.end - preview.start)}`;
    else {
      const there = at ? [this.#what(at), `${moment(at.time)} s`] : [];
      this.readout.textContent = [...there, this.notes.spanWords].filter(Boolean).join("  ");
    }
  }

  /** @param {{time: number, track: number|null}} at */
  #what({ time, track: index }) {
    if (this.showsStates) {
      const { pointer } = this.nav;
      const lane = index === null || !pointer ? null : this.layer.laneAt(index, pointer.y, this.scroller.scrollTop);
      return index === null ? "" : this.layer.words(index, time, this.nav.pixel * 1.5, this.#paneAt(pointer?.x), lane);
    }
    const { current } = this.data;
    const track = index === null ? null : current?.tracks[index];
    if (!track || !current) return "";
    const counts = new Float32Array(3);
    const names = new Int32Array(3);
    const longest = new Float64Array(3);
    const { pixel } = this.nav;
    if (track.values) return counterAt(track, current, { start: time - pixel / 2, end: time + pixel / 2 });
    project(track, current, { start: time - pixel * 1.5, end: time + pixel * 1.5 }, 3, counts, names, longest);
    const best = [1, 2, 0].find((x) => names[x] >= 0);
    if (best === undefined) return `${track.label}: no rows`;
    const took = longest[best] > 0 ? `, the longest ${duration(longest[best])}` : "";
    return `${track.label}: ${current.names[names[best]]}, ${exact(counts[best])}${took}`;
  }
}
