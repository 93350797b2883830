// The part of the form for a new capture that starts a command: who may, and as whom it runs.

import { get } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { byId, copyText, inputOf, h, put } from "../lib/dom.js";
import { note, showError } from "../lib/notice.js";

/** @import { Commands } from "../../../api.js" */

/**
 * Why no command can be started here, and what would allow it.
 * @param {Commands} about
 */
function refusal({ why, remedy, start }) {
  const copy = async () => {
    if (await copyText(start)) note("Copied the command line.", { ms: 2500 });
  };
  return h(
    "div",
    { class: "notice" },
    h("p", {}, h("strong", { text: "Commands cannot be started here: " }), `${why}. ${remedy}`),
    start &&
      h(
        "div",
        { class: "row" },
        h("code", { class: "mono grow", text: start }),
        h("button", { type: "button", class: "plain", text: "Copy", on: { click: copy } }),
      ),
  );
}

/** The users that a command can run as. */
export class CommandForm {
  /** @type {Promise<Commands|null>|null} */
  #about = null;

  constructor() {
    this.user = inputOf("run-as");
    new Combobox({
      input: this.user,
      keepsText: true,
      empty: "Commands cannot run as this user here.",
      source: (query, signal) => this.#users(query.trim(), signal),
      pick: () => {},
    });
  }

  /**
   * @param {string} query
   * @param {AbortSignal} signal
   */
  async #users(query, signal) {
    const about = await this.#about;
    const found =
      !about || about.any_user
        ? (await get("/api/users", { q: query }, signal)).items
        : about.users.filter((name) => name.includes(query));
    return found.map((label) => ({ label }));
  }

  /** The part is in sight: says whether commands can be started, before one is written. */
  show() {
    this.#about ??= this.#load();
  }

  async #load() {
    try {
      const about = await get("/api/commands");
      put(byId("command-about"), !about.may_run && refusal(about));
      this.user.placeholder = about.any_user ? "root" : (about.users[0] ?? "");
      return about;
    } catch (error) {
      this.#about = null;
      showError(byId("command-about"), error, () => this.show());
      return null;
    }
  }
}
