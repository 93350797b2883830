// Who is busy, on the start page: one list at a time, told anew once a second while the page is visible.

import { byId, h, put } from "../lib/dom.js";
import { ProcessFilesView } from "./process_files_view.js";
import { listen } from "../lib/live.js";
import { FEW, LISTS, MANY, hostFacts, leftOut, measured, placed, sorted } from "./busy_model.js";

/** @import { Activity, ProcessActivity } from "../../../api.js" */
/** @typedef {import("./busy_model.js").Cell} Cell */
/** @typedef {import("./busy_model.js").List} List */
/** @typedef {import("./busy_model.js").Measure} Measure */
/** @typedef {import("./busy_model.js").Row} Row */

/** The panel. */
export class BusyView {
  /** @param {HTMLElement} place */
  constructor(place) {
    /** @type {Activity|null} */
    this.last = null;
    this.list = LISTS[0];
    /** @type {Record<string, Measure>} by list */
    this.by = Object.fromEntries(LISTS.map((list) => [list.name, list.measures[0]]));
    this.most = FEW;
    /** @type {Map<string, {element: HTMLTableRowElement, row: Row}>} */
    this.shown = new Map();

    this.facts = h("dl", { class: "busy-facts", "aria-label": "The whole host" });
    this.choice = h(
      "div",
      { class: "segments", role: "group", "aria-label": "Who is busy, by" },
      ...LISTS.map((list) =>
        h("button", {
          type: "button",
          text: list.label,
          "aria-pressed": String(list === this.list),
          data: { list: list.name },
          on: { click: () => this.choose(list) },
        }),
      ),
    );
    this.head = h("thead");
    this.body = h("tbody");
    this.table = h("table", { class: "list busy-table", "aria-label": this.list.label }, this.head, this.body);
    this.note = h("p", { class: "quiet", role: "status", text: "The first figures come after a second." });
    this.more = h("button", { type: "button", class: "plain", on: { click: () => this.toggleMore() } });
    this.left = h("span", { class: "quiet small" });
    this.foot = h("p", { class: "row", hidden: true }, this.left, this.more);
    this.scroll = h(
      "div",
      { class: "scroll-x", tabindex: "0", role: "region", "aria-label": this.list.label },
      this.table,
    );
    this.table.hidden = true;
    this.files = new ProcessFilesView();
    put(place, this.facts, this.choice, this.note, this.scroll, this.foot, this.files.element);
    listen("/api/busy", {}, { activity: (all) => this.show(all), absent: ({ why }) => this.missing(why) }, (there) => {
      if (!there) this.say("No connection to the console. It is tried again.");
    });
  }

  /** @param {string} text empty for nothing */
  say(text) {
    // Only what is new is put there, so that it is read out once.
    if (this.note.textContent !== text) this.note.textContent = text;
    this.note.hidden = !text;
  }

  /** @param {string} why */
  missing(why) {
    this.say(`Not known: ${why}.`);
    this.last = null;
    this.table.hidden = true;
    this.foot.hidden = true;
    put(this.facts);
  }

  /** @param {Activity} all */
  show(all) {
    this.last = all;
    const facts = hostFacts(all.host);
    put(
      this.facts,
      ...facts.map(({ name, value, title }) => h("div", { title }, h("dt", { text: name }), h("dd", { text: value }))),
    );
    this.draw(this.isRead());
  }

  /** Whether somebody points at the rows, or is among them with the keyboard. */
  isRead() {
    return this.body.matches(":hover") || this.body.contains(document.activeElement);
  }

