// Choosing a password by a link: the token is behind the # of the address, where the server never sees it, and is posted once.

import { send } from "../lib/api.js";
import { byId, h, inputOf, put } from "../lib/dom.js";
import { errorNotice, waitFor } from "../lib/notice.js";

const form = byId("choose", HTMLFormElement);
const problem = byId("password-problem");
const state = byId("password-state");
let token = "";

/** @param {string} text */
function refuse(text) {
  put(problem, h("p", { class: "notice notice-stop", role: "alert", text }));
}

async function choose() {
  put(problem);
  const [password, again] = [inputOf("new-password"), inputOf("again")];
  if (password.value !== again.value) {
    refuse("The password is not the same twice.");
    again.focus();
    return;
  }
  try {
    const asked = { token, password: password.value };
    const { name } = await waitFor("Choosing the password", send("POST", "/api/password", {}, asked));
    form.hidden = true;
    form.reset();
    put(
      state,
      `The password of ${name} is chosen. `,
      h("a", { class: "button primary", id: "to-login", href: "/login", text: "Log in" }),
    );
    byId("to-login").focus();
  } catch (error) {
    put(problem, errorNotice(error));
  }
}

function start() {
  const parts = new URLSearchParams(location.hash.slice(1));
  token = parts.get("token") ?? "";
  // Neither the history nor a copied address may keep it.
  if (token) history.replaceState(null, "", location.pathname);
  if (!token) {
    refuse("This link is not complete: open all of it, or ask an admin for another.");
    return;
  }
  inputOf("name").value = parts.get("name") ?? "";
  form.hidden = false;
  inputOf("new-password").focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void choose();
});
// Where this page is open already, a browser does not load it again for a link that only differs behind the #.
window.addEventListener("hashchange", start);
start();
