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
      "What stands after perf probe --add, in one line; -x FILE before it for a program or library. The definition says what it is called: NAME=PLACE gives a name.",
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
    about: "Sources and limits of a capture, as JSON. The form for a new capture saves one.",
    example: '{ "of": "system", "limits": {}, "sources": [] }',
  },
  {
    kind: "filter",
    one: "Filter",
    many: "Filters",
    about: "A condition on rows, as the field above the tabs of a capture takes it.",
    example: 'comm == "nginx" && duration > 1000000',
  },
  {
    kind: "query",
    one: "Query",
    many: "Queries",
    about: "A query in SQL, as the tab SQL of a capture takes it.",
    example: "select comm, count(*) from samples group by comm",
  },
  {
    kind: "selection",
    one: "Selection",
    many: "Selections",
    about: "What a view of a capture shows, NAME=VALUE a line, as its address has it.",
    example: "tab=timeline\nfilter=pid == 1",
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
  if (kind === "filter") return "The filter of a capture offers it.";
  if (kind === "query") return "The tab SQL of a capture offers it.";
  if (kind === "selection") return "The menu Views of a capture offers it.";
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