  /** @param {List} list */
  choose(list) {
    this.list = list;
    for (const button of this.choice.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.list === list.name));
    for (const element of [this.scroll, this.table]) element.setAttribute("aria-label", list.label);
    this.shown.clear();
    put(this.head);
    put(this.body);
    this.draw(false);
  }

  /** @param {Measure} measure */
  sortBy(measure) {
    this.by[this.list.name] = measure;
    this.draw(false);
  }

  toggleMore() {
    this.most = this.most === FEW ? MANY : FEW;
    this.draw(false);
  }

  drawHead() {
    const { labels, measures } = this.list;
    const by = this.by[this.list.name];
    const focused = this.head.contains(document.activeElement);
    /** @param {Measure} measure */
    const sortable = (measure) =>
      h(
        "th",
        { scope: "col", class: "num", "aria-sort": measure === by ? "descending" : "none", title: measure.title },
        h(
          "button",
          { type: "button", class: "sort", on: { click: () => this.sortBy(measure) } },
          measure.heading,
          h("span", { "aria-hidden": "true", text: measure === by ? "\u00a0↓" : "" }),
        ),
      );
    put(
      this.head,
      h(
        "tr",
        {},
        ...labels.map(([text, num]) => h("th", { scope: "col", class: num ? "num" : null, text })),
        ...measures.map(sortable),
        h("th", { scope: "col" }, h("span", { class: "offscreen", text: "Record" })),
      ),
    );
    const again = this.head.querySelector("[aria-sort=descending] button");
    if (focused && again instanceof HTMLElement) again.focus();
  }

  /** @param {boolean} held whether rows keep their places */
  draw(held) {
    if (!this.last) return;
    const { rows, total } = this.list.of(this.last);
    const by = this.by[this.list.name];
    const before = held ? new Map([...this.shown].map(([key, { row }]) => [key, row])) : null;
    const now = placed(this.list, sorted(rows, by), this.most, before);
    const drawn = this.head.dataset.drawn;
    const head = `${this.list.name} ${by.key}`;
    if (drawn !== head || !this.head.firstChild) {
      this.drawHead();
      this.head.dataset.drawn = head;
    }
    /** @type {typeof this.shown} */
    const next = new Map();
    for (const { row, gone } of now) {
      const key = this.list.key(row);
      const element = this.shown.get(key)?.element ?? h("tr");
      this.fillRow(element, row, gone);
      next.set(key, { element, row });
    }
    // Only what moves is moved: a row that has the focus would lose it.
    const wanted = [...next.values()].map(({ element }) => element);
    for (const { element } of this.shown.values()) if (!wanted.includes(element)) element.remove();
    wanted.forEach((element, at) => {
      if (this.body.children[at] !== element) this.body.insertBefore(element, this.body.children[at] ?? null);
    });
    this.shown = next;
    this.table.hidden = now.length === 0;
    this.say(now.length ? "" : this.list.empty);
    const unread = this.list.name === "processes" ? this.last.processes_unread : 0;
    this.left.textContent = leftOut(now.length, total, unread);
    this.more.hidden = total <= FEW;
    this.more.textContent = this.most === FEW ? `Show ${MANY} rows` : `Show ${FEW} rows`;
    this.foot.hidden = total <= FEW;
  }

  /**
   * @param {HTMLTableRowElement} element
   * @param {Row} row
   * @param {boolean} gone
   */
  fillRow(element, row, gone) {
    const cells = [...this.list.cells(row), ...this.list.measures.map((measure) => measured(row, measure))];
    if (!element.firstChild) {
      for (const cell of cells) element.append(h("td", { class: classOf(cell) }));
      if (this.list.opens) element.children[0].append(this.openerOf(row));
      element.append(h("td", { class: "busy-do" }, this.linkOf(row)));
    }
    cells.forEach(({ text, title }, at) => {
      const td = /** @type {HTMLElement} */ (element.children[at]);
      const place = td.firstElementChild ?? td;
      if (place.textContent !== text) place.textContent = text;
      td.title = gone ? "Gone" : (title ?? "");
    });
    element.classList.toggle("quiet", gone);
  }

  /**
   * The name of a process, which shows what it has open.
   * @param {Row} row
   */
  openerOf(row) {
    const process = /** @type {ProcessActivity} */ (row);
    return h("button", {
      type: "button",
      class: "busy-open",
      "aria-description": "Shows its open files and sockets",
      on: { click: () => this.files.show(process) },
    });
  }

  /** @param {Row} row */
  linkOf(row) {
    const href = this.list.target(row);
    if (!href) return null;
    const [{ text }] = this.list.cells(row);
    return h(
      "a",
      {
        class: "button plain",
        href,
        "aria-label": this.list.device ? `${text}: why is it slow?` : `${text}: what does it do?`,
        title: "Opens the form with what is recorded for an answer",
      },
      this.list.device ? "Why is it slow?" : "What does it do?",
    );
  }
}

/** @param {Cell} cell */
const classOf = ({ num, wide }) => (num ? "num" : wide ? "busy-name mono" : "cut");

/** Fills the panel of the start page, where it is for who sees it. */
export function startBusy() {
  if (document.getElementById("busy")) new BusyView(byId("busy"));
}
