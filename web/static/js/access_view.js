// Who can come in: sessions and unused login links as tables, each with a button that ends it. For admins.

import { get, send } from "./api.js";
import { h, put } from "./dom.js";
import { duration } from "./format.js";
import { note, showError, waitFor } from "./notice.js";

const time = (seconds) => duration(seconds * 1e9);

/**
 * Puts sessions and links into an element.
 * @param {HTMLElement} element
 */
export async function showAccess(element) {
  const again = () => showAccess(element);
  try {
    const { sessions, links } = await get("/api/access");
    put(element, table(["User", "Role", "Logged in for", "Last used", "Ends in", "Actions"], sessions.map((one) => sessionRow(one, again))),
      links.length ? table(["Link for", "Role", "State", "Its session", "Ends in", "Actions"], links.map((one) => linkRow(one, again))) : h("p", { class: "quiet", text: "There is no unused login link." }));
  } catch (error) {
    showError(element, error, again);
  }
}

function table(heads, rows) {
  return h("div", { class: "scroll-x", tabindex: "0" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col", text })))), h("tbody", {}, ...rows)));
}

function endButton(what, path, again) {
  const end = async () => {
    try {
      await waitFor(`Ending ${what}`, send("DELETE", path));
      note(`Ended ${what}.`);
      again();
    } catch (error) {
      showError(button.parentElement, error, again);
    }
  };
  const button = h("button", { type: "button", class: "plain", "aria-label": `End ${what}`, text: "End", on: { click: end } });
  return button;
}

function sessionRow(one, again) {
  const what = `the session of ${one.user}`;
  return h("tr", {}, h("td", { text: one.user }), h("td", { text: one.role }), h("td", { class: "num", text: time(one.age_s) }),
    h("td", { class: "num", text: one.current ? "now, by you" : `${time(one.unused_s)} ago` }), h("td", { class: "num", text: time(one.ends_in_s) }),
    h("td", {}, one.current ? "" : endButton(what, `/api/access/sessions/${one.id}`, again)));
}

function linkRow(one, again) {
  return h("tr", {}, h("td", { text: one.user }), h("td", { text: one.role }), h("td", { text: "not used" }), h("td", { text: `ends in ${time(one.session_ends_in_s)}` }),
    h("td", { class: "num", text: time(one.ends_in_s) }), h("td", {}, endButton(`the link for ${one.user}`, `/api/access/links/${one.id}`, again)));
}
