// Tokens for programs, as a table with a button that revokes each.

import { send } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { wall } from "../lib/format.js";
import { note, showError, waitFor } from "../lib/notice.js";
import { listTable } from "./list_table.js";
import { usedWords } from "./people_words.js";

/** @import { ApiTokenItem } from "../../../api.js" */

/**
 * @param {ApiTokenItem[]} tokens
 * @param {"/api/own/tokens/{token}"|"/api/tokens/{token}"} path of the route that revokes one
 * @param {() => void} again
 */
export function tokenTable(tokens, path, again) {
  const withOwner = path === "/api/tokens/{token}";
  /** @type {import("./list_table.js").Head[]} */
  const heads = [["Token"], ["Role"], ["Last used"], ["Expires"], ["Actions"]];
  const now = Date.now() * 1e6;
  /** @param {ApiTokenItem} token */
  const row = (token) => {
    const revoke = async () => {
      try {
        await waitFor("Revoking the token", send("DELETE", path, { token: token.id }));
        note(`Revoked “${token.name}”. What asks by it is refused.`);
        again();
      } catch (error) {
        showError(button.parentElement ?? button, error, again);
      }
    };
    const button = h("button", {
      type: "button",
      class: "plain",
      "aria-label": `Revoke ${token.name}`,
      text: "Revoke",
      on: { click: revoke },
    });
    const below = [withOwner && `of ${token.owner}`, !token.enabled && "of no use while the account is disabled"];
    return h(
      "tr",
      {},
      h(
        "td",
        { class: "name" },
        token.name,
        h("div", { class: "quiet", text: below.filter(Boolean).join(", ") || wall(token.created_unix_ns) }),
      ),
      h("td", { text: token.role }),
      h("td", { text: usedWords(token, now) }),
      h("td", { text: wall(token.expires_unix_ns) }),
      h("td", {}, button),
    );
  };
  return listTable(heads, tokens.map(row));
}
