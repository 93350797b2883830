// The Timeline tab: tracks per CPU or thread, zoomed and panned with keys, wheel and pointer.

import { Canvas } from "../../lib/canvas.js";
import { h, put, settled } from "../../lib/dom.js";
import { bind } from "../../lib/keys.js";
import { PanelView } from "../panel_view.js";
import { NameField } from "./rows/name_field.js";
import { SqlTracks } from "./sql_tracks.js";
import { paneAt } from "../../lib/time_fold.js";
import { TimeNavigator } from "../../lib/time_navigator.js";
import { TimeDivision } from "./time_division.js";
import { TimelineCursor } from "./timeline_cursor.js";
import { FindBar } from "./find/find_bar.js";
import { drawMoments, momentWords, momentsOf } from "./moments.js";
import { NOTE_COLORS } from "./notes/notes_draw.js";
import { NotesLayer } from "./notes/notes_layer.js";
import { TimelineData } from "./timeline_data.js";
import { TimelineHead } from "./timeline_head.js";
import { TimelinePicking } from "./timeline_picking.js";
import { binsWords, readoutWords } from "./timeline_readout.js";
import { TrackLayer } from "./track_layer.js";
import { startRangeEdges } from "./range/range_edges.js";
import { overRow } from "./range/range_over.js";
import { RowMenu, startRows } from "./row_menu.js";
import { TrackPanel } from "./track_panel.js";
import { TRACK_COLORS } from "./track_draw.js";
import { newest } from "./timeline_decode.js";
import { AXIS, fitLabels, gutter } from "./timeline_axis.js";
import { COLORS, MOST_TRACK, drawTimeline, trackHeight } from "./timeline_draw.js";

/** How far what is stored may be behind a running capture, nanoseconds: rows are kept until there are enough for a chunk. */
const STORED_LATER_NS = 2e9;

/** Parts of the address that the panel below the tracks depends on, besides what is picked. */
const PANEL_PARTS = ["start", "end", "panel", "over", "opened", "pins", "name", "path"];

/** How near an edge is to which a dragged time snaps. */
const SNAP_PIXELS = 6;

/** Parts of the address that say which rows the tree has and where. */
const ARRANGED = ["turned", "pins", "name", "hidden", "moved", "tall", "path"];

