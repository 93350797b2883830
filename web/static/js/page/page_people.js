// People: accounts with what they may do, everybody's tokens, and who is logged in. For admins.

import { get, send } from "../lib/api.js";
import { actInDialog, askInDialog } from "../lib/ask_dialog.js";
import { addCommands } from "../lib/commands.js";
import { byId, h, put } from "../lib/dom.js";
import { ago, duration } from "../lib/format.js";
import { showError, waitFor } from "../lib/notice.js";
import { showAccess } from "./access_view.js";
import { isLoopback } from "./link_address.js";
import { acting } from "./list_act.js";
import { listTable } from "./list_table.js";
import { showOnce } from "./once_dialog.js";
import { showRights } from "./rights_section.js";
import { ROLES, endsWords, stateWords } from "./people_words.js";
import { startShell } from "./shell.js";
import { tokenTable } from "./token_table.js";

/** @import { MadeInvitation, PersonItem, Role } from "../../../api.js" */

/** What the provider is called by which people log in; empty if there is none. */
let provider = "";

/** @type {import("./list_table.js").Head[]} */
const HEADS = [["Person"], ["Role"], ["Last login"], ["Sessions", true], ["Tokens", true], ["Actions"]];

const doing = acting("people-problem", () => load());

/**
 * Shows the link by which somebody chooses a password.
 * @param {string} name
 * @param {MadeInvitation} made
 */
function showLink(name, { path, expires_unix_ns: expires }) {
  const lasts = duration(Math.max(0, expires - Date.now() * 1e6));
  return showOnce({
    title: `A link for ${name}`,
    label: "Link",
    text: location.origin + path,
    words: `Give it to ${name} alone: whoever opens it first chooses the password. It works once, within ${lasts}, and cannot be shown again.`,
    more: isLoopback(location.origin)
      ? `Only this machine opens it, as it begins with ${location.host}. For others, start Bathyscope with --public-url.`
      : "",
  });
}

/**
 * @param {Role} chosen
 * @param {Record<string, unknown>} props
 */
function roleChoice(chosen, props) {
  const option = (/** @type {[Role, string]} */ [role, means]) =>
    h("option", { value: role, selected: role === chosen, title: means, text: role });
  const select = h("select", props, ...ROLES.map(option));
  select.value = chosen;
  return select;
}

async function add() {
  const name = h("input", {
    type: "text",
    id: "person-name",
    required: true,
    maxlength: "64",
    pattern: "[A-Za-z0-9][A-Za-z0-9._@\\-]*",
    title: "letters, digits and . _ - @",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
  });
  const role = roleChoice("operator", { id: "person-role" });
  const fields = [
    h("p", { text: "They choose a password by a link that you give them." }),
    h("div", { class: "field" }, h("label", { for: "person-name", text: "Name" }), name),
    h("div", { class: "field" }, h("label", { for: "person-role", text: "What they may do" }), role),
    h("p", { class: "quiet small", text: ROLES.map(([one, means]) => `${one}: ${means}`).join("; ") + "." }),
  ];
  /** @type {MadeInvitation[]} */
  const made = [];
  const done = await actInDialog("Add a person", "Add", fields, async () => {
    const asked = { name: name.value.trim(), role: role.value };
    made.push(await waitFor("Adding a person", send("POST", "/api/people", {}, asked)));
  });
  if (!done) return;
  put(byId("people-problem"));
  void load();
  await showLink(name.value.trim(), made[0]);
}

/**
 * @param {PersonItem} person
 * @param {HTMLSelectElement} select
 */
async function changeRole(person, select) {
  const role = select.value;
  const ends = h("p", {
    text: `${endsWords(person)} Their sessions end, and they log in again. Their tokens may do no more than ${role}.`,
  });
  if (!(await askInDialog(`Make ${person.name} ${role}`, `Make ${role}`, ends))) {
    select.value = person.role;
    return;
  }
  const change = () => send("PATCH", "/api/people/{name}", { name: person.name }, { role });
  await doing("Changing the role", change, `${person.name} is ${role} now.`);
}

/** @param {PersonItem} person */
async function disable(person) {
  const ends = h("p", {
    text: `${endsWords(person)} Their sessions end at once, tokens and login links of this name are of no use, and nobody logs in by the account until it is enabled again.`,
  });
  if (!(await askInDialog(`Disable ${person.name}`, "Disable", ends))) return;
  const change = () => send("PATCH", "/api/people/{name}", { name: person.name }, { disabled: true });
  await doing("Disabling the account", change, `${person.name} is disabled.`);
}

/** @param {PersonItem} person */
async function enable(person) {
  const change = () => send("PATCH", "/api/people/{name}", { name: person.name }, { disabled: false });
  await doing("Enabling the account", change, `${person.name} is enabled.`);
}

