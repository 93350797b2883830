// Finding a place to probe: a field with suggestions over everything that this host has, and programs that are opened to find
// their functions.

import { get } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { h, put } from "../lib/dom.js";
import { exact } from "../lib/format.js";

/** @import { FoundSite } from "../../../api.js" */

const MOST = 40;

/**
 * A program and what of it is looked for, where both are typed as one: `/usr/bin/bash:readline`.
 * @param {string} typed
 * @returns {{file: string, query: string}|null}
 */
export function inFile(typed) {
  const found = /^(\/[^:]*):(.*)$/.exec(typed.trim());
  return found ? { file: found[1], query: found[2] } : null;
}

/**
 * The site that a typed text is: as scripts write it, or a pattern of kernel functions or of tracepoints.
 * @param {string} typed
 * @param {string} file the program that is open
 */
export function typedSite(typed, file) {
  const text = typed.trim();
  if (!text || /\s/.test(text)) return "";
  if (file) return /[*?[]/.test(text) ? `uprobe:${file}:${text}` : "";
  if (
    /^(begin|BEGIN|(tracepoint|t|rawtracepoint|rt|kprobe|k|kretprobe|kr|fentry|f|fexit|fr|uprobe|u|uretprobe|ur|usdt|U|profile|p|interval|i|software|s|hardware|h|watchpoint|w|iter|it):.+)$/.test(
      text,
    )
  )
    return text;
  if (!/[*?[]/.test(text)) return "";
  return text.includes(":") ? `tracepoint:${text}` : `kprobe:${text}`;
}

/** @param {FoundSite} found */
function detailOf({ note, prototype, works, in: within, file }) {
  if (file) return note;
  const parts = [!works && "cannot be probed here", prototype || note, !prototype && within];
  return parts.filter(Boolean).join(" · ");
}

/** A field in which places are found. */
export class SiteFind {
  /**
   * @param {object} parts
   * @param {HTMLInputElement} parts.input
   * @param {HTMLElement} parts.scope shows the program that is open
   * @param {(site: string) => void} parts.pick
   * @param {(why: string) => void} parts.say
   */
  constructor({ input, scope, pick, say }) {
    this.input = input;
    this.scope = scope;
    this.pick = pick;
    this.say = say;
    this.file = "";
    this.total = 0;
    this.list = new Combobox({
      input,
      empty: "No match.",
      firstIsActive: false,
      head: () => (this.total > MOST ? h("span", { class: "quiet", text: `${exact(this.total)} match` }) : null),
      source: (query, signal) => this.#find(query, signal),
      pick: ({ value }) => this.#picked(value),
      enter: (query) => this.#entered(query),
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Backspace" && input.value === "" && this.file) this.#open("");
    });
  }

  /**
   * @param {string} query
   * @param {AbortSignal} signal
   * @returns {Promise<import("../lib/combobox.js").Item[]>}
   */
  async #find(query, signal) {
    const typed = this.file ? null : inFile(query);
    const { total, items } = await get(
      "/api/builder/find",
      { q: (typed?.query ?? query).trim(), in: typed?.file ?? this.file, limit: MOST },
      signal,
    );
    this.total = total;
    return items.map((one) => ({
      label: one.name,
      detail: detailOf(one),
      group: one.title,
      wide: true,
      value: one,
    }));
  }

  /** @param {FoundSite} found */
  #picked({ site, file }) {
    this.input.value = "";
    if (file) this.#open(file);
    else this.pick(site);
  }

  /** @param {string} query */
  async #entered(query) {
    const site = typedSite(query, this.file);
    if (site) {
      this.input.value = "";
      this.list.close();
      this.pick(site);
      return;
    }
    // Enter without a choice takes the best one.
    try {
      const typed = this.file ? null : inFile(query);
      const { items } = await get("/api/builder/find", {
        q: (typed?.query ?? query).trim(),
        in: typed?.file ?? this.file,
        limit: 1,
      });
      if (items[0] && query.trim()) {
        this.list.close();
        this.#picked(items[0]);
      } else if (query.trim()) this.say(`No probe site on this host matches “${query.trim()}”.`);
    } catch {
      // The list below the field says what is wrong.
    }
  }

  /**
   * Looks for functions and markers of a program; of the whole host without one.
   * @param {string} file
   */
  #open(file) {
    this.file = file;
    put(
      this.scope,
      file &&
        h(
          "button",
          {
            type: "button",
            class: "plain",
            "aria-label": `In ${file}; search the whole host`,
            title: "Search the whole host",
            on: {
              click: () => {
                this.#open("");
                this.input.focus();
              },
            },
          },
          "in ",
          h("code", { text: file }),
          " ×",
        ),
    );
    if (file) {
      this.input.focus();
      this.list.refresh();
    }
  }
}
