// What the omnibox offers after `>`: the same things that buttons do, by name.

import { nextTheme, setTheme } from "./theme.js";

/** @typedef {{name: string, detail?: string, run: () => void}} Command */

/** @type {Command[]} */
const all = [];

/** Whether the person who is logged in may record. */
export function mayRecord() {
  return document.body.dataset.record === "true";
}

/**
 * Adds commands for as long as the page lives.
 * @param {...Command} commands
 */
export function addCommands(...commands) {
  all.push(...commands);
}

/** @param {string} path */
const go = (path) => () => location.assign(path);

/** The commands that every page has. */
export function commonCommands() {
  if (mayRecord()) {
    addCommands(
      { name: "New capture: trace events", run: go("/new?method=events") },
      { name: "New capture: profile CPU", run: go("/new?method=profile") },
      { name: "New capture: write a script", run: go("/new?method=script") },
      { name: "New capture: system calls", run: go("/new?method=syscalls") },
      { name: "New capture: thread states", run: go("/new?method=states") },
      { name: "New capture: trace with ftrace", run: go("/new?method=trace") },
      { name: "Go to the catalogue", detail: "everything that can be traced", run: go("/catalog") },
      { name: "New capture: count events", run: go("/new?method=count") },
    );
  }
  addCommands(
    { name: "Go to start", run: go("/") },
    { name: "Go to history", run: go("/captures") },
    { name: "Go to tools", run: go("/tools") },
    { name: "Go to the language reference", run: go("/language") },
    { name: "Go to host", run: go("/host") },
    { name: "Theme: next", detail: "system, light, dark", run: nextTheme },
    { name: "Theme: light", run: () => setTheme("light") },
    { name: "Theme: dark", run: () => setTheme("dark") },
    { name: "Theme: as the system", run: () => setTheme("system") },
    { name: "Show keys", detail: "?", run: () => document.getElementById("help-open")?.click() },
  );
}

/**
 * Commands whose name holds all words of `query`, in the order in which they were added.
 * @param {string} query
 */
export function findCommands(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((command) => words.every((word) => command.name.toLowerCase().includes(word)));
}
