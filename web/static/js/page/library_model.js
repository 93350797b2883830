// What the library's page says of what is kept, and where each leads. Pure.

import { keptScriptLink } from "../kind/script.js";

/** @import { LibraryEntryItem } from "../../../api.js" */
/** @typedef {LibraryEntryItem["kind"]} Kind */

/**
 * Kinds in the order of the list: their names, and what their texts are.
 * @type {{kind: Kind, one: string, many: string, about: string, example: string}[]}
 */
export const LIBRARY_KINDS = [
  {
    kind: "probe",
    one: "Probe",
    many: "Probes",
    about:
      "A definition as for perf probe --add, in one line, with -x FILE before it for a program or library; or a line of kprobe_events or uprobe_events. The event's name comes from the definition: NAME=FUNCTION or p:NAME FUNCTION sets it.",
    example: "vfs_read count",
  },
  {
    kind: "script",
    one: "Script",
    many: "Scripts",
    about: "A script of the probe language.",
    example: "tracepoint:sched:sched_switch { @[args.next_comm] = count(); }",
  },
  {
    kind: "recipe",
    one: "Recipe",
    many: "Recipes",
    about: "Sources and limits of a capture, as JSON. The New capture form saves recipes.",
    example: '{ "of": "system", "limits": {}, "sources": [] }',
  },
  {
    kind: "filter",
    one: "Filter",
    many: "Filters",
    about: "A condition on rows, as in the Filter field of a capture.",
    example: 'comm == "nginx" && duration > 1000000',
  },
  {
    kind: "query",
    one: "Query",
    many: "Queries",
    about: "A SQL query, as in the SQL tab of a capture.",
    example: "select comm, count(*) from samples group by comm",
  },
  {
    kind: "selection",
    one: "Selection",
    many: "Selections",
    about: "The settings of a capture's view, one NAME=VALUE per line, as in the address of the page.",
    example: "tab=timeline\nfilter=pid == 1",
  },
  {
    kind: "search",
    one: "Search",
    many: "Searches",
    about: "Words and conditions, as in the search of the history.",
    example: "tag:slow -is:pinned newer:7d sort:-bytes",
  },
];

/**
 * @param {Kind} kind
 * @returns {typeof LIBRARY_KINDS[number]}
 */
export const kindAbout = (kind) => LIBRARY_KINDS.find((one) => one.kind === kind) ?? LIBRARY_KINDS[0];

/**
 * What can be done with something that is kept.
 * @param {Pick<LibraryEntryItem, "id"|"kind"|"name">} entry
 * @param {boolean} records whether whoever asks may record
 * @returns {{label: string, path: string}|null}
 */
export function useOf({ id, kind, name }, records) {
  if (kind === "search") return { label: "Show the captures", path: `/captures?saved=${id}` };
  if (!records) return null;
  const form = (/** @type {Record<string, string>} */ params) => `/new?${new URLSearchParams(params)}`;
  /** @type {Partial<Record<Kind, {label: string, path: string}>>} */
  const uses = {
    probe: { label: "Record it", path: form({ command: `perf record -e ${name} -a` }) },
    script: { label: "Open in the editor", path: keptScriptLink(id) },
    recipe: { label: "Open in the form", path: form({ recipe: name }) },
  };
  return uses[kind] ?? null;
}

/**
 * Where something that leads nowhere is used.
 * @param {Kind} kind
 */
export function whereUsed(kind) {
  if (kind === "filter") return "It is offered in the Views menu of a capture.";
  if (kind === "query") return "It is offered in the SQL tab of a capture.";
  if (kind === "selection") return "It is offered in the Views menu of a capture.";
  return "";
}

/**
 * Tags as they are typed, with blanks or commas between them.
 * @param {string} text
 */
export const tagsOf = (text) => text.split(/[\s,]+/).filter(Boolean);

/**
 * The address of a view without what is only of its capture, as a selection keeps it: a line for each parameter.
 * @param {string} search
 */
export function selectionOf(search) {
  return [...new URLSearchParams(search)].map(([name, value]) => `${name}=${value}`).join("\n");
}

/**
 * The query of an address that shows what a selection has.
 * @param {string} text
 */
export function searchOf(text) {
  const params = new URLSearchParams();
  for (const line of text.split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) params.set(line.slice(0, at).trim(), line.slice(at + 1));
  }
  return params.toString();
}

/** What files of each kind end with, as the server names one. */
const ENDINGS = {
  probe: "probe",
  script: "bt",
  recipe: "recipe",
  filter: "filter",
  query: "sql",
  selection: "selection",
  search: "search",
};

/**
 * Names of files for entries, each once: of two of the same name the second has its owner in its own.
 * @param {Pick<LibraryEntryItem, "kind"|"name"|"owner">[]} items
 */
export function fileNames(items) {
  const plain = (/** @type {string} */ text) => text.replace(/[^A-Za-z0-9_.-]/g, ".");
  /** @type {Set<string>} */
  const taken = new Set();
  return items.map(({ kind, name, owner }) => {
    const of = (/** @type {string} */ base) => `${plain(base)}.${ENDINGS[kind]}`;
    const own = taken.has(of(name)) ? of(`${name}.${owner}`) : of(name);
    taken.add(own);
    return own;
  });
}
