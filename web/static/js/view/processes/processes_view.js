// The Processes tab: what started what, with user, container, arguments, exit status, CPU time, threads, and lives as bars over time. A click on
// “Only” filters all views by a process and what it started.

import { get } from "../../lib/api.js";
import { h, put } from "../../lib/dom.js";
import { TAKES_NO_CONDITION, withCondition } from "../../lib/filter_text.js";
import { exact, plural } from "../../lib/format.js";
import { bind } from "../../lib/keys.js";
import { note } from "../../lib/notice.js";
import { PanelView } from "../panel_view.js";
import {
  belowWords,
  lifeBar,
  lifeWords,
  firstClosed,
  missingWords,
  ownerTitle,
  shownPlaces,
  usedBelow,
  usedWords,
  withinWords,
} from "./processes_model.js";

/** @import { ProcessLife, ProcessTree } from "../../../../api.js" */

/** The most lines that are in the page at a time. */
const MAX_LINES = 1000;

/** The tab. */
export class ProcessesView extends PanelView {
  /** @type {ProcessTree|null} */
  #tree = null;
  /** Places of lines whose processes are not shown. @type {Set<number>} */
  #closed = new Set();
  /** The place of the line that keys are for. */
  #at = 0;

  /**
   * @param {import("../../page/capture_context.js").CaptureContext} context
   * @param {HTMLElement} panel
   */
  constructor(context, panel) {
    super(context, panel, ["start", "end"]);
    this.search = h("input", {
      type: "search",
      size: "18",
      maxlength: "256",
      placeholder: "Find processes",
      "aria-label": "Find processes",
      on: { input: () => this.#draw() },
    });
    this.said = h("span", { class: "quiet small", role: "status" });
    this.missing = h("p", { class: "quiet small" });
    this.body = h("div", { class: "process-tree" });
    put(
      panel,
      h("div", { class: "panel-bar" }, this.search, h("span", { class: "grow" }), this.said),
      this.missing,
      this.problem,
      this.body,
    );
    const when = () => this.visible;
    bind("processes.walk", ({ key }) => this.#walk(key), { when });
    bind("processes.open", ({ key }) => this.#open(key === "ArrowRight"), { when });
    bind("processes.only", () => this.#only(this.#at), { when });
  }

  load() {
    const { start, end } = this.context.view;
    const { id } = this.context;
    void this.ask(
      "Reading processes",
      (signal) => get("/api/captures/{id}/processes", { id, start, end }, signal),
      (tree) => {
        this.#tree = tree;
        this.#closed = firstClosed(tree.processes);
        this.#at = 0;
        this.#draw();
      },
    );
  }

  /** Whether any process is in a container, a unit or a control group of its own. */
  get #hasGroups() {
    return this.#tree?.processes.some((life) => withinWords(life) !== "") ?? false;
  }

  /** The places that are shown: those with the text and who started them, or those that are not below a closed one. */
  get #places() {
    const processes = this.#tree?.processes ?? [];
    const wanted = this.search.value.trim().toLowerCase();
    if (!wanted) return shownPlaces(processes, this.#closed);
    const found = new Set();
    processes.forEach(
      ({ comm, pid, arguments: args = "", former = [], user = "", container = "", group = "" }, place) => {
        const texts = [comm, String(pid), args, user, container, group, ...former];
        if (!texts.some((text) => text.toLowerCase().includes(wanted))) return;
        for (let at = /** @type {number|undefined} */ (place); at !== undefined; at = processes[at].parent)
          found.add(at);
      },
    );
    return processes.map((_one, place) => place).filter((place) => found.has(place));
  }

  #draw() {
    const tree = this.#tree;
    if (!tree) return;
    if (tree.processes.length === 0) {
      put(this.body);
      put(this.missing);
      this.empty("No process is known in this range.");
      return;
    }
    const places = this.#places;
    if (!places.includes(this.#at)) this.#at = places[0] ?? 0;
    const more = tree.more + Math.max(0, places.length - MAX_LINES);
    put(
      this.said,
      `${plural(tree.processes.length, "process", "processes")}${more > 0 ? `, ${exact(more)} more not shown` : ""}`,
    );
    put(this.missing, missingWords(tree));
    const owner = [tree.has_owners && "User", this.#hasGroups && "Container or unit"].filter((head) => head !== false);
    const heads = ["Process", "PID", ...owner, "Arguments", "Ended", "CPU time", "Threads", "Life", ""];
    const numbers = ["PID", "CPU time", "Threads"];
    put(
      this.body,
      h(
        "table",
        { class: "list process-table", role: "treegrid", "aria-label": "Processes" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...heads.map((text) => h("th", { scope: "col", class: numbers.includes(text) ? "num" : null, text })),
          ),
        ),
        h("tbody", {}, ...places.slice(0, MAX_LINES).map((place) => this.#line(tree, place))),
      ),
    );
  }

  /**
   * @param {ProcessTree} tree
   * @param {number} place
   */
  #line(tree, place) {
    const life = tree.processes[place];
    const { pid, comm, depth, former = [], arguments: args = "", ended = "", threads } = life;
    const isOpen = !this.#closed.has(place);
    const bar = h("span", { class: "life" });
    const { left, width } = lifeBar(life, tree);
    Object.assign(bar.style, { marginLeft: `${left}%`, width: `${width}%` });
    const fold = h("button", {
      type: "button",
      class: "plain call-fold",
      tabindex: "-1",
      hidden: life.descendants === 0,
      text: isOpen ? "▾" : "▸",
      title: `${isOpen ? "Close" : "Open"} ${comm}`,
      on: { click: () => this.#fold(place, !isOpen) },
    });
    const indent = h("span", { class: "call-indent" });
    indent.style.width = `${Math.min(depth, 20) * 16}px`;
    const used = usedWords(isOpen ? life : usedBelow(tree.processes, place));
    return h(
      "tr",
      {
        class: place === this.#at ? "is-current" : "",
        tabindex: place === this.#at ? "0" : "-1",
        data: { place: String(place) },
        "aria-level": String(depth + 1),
        "aria-expanded": life.descendants > 0 ? String(isOpen) : null,
        on: {
          focus: () => this.#select(place),
          click: () => this.#select(place),
        },
      },
      h(
        "td",
        { class: "process-name", title: former.length > 0 ? `Before: ${former.join(", ")}` : null },
        indent,
        fold,
        h("span", { class: "mono", text: comm || "[no name]" }),
        !isOpen && h("span", { class: "quiet small", text: ` + ${belowWords(life)}` }),
      ),
      h("td", { class: "num mono", text: String(pid) }),
      ...(tree.has_owners ? this.#owner(life) : []),
      h("td", { class: "cut mono", title: args, text: args }),
      h("td", { class: "mono", text: ended || (life.end === undefined ? "" : "ended") }),
      h("td", { class: "num mono", text: used, title: isOpen ? null : "With what it started" }),
      h("td", { class: "num mono", text: String(threads) }),
      h("td", { class: "life-cell", title: lifeWords(life) }, bar),
      h(
        "td",
        {},
        life.filter
          ? h("button", {
              type: "button",
              class: "plain",
              tabindex: "-1",
              text: "Only",
              "aria-label": `Only ${comm} ${pid} and what it started`,
              title: `Show only rows of it and of what it started, in all views${life.is_shared ? "; another process had one of these ids" : ""}`,
              on: { click: () => this.#only(place) },
            })
          : h("span", {
              class: "quiet small",
              text: "too many",
              title: "So many processes are below it that no condition says them all; choose one of them",
            }),
      ),
    );
  }

  /** @param {ProcessLife} life */
  #owner(life) {
    const look = life.is_inherited ? "quiet" : "";
    return [
      h("td", { class: `mono owner-cell ${look}`, title: ownerTitle(life), text: life.user ?? "" }),
      this.#hasGroups &&
        h("td", { class: `cut mono owner-cell ${look}`, title: ownerTitle(life), text: withinWords(life) }),
    ];
  }

  /**
   * @param {number} place
   * @param {boolean} open
   */
  #fold(place, open) {
    if (open) this.#closed.delete(place);
    else this.#closed.add(place);
    this.#at = place;
    this.#draw();
    this.#focus();
  }

  /** @param {number} place */
  #select(place) {
    if (place === this.#at) return;
    this.#row(this.#at)?.classList.remove("is-current");
    this.#row(this.#at)?.setAttribute("tabindex", "-1");
    this.#at = place;
    this.#row(place)?.classList.add("is-current");
    this.#row(place)?.setAttribute("tabindex", "0");
  }

  /** @param {number} place */
  #row(place) {
    const row = this.body.querySelector(`tr[data-place="${place}"]`);
    return row instanceof HTMLElement ? row : null;
  }

  #focus() {
    this.#row(this.#at)?.focus();
  }

  /** @param {string} key */
  #walk(key) {
    const places = this.#places.slice(0, MAX_LINES);
    const at = places.indexOf(this.#at);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: places.length - 1 }[key] ?? at;
    this.#select(places[Math.min(places.length - 1, Math.max(0, to))] ?? 0);
    this.#focus();
  }

  /** @param {boolean} open */
  #open(open) {
    const life = this.#tree?.processes[this.#at];
    if (!life) return;
    const isOpen = !this.#closed.has(this.#at);
    if (life.descendants > 0 && open !== isOpen) this.#fold(this.#at, open);
    else if (!open && life.parent !== undefined) {
      this.#select(life.parent);
      this.#focus();
    } else if (open) this.#walk("ArrowDown");
  }

  /**
   * All views show only rows of a process and of what it started.
   * @param {number} place
   */
  #only(place) {
    const processes = this.#tree?.processes ?? [];
    const filter = processes[place]?.filter;
    if (!filter) return;
    const before = this.context.view.filter;
    // Another part of the tree is chosen instead of the one before, not within it.
    const isOne = processes.some((life) => life.filter === before);
    const both = isOne ? filter : withCondition(before, filter);
    if (both === null) note(TAKES_NO_CONDITION, { stop: true });
    else this.context.state.set({ filter: both });
  }
}