/** @param {PersonItem} person */
async function reset(person) {
  if (person.has_password) {
    const ends = h("p", {
      text: `${endsWords(person)} The password that they have is of no use any more, and their sessions end. Their tokens stay. You get a link by which they choose another password.`,
    });
    if (!(await askInDialog(`Reset the password of ${person.name}`, "Reset password", ends))) return;
  }
  await doing(
    "Resetting the password",
    async () => showLink(person.name, await send("POST", "/api/people/{name}/reset", { name: person.name })),
    "",
  );
}

/** @param {PersonItem} person */
async function allowProvider(person) {
  const next = h("p", {
    text: `The next who logs in at the provider by the name ${person.name} is taken for the owner of this account, and has its role from then on. Do it where you know that the name is theirs there too.`,
  });
  if (!(await askInDialog(`Let ${person.name} log in at the provider`, "Allow", next))) return;
  const allow = () => send("PATCH", "/api/people/{name}", { name: person.name }, { provider_login: true });
  await doing("Allowing the login", allow, `${person.name} may log in at the provider.`);
}

/** @param {PersonItem} person */
async function forgetProvider(person) {
  const ends = h("p", {
    text: `${endsWords(person)} Their sessions end, and nobody logs in to the account at the provider until it is allowed again.`,
  });
  if (!(await askInDialog(`Forget who ${person.name} is at the provider`, "Forget", ends))) return;
  const forget = () => send("PATCH", "/api/people/{name}", { name: person.name }, { provider_login: false });
  await doing("Forgetting the login", forget, `${person.name} is nobody at the provider any more.`);
}

/** @param {PersonItem} person */
async function remove(person) {
  const ends = h("p", {
    text: `${endsWords(person)} They end at once and are gone, and so is the password. Captures, notes and all else of the name stay, and whoever gets an account of this name later has them. To keep the name from others, disable the account instead.`,
  });
  if (!(await askInDialog(`Remove ${person.name}`, "Remove", ends))) return;
  const gone = () => send("DELETE", "/api/people/{name}", { name: person.name });
  await doing("Removing the account", gone, `${person.name} is removed.`);
}

/** @param {PersonItem} person */
function row(person) {
  const now = Date.now() * 1e6;
  const role = roleChoice(person.role, { "aria-label": `Role of ${person.name}` });
  role.addEventListener("change", () => void changeRole(person, role));
  /**
   * @param {string} text
   * @param {string} label
   * @param {(person: PersonItem) => Promise<void>} run
   */
  const button = (text, label, run) =>
    h("button", { type: "button", class: "plain", "aria-label": label, text, on: { click: () => void run(person) } });
  const isDisabled = person.disabled_unix_ns !== null;
  const login = person.last_login_unix_ns;
  return h(
    "tr",
    {},
    h("td", { class: "name" }, person.name, h("div", { class: "quiet", text: stateWords(person, now) })),
    h("td", {}, role),
    h("td", { text: login === null ? "never" : ago(login, Date.now()) }),
    h("td", { class: "num", text: String(person.sessions) }),
    h("td", { class: "num", text: String(person.tokens) }),
    h(
      "td",
      {},
      h(
        "div",
        { class: "row" },
        !isDisabled &&
          button(
            person.has_password ? "Reset password" : "New link",
            person.has_password ? `Reset the password of ${person.name}` : `New link for ${person.name}`,
            reset,
          ),
        isDisabled
          ? button("Enable", `Enable ${person.name}`, enable)
          : button("Disable", `Disable ${person.name}`, disable),
        person.identity
          ? button("Forget provider", `Forget who ${person.name} is at the provider`, forgetProvider)
          : provider && button(`Allow ${provider}`, `Let ${person.name} log in with ${provider}`, allowProvider),
        button("Remove", `Remove ${person.name}`, remove),
      ),
    ),
  );
}

async function load() {
  try {
    const [people, tokens] = await Promise.all([get("/api/people"), get("/api/tokens")]);
    provider = people.provider ?? "";
    put(
      byId("people"),
      people.items.length === 0
        ? h("p", {
            class: "empty",
            text: "There is no account: people come in by login links. Add a person, yourself first, as admin.",
          })
        : listTable(HEADS, people.items.map(row)),
    );
    put(
      byId("all-tokens"),
      tokens.items.length === 0
        ? h("p", { class: "empty", text: "There is no token. People make their own on the page of their account." })
        : tokenTable(tokens.items, "/api/tokens/{token}", load),
    );
  } catch (error) {
    showError(byId("people-problem"), error, load);
  }
  void showAccess(byId("access"));
  void showRights();
}

startShell();
byId("add-person").addEventListener("click", () => void add());
addCommands({ name: "Add a person", detail: "an account with a name and a role", run: () => void add() });
load();
