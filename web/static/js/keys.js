// Keyboard shortcuts: bound in one place, listed by the help dialog.

/**
 * @typedef {object} Binding
 * @property {string} keys as shown: `W`, `Ctrl+Enter`, `?`
 * @property {string} what it does, a short phrase
 * @property {string} group heading in the help
 * @property {(event: KeyboardEvent) => boolean} match
 * @property {(event: KeyboardEvent) => void} run
 * @property {() => boolean} when it applies
 * @property {boolean} typing applies in text fields too
 */

/** @type {Binding[]} */
const bindings = [];
let listening = false;

/**
 * Whether the event goes to something that takes text.
 * @param {Event} event
 */
export function isTyping(event) {
  // In a shadow tree, where the script editor is, the document only hears of its host.
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=range])"));
}

function matcher(spec) {
  const parts = spec.split("+");
  const key = parts.pop() || "+";
  const want = { ctrl: parts.includes("Ctrl"), shift: parts.includes("Shift"), alt: parts.includes("Alt") };
  const code = /^code:/.test(key) ? key.slice(5) : "";
  return (event) => {
    if ((event.ctrlKey || event.metaKey) !== want.ctrl || event.altKey !== want.alt) return false;
    // Which of the shifted characters a key gives depends on the layout, so Shift counts only where it is asked for.
    if (want.shift !== event.shiftKey && (code || want.shift || key.length > 1)) return false;
    return code ? event.code === code : event.key.toLowerCase() === key.toLowerCase();
  };
}

/**
 * Binds a key for as long as the page lives.
 * @param {string} spec `Ctrl+Enter`, `/`, or `code:KeyW` for a place on the keyboard whatever the layout
 * @param {{what: string, group: string, shown?: string, when?: () => boolean, typing?: boolean, hidden?: boolean}} about
 * @param {(event: KeyboardEvent) => void} run
 */
export function bind(spec, about, run) {
  bindings.push({
    keys: about.shown ?? spec.replace(/code:Key/, ""), what: about.what, group: about.group, match: matcher(spec), run,
    when: about.when ?? (() => true), typing: about.typing ?? false, hidden: about.hidden ?? false,
  });
  if (!listening) document.addEventListener("keydown", dispatch);
  listening = true;
}

/**
 * Lists keys in the help that an element handles by itself.
 * @param {string} keys
 * @param {string} what
 * @param {string} group
 */
export function describe(keys, what, group) {
  bindings.push({ keys, what, group, match: () => false, run: () => {}, when: () => true, typing: false, hidden: false });
}

function dispatch(event) {
  if (event.defaultPrevented || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  const typing = isTyping(event);
  const found = bindings.find((one) => (one.typing || !typing) && one.match(event) && one.when());
  if (!found) return;
  event.preventDefault();
  found.run(event);
}

/** All bindings by group, in the order in which they were made. */
export function listed() {
  const groups = new Map();
  for (const one of bindings.filter((binding) => !binding.hidden)) {
    if (!groups.has(one.group)) groups.set(one.group, []);
    groups.get(one.group).push(one);
  }
  return groups;
}
