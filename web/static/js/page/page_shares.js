// Shares: links that show captures and investigations to people without a login. An operator sees their own, an admin all, and allows them.

import { get, send } from "../lib/api.js";
import { byId, h, put } from "../lib/dom.js";
import { ago, plural, wall } from "../lib/format.js";
import { listTable, titleCell } from "./list_table.js";
import { note, showError, waitFor } from "../lib/notice.js";
import { removedWords, shownWords } from "./share_words.js";
import { startShell } from "./shell.js";

/** @type {import("./list_table.js").Head[]} */
const HEADS = [["Share"], ["Shows"], ["Made by"], ["Expires"], ["Last used"], ["Actions"]];

/** @import { ShareItem, ShareList } from "../../../api.js" */

/** @param {ShareList} list */
function showAllowed({ allowed, can_allow: mayAllow }) {
  const words = allowed
    ? "Shares are allowed in this console."
    : "Shares are not allowed in this console: none can be made, and none shows anything.";
  const turn = async () => {
    try {
      await send("POST", "/api/shares/allowed", {}, { allowed: !allowed });
      note(allowed ? "Shares are forbidden. Open pages of theirs end." : "Shares are allowed.");
      await load();
      byId("allow-shares").focus();
    } catch (error) {
      showError(byId("shares-problem"), error);
    }
  };
  put(
    byId("shares-allowed"),
    h("span", { text: words }),
    mayAllow
      ? h("button", {
          type: "button",
          id: "allow-shares",
          text: allowed ? "Forbid shares" : "Allow shares",
          on: { click: turn },
        })
      : !allowed && h("span", { class: "quiet", text: "An admin allows them." }),
  );
}

/** @param {ShareItem} one */
function row(one) {
  const revoke = async () => {
    try {
      await waitFor("Revoking the share", send("DELETE", "/api/shares/{share}", { share: one.id }));
      note(`Revoked “${one.title}”. Its link shows nothing any more.`);
      await load();
    } catch (error) {
      showError(byId("shares-problem"), error);
    }
  };
  const href = one.investigation === null ? `/captures/${one.capture}` : `/investigations/${one.investigation}`;
  const used =
    one.last_used_unix_ns === null
      ? "never"
      : `${ago(one.last_used_unix_ns, Date.now())}, opened ${plural(one.opened, "time")}`;
  return h(
    "tr",
    {},
    titleCell(one.title, href),
    h(
      "td",
      {},
      shownWords(one),
      one.removes.length > 0 && h("div", { class: "quiet", text: removedWords(one) }),
      one.preview && h("div", { class: "quiet", text: "Chats show a preview of it." }),
    ),
    h("td", {}, one.owner, h("div", { class: "quiet", text: wall(one.created_unix_ns) })),
    h("td", { text: wall(one.expires_unix_ns) }),
    h("td", { text: used }),
    h(
      "td",
      {},
      h("button", {
        type: "button",
        class: "plain",
        "aria-label": `Revoke ${one.title}`,
        text: "Revoke",
        on: { click: revoke },
      }),
    ),
  );
}

async function load() {
  try {
    const list = await get("/api/shares");
    showAllowed(list);
    put(
      byId("shares"),
      list.items.length === 0
        ? h("p", { class: "empty", text: "There is no share." })
        : listTable(HEADS, list.items.map(row)),
    );
  } catch (error) {
    showError(byId("shares-problem"), error, load);
  }
}

startShell();
load();
