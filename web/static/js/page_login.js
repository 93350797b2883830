// The login: takes the token out of the address, where the server never sees it, and posts it.

import { byId } from "./dom.js";

const form = byId("login");
const field = byId("token");

/** The token in a pasted link, or what was pasted. */
function tokenIn(text) {
  const trimmed = text.trim();
  return trimmed.match(/(?:^|[#&?])token=([^&\s]+)/)?.[1] ?? trimmed;
}

form.addEventListener("submit", () => { field.value = tokenIn(field.value); });

function logIn() {
  if (!location.hash.includes("token=")) return;
  field.value = tokenIn(location.hash);
  // Neither the history nor a copied address may keep it.
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}

// Where this page is open already, a browser does not load it again for a link that only differs behind the #.
window.addEventListener("hashchange", logIn);
logIn();
