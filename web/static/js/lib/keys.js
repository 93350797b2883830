// Keyboard shortcuts: bound by their names in the table of keys, listed by the help dialog.

import { CONTEXTS, KEYS, written } from "./key_table.js";

/**
 * @typedef {object} Binding
 * @property {(event: KeyboardEvent) => boolean} match
 * @property {(event: KeyboardEvent) => void} run
 * @property {() => boolean} when it applies
 * @property {boolean} typing applies in text fields too
 */

/** @type {Binding[]} */
const bindings = [];
/** The contexts that the page has, and what it calls keys that it names itself. */
const contexts = new Set(["everywhere"]);
const named = new Map();
/** The names of what is bound. */
const bound = new Set();
let listening = false;

/**
 * Whether the event goes to something that takes text.
 * @param {Event} event
 */
export function isTyping(event) {
  // In a shadow tree, where the script editor is, the document only hears of its host.
  const target = event.composedPath()[0];
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=range])"))
  );
}

/** @param {string} spec */
function matcher(spec) {
  const parts = spec.split("+");
  const key = parts.pop() || "+";
  const want = { ctrl: parts.includes("Ctrl"), shift: parts.includes("Shift"), alt: parts.includes("Alt") };
  const code = /^code:/.test(key) ? key.slice(5) : "";
  /** @param {KeyboardEvent} event */
  return (event) => {
    if ((event.ctrlKey || event.metaKey) !== want.ctrl || event.altKey !== want.alt) return false;
    // Which of the shifted characters a key gives depends on the layout, so Shift counts only where it is asked for.
    if (want.shift !== event.shiftKey && (code || want.shift || key.length > 1)) return false;
    return code ? event.code === code : event.key.toLowerCase() === key.toLowerCase();
  };
}

/**
 * Binds a key of the table for as long as the page lives.
 * @param {string} name in {@link KEYS}
 * @param {(event: KeyboardEvent) => void} run
 * @param {{when?: () => boolean, what?: () => string[]}} [about] when it applies, and what each of its keys does here if the
 *   table cannot say
 */
export function bind(name, run, { when = () => true, what } = {}) {
  const { context, press, typing = false, instead } = KEYS[name];
  contexts.add(context);
  bound.add(name);
  if (what) named.set(name, what);
  const matchers = press.map(matcher);
  const binding = {
    match: (/** @type {KeyboardEvent} */ event) => matchers.some((match) => match(event)),
    run,
    when,
    typing,
  };
  // What takes another one's place is asked before that.
  if (instead) bindings.unshift(binding);
  else bindings.push(binding);
  if (!listening) document.addEventListener("keydown", dispatch);
  listening = true;
}

/**
 * Says that the page has a context, of which nothing is bound but what elements handle by themselves.
 * @param {string} context
 */
export function hasKeys(context) {
  contexts.add(context);
}

/** @param {KeyboardEvent} event */
function dispatch(event) {
  if (event.defaultPrevented || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  const typing = isTyping(event);
  const found = bindings.find((one) => (one.typing || !typing) && one.match(event) && one.when());
  if (!found) return;
  event.preventDefault();
  found.run(event);
}

/**
 * Whether the page has what a key is for: all that a page binds at its start is bound, and what it leaves out is not there.
 * @param {string} name
 * @param {import("./key_table.js").Key} key
 */
function isThere(name, { context, own, beside }) {
  if (context !== "everywhere" && context !== "capture") return true;
  return own ? !beside || bound.has(beside) : bound.has(name);
}

/**
 * The keys of this page by context, as the help shows them.
 * @returns {{title: string, keys: {keys: string[], what: string}[]}[]}
 */
export function listed() {
  const keys = Object.entries(KEYS).filter(([name, key]) => !key.hidden && isThere(name, key));
  return Object.entries(CONTEXTS)
    .filter(([name]) => contexts.has(name))
    .map(([name, { title }]) => ({
      title,
      keys: keys
        .filter(([, { context }]) => context === name)
        .map(([id, key]) => {
          const what = named.get(id)?.();
          return what
            ? { keys: written(key).slice(0, what.length), what: what.join(", ") }
            : { keys: written(key), what: key.what };
        }),
    }));
}