/** The tab. */
export class TimelineView extends PanelView {
  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel);
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
    this.layer = new TrackLayer(context);
    this.head = new TimelineHead(context, this.layer);
    this.details = new TrackPanel(context, this.layer, {
      fit: (at) => this.picking.fit(at),
      walk: (way) => void this.picking.walk(way),
      follow: () => void this.picking.reveal(this.layer.followWaker()),
      back: () => void this.picking.reveal(this.layer.goBack()),
      go: (picked) => void this.picking.reveal(picked),
      path: () => this.picking.turnPath(),
      picked: () => void this.picking.reveal(Promise.resolve(this.layer.picked)),
      row: () => this.cursor.shownRow?.row ?? null,
    });
    this.readout = h("span", { class: "readout mono", "aria-live": "polite" });
    this.naming = new NameField(this.layer, {
      scroll: () => this.scroller.scrollTop,
      back: () => this.canvas.element.focus(),
    });
    this.menu = new RowMenu(this.layer, {
      rename: (key) => this.naming.open(key),
      write: (key) => this.notes.beginOn(key),
      read: (note) => this.context.state.set({ note: note.id, notes: true }),
    });
    this.division = new TimeDivision(context, {
      show: (start, end) => this.nav.view(start, end),
      changed: () => this.#divided(),
    });
    const element = h("canvas", {
      class: "timeline-canvas",
      tabindex: "0",
      role: "application",
      "aria-label": "Timeline. W and S zoom, A and D pan, the arrow keys move a cursor.",
    });
    this.spacer = h("div", { class: "timeline-spacer" });
    this.sticky = h("div", { class: "timeline-sticky" }, element);
    this.scroller = h("div", { class: "timeline-scroll" }, this.sticky, this.spacer);
    this.queries = new SqlTracks(this.context, this.layer.own, this.#forTracks());
    this.canvas = new Canvas(element, [...new Set([...COLORS, ...TRACK_COLORS, ...NOTE_COLORS])], () => this.#draw());
    fitLabels(this.canvas.width);
    element.addEventListener("measured", () => fitLabels(this.canvas.width));
    this.nav = new TimeNavigator(this.context, this.#forNavigator(element));
    this.cursor = new TimelineCursor({
      layer: this.layer,
      nav: this.nav,
      scroller: this.scroller,
      duration: () => context.duration,
      showsStates: () => this.showsStates,
      plain: () => ({ tracks: this.data.current?.tracks.length ?? 0, height: this.#track }),
      moved: () => {
        this.details.range?.showChoice();
        this.#tell();
        this.canvas.redraw();
      },
    });
    startRangeEdges(context, {
      when: () => this.visible,
      shown: () => this.shown,
      cursor: () => this.cursor.at?.time ?? null,
      over: () => overRow(this.cursor.shownRow?.row),
    });
    this.picking = new TimelinePicking({
      context,
      layer: this.layer,
      nav: this.nav,
      cursor: this.cursor,
      division: this.division,
      notes: () => this.notes,
      scroller: this.scroller,
      element,
      when: () => this.visible && this.showsStates,
      redraw: () => this.canvas.redraw(),
    });
    const parts = { nav: this.nav, canvas: this.canvas, layer: this.layer, visible: () => this.visible };
    this.finding = new FindBar(context, {
      ...parts,
      showsStates: () => this.showsStates,
      plain: () => ({
        keys: this.data.current?.tracks.map(({ key }) => key) ?? [],
        tall: this.#track,
        byCpu: this.group === "cpu",
      }),
      point: (key, time) => this.cursor.point(key, time),
    });
    this.notes = new NotesLayer(context, {
      ...parts,
      picked: () => this.picking.span,
      cursor: () => this.cursor.at?.time ?? null,
      scroll: () => this.scroller.scrollTop,
      ...this.#headsForNotes(),
    });
    this.sticky.append(this.notes.field, this.naming.element);
    const tools = [this.finding.button, this.notes.button];
    put(
      panel,
      h(
        "div",
        { class: "panel-bar" },
        this.head.groups,
        this.head.find,
        ...tools,
        this.head.more,
        this.head.unhide,
        this.division.element,
        h("span", { class: "grow" }),
        this.readout,
      ),
      this.finding.element,
      h("div", { class: "timeline-told" }, this.head.legend, this.head.arrows, this.head.filtered, this.division.words),
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

  /** What notes on tracks as a whole need of the heads of tracks. */
  #headsForNotes() {
    return {
      headAt: (/** @type {string} */ key) => {
        const shown = this.showsStates ? this.layer.rows.find(({ row }) => row.key === key) : undefined;
        return shown ? AXIS + shown.top - this.scroller.scrollTop : null;
      },
      headWords: (/** @type {number} */ y) => {
        const index = this.showsStates ? this.layer.rowAt(y, this.scroller.scrollTop) : null;
        return index === null ? "" : this.layer.noteWords(index);
      },
      showRow: (/** @type {string} */ key) => {
        if (!this.showsStates || this.layer.list === null) return false;
        if (this.layer.uncover(key)) this.cursor.point(key, this.cursor.at?.time ?? this.shown.start);
        return true;
      },
    };
  }

  /**
   * What the navigator needs.
   * @param {HTMLCanvasElement} element
   * @returns {import("../../lib/time_navigator.js").Chart}
   */
  #forNavigator(element) {
    return {
      element,
      get left() {
        return gutter.width;
      },
      width: () => this.canvas.width,
      visible: () => this.visible,
      moved: () => this.#moved(),
      pointed: () => {
        this.#tell();
        this.canvas.redraw();
        this.queries.redraw();
      },
      anchor: () => this.cursor.at?.time ?? null,
      divided: () => (this.showsStates ? this.division.now : { fold: null, beside: null }),
      snap: (time, event) => this.#snap(time, event),
      pressed: (event) => {
        this.cursor.press(event);
        this.canvas.redraw();
      },
    };
  }

  /** @param {HTMLCanvasElement} element */
  #startPlace(element) {
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
      row: () => this.cursor.row,
      moved: (key) => this.cursor.point(key, this.cursor.at?.time ?? 0),
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
    this.notes.followRows();
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
    this.layer.expire(this.visible);
    this.#drawGroups();
    if (this.visible) this.#want();
  }

  /** @param {Set<string>} parts */
  #changed(parts) {
    this.division.follow(parts);
    if (parts.has("tracks")) this.#arrange();
    if (parts.has("span")) this.#tell();
    if (parts.has("filter")) this.#drawLegend();
    if (parts.has("group")) {
      this.#drawGroups();
      this.cursor.at = null;
      this.scroller.scrollTop = 0;
      this.#arrived();
    }
    if (ARRANGED.some((part) => parts.has(part))) {
      this.layer.arrange();
      this.cursor.at = null;
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
      this.notes.followRows();
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

  /** Whether there are tracks of states or slices, or of what a script has put out, as far as that is known. */
  get hasTracks() {
    const { list, tree } = this.layer;
    const { hasTracks, isScript } = this.context;
    if (list === null) return hasTracks || isScript;
    return list.tracks.length > 0 || (isScript && tree.length > 0);
  }

  /** Whether tracks of states are shown. */
  get showsStates() {
    return this.group === "tree";
  }

  #drawGroups() {
    this.head.drawGroups(this.group, this.hasTracks);
    this.division.element.hidden = !this.showsStates;
    this.division.words.hidden = !this.showsStates;
    this.#showQueries();
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
    if (!this.visible || this.canvas.width <= gutter.width) return;
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
    if (!this.showsStates) this.queries.want();
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
    if (this.showsStates) this.head.drawTree();
    else this.head.drawBins(this.data.current, this.shown);
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
    // What a flight recorder did not keep is no loss.
    const lost = this.context.info.ledger.losses.filter(({ stage }) => stage !== "not_kept");
    return lost.map((loss) => this.context.lossRange(loss));
  }

  #draw() {
    this.#drawTracks();
    this.finding.draw(this.canvas, this.scroller.scrollTop);
    drawMoments(this.canvas, this.nav.placing, momentsOf(this.context.info));
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
        cursor: this.cursor.at && { ...this.cursor.at, depth: this.cursor.depth },
        dragged: this.dragged,
      });
      this.head.drawArrows();
      return;
    }
    drawTimeline(this.canvas, {
      shown: this.shown,
      data: this.data.current,
      scroll: this.scroller.scrollTop,
      track: this.#track,
      losses: this.#losses,
      selection: this.nav.marked,
      cursor: this.cursor.at,
    });
  }

  /** Another window is shown. */
  #moved() {
    this.legendLater();
    this.#want();
    this.#tell();
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

  /** Within the tree, tracks of queries are rows of it. */
  #showQueries() {
    this.queries.isHidden = this.showsStates;
  }

  /** Time is divided in another way. */
  #divided() {
    this.#showQueries();
    this.#want();
    this.#tell();
    this.canvas.redraw();
  }

  #startKeys() {
    const when = () => this.visible;
    bind("timeline.fit", () => this.#fit(), { when });
    bind("timeline.all", () => this.nav.all(), { when });
    bind("timeline.clear", () => this.#clear(), {
      when: () =>
        when() &&
        (this.cursor.at !== null || this.nav.selection !== null || this.layer.picked !== null || this.notes.holds),
    });
    this.canvas.element.addEventListener("keydown", (event) => this.cursor.step(event));
  }

  /** Fits what is picked, else what is selected. */
  #fit() {
    const at = this.showsStates ? this.layer.picked?.moment.at : null;
    if (at) this.picking.fit(at);
    else this.nav.fit();
  }

  #clear() {
    this.notes.clear();
    this.layer.clear();
    this.cursor.at = null;
    this.context.select(null);
    this.#tell();
    this.canvas.redraw();
  }

  /** Writes the readout. */
  #tell() {
    const { nav, notes, cursor } = this;
    const told = this.told || momentWords(nav.pointer, nav.placing, momentsOf(this.context.info));
    this.readout.textContent = readoutWords({ nav, told, notes, cursor, what: (at) => this.#what(at) });
  }

  /** @param {{time: number, track: number}} at */
  #what(at) {
    if (!this.showsStates) return binsWords(this.data.current, at, this.nav.pixel);
    const { pointer, pixel } = this.nav;
    const { depth, lane: own } = this.cursor;
    const lane = pointer ? this.layer.laneAt(at.track, pointer.y, this.scroller.scrollTop) : depth > 0 ? own : null;
    return this.layer.words(at.track, at.time, pixel * 1.5, this.#paneAt(pointer?.x), lane);
  }
}
