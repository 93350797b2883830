// Every key of the pages, with where it counts. Keys are bound by the names here (keys.js), `?` lists them from here, and
// web/tests/key_table.test.js holds that no key means two things in one place. Pure.

/**
 * Where keys count. A context is within another one, whose keys count in it too.
 * @type {Record<string, {title: string, within?: string}>}
 */
export const CONTEXTS = {
  everywhere: { title: "Everywhere" },
  new: { title: "New capture", within: "everywhere" },
  history: { title: "History", within: "everywhere" },
  catalogue: { title: "Catalogue", within: "everywhere" },
  capture: { title: "Capture", within: "everywhere" },
  events: { title: "Events", within: "capture" },
  timeline: { title: "Timeline", within: "capture" },
  flame: { title: "Flame graph", within: "capture" },
  distribution: { title: "Distribution", within: "capture" },
  frame: { title: "A frame of the flame graph", within: "flame" },
  instructions: { title: "Instructions of a function", within: "flame" },
  stacks: { title: "Stacks in the order of time", within: "flame" },
  calls: { title: "Calls", within: "capture" },
  systemcalls: { title: "System calls", within: "capture" },
  processes: { title: "Processes", within: "capture" },
  file: { title: "A view of a file", within: "everywhere" },
};

/**
 * @typedef {object} Key
 * @property {string} context one of {@link CONTEXTS}
 * @property {string[]} press what is pressed: `Ctrl+Enter`, `/`, or `code:KeyW` for a place on the keyboard whatever the
 *   layout; `pointer:…` for what is done with a pointer
 * @property {string} what it does
 * @property {string} [shown] how the help writes it, where that is not `press`
 * @property {boolean} [own] an element handles it by itself while it has the focus: nothing is bound
 * @property {string} [beside] the key beside which it is there, where it is `own`
 * @property {boolean} [typing] it counts in text fields too
 * @property {boolean} [hidden] the help does not list it
 * @property {string} [instead] the key of an outer context whose place it takes
 */

