// The token with which others fire a flight recorder: made, told once, revoked.

import { send } from "../lib/api.js";
import { copyText, h, put } from "../lib/dom.js";
import { wall } from "../lib/format.js";
import { errorNotice, noteError } from "../lib/notice.js";

/** The part of Info about it. */
export class FlightToken {
  /** @param {import("./capture_context.js").CaptureContext} context */
  constructor(context) {
    this.context = context;
    this.element = h("div", { class: "stack" });
    this.key = "";
    /** @type {{token: string, url: string}|null} What was made while this page is open. */
    this.made = null;
  }

  /** What it says now. */
  draw() {
    const { info } = this.context;
    if (!info.flight || !info.can_change) return null;
    const token = info.fire_token;
    // It is drawn at every tick: what has the focus stays.
    const key = JSON.stringify([token, this.made]);
    if (key === this.key) return this.element;
    this.key = key;
    put(
      this.element,
      h("p", {
        class: "quiet prose",
        text: token
          ? `Whoever has the token that ${token.made_by} made ${wall(token.created_unix_ns)} can fire it, within the pause and the largest number a day.`
          : "A monitoring system can fire it with a token of its own, within the pause and the largest number a day.",
      }),
      this.made && this.#told(this.made),
      h(
        "div",
        { class: "row" },
        h("button", {
          type: "button",
          id: "make-token",
          text: token ? "Make another token" : "Make a token",
          on: { click: () => this.#make() },
        }),
        token && h("button", { type: "button", text: "Revoke the token", on: { click: () => this.#revoke() } }),
      ),
    );
    return this.element;
  }

  /** @param {{token: string, url: string}} made */
  #told({ token, url }) {
    const address = new URL(url, location.origin).href;
    const command = `curl -X POST -H 'Authorization: Bearer ${token}' ${address}`;
    return h(
      "div",
      { class: "stack" },
      h("p", {
        text: "This is shown once. Whoever has it can fire the flight recorder until it ends or the token is revoked.",
      }),
      h("pre", { class: "json", tabindex: "0", "aria-label": "The request that fires it", text: command }),
      h("div", { class: "row" }, h("button", { type: "button", text: "Copy", on: { click: () => copyText(command) } })),
    );
  }

  async #make() {
    try {
      this.made = await send("POST", "/api/captures/{id}/fire-token", { id: this.context.id });
      await this.context.refresh();
    } catch (error) {
      put(this.element, errorNotice(error));
    }
  }

  async #revoke() {
    try {
      this.made = null;
      await send("DELETE", "/api/captures/{id}/fire-token", { id: this.context.id });
      await this.context.refresh();
    } catch (error) {
      noteError(error);
    }
  }
}
