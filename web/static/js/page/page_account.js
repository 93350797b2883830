// What somebody has of their own: password, sessions, tokens for programs.

import { get, send } from "../lib/api.js";
import { actInDialog } from "../lib/ask_dialog.js";
import { byId, h, put } from "../lib/dom.js";
import { duration } from "../lib/format.js";
import { errorNotice, note, showError, waitFor } from "../lib/notice.js";
import { listTable } from "./list_table.js";
import { showOnce } from "./once_dialog.js";
import { groupWords, rolesUpTo } from "./people_words.js";
import { startShell } from "./shell.js";
import { tokenTable } from "./token_table.js";

/** @import { OwnAccess, OwnSession } from "../../../api.js" */

/** @param {OwnAccess} own */
function about(own) {
  return [who(own), groupWords(own.groups)].filter(Boolean).join(" ");
}

/** @param {OwnAccess} own */
function who({ user, role, by, account }) {
  if (by === "proxy") return `${user}, ${role}. The proxy in front of this console says who you are.`;
  if (account) return `${user}, ${role}.`;
  return `${user}, ${role}. You have come by a login link, and there is no account of this name: an admin makes one on the page People, or bathyscope people add does.`;
}

/** @param {OwnAccess} own */
function passwordForm({ user, least_chars: least, most_chars: most }) {
  /**
   * @param {string} id
   * @param {Record<string, unknown>} props
   */
  const field = (id, props) => h("input", { type: "password", id, required: true, maxlength: String(most), ...props });
  const old = field("old-password", { autocomplete: "current-password" });
  const fresh = field("new-password", { autocomplete: "new-password", minlength: String(least) });
  const again = field("again", { autocomplete: "new-password" });
  const problem = h("div", { role: "alert" });
  const change = async () => {
    put(problem);
    if (fresh.value !== again.value) {
      put(problem, h("p", { class: "notice notice-stop", text: "The new password is not the same twice." }));
      return;
    }
    try {
      const asked = { old: old.value, new: fresh.value };
      await waitFor("Changing the password", send("POST", "/api/own/password", {}, asked));
      note("The password is changed. Your other sessions have ended.");
      form.reset();
      void load();
    } catch (error) {
      put(problem, errorNotice(error));
    }
  };
  /**
   * @param {string} text
   * @param {HTMLInputElement} input
   */
  const line = (text, input) => h("div", { class: "field" }, h("label", { for: input.id, text }), input);
  const name = h("input", { type: "text", autocomplete: "username", hidden: true, readonly: true });
  name.value = user;
  const form = h(
    "form",
    {
      class: "own-form",
      on: {
        submit: (event) => {
          event.preventDefault();
          void change();
        },
      },
    },
    name,
    line("The password now", old),
    line(`The new one, at least ${least} characters`, fresh),
    line("The same again", again),
    problem,
    h("div", { class: "row" }, h("button", { class: "primary", text: "Change password" })),
  );
  return form;
}

/** @param {OwnSession[]} sessions */
function sessionTable(sessions) {
  /** @param {OwnSession} one */
  const row = (one) => {
    const end = async () => {
      try {
        await waitFor("Ending the session", send("DELETE", "/api/own/sessions/{id}", { id: one.id }));
        note("The session has ended.");
        void load();
      } catch (error) {
        showError(byId("account-problem"), error);
      }
    };
    const seconds = (/** @type {number} */ count) => duration(count * 1e9);
    const began = one.age_s < 1 ? "just now" : `${seconds(one.age_s)} ago`;
    return h(
      "tr",
      {},
      h("td", { class: "name" }, `began ${began}`),
      h("td", { text: one.current ? "now, here" : `${seconds(one.unused_s)} ago` }),
      h("td", { text: seconds(one.ends_in_s) }),
      h(
        "td",
        {},
        !one.current &&
          h("button", {
            type: "button",
            class: "plain",
            "aria-label": `End the session that began ${began}`,
            text: "End",
            on: { click: end },
          }),
      ),
    );
  };
  return listTable([["Session"], ["Last used"], ["Ends in"], ["Actions"]], sessions.map(row));
}

/** @param {OwnAccess} own */
async function makeToken({ role: most, days: usual, most_days: mostDays }) {
  const name = h("input", { type: "text", id: "token-name", required: true, maxlength: "64", autocomplete: "off" });
  const role = h(
    "select",
    { id: "token-role" },
    ...rolesUpTo(most).map(([one]) => h("option", { value: one, selected: one === most, text: one })),
  );
  const days = h("input", { type: "number", id: "token-days", min: "1", max: String(mostDays), required: true });
  days.value = String(usual);
  const fields = [
    h("p", {
      text: "A program sends it with each request, and may do what the role allows but manage nobody’s access.",
    }),
    h("div", { class: "field" }, h("label", { for: "token-name", text: "Name" }), name),
    h("div", { class: "field" }, h("label", { for: "token-role", text: "What it may do" }), role),
    h("div", { class: "field" }, h("label", { for: "token-days", text: "Days until it expires" }), days),
  ];
  /** @type {import("../../../api.js").Answers["POST"]["/api/own/tokens"][]} */
  const made = [];
  const done = await actInDialog("New token", "Make token", fields, async () => {
    const asked = { name: name.value.trim(), role: role.value, days: Number(days.value) };
    made.push(await waitFor("Making a token", send("POST", "/api/own/tokens", {}, asked)));
  });
  if (!done) return;
  const [{ token, item }] = made;
  put(byId("account-problem"));
  void load();
  await showOnce({
    title: `The token “${item.name}”`,
    label: "Token",
    text: token,
    words: `Send it as the header Authorization: Bearer ${token.slice(0, 14)}… It cannot be shown again. Whoever has it may do what ${item.role} allows.`,
  });
}

/** @param {OwnAccess} own */
function show(own) {
  put(byId("account-about"), h("p", { class: "prose", text: about(own) }));
  const hasPassword = Boolean(own.account?.has_password);
  byId("own-password").hidden = !hasPassword;
  if (hasPassword && !document.getElementById("old-password")) put(byId("password-form"), passwordForm(own));
  put(
    byId("own-sessions"),
    own.sessions.length === 0
      ? h("p", { class: "empty", text: "You have no session of this console: the proxy in front keeps it." })
      : sessionTable(own.sessions),
  );
  put(
    byId("own-tokens"),
    own.account
      ? h(
          "div",
          { class: "row" },
          h("button", { type: "button", id: "new-token", text: "New token", on: { click: () => void makeToken(own) } }),
        )
      : h("p", { class: "empty", text: "Tokens are of people who have an account." }),
    own.tokens.length > 0
      ? tokenTable(own.tokens, "/api/own/tokens/{token}", load)
      : own.account && h("p", { class: "empty", text: "You have no token." }),
  );
}

async function load() {
  try {
    show(await get("/api/own"));
  } catch (error) {
    showError(byId("account-problem"), error, load);
  }
}

startShell();
load();
