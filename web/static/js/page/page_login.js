// The login: takes the token of a link out of the address, where the server never sees it, and posts it; or name and password.

import { byId, inputOf } from "../lib/dom.js";

/** Under which a browser remembers the page that somebody wanted, while they fetch a link and open it in another tab. */
const WANTED = "bathyscope-wanted";
const WANTED_MS = 15 * 60 * 1000;

const form = byId("login", HTMLFormElement);
const field = inputOf("token");
const next = inputOf("next");
const byPassword = document.getElementById("by-password");
const byProvider = document.getElementById("by-provider");

/**
 * The token in a pasted link, or what was pasted.
 * @param {string} text
 */
function tokenIn(text) {
  const trimmed = text.trim();
  return trimmed.match(/(?:^|[#&?])token=([^&\s]+)/)?.[1] ?? trimmed;
}

const hasToken = () => location.hash.includes("token=");

/**
 * What the browser remembers is a convenience: without storage the start page follows.
 * @param {string} page
 */
function remember(page) {
  try {
    if (page) localStorage.setItem(WANTED, JSON.stringify({ page, at: Date.now() }));
    else localStorage.removeItem(WANTED);
  } catch {
    // Nothing is remembered.
  }
}

function remembered() {
  try {
    const { page, at } = JSON.parse(localStorage.getItem(WANTED) ?? "null");
    return Date.now() - at < WANTED_MS ? String(page) : "";
  } catch {
    return "";
  }
}

/** Both forms lead to the page that somebody wanted. */
function lead() {
  if (!next.value) next.value = remembered();
  for (const other of document.querySelectorAll("input.next")) {
    if (other instanceof HTMLInputElement) other.value = next.value;
  }
  remember("");
}

form.addEventListener("submit", () => {
  field.value = tokenIn(field.value);
  lead();
});
byPassword?.addEventListener("submit", lead);
// A link and not a form: what forms lead to may not be another site.
if (byProvider instanceof HTMLAnchorElement) {
  byProvider.addEventListener("click", () => {
    lead();
    byProvider.href = `/oidc/start?${new URLSearchParams({ next: next.value })}`;
  });
}

function logIn() {
  if (!hasToken()) return;
  field.value = tokenIn(location.hash);
  // Neither the history nor a copied address may keep it.
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}

function start() {
  if (next.value && location.hash && !hasToken()) next.value += location.hash;
  if (next.value) remember(next.value);
  if (form.dataset.askAgain !== undefined && !hasToken())
    location.replace(`/login?${new URLSearchParams({ next: next.value, again: "1" })}`);
}

start();
// Where this page is open already, a browser does not load it again for a link that only differs behind the #.
window.addEventListener("hashchange", logIn);
logIn();
