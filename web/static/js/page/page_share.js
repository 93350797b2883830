// The page that a share's link leads to: takes the token out of the address, where the server never sees it, and posts it.

import { byId } from "../lib/dom.js";

const INCOMPLETE =
  "This link is not complete: what follows the # is missing. Copy it again from where it was sent, to its very end.";

/** @param {string} text */
function say(text) {
  byId("share-state").textContent = text;
}

async function open() {
  const token = location.hash.slice(1);
  if (!token) return say(INCOMPLETE);
  // Neither the history nor a copied address of what follows has it.
  history.replaceState(null, "", location.pathname);
  try {
    const response = await fetch(`${location.pathname}/open`, {
      method: "POST",
      credentials: "same-origin",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ token }),
    });
    const answer = await response.json();
    if (response.ok) return location.replace(answer.url);
    const { why = "", remedy = "" } = answer.error ?? {};
    say(`This link cannot be opened: ${why}. ${remedy}`);
  } catch {
    say("The server does not answer. Try again in a moment: open the link once more.");
  }
}

// Where this page is open already, a browser does not load it again for a link that only differs behind the #.
window.addEventListener("hashchange", () => location.hash && open());
open();