/** @type {Record<string, Key>} */
export const KEYS = {
  search: { context: "everywhere", press: ["/"], what: "Search" },
  commands: { context: "everywhere", press: [">"], what: "Commands" },
  help: { context: "everywhere", press: ["?"], what: "Show these keys" },
  go: {
    context: "everywhere",
    press: ["code:KeyG"],
    shown: "G then S N P C H T B L I O A",
    what: "Go to start, new capture, probe builder, catalogue, history, tools, library, language reference, investigations, host, your account",
  },
  leave: { context: "everywhere", press: ["Escape"], own: true, what: "Clear the search, close what is open" },

  startCommand: {
    context: "everywhere",
    press: ["Ctrl+Enter"],
    own: true,
    beside: "search",
    what: "In the box on top: start what the command asks for",
  },
  start: { context: "new", press: ["Ctrl+Enter"], typing: true, instead: "startCommand", what: "Start the capture" },

  "history.search": { context: "history", press: ["f"], what: "Search captures" },
  "history.walk": { context: "history", press: ["ArrowUp", "ArrowDown"], own: true, what: "Walk through the list" },
  "history.open": { context: "history", press: ["Enter"], own: true, what: "Open" },
  "history.pin": { context: "history", press: ["k"], own: true, what: "Pin, or unpin" },
  "history.select": { context: "history", press: ["x"], own: true, what: "Select, to act on several" },
  "history.delete": { context: "history", press: ["Delete"], own: true, what: "Delete, with six seconds to undo" },

  "catalogue.search": {
    context: "catalogue",
    press: ["/"],
    own: true,
    instead: "search",
    what: "Search the catalogue",
  },
  "catalogue.walk": {
    context: "catalogue",
    press: ["ArrowUp", "ArrowDown"],
    own: true,
    what: "Walk through the entries",
  },
  "catalogue.open": { context: "catalogue", press: ["Enter"], own: true, what: "Go to what can be done with an entry" },
  "catalogue.close": { context: "catalogue", press: ["Escape"], what: "Close the details, clear the search" },

  tab: { context: "capture", press: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], what: "Views" },
  filter: { context: "capture", press: ["e"], what: "Filter rows" },
  link: { context: "capture", press: ["y"], what: "Copy a link to this view" },
  investigate: { context: "capture", press: ["Shift+I"], what: "Add what is shown to an investigation" },
  stop: { context: "capture", press: ["x"], what: "Stop the capture" },
  fire: { context: "capture", press: ["Shift+K"], what: "Of a flight recorder: keep what just happened" },
  again: { context: "capture", press: ["r"], what: "Run again" },
  pin: { context: "capture", press: ["k"], what: "Pin the capture, or unpin it" },
  range: {
    context: "capture",
    press: ["pointer:drag,", "pointer:double", "pointer:click"],
    own: true,
    what: "Select a range, fit all",
  },
  whole: { context: "capture", press: ["Escape"], what: "Clear the selected range" },
  "file.back": {
    context: "file",
    press: ["Escape"],
    own: true,
    what: "Back to the investigation, where nothing else is open",
  },

  "syscalls.walk": {
    context: "systemcalls",
    press: ["ArrowUp", "ArrowDown"],
    what: "Walk through the lines; Enter shows the durations of one",
  },

  "processes.walk": {
    context: "processes",
    press: ["ArrowUp", "ArrowDown", "Home", "End"],
    what: "Walk through the processes",
  },
  "processes.open": {
    context: "processes",
    press: ["ArrowRight", "ArrowLeft"],
    what: "Open or close one, go to who started it",
  },
  "processes.only": {
    context: "processes",
    press: ["Enter"],
    what: "Only rows of it and of what it started, in all views",
  },

  "events.rows": {
    context: "events",
    press: ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"],
    own: true,
    what: "Walk through the rows",
  },
  "events.columns": {
    context: "events",
    press: ["ArrowLeft", "ArrowRight"],
    own: true,
    what: "Walk through the columns",
  },
  "events.open": { context: "events", press: ["Enter"], own: true, what: "Show the row in full" },
  "events.sort": {
    context: "events",
    press: ["s", "Shift+S"],
    own: true,
    what: "Sort by the column; with Shift after those before it",
  },
  "events.group": { context: "events", press: ["b"], what: "Group rows by the values of columns, or show rows again" },
  "events.choose": { context: "events", press: ["c"], what: "Choose columns, their order and how they are written" },
  "events.resize": {
    context: "events",
    press: ["Shift+ArrowLeft", "Shift+ArrowRight"],
    own: true,
    what: "Make the column narrower or wider",
  },
  "events.reorder": {
    context: "events",
    press: ["Ctrl+Shift+ArrowLeft", "Ctrl+Shift+ArrowRight"],
    own: true,
    what: "Move the column",
  },
  "events.copy": { context: "events", press: ["Ctrl+C"], own: true, what: "Copy the cell" },
  "events.facets": {
    context: "events",
    press: ["f"],
    what: "Show the values of columns beside the rows, or hide them",
  },
  "facets.walk": {
    context: "events",
    press: ["pointer:Shift+click", "Delete"],
    shown: "Click or Enter, Shift+click or Delete",
    own: true,
    what: "On a value: only its rows, all but its rows",
  },
  "events.close": { context: "events", press: ["Escape"], hidden: true, what: "Close the row" },

  "timeline.zoom": {
    context: "timeline",
    press: ["code:KeyW", "code:KeyS", "pointer:Ctrl+wheel"],
    shown: "W S or Ctrl+wheel",
    own: true,
    what: "Zoom in and out",
  },
  "timeline.pan": {
    context: "timeline",
    press: ["code:KeyA", "code:KeyD", "pointer:Shift+drag", "pointer:Shift+wheel"],
    shown: "A D or Shift+drag Shift+wheel",
    own: true,
    what: "Pan",
  },
  "timeline.fit": { context: "timeline", press: ["code:KeyF"], what: "Fit the selected range" },
  "timeline.all": { context: "timeline", press: ["0"], what: "Fit all (also a double click beside what is drawn)" },
  "timeline.clear": { context: "timeline", press: ["Escape"], what: "Clear the selection" },
  "timeline.next": { context: "timeline", press: ["."], what: "Pick the next on the track" },
  "timeline.previous": { context: "timeline", press: [","], what: "Pick the previous on the track" },
  "timeline.pick": { context: "timeline", press: ["Enter"], what: "Pick what is at the cursor; open or close a group" },
  "timeline.range": {
    context: "timeline",
    press: ["t"],
    what: "Select the time of what is picked",
  },
  "timeline.begin": { context: "timeline", press: ["i"], what: "Begin the selected range at the cursor" },
  "timeline.end": { context: "timeline", press: ["o"], what: "End the selected range at the cursor" },
  "timeline.over": {
    context: "timeline",
    press: ["u"],
    what: "Read the selected range over the track at the cursor only, or over all tracks again",
  },
  "timeline.waker": {
    context: "timeline",
    press: ["["],
    what: "Go to what led to what is picked: who woke the thread, the block request, who issued it",
  },
  "timeline.back": {
    context: "timeline",
    press: ["]"],
    what: "Go on to what it led to: back where you came from, else whom it woke or what it issued",
  },
  "timeline.find": {
    context: "timeline",
    press: ["/"],
    instead: "search",
    what: "Find in all of the capture; Enter and Shift+Enter go to the next and the one before",
  },
  "timeline.found.before": { context: "timeline", press: ["Shift+N"], what: "The one found before that" },
  "timeline.found": { context: "timeline", press: ["n"], what: "The next that was found" },
  "timeline.note": {
    context: "timeline",
    press: ["Shift+M"],
    what: "Write a note at the measured or selected range, what is picked, or the pointer",
  },
  "timeline.measure": {
    context: "timeline",
    press: ["m"],
    what: "Measure what is picked, the selected range, or from the cursor to the pointer",
  },
  "timeline.notes": { context: "timeline", press: ["l"], what: "List of notes" },
  "timeline.unnote": {
    context: "timeline",
    press: ["Delete"],
    what: "Remove the selected note, with six seconds to undo",
  },
  "timeline.path": {
    context: "timeline",
    press: ["c"],
    what: "Critical path of the picked thread, or of that at the cursor; again: no path",
  },
  "timeline.pin": { context: "timeline", press: ["p"], what: "Pin the track at the cursor, or let it go" },
  "timeline.hide": { context: "timeline", press: ["h"], what: "Hide the track at the cursor" },
  "timeline.unhide": { context: "timeline", press: ["Shift+H"], what: "Show the tracks that were hidden" },
  "timeline.up": { context: "timeline", press: ["Alt+ArrowUp"], shown: "Alt+↑", what: "Move the track up" },
  "timeline.down": { context: "timeline", press: ["Alt+ArrowDown"], shown: "Alt+↓", what: "Move the track down" },
  "timeline.higher": { context: "timeline", press: ["+", "="], shown: "+", what: "Make the track higher" },
  "timeline.lower": { context: "timeline", press: ["-"], what: "Make the track lower" },
  "timeline.fold": { context: "timeline", press: ["z"], what: "Fold long time without rows, or unfold it" },
  "timeline.beside": { context: "timeline", press: ["b"], what: "Put two selected ranges side by side, or one alone" },
  "timeline.snap": {
    context: "timeline",
    press: ["pointer:Alt+drag"],
    own: true,
    what: "Select a range without snapping to edges",
  },
  "timeline.menu": { context: "timeline", press: ["Shift+F10"], what: "Open the menu of the track" },
  "timeline.walk": {
    context: "timeline",
    press: ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"],
    own: true,
    what: "Move the cursor",
  },
  "timeline.lane": {
    context: "timeline",
    press: ["Shift+ArrowUp", "Shift+ArrowDown"],
    own: true,
    what: "Move the cursor within a track: to its states, its slices by depth, its samples and events",
  },

  "flame.find": { context: "flame", press: ["f"], what: "Find in names; Enter goes to the next" },
  "flame.invert": { context: "flame", press: ["i"], what: "Invert" },
  "flame.reset": { context: "flame", press: ["Escape"], what: "Reset the zoom" },
  "flame.walk": {
    context: "flame",
    press: ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home"],
    own: true,
    what: "Walk through the frames",
  },
  "flame.zoom": { context: "flame", press: ["Enter"], own: true, what: "Zoom into the frame" },

  "flame.shape": { context: "flame", press: ["v"], what: "The root below or on top" },
  "flame.menu": {
    context: "flame",
    press: ["Shift+F10"],
    own: true,
    what: "What can be done with the frame",
  },
  "flame.move": {
    context: "stacks",
    press: ["code:KeyW", "code:KeyS", "code:KeyA", "code:KeyD", "pointer:Ctrl+wheel", "pointer:Shift+drag"],
    shown: "W S A D or Ctrl+wheel Shift+drag",
    own: true,
    what: "Zoom and pan",
  },
  "flame.fit": { context: "stacks", press: ["Shift+F"], what: "Fit the frame or the selected range" },
  "flame.all": { context: "stacks", press: ["0"], what: "Fit all (also a double click)" },
  "flame.clear": { context: "stacks", press: ["Escape"], instead: "flame.reset", what: "Clear the selection" },
  "frame.only": {
    context: "frame",
    press: ["f"],
    shown: "f F",
    own: true,
    instead: "flame.find",
    what: "Only this function, only this frame",
  },
  "frame.leave": {
    context: "frame",
    press: ["m"],
    shown: "m M",
    own: true,
    what: "Leave the function out, leave the frame out: its samples are its caller’s",
  },
  "frame.collapse": {
    context: "frame",
    press: ["c"],
    shown: "c C",
    own: true,
    what: "Leave out what it calls, make one of its library",
  },
  "frame.recursion": {
    context: "frame",
    press: ["r"],
    shown: "r R",
    own: true,
    instead: "again",
    what: "Make one of its recursion, of its direct recursion",
  },
  "frame.drop": { context: "frame", press: ["d"], own: true, what: "Leave out samples with the function" },
  "frame.between": { context: "frame", press: ["s"], own: true, what: "Its callers and what it calls" },
  "frame.hide": {
    context: "frame",
    press: ["h"],
    shown: "h H",
    own: true,
    what: "Hide the kernel, hide run-time libraries",
  },
  "frame.note": {
    context: "frame",
    press: ["n"],
    shown: "n N",
    own: true,
    what: "Write a note on the frame, on its function",
  },
  "frame.undo": { context: "frame", press: ["z"], own: true, what: "Take the last of these back" },

  "distribution.walk": {
    context: "distribution",
    press: ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"],
    own: true,
    what: "Walk through buckets, cells or rows",
  },
  "distribution.extend": {
    context: "distribution",
    press: ["Shift+ArrowLeft", "Shift+ArrowRight", "Shift+ArrowUp", "Shift+ArrowDown"],
    shown: "Shift+arrows",
    own: true,
    what: "Select several buckets or cells (also a drag)",
  },
  "distribution.only": {
    context: "distribution",
    press: ["Enter"],
    own: true,
    what: "Only what is selected, as range and filter of all tabs; pick a cell; open a single row",
  },
  "distribution.back": { context: "distribution", press: ["z"], what: "The selection before" },

  "instructions.next": { context: "instructions", press: ["n"], what: "The next hottest instruction" },
  "instructions.before": { context: "instructions", press: ["p"], what: "The hottest instruction before that" },
  "instructions.back": { context: "instructions", press: ["Escape"], what: "Back to the functions" },

  "calls.tree": { context: "calls", press: ["t"], what: "Tree" },
  "calls.functions": { context: "calls", press: ["l"], what: "List of functions" },
  "calls.chart": { context: "calls", press: ["c"], what: "Chart" },
  "calls.search": {
    context: "calls",
    press: ["/"],
    own: true,
    instead: "search",
    what: "Find functions; Enter goes to the next call",
  },
  "calls.fold": { context: "calls", press: ["ArrowLeft", "ArrowRight"], own: true, what: "Tree: fold, unfold" },
  "calls.open": {
    context: "calls",
    press: ["Enter"],
    own: true,
    what: "Tree: select the call's time. Chart: zoom to the call",
  },
  "calls.copy": { context: "calls", press: ["Ctrl+C"], own: true, what: "Tree: copy the call as text" },
  "calls.move": {
    context: "calls",
    press: ["code:KeyW", "code:KeyS", "code:KeyA", "code:KeyD", "pointer:Ctrl+wheel", "pointer:Shift+drag"],
    shown: "W S A D or Ctrl+wheel Shift+drag",
    own: true,
    what: "Chart: zoom and pan",
  },
  "calls.fit": { context: "calls", press: ["code:KeyF"], what: "Chart: fit the call or the selected range" },
  "calls.all": { context: "calls", press: ["0"], what: "Chart: fit all (also a double click)" },
  "calls.clear": { context: "calls", press: ["Escape"], what: "Clear call and selection" },
};

/** @type {Record<string, string>} */
const SIGNS = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  PageUp: "PgUp",
  PageDown: "PgDn",
  Escape: "Esc",
};

/**
 * How the help writes what is pressed, in words that are keys, `then`, or `or`.
 * @param {Key} key
 */
export function written({ press, shown }) {
  return (
    shown ??
    press
      .map((one) => SIGNS[one] ?? one.replace(/^(code:Key|pointer:)/, ""))
      .map((one) => (one.length === 1 ? one.toUpperCase() : one))
      .join(" ")
  ).split(" ");
}

/**
 * Contexts whose keys count where those of `name` do: itself and what it is within.
 * @param {string} name
 * @returns {string[]}
 */
export function around(name) {
  const { within } = CONTEXTS[name];
  return within ? [name, ...around(within)] : [name];
}
