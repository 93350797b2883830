// The commands that every page has.

import { addCommands, mayRecord } from "../lib/commands.js";
import { nextTheme, setTheme } from "../lib/theme.js";
import { KINDS, newAddress } from "../kind/table.js";

/** @param {string} path */
const go = (path) => () => location.assign(path);

/** Adds them. */
export function commonCommands() {
  addCommands({ name: "Go to series", detail: "runs of the same over time", run: go("/series") });
  if (mayRecord()) {
    addCommands({ name: "Go to shares", detail: "links for people without a login", run: go("/shares") });
    addCommands(...KINDS.map((kind) => ({ name: `New capture: ${kind.command}`, run: go(newAddress(kind)) })), {
      name: "Go to the catalogue",
      detail: "everything that can be traced",
      run: go("/catalog"),
    });
  }
  if (document.body.dataset.role === "admin")
    addCommands({ name: "Go to people", detail: "accounts, tokens, who is logged in", run: go("/people") });
  addCommands(
    { name: "Go to start", run: go("/") },
    { name: "Go to history", run: go("/captures") },
    { name: "Go to tools", run: go("/tools") },
    { name: "Go to investigations", detail: "pages that a team writes", run: go("/investigations") },
    { name: "Go to the library", detail: "probes, scripts and more, kept by name", run: go("/library") },
    { name: "Go to the language reference", run: go("/language") },
    { name: "Go to the reference of the API", run: go("/api-reference") },
    { name: "Go to host", run: go("/host") },
    { name: "Go to your account", detail: "password, sessions, tokens", run: go("/account") },
    { name: "Theme: next", detail: "system, light, dark", run: nextTheme },
    { name: "Theme: light", run: () => setTheme("light") },
    { name: "Theme: dark", run: () => setTheme("dark") },
    { name: "Theme: as the system", run: () => setTheme("system") },
    { name: "Show keys", detail: "?", run: () => document.getElementById("help-open")?.click() },
  );
}
