// Who can come in: sessions and unused login links as tables, each with a button that ends it. For admins.

import { get, send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { duration } from "../lib/format.js";
import { note, showError, waitFor } from "../lib/notice.js";

/** @import { LinkItem, Shown as SessionItem } from "../../../api.js" */

/** @param {number} seconds */
const time = (seconds) => duration(seconds * 1e9);

/**
 * Puts sessions and links into an element.
 * @param {HTMLElement} element
 */
export async function showAccess(element) {
  const again = () => showAccess(element);
  try {
    const { sessions, links } = await get("/api/access");
    put(
      element,
      table(
        ["User", "Last used", "Session ends in"],
        sessions.map((one) => sessionRow(one, again)),
      ),
      links.length
        ? table(
            ["Unused link for", "Gives a session of", "Link ends in"],
            links.map((one) => linkRow(one, again)),
          )
        : h("p", { class: "quiet", text: "There is no unused login link." }),
    );
  } catch (error) {
    showError(element, error, again);
  }
}

// The first column is text, those after it are lengths of time.
/**
 * @param {string[]} heads
 * @param {HTMLElement[]} rows
 */
function table(heads, rows) {
  /**
   * @param {string} text
   * @param {number} index
   */
  const head = (text, index) => h("th", { scope: "col", class: index > 0 && "num", text });
  return h(
    "div",
    { class: "scroll-x", tabindex: "0" },
    h(
      "table",
      { class: "list access-table" },
      h("thead", {}, h("tr", {}, ...heads.map(head), h("th", { scope: "col", text: "Actions" }))),
      h("tbody", {}, ...rows),
    ),
  );
}

// A user with the role below.
/** @param {{user: string, role: string}} one */
function who({ user, role }) {
  return h("td", { class: "name" }, user, h("div", { class: "quiet", text: role }));
}

/**
 * @param {string} what
 * @param {() => Promise<unknown>} send ends it
 * @param {() => void} again
 */
function endButton(what, send, again) {
  const end = async () => {
    try {
      await waitFor(`Ending ${what}`, send());
      note(`Ended ${what}.`);
      again();
    } catch (error) {
      showError(button.parentElement ?? button, error, again);
    }
  };
  const button = h("button", {
    type: "button",
    class: "plain",
    "aria-label": `End ${what}`,
    text: "End",
    on: { click: end },
  });
  return button;
}

/**
 * @param {SessionItem} one
 * @param {() => void} again
 */
function sessionRow(one, again) {
  const what = `the session of ${one.user}`;
  const used = one.current ? "now, by you" : `${time(one.unused_s)} ago`;
  return h(
    "tr",
    {},
    who(one),
    h("td", { class: "num" }, used, h("div", { class: "quiet", text: `logged in ${time(one.age_s)} ago` })),
    h("td", { class: "num", text: time(one.ends_in_s) }),
    h(
      "td",
      {},
      one.current ? "" : endButton(what, () => send("DELETE", "/api/access/sessions/{id}", { id: one.id }), again),
    ),
  );
}

/**
 * @param {LinkItem} one
 * @param {() => void} again
 */
function linkRow(one, again) {
  const end = () => send("DELETE", "/api/access/links/{id}", { id: one.id });
  return h(
    "tr",
    {},
    who(one),
    h("td", { class: "num", text: time(one.session_ends_in_s) }),
    h("td", { class: "num", text: time(one.ends_in_s) }),
    h("td", {}, endButton(`the link for ${one.user}`, end, again)),
  );
}
