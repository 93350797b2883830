// What the omnibox offers after `>`: the same things that buttons do, by name.

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

/**
 * Commands whose name holds all words of `query`, in the order in which they were added.
 * @param {string} query
 */
export function findCommands(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((command) => words.every((word) => command.name.toLowerCase().includes(word)));
}
