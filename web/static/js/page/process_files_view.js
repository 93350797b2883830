// What a process has open, below the list of processes on the start page.

import { Latest, get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { exact, plural } from "../lib/format.js";
import { showError } from "../lib/notice.js";

/** @import { OpenFiles, ProcessActivity } from "../../../api.js" */

/** Descriptors that are shown; more are counted. */
const MOST = 500;

/** @type {Record<OpenFiles["files"][number]["kind"], string>} */
const KINDS = { file: "File", socket: "Socket", pipe: "Pipe", other: "Other" };

/** The part of the page that shows them; not there until something is shown. */
export class ProcessFilesView {
  constructor() {
    this.latest = new Latest();
    this.title = h("h3", { id: "open-files-title", tabindex: "-1" });
    this.content = h("div");
    this.again = h("button", { type: "button", class: "plain", text: "Read again" });
    const close = h("button", { type: "button", class: "plain", text: "Close", on: { click: () => this.close() } });
    this.element = h(
      "section",
      { class: "open-files", "aria-labelledby": "open-files-title", hidden: true },
      h("div", { class: "row" }, this.title, this.again, close),
      this.content,
    );
    /** @type {HTMLElement|null} what the focus goes back to */
    this.opener = null;
  }

  /** @param {ProcessActivity} process */
  async show(process) {
    if (this.element.hidden && document.activeElement instanceof HTMLElement) this.opener = document.activeElement;
    this.title.textContent = `Open files and sockets of ${process.comm} (${process.pid})`;
    this.again.onclick = () => this.show(process);
    this.element.hidden = false;
    try {
      const params = { pid: process.pid, started: process.start_ticks };
      const open = await this.latest.run((signal) => get("/api/processes/{pid}/files", params, signal));
      if (!open) return;
      this.fill(open);
    } catch (error) {
      showError(this.content, error, () => this.show(process));
    }
    this.title.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.latest.cancel();
    this.element.hidden = true;
    if (this.opener?.isConnected) this.opener.focus();
    this.opener = null;
  }

  /** @param {OpenFiles} open */
  fill(open) {
    const shown = open.files.slice(0, MOST);
    const more = open.files.length - shown.length;
    put(
      this.content,
      open.directory &&
        h("p", { class: "quiet" }, "Working directory ", h("span", { class: "mono", text: open.directory })),
      shown.length === 0 && h("p", { class: "quiet", text: "It has nothing open." }),
      shown.length > 0 &&
        h(
          "div",
          {
            class: "open-files-list",
            tabindex: "0",
            role: "region",
            "aria-label": plural(open.files.length, "descriptor"),
          },
          h(
            "table",
            { class: "list" },
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ...["Descriptor", "Kind", "What"].map((text, at) =>
                  h("th", { scope: "col", class: at ? null : "num", text }),
                ),
              ),
            ),
            h(
              "tbody",
              {},
              ...shown.map(({ fd, kind, name }) =>
                h(
                  "tr",
                  {},
                  h("td", { class: "num", text: String(fd) }),
                  h("td", { text: KINDS[kind] }),
                  h("td", { class: "mono", text: name }),
                ),
              ),
            ),
          ),
        ),
      (more > 0 || open.cut) &&
        h("p", {
          class: "quiet",
          text: open.cut ? `${exact(more)} more that were read, and others that were not.` : `${exact(more)} more.`,
        }),
    );
  }
}
